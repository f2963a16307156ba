//! Arms on machines of many shapes: which logical CPU each worker gets, and what is not possible.

use corun_machine::CpuSet;
use corun_measure::comparison::{comparisons, headline};
use corun_measure::cores::Core;
use corun_measure::layout::{Layout, LayoutError, LayoutRequest};
use corun_record::{Metric, Placement, SmtState, Variant};

/// `count` cores whose siblings are numbered as Linux does on x86: n, n + count, n + 2 count, ...
fn cores(count: u32, width: u32) -> Vec<Core> {
    (0..count)
        .map(|core| {
            let cpus: Vec<u32> = (0..width).map(|sibling| core + sibling * count).collect();
            Core { online_siblings: cpus.clone(), cpus, core_type: None, numa_node: Some(0) }
        })
        .collect()
}

fn request() -> LayoutRequest {
    LayoutRequest { no_siblings: "no siblings here".to_owned(), ..LayoutRequest::default() }
}

fn show(layout: &Layout) -> String {
    let arms = layout.arms.iter().filter(|arm| arm.twin_of.is_none()).map(|arm| {
        let idle = match arm.idle_siblings.is_empty() {
            true => String::new(),
            false => format!(" idle {:?}", arm.idle_siblings),
        };
        format!("{} x{} {:?}{idle}", arm.id, arm.workers, arm.cpus)
    });
    let impossible =
        layout.not_possible.iter().map(|no| format!("no {}: {}", no.placement, no.reason));
    arms.chain(impossible).collect::<Vec<_>>().join("\n")
}

fn shape(cores: &[Core]) -> String {
    show(&Layout::new(cores, &request()).unwrap())
}

#[test]
fn two_cores_of_two_siblings() {
    insta::assert_snapshot!(shape(&cores(2, 2)), @r"
    single x1 [0] idle [2]
    spread x2 [0, 1] idle [2, 3]
    full x4 [0, 2, 1, 3]
    packed x2 [0, 2]
    stacked x4 [0, 0, 1, 1] idle [2, 3]
    free x4 []
    ");
}

#[test]
fn one_core_of_four_siblings() {
    insta::assert_snapshot!(shape(&cores(1, 4)), @r"
    spread x1 [0] idle [1, 2, 3]
    full@2 x2 [0, 1] idle [2, 3]
    full@3 x3 [0, 1, 2] idle [3]
    full x4 [0, 1, 2, 3]
    stacked x4 [0, 0, 0, 0] idle [1, 2, 3]
    free x4 []
    no single: one core is used, so it is the same arm as spread
    no packed: expected at least 4 cores, since packed puts the workers of 4 cores on one, found 1
    ");
}

#[test]
fn two_cores_without_siblings() {
    insta::assert_snapshot!(shape(&cores(2, 1)), @r"
    single x1 [0]
    spread x2 [0, 1]
    stacked x4 [0, 0, 1, 1]
    free x2 []
    no full: no siblings here
    no packed: no siblings here
    ");
}

#[test]
fn five_cores_are_made_even_so_that_packed_compares_like_with_like() {
    let layout = Layout::new(&cores(5, 2), &request()).unwrap();
    let packed = layout.arms.iter().find(|arm| arm.placement == Placement::Packed(None)).unwrap();
    assert_eq!((packed.workers, packed.cores), (4, 2));
    assert_eq!(layout.cores["all"], [0, 1, 2, 3]);
}

#[test]
fn an_odd_number_of_cores_asked_for_gets_a_spread_of_packed_s_size() {
    let layout = Layout::new(&cores(5, 2), &LayoutRequest { cores: Some(5), ..request() }).unwrap();
    let found = comparisons(&layout.arms);
    let equivalence =
        found.iter().find(|it| it.metric == corun_record::Metric::CoreEquivalence).unwrap();
    assert_eq!((equivalence.arm.as_str(), equivalence.against.as_str()), ("packed", "spread@4"));
}

#[test]
fn a_core_with_a_sibling_offline_or_forbidden_is_left_out_of_smt_arms() {
    let mut machine = cores(3, 2);
    machine[1].cpus = vec![1];
    let layout = Layout::new(&machine, &request()).unwrap();
    assert!(layout.arms.iter().all(|arm| !arm.cpus.contains(&1)), "{}", show(&layout));
}

#[test]
fn siblings_that_may_not_be_used_still_ought_to_be_idle() {
    let mut machine = cores(1, 2);
    machine[0].cpus = vec![0];
    let layout = Layout::new(&machine, &request()).unwrap();
    assert_eq!(layout.arms[0].idle_siblings, [1]);
}

#[test]
fn hybrid_machines_never_mix_core_types() {
    let mut machine = cores(2, 2);
    for core in &mut machine {
        core.core_type = Some("performance".to_owned());
    }
    machine.extend((4..6).map(|cpu| Core {
        cpus: vec![cpu],
        online_siblings: vec![cpu],
        core_type: Some("efficiency".to_owned()),
        numa_node: Some(0),
    }));
    insta::assert_snapshot!(shape(&machine), @r"
    single:performance x1 [0] idle [2]
    spread:performance x2 [0, 1] idle [2, 3]
    full:performance x4 [0, 2, 1, 3]
    packed:performance x2 [0, 2]
    stacked:performance x4 [0, 0, 1, 1] idle [2, 3]
    single:efficiency x1 [4]
    spread:efficiency x2 [4, 5]
    stacked:efficiency x4 [4, 4, 5, 5]
    free x6 []
    no full: no siblings here
    no packed: no siblings here
    ");
    let one_type = LayoutRequest { core_type: Some("efficiency".to_owned()), ..request() };
    let layout = Layout::new(&machine, &one_type).unwrap();
    assert!(layout.arms.iter().all(|arm| arm.cpus.iter().all(|cpu| *cpu >= 4)));
}

#[test]
fn every_arm_has_a_twin_that_differs_in_name_only() {
    let layout = Layout::new(&cores(2, 2), &request()).unwrap();
    for pair in layout.arms.chunks(2) {
        assert_eq!(pair[1].twin_of.as_ref(), Some(&pair[0].id));
        assert_eq!(pair[1].cpus, pair[0].cpus);
        assert_eq!(pair[1].workers, pair[0].workers);
    }
}

#[test]
fn a_shared_line_is_tried_where_several_workers_could_share_one() {
    let variant = Variant {
        name: "shared-line".to_owned(),
        parameter: "granularity".to_owned(),
        value: "32".to_owned(),
    };
    let layout =
        Layout::new(&cores(2, 2), &LayoutRequest { variant: Some(variant), ..request() }).unwrap();
    let varied: Vec<&str> = layout
        .arms
        .iter()
        .filter(|arm| arm.variant.is_some() && arm.twin_of.is_none())
        .map(|arm| arm.id.as_str())
        .collect();
    assert_eq!(varied, ["spread/shared-line", "full/shared-line"]);
}

#[test]
fn what_was_named_and_cannot_be_is_an_error() {
    let named = |placement| LayoutRequest { placements: vec![placement], ..request() };
    let refused = |cores: &[Core], placement| Layout::new(cores, &named(placement)).unwrap_err();
    assert!(matches!(refused(&cores(2, 1), Placement::Full(None)), LayoutError::Impossible { .. }));
    assert!(matches!(
        refused(&cores(2, 2), Placement::Full(Some(3))),
        LayoutError::Impossible { .. }
    ));
    assert!(matches!(
        refused(&cores(2, 2), Placement::Spread(Some(3))),
        LayoutError::Impossible { .. }
    ));
    let with = |wanted| Layout::new(&cores(2, 2), &LayoutRequest { cores: wanted, ..request() });
    assert_eq!(with(Some(0)).unwrap_err(), LayoutError::NoWorker);
    assert!(matches!(with(Some(3)).unwrap_err(), LayoutError::TooManyCores { .. }));
    assert_eq!(Layout::new(&[], &request()).unwrap_err(), LayoutError::NoCpu);
}

#[test]
fn the_headline_is_the_yield_of_all_siblings_or_else_what_the_cores_do() {
    let about = |count, width| {
        let layout = Layout::new(&cores(count, width), &request()).unwrap();
        let found = comparisons(&layout.arms);
        let first = headline(&found).unwrap();
        format!("{} {} / {}", first.metric.name(), first.arm, first.against)
    };
    assert_eq!(about(2, 2), "SMT yield full / spread");
    assert_eq!(about(1, 4), "SMT yield full / spread");
    // Time slices are a control for siblings, which nobody has asked for here.
    assert_eq!(about(2, 1), "scaling spread / single");
}

#[test]
fn comparisons_name_their_arms() {
    let layout = Layout::new(&cores(4, 2), &request()).unwrap();
    let lines: Vec<String> = comparisons(&layout.arms)
        .iter()
        .map(|it| format!("{}: {} / {} x{}", it.metric.name(), it.arm, it.against, it.factor))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_sweep_compares_with_its_fewest_workers() {
    let of = |placements: &str| {
        let placements = placements.split(',').map(|it| it.parse().unwrap()).collect();
        let wanted = LayoutRequest { placements, ..request() };
        let layout = Layout::new(&cores(4, 4), &wanted).unwrap();
        let all = comparisons(&layout.arms);
        let told: Vec<String> = all
            .iter()
            .filter(|it| it.is_judged())
            .map(|it| format!("{} {} / {}", it.metric.name(), it.arm, it.against))
            .collect();
        let first = headline(&all).map_or("", |it| it.arm.as_str());
        format!("{}; {first} first", told.join(", "))
    };
    insta::assert_snapshot!(
        [
            of("spread@1,spread@2,free@4"),
            of("free@2,spread@2,free@1,spread@1"),
            of("full@2,full@3"),
            of("spread,full@2"),
            of("single,free@3"),
            of("spread@2,free@2"),
        ]
        .join("\n"),
        @r"
    speedup spread@2 / spread@1, speedup free@4 / spread@1; free@4 first
    speedup spread@2 / spread@1, free placement free@2 / spread@2, speedup free@2 / spread@1, free placement free@1 / spread@1; free@2 first
    speedup full@3 / full@2; full@3 first
    SMT yield full@2 / spread; full@2 first
    speedup free@3 / single; free@3 first
    free placement free@2 / spread@2; free@2 first
    "
    );
}

#[test]
fn a_switched_experiment_runs_again_what_leaves_siblings_alone() {
    let layout = Layout::new(&cores(2, 2), &switched()).unwrap();
    let states = layout.arms.iter().filter(|arm| arm.twin_of.is_none());
    let states: Vec<String> = states
        .map(|arm| {
            format!("{} x{} {}", arm.id, arm.workers, arm.smt.expect("a state for every arm"))
        })
        .collect();
    insta::assert_snapshot!(states.join("\n"), @r"
    single x1 on
    spread x2 on
    full x4 on
    packed x2 on
    stacked x4 on
    free x4 on
    spread/smt-off x2 off
    stacked/smt-off x4 off
    free/smt-off x4 off
    ");
    let compared: Vec<String> = comparisons(&layout.arms)
        .iter()
        .filter(|it| it.metric != Metric::RelativeThroughput)
        .map(|it| format!("{}: {} / {}", it.metric.name(), it.arm, it.against))
        .collect();
    insta::assert_snapshot!(compared.join("\n"), @r"
    scaling: spread / single
    SMT yield: full / spread
    sibling slowdown: full / spread
    multitasking gain: full / stacked
    yield by switching: full / spread/smt-off
    multitasking gain: full / stacked/smt-off
    core equivalence: packed / spread
    time slicing: stacked / spread
    free placement: free / full
    switch gain: free / free/smt-off
    time slicing: stacked/smt-off / spread/smt-off
    ");
    let all = comparisons(&layout.arms);
    assert_eq!(headline(&all).map(|it| it.metric), Some(Metric::SwitchGain));
}

#[test]
fn switched_arms_need_the_logical_cpus_that_stay() {
    // This process may use both siblings of core 0, and the second one of core 1.
    let mut some = cores(2, 2);
    some[1].cpus.remove(0);
    let named = |placements: &[Placement]| LayoutRequest {
        placements: placements.to_vec(),
        cores: Some(1),
        ..switched()
    };
    let both = named(&[Placement::Spread(None), Placement::Full(None)]);
    let layout = Layout::new(&some, &both).unwrap();
    let off = layout.arms.iter().filter(|arm| arm.smt == Some(SmtState::Off));
    let off: Vec<&str> = off.map(|arm| arm.id.as_str()).collect();
    assert_eq!(off, ["spread/smt-off", "spread/smt-off.aa"]);

    // Nothing is left of what the process may use, for pinned workers and free ones alike.
    let only_second = [some.remove(1)];
    let nothing = Layout::new(&only_second, &switched());
    assert_eq!(nothing, Err(LayoutError::NothingWithSmtOff));
    let full = Layout::new(&cores(2, 2), &named(&[Placement::Full(None)]));
    assert_eq!(full, Err(LayoutError::NothingWithSmtOff));
}

/// The second sibling of each of two cores goes.
fn switched() -> LayoutRequest {
    LayoutRequest { taken_by_smt_off: Some(CpuSet::from([2, 3])), ..request() }
}

fn listed(arms: &[&str], placements: &[Placement]) -> LayoutRequest {
    LayoutRequest {
        listed: arms.iter().map(|arm| arm.parse().unwrap()).collect(),
        placements: placements.to_vec(),
        ..request()
    }
}

#[test]
fn arms_that_list_their_cpus_are_the_only_ones_unless_placements_are_named() {
    let siblings_and_cores = ["siblings=0,2", "cores=1,0"];
    let only = Layout::new(&cores(2, 2), &listed(&siblings_and_cores, &[])).unwrap();
    insta::assert_snapshot!(show(&only), @r"
    siblings x2 [0, 2]
    cores x2 [1, 0] idle [2, 3]
    ");
    let on: Vec<u32> = only.arms.iter().map(|arm| arm.cores).collect();
    assert_eq!((&on[..], &only.cores["all"][..]), (&[1, 1, 2, 2][..], &[0, 1][..]));
    let one = Layout::new(&cores(2, 2), &listed(&["siblings=1,3"], &[])).unwrap();
    assert_eq!(one.cores["all"], [1]);

    let more = listed(&["all=0-3"], &[Placement::Spread(None), Placement::Free(Some(2))]);
    insta::assert_snapshot!(show(&Layout::new(&cores(2, 2), &more).unwrap()), @r"
    all x4 [0, 1, 2, 3]
    spread x2 [0, 1] idle [2, 3]
    free@2 x2 []
    ");
    let unknown = Layout::new(&cores(2, 2), &listed(&["all=0-4"], &[])).unwrap_err();
    insta::assert_snapshot!(
        unknown,
        @"--arm all: expected logical CPUs that workers may use, found 4, which is none of 0-3"
    );
}

#[test]
fn all_arms_are_compared_with_the_first_that_lists_its_cpus() {
    let placements = [Placement::Spread(None), Placement::Full(None)];
    let request = listed(&["siblings=0,2", "cores=0,1"], &placements);
    let found = comparisons(&Layout::new(&cores(2, 2), &request).unwrap().arms);
    let to_first = found.iter().filter(|it| it.metric == Metric::RelativeToFirst);
    let to_first: Vec<_> = to_first.map(|it| (it.arm.as_str(), it.against.as_str())).collect();
    assert_eq!(to_first, [("cores", "siblings"), ("spread", "siblings"), ("full", "siblings")]);
    let first = headline(&found).unwrap();
    assert_eq!((first.metric, first.arm.as_str()), (Metric::RelativeToFirst, "cores"));
    // What placements alone are about is still said.
    assert!(found.iter().any(|it| it.metric == Metric::SmtYield));
}
