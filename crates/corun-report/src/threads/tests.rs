use corun_record::{
    Advice, Arm, Candidate, Caveat, Estimate, Goal, MachineSummary, Metric, Mode, Observation,
    Record, ScreeningRun, Source, Standing, SweepDesign, ThreadAnswer, ThreadSweep, ThreadVerdict,
    Workload,
};

use super::*;
use crate::screen::View;

fn arm(id: &str, workers: u32) -> Arm {
    Arm {
        id: id.to_owned(),
        ..Arm::new(
            id.parse().unwrap(),
            workers,
            workers.min(4),
            if id.starts_with("free") { Vec::new() } else { (0..workers).collect() },
        )
    }
}

fn observation(metric: Metric, arm: &str, [value, low, high]: [f64; 3]) -> Observation {
    Observation {
        metric,
        arm: arm.to_owned(),
        against: None,
        of: None,
        unit: "1".to_owned(),
        estimate: Estimate { value, low, high, level: 0.95, blocks: 8 },
        bootstrap: None,
        source: Source::Measured,
    }
}

fn sweep() -> Record<ThreadSweep> {
    let candidate = |id: &str, workers, standing| Candidate {
        arm: arm(id, workers),
        blocks: 8,
        screening: None,
        standing,
        failure: (standing == Standing::Failed)
            .then(|| "expected exit status 0, found exit status 1".to_owned()),
    };
    let mut observations = Vec::new();
    for (id, relative, time) in [
        ("spread@2", Some([0.5, 0.48, 0.52]), 2.0),
        ("spread@4", None, 1.0),
        ("full", Some([0.99, 0.97, 1.01]), 1.01),
        ("free@8", Some([0.4, 0.01, 9.0]), 2.5),
    ] {
        observations.extend(relative.map(|it| observation(Metric::RelativeToChosen, id, it)));
        observations.push(observation(Metric::Makespan, id, [time; 3]));
        observations.push(observation(Metric::Throughput, id, [1.0 / time; 3]));
        observations.push(observation(Metric::EnergyPerOperation, id, [30.0 * time; 3]));
    }
    let advice = |tool: &str, line: &str, fits| Advice {
        tool: tool.to_owned(),
        line: line.to_owned(),
        fits,
    };
    let sweep = ThreadSweep {
        workload: Workload {
            name: "solver".to_owned(),
            command: ["./solver", "-j", "{workers}"].map(str::to_owned).to_vec(),
            parameters: Default::default(),
            mode: Mode::WorkersTotal,
            operation: "runs".to_owned(),
            operations: 1.0,
            steady: false,
            load: None,
            program: None,
            input: None,
            prepare: None,
        },
        goal: Goal::Throughput,
        answer: Some(ThreadAnswer {
            verdict: ThreadVerdict::Equal,
            sentence: "Use 4 workers (one on each core): 4 to 8 workers are equal within 2 %, and \
                       these are the fewest."
                .to_owned(),
            arm: "spread@4".to_owned(),
            workers: 4,
            equal: vec!["full".to_owned()],
            undecided: Vec::new(),
            regret: Some(0.01),
            to_decide: None,
        }),
        unknown: vec!["Whether two logical CPUs share a core of the host.".to_owned()],
        limits: vec!["The control group /job may use the CPU time of 6.00 CPUs.".to_owned()],
        candidates: vec![
            candidate("spread@2", 2, Standing::Worse),
            candidate("spread@3", 3, Standing::Failed),
            candidate("spread@4", 4, Standing::Chosen),
            candidate("full", 8, Standing::Equal),
            candidate("free@8", 8, Standing::Undecided),
        ],
        advice: vec![
            advice("taskset", "taskset -c 0-3 ./solver -j 4", true),
            advice("Slurm", "srun --ntasks=1 ./solver -j 4", false),
        ],
        design: SweepDesign {
            seed: 1,
            blocks: 8,
            runs: 40,
            full_grid: 20,
            warmup: 1,
            confidence: 0.95,
            practical: 0.02,
            interim_analyses: Vec::new(),
            max_time_s: 120.0,
        },
        observations,
        samples: Vec::new(),
    };
    Record {
        machine: Some(MachineSummary {
            cpu_model: Some("A CPU".to_owned()),
            cores: 4,
            online_cpus: 8,
            allowed_cpus: 8,
            smt_width: 2,
            ..MachineSummary::default()
        }),
        caveats: vec![Caveat::new("load", "Other work was seen.")],
        ..Record::new("2026-01-01T00:00:00Z".to_owned(), 42.0, sweep)
    }
}

#[test]
fn the_answer_the_bars_and_the_lines_follow_each_other() {
    insta::assert_snapshot!(threads_to_terminal(&sweep(), 80, false));
}

#[test]
fn sixty_columns_are_enough() {
    let text = threads_to_terminal(&sweep(), 60, true);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn an_interval_over_orders_of_magnitude_is_not_shown() {
    let text = threads_to_terminal(&sweep(), 80, false);
    assert!(!text.contains("9.00"), "{text}");
}

#[test]
fn tables_for_other_programs_have_every_candidate() {
    let csv = threads_to_csv(&sweep());
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.len() > 10 && columns.iter().all(|&it| it == columns[0]), "{csv}");
    let markdown = threads_to_markdown(&sweep());
    for id in ["spread@2", "spread@3", "spread@4", "full", "free@8"] {
        assert!(markdown.contains(id), "{markdown}");
    }
}

/// A sweep with as many candidates as a large machine has, and more caveats than a screen has room for.
fn large(verdict: ThreadVerdict) -> Record<ThreadSweep> {
    let mut sweep = sweep();
    for workers in 9..24 {
        sweep.body.candidates.push(Candidate {
            arm: arm(&format!("free@{workers}"), workers),
            blocks: 0,
            screening: Some(ScreeningRun { seconds: 3.0, is_ended: workers > 12 }),
            standing: Standing::Worse,
            failure: None,
        });
    }
    for kind in ["virtual-machine", "steal", "load", "outliers", "doctor-quota"] {
        let sentence = format!(
            "{kind}: a long sentence on what limits trust here, {}.",
            "and more ".repeat(9)
        );
        sweep.caveats.push(Caveat::new(kind, sentence));
    }
    let answer = sweep.body.answer.as_mut().unwrap();
    answer.verdict = verdict;
    answer.to_decide = (!verdict.is_answer()).then(|| "90 s more (--max-time 210s)".to_owned());
    sweep
}

#[test]
fn a_screen_holds_the_picture_and_last_the_answer_and_what_to_do() {
    let view = View { is_terminal: true, ..View::of_file(80) };
    for verdict in [ThreadVerdict::Equal, ThreadVerdict::Undecided] {
        let text = threads_to_screen(&large(verdict), &view);
        assert!(text.lines().count() <= 23, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("spread@4") < at("Use 4 workers"), "{text}");
        assert!(at("Use 4 workers") < at("To do:") && at("To do:") < at("Limits:"), "{text}");
        let recipe = text.contains("taskset -c 0-3 ./solver -j 4");
        assert_eq!(recipe, verdict.is_answer(), "{text}");
        assert_eq!(text.contains("90 s more"), !verdict.is_answer(), "{text}");
    }
    let text = threads_to_screen(&large(ThreadVerdict::Equal), &View::of_file(80));
    assert!(text.starts_with("Use 4 workers"), "{text}");
}
