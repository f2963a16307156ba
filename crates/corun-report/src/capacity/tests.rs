use corun_record::{
    Advice, CapacityAnswer, CapacityDesign, CapacityPoint, Caveat, FillingCurve, MachineSummary,
    Mode, Workload,
};

use super::*;

fn estimate(value: f64) -> Estimate {
    let reach = if value < 1.0 { 0.01 } else { 0.0 };
    Estimate { value, low: value - reach, high: value + reach, level: 0.95, blocks: 10 }
}

fn order(filling: Filling, used: [f64; 4]) -> FillingCurve {
    let point = |(at, used): (usize, f64)| CapacityPoint {
        arm: Some(format!("arm{at}")),
        busy: at as u32 + 1,
        nominal: (at + 1) as f64 / 4.0,
        reported: Some((at + 1) as f64 / 4.0 + 0.004),
        used: estimate(used),
    };
    FillingCurve { filling, points: used.into_iter().enumerate().map(point).collect() }
}

/// Two cores with two siblings each, of which the second adds a quarter.
pub(crate) fn curve() -> Record<CapacityCurve> {
    let orders = vec![
        order(Filling::CoresFirst, [0.4, 0.8, 0.9, 1.0]),
        order(Filling::SiblingsFirst, [0.4, 0.5, 0.9, 1.0]),
    ];
    let level = |[reported, cores_first, siblings_first]: [f64; 3]| CapacityLevel {
        reported,
        cores_first: estimate(cores_first),
        siblings_first: estimate(siblings_first),
    };
    let body = CapacityCurve {
        workload: Workload {
            name: "fib".to_owned(),
            command: Vec::new(),
            parameters: [("n".to_owned(), "30".to_owned())].into(),
            mode: Mode::Copies,
            operation: "operations".to_owned(),
            operations: 1000.0,
            steady: true,
            load: None,
            program: None,
            input: None,
            prepare: None,
        },
        mix: Vec::new(),
        source: Source::Measured,
        model: None,
        cores: 2,
        cpus: 4,
        smt_width: 2,
        answer: Some(CapacityAnswer {
            sentence: "At 50 % reported you have used 49 to 81 % of what this machine can do for fib: 19 to 51 % is left."
                .to_owned(),
            reported: 0.5,
            used_low: 0.49,
            used_high: 0.81,
        }),
        orders,
        levels: [[0.1, 0.16, 0.16], [0.5, 0.8, 0.5], [0.75, 0.9, 0.9], [1.0, 1.0, 1.0]].map(level).to_vec(),
        smt_yield: Some(estimate(1.25)),
        core_use: Vec::new(),
        scaling: None,
        reasons: vec!["The SMT yield is 1.25 (1.24 to 1.26).".to_owned()],
        advice: ["plan", "top"]
            .map(|tool| Advice {
                tool: tool.to_owned(),
                line: format!("a line that {tool} has \u{1b}[31m"),
                fits: true,
            })
            .to_vec(),
        design: Some(CapacityDesign {
            seed: 1,
            blocks: 10,
            warmup: 1,
            target: 0.02,
            interim_analyses: Vec::new(),
            max_time_s: 120.0,
        }),
        arms: Vec::new(),
        observations: Vec::new(),
        samples: Vec::new(),
    };
    Record {
        machine: Some(MachineSummary {
            cpu_model: Some("A CPU".to_owned()),
            cores: 2,
            online_cpus: 4,
            allowed_cpus: 4,
            smt_width: 2,
            ..MachineSummary::default()
        }),
        caveats: vec![Caveat::new("load", "Other work was seen.")],
        ..Record::new("2026-01-01T00:00:00Z".to_owned(), 42.0, body)
    }
}

#[test]
fn the_answer_the_plot_and_the_table_follow_each_other() {
    insta::assert_snapshot!(capacity_to_terminal(&curve(), 80));
}

#[test]
fn fifty_columns_are_enough_and_nothing_steers_the_terminal() {
    let text = capacity_to_terminal(&curve(), 50);
    let is_long = |line: &&str| line.chars().count() > 50;
    assert_eq!(text.lines().find(is_long), None, "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn without_an_answer_it_says_why() {
    let mut curve = curve();
    curve.body.answer = None;
    curve.body.levels.clear();
    curve.body.orders.clear();
    curve.ending.sentence = "the time allowed (1ms) is too short".to_owned();
    let text = capacity_to_terminal(&curve, 80);
    assert!(text.starts_with("No answer: the time allowed (1ms) is too short."), "{text}");
    assert_eq!(capacity_in_brief(&curve, 80).lines().count(), 1);
}

#[test]
fn csv_has_a_row_for_each_point() {
    let csv = capacity_to_csv(&curve());
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [10; 9], "{csv}");
    assert!(csv.contains("siblings first,2,0.5,0.504,arm1,0.5,"), "{csv}");
}
