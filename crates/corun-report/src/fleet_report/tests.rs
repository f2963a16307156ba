use corun_record::{
    Advice, Answer, BestOverNodes, Caveat, Estimate, FigureOverNodes, FleetReport, HardwareType,
    Metric, NodeFinding, NodeFindingKind, NodeValue, OddNode, OutlyingValue, ProgramOverNodes,
    Record, ThreadVerdict, UnmeasuredNode,
};

use super::*;

fn estimate(value: f64, reach: f64, blocks: u32) -> Estimate {
    Estimate { value, low: value / reach, high: value * reach, level: 0.95, blocks }
}

fn figure(metric: Metric, arm: &str, value: f64) -> FigureOverNodes {
    let is_yield = metric == Metric::SmtYield;
    let node = |index: u32| NodeValue {
        node: format!("n{index}"),
        runs: 3,
        estimate: estimate(if index == 5 { value * 0.7 } else { value }, 1.003, 30),
        outlying: (index == 5).then_some(OutlyingValue {
            ratio: 0.7,
            deviations: -17.0,
            probability: 1e-6,
        }),
    };
    FigureOverNodes {
        metric,
        arm: arm.to_owned(),
        against: is_yield.then(|| "spread".to_owned()),
        unit: if is_yield { "1" } else { "operations/s" }.to_owned(),
        mean: Some(estimate(value, 1.01, 4)),
        mean_with_outlying: Some(estimate(value * 0.93, 1.2, 5)),
        further_node: Some(estimate(value, 1.03, 4)),
        between_nodes: Some(0.012),
        between_nodes_interval: Some([0.006, 0.045]),
        within_node: 0.003,
        between_runs: Some(0.002),
        values: (1..=5).map(node).collect(),
    }
}

fn record() -> Record<FleetReport> {
    let finding = |kind, sentence: &str| NodeFinding { kind, sentence: sentence.to_owned() };
    let program = |workload: &str, answer| ProgramOverNodes {
        workload: workload.to_owned(),
        runs: 15,
        answer: Some(answer),
        best: Some(BestOverNodes {
            verdict: ThreadVerdict::Equal,
            arm: "spread".to_owned(),
            workers: 4,
            equal: vec!["full".to_owned()],
            undecided: Vec::new(),
        }),
        figures: vec![
            figure(Metric::SmtYield, "full", 1.21),
            figure(Metric::Throughput, "full", 24_000.0),
        ],
    };
    let of_type = |name: &str, answer| HardwareType {
        name: name.to_owned(),
        cpu_model: Some("Made up".to_owned()),
        cores: 4,
        smt_width: 2,
        nodes: (1..=5).map(|it| format!("n{it}")).collect(),
        programs: vec![program("solver", answer)],
        odd_nodes: vec![
            OddNode {
                node: "n4".to_owned(),
                findings: vec![finding(
                    NodeFindingKind::Setting,
                    "governor: powersave, while 3 of 5 nodes have performance",
                )],
            },
            OddNode {
                node: "n5".to_owned(),
                findings: vec![
                    finding(
                        NodeFindingKind::Slow,
                        "throughput of full: 0.700 times that of the other nodes, 17.0 deviations off (p-value below 0.01 %)",
                    ),
                    finding(
                        NodeFindingKind::Setting,
                        "governor: powersave, while 3 of 5 nodes have performance",
                    ),
                ],
            },
        ],
    };
    let report = FleetReport {
        campaign: Some("yield of *the* solver".to_owned()),
        confidence: 0.95,
        practical: 0.02,
        error_rate: 0.05,
        types: vec![of_type("Made up, 4 cores of 2 threads", Answer::Helps)],
        unmeasured: vec![UnmeasuredNode {
            node: "n9".to_owned(),
            reason: "missing: began on n9 and left no result".to_owned(),
        }],
        advice: vec![Advice {
            tool: "sbatch".to_owned(),
            line: "#SBATCH --hint=multithread".to_owned(),
            fits: true,
        }],
    };
    let mut record = Record::new("2026-01-01T00:00:00Z".to_owned(), 0.1, report);
    record.caveats.push(Caveat::new("few-nodes", "Few nodes were measured.".to_owned()));
    record
}

#[test]
fn the_answer_comes_first_and_nodes_are_named_with_their_evidence() {
    insta::assert_snapshot!(fleet_report_to_terminal(&record(), 100));
}

#[test]
fn every_line_of_prose_fits_a_narrow_terminal() {
    for columns in [60, 80, 132] {
        let text = fleet_report_to_terminal(&record(), columns);
        assert!(text.lines().all(|line| line.chars().count() <= columns.into()), "{text}");
    }
}

#[test]
fn several_types_are_named_in_the_answers() {
    let mut record = record();
    let mut other = record.body.types[0].clone();
    other.name = "Another, 8 cores of 2 threads".to_owned();
    other.programs[0].answer = Some(Answer::Inconclusive);
    other.odd_nodes.clear();
    other.programs[0].best = None;
    record.body.types.push(other);
    insta::assert_snapshot!(fleet_report_in_brief(&record, 200), @r"
    SMT helps solver on Made up, 4 cores of 2 threads: yield 1.21 (95 % interval 1.20 to 1.22) over 4 nodes. Most work: spread with 4 workers, as much as full. 2 nodes differ.
    Whether SMT helps solver on Another, 8 cores of 2 threads is undecided: yield 1.21 (95 % interval 1.20 to 1.22) over 4 nodes.
    ");
}

#[test]
fn markdown_escapes_what_others_wrote() {
    let text = fleet_report_to_markdown(&record());
    assert!(text.starts_with("# yield of \\*the\\* solver\n"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn csv_has_a_row_for_each_node_and_figure() {
    let text = fleet_report_to_csv(&record());
    assert_eq!(text.lines().count(), 1 + 2 * 5);
    assert!(text.lines().all(|line| line.matches(',').count() >= 15), "{text}");
    assert!(text.contains(",n5,3,0.847,"), "{text}");
}

#[test]
fn without_a_result_there_is_no_answer() {
    let record = Record::new(String::new(), 0.0, FleetReport::default());
    assert!(fleet_report_to_terminal(&record, 80).starts_with("No answer"));
}
