//! Reports over clusters that do not exist: what is said of types, of nodes, and of few of them.

mod cluster;

use cluster::{Cluster, Node};
use corun_nodes::{NodeRun, ReportRequest, report};
use corun_record::{
    Answer, Caveat, EndReason, FigureOverNodes, FleetReport, HardwareType, Metric, NodeFindingKind,
    ThreadVerdict,
};

fn request() -> ReportRequest {
    ReportRequest {
        campaign: Some("it".to_owned()),
        confidence: 0.95,
        practical: 0.02,
        error_rate: 0.05,
        unmeasured: Vec::new(),
    }
}

fn reported(runs: &[NodeRun]) -> (FleetReport, Vec<Caveat>) {
    report(runs, &request())
}

fn yielded(of_type: &HardwareType) -> &FigureOverNodes {
    let figures = &of_type.programs[0].figures;
    figures.iter().find(|it| it.metric == Metric::SmtYield).expect("a yield")
}

/// The kinds of finding of a node.
fn kinds(report: &FleetReport, node: &str) -> Vec<NodeFindingKind> {
    let odd = report.types.iter().flat_map(|it| &it.odd_nodes).filter(|it| it.node == node);
    let mut kinds: Vec<_> = odd.flat_map(|it| &it.findings).map(|it| it.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn odd_names(report: &FleetReport) -> Vec<&str> {
    report.types.iter().flat_map(|it| &it.odd_nodes).map(|it| it.node.as_str()).collect()
}

#[test]
fn types_are_kept_apart() {
    let mut runs = Cluster::of(12).runs(1, |_| ());
    let other = Cluster { model: "Another", nodes: 6, yielded: -0.1, ..Cluster::of(6) };
    runs.extend(other.runs(2, |node| node.name = format!("m{}", node.name)));
    let (report, _) = reported(&runs);
    let names: Vec<&str> = report.types.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Made up, 4 cores of 2 threads, L2 2 MiB, L3 32 MiB",
            "Another, 4 cores of 2 threads, L2 2 MiB, L3 32 MiB"
        ]
    );
    let answers: Vec<_> = report.types.iter().map(|it| it.programs[0].answer).collect();
    assert_eq!(answers, [Some(Answer::Helps), Some(Answer::Hurts)]);
    for (of_type, log) in report.types.iter().zip([0.2_f64, -0.1]) {
        let mean = yielded(of_type).mean.unwrap();
        assert!(mean.low < log.exp() && log.exp() < mean.high, "{mean:?}");
        assert_eq!(mean.blocks as usize, of_type.nodes.len());
    }
    assert!(odd_names(&report).is_empty(), "{:?}", report.types);
    let best: Vec<_> = report.types.iter().filter_map(|it| it.programs[0].best.clone()).collect();
    assert_eq!([best[0].arm.as_str(), &best[1].arm], ["full", "spread"]);
    assert_eq!((best[0].workers, best[0].verdict), (8, ThreadVerdict::Best));
}

#[test]
fn what_is_wrong_with_a_node_is_named_with_its_evidence() {
    let odd = |node: &mut Node| match node.name.as_str() {
        // Throttled to two thirds.
        "n3" => (node.speed, node.clock) = (node.speed - 0.4, 2.0),
        // Something else runs there.
        "n5" => (node.speed, node.foreign) = (node.speed - 0.3, 0.25),
        // Another frequency policy.
        "n7" => node.machine.governors = vec!["powersave".to_owned()],
        // SMT off in the firmware.
        "n9" => {
            node.machine.smt_width = 1;
            node.machine.smt_control = Some("notsupported".to_owned());
            node.machine.smt_active = Some(false);
            node.machine.online_cpus = 4;
            node.machine.allowed_cpus = 4;
        }
        // Slow for no reason that can be seen.
        "n11" => node.speed -= 0.3,
        // The kernel refuses SMT.
        "n13" => node.yielded = 0.02,
        _ => {}
    };
    let (report, _) = reported(&Cluster::of(30).runs(3, odd));
    use NodeFindingKind::{Disturbed, Setting, SiblingsHidden, Slow, Throttled, Yield};
    assert_eq!(kinds(&report, "n3"), [Slow, Throttled]);
    assert_eq!(kinds(&report, "n5"), [Slow, Disturbed]);
    assert_eq!(kinds(&report, "n7"), [Setting]);
    assert_eq!(kinds(&report, "n9"), [SiblingsHidden]);
    assert_eq!(kinds(&report, "n11"), [Slow]);
    assert!(kinds(&report, "n13").contains(&Yield));
    assert_eq!(odd_names(&report).len(), 6, "{:?}", odd_names(&report));
    let sentences: Vec<String> = report
        .types
        .iter()
        .flat_map(|it| &it.odd_nodes)
        .flat_map(|odd| odd.findings.iter().map(|it| format!("{}: {}", odd.node, it.sentence)))
        .filter(|it| !it.contains("deviations off") || it.contains("explains it"))
        .collect();
    let has = |words: &str| sentences.iter().any(|it| it.contains(words));
    assert!(has("n3: its clock was 33 % below that of the other nodes"), "{sentences:#?}");
    assert!(has("n5: other work took 25 % of the time of its CPUs"), "{sentences:#?}");
    assert!(
        has("n7: governor: powersave, while 28 of 29 nodes have performance"),
        "{sentences:#?}"
    );
    assert!(
        has(
            "n9: threads a core: 1, while 29 nodes with the same CPU have 2: SMT is off in the firmware"
        ),
        "{sentences:#?}"
    );
    assert!(has("neither its settings nor its clock nor other work explains it"), "{sentences:#?}");
    // What does not belong to the others is left out of the mean, and shown with it.
    let found = yielded(&report.types[0]);
    assert!(found.mean_with_outlying.is_some());
    let mean = found.mean.unwrap();
    assert!(mean.low < 0.2_f64.exp() && 0.2_f64.exp() < mean.high, "{mean:?}");
    assert!(
        report.advice.iter().any(|it| it.line.starts_with("srun --nodes=6 --nodelist=n11,n13,n3"))
    );
}

#[test]
fn repeats_separate_runs_from_nodes() {
    let once = reported(&Cluster::of(20).runs(5, |_| ()));
    assert_eq!(yielded(&once.0.types[0]).between_runs, None);
    assert!(once.1.iter().any(|it| it.kind == "no-repeats"));
    let cluster = Cluster { repeats: 3, ..Cluster::of(20) };
    let (report, caveats) = reported(&cluster.runs(5, |_| ()));
    let found = yielded(&report.types[0]);
    assert!(found.between_runs.unwrap() < 0.005, "{found:?}");
    assert!(found.values.iter().all(|it| it.runs == 3));
    assert_eq!(report.types[0].programs[0].runs, 60);
    assert!(!caveats.iter().any(|it| it.kind == "no-repeats"));
    let [low, high] = found.between_nodes_interval.unwrap();
    assert!(low < 0.01 && 0.01 < high, "{found:?}");
}

#[test]
fn few_nodes_say_what_they_can() {
    let of = |nodes| reported(&Cluster::of(nodes).runs(7, |_| ()));
    let (one, caveats) = of(1);
    let figure = yielded(&one.types[0]);
    assert_eq!((figure.mean, figure.further_node, figure.between_nodes), (None, None, None));
    assert!((figure.values[0].estimate.value - 0.2_f64.exp()).abs() < 0.1);
    // The run on it had no verdict.
    assert_eq!(one.types[0].programs[0].answer, None);
    assert!(caveats.iter().any(|it| it.sentence.contains("one node was measured")));
    let (two, caveats) = of(2);
    let figure = yielded(&two.types[0]);
    assert!(figure.mean.is_some() && figure.further_node.is_none());
    assert!(caveats.iter().any(|it| it.sentence.contains("neither can be called the odd one")));
    let (three, _) = of(3);
    let figure = yielded(&three.types[0]);
    let (mean, further) = (figure.mean.unwrap(), figure.further_node.unwrap());
    assert!(further.low < mean.low && mean.high < further.high);
    let (none, _) = reported(&[]);
    assert!(none.types.is_empty() && none.advice.is_empty());
}

#[test]
fn runs_that_were_cut_short_do_not_count() {
    let mut runs = Cluster::of(5).runs(8, |_| ());
    runs[4].run.ending.reason = EndReason::Interrupted;
    let (report, caveats) = reported(&runs);
    assert_eq!(report.types[0].nodes, ["n1", "n2", "n3", "n4"]);
    let partial = caveats.iter().find(|it| it.kind == "partial-runs").unwrap();
    assert!(partial.sentence.contains("(1 of them, on n5)"), "{}", partial.sentence);
}

#[test]
fn an_arm_without_siblings_is_another_arm() {
    let mut runs = Cluster::of(8).runs(9, |_| ());
    let hidden = Cluster::of(8).runs(9, |_| ()).into_iter().map(|mut run| {
        run.condition = Some("nomultithread".to_owned());
        run.run.machine.allowed_cpus = 4;
        run.run.arms.retain(|it| it.id == "spread");
        run.run.observations.retain(|it| it.arm == "spread");
        run.run.samples.retain(|it| it.arm == "spread");
        run
    });
    runs.extend(hidden);
    let (report, _) = reported(&runs);
    assert_eq!(report.types.len(), 1, "fewer allowed CPUs make no other type");
    assert!(odd_names(&report).is_empty(), "{:?}", report.types[0].odd_nodes);
    let program = &report.types[0].programs[0];
    assert!(program.figures.iter().any(|it| it.arm == "spread (nomultithread)"));
    assert_eq!(program.best.as_ref().unwrap().arm, "full");
}

#[test]
fn outlying_nodes_of_many_are_found_and_seldom_others() {
    const CAMPAIGNS: u64 = 100;
    let cluster = Cluster { noise: 0.004, ..Cluster::of(400) };
    // Six deviations of a node's speed below what it would have: 6 %.
    let odd = |node: &mut Node| {
        if node.name == "n17" {
            node.speed -= 6.0 * 0.01_f64.hypot(0.004 / 8_f64.sqrt());
        }
    };
    let (mut found, mut with_others, mut covered) = (0, 0, 0);
    for campaign in 0..CAMPAIGNS {
        let (report, _) = reported(&cluster.runs(campaign, odd));
        let names = odd_names(&report);
        found += u64::from(names.contains(&"n17"));
        with_others += u64::from(names.iter().any(|it| *it != "n17"));
        let mean = yielded(&report.types[0]).mean.unwrap();
        covered += u64::from(mean.low <= 0.2_f64.exp() && 0.2_f64.exp() <= mean.high);
    }
    eprintln!(
        "of {CAMPAIGNS} campaigns: found in {found}, others named in {with_others}, mean covered in {covered}"
    );
    // The true shares are above 0.95, below 0.05 and 0.95: three standard errors are 6.5 of 100.
    assert!(found >= 89, "{found}");
    assert!(with_others <= 11, "{with_others}");
    assert!(covered >= 88, "{covered}");
}

#[test]
fn an_arm_of_a_search_that_few_nodes_measured_is_not_compared() {
    let mut runs = Cluster::of(6).runs(7, |_| {});
    for (index, run) in runs.iter_mut().enumerate() {
        run.is_search = true;
        // A number of threads that only some searches came to.
        if index < 3 {
            let mut arm = run.run.arms[0].clone();
            (arm.id, arm.workers) = ("spread@3".to_owned(), 3);
            run.run.arms.push(arm);
            let mut more: Vec<_> =
                run.run.samples.iter().filter(|it| it.arm == "spread").cloned().collect();
            for sample in &mut more {
                sample.arm = "spread@3".to_owned();
                sample.throughput *= 3.0;
            }
            run.run.samples.extend(more);
        }
    }
    let best = |runs: &[NodeRun]| {
        let (report, _) = report(runs, &request());
        report.types[0].programs[0].best.clone().unwrap().arm
    };
    assert_eq!(best(&runs), "full");
    for run in &mut runs {
        run.is_search = false;
    }
    assert_eq!(best(&runs), "spread@3");
}
