//! What a user is shown of predictions: with and without a measurement, and of what is not predicted.

use corun_record::{
    Answer, AttributedCode, CalibratedField, Cause, Caveat, Document, Effect, KnownBy,
    MachineSummary, MeasuredRun, MeasuredSiblings, MissRate, Observation, Placement, PredictedCore,
    PredictedPlacement, PredictedVerdict, PredictedWindow, SiblingClock, SiblingEvidence,
    SimulationCost, StackShare, TracedPart, WhatIf,
};

use super::*;

fn observation(metric: Metric, source: Source, value: f64, half: f64) -> Observation {
    let (low, high) = (value - half, value + half);
    Observation {
        metric,
        arm: "single".to_owned(),
        against: None,
        of: None,
        unit: "1".to_owned(),
        estimate: Estimate { value, low, high, level: 0.95, blocks: 5 },
        bootstrap: None,
        source,
    }
}

fn prediction() -> Prediction {
    let window =
        PredictedWindow { begin: 0, instructions: 5_000_000, cycles: 2_500_000, weight: None };
    let part = |component: &str, share| StackShare { component: component.to_owned(), share };
    let run = MeasuredRun {
        wall_s: 0.5,
        user_s: 0.4,
        kernel_s: 0.01,
        children_share: 0.0,
        ghz: 3.5,
        probes: 40,
        contention_share: Some(0.0),
        steal_s: Some(0.0),
    };
    Prediction {
        format: Prediction::FORMAT.to_owned(),
        version: Prediction::VERSION,
        corun_version: "0.1.0".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        elapsed_s: 12.0,
        command: vec!["gzip".to_owned(), "-kc".to_owned(), "FILE".to_owned()],
        machine: MachineSummary {
            online_cpus: 2,
            allowed_cpus: 2,
            cores: 2,
            smt_width: 1,
            ..Default::default()
        },
        ending: corun_record::Ending::completed(),
        core: PredictedCore {
            sibling_clock: None,
            model: "zen3".to_owned(),
            title: "a core".to_owned(),
            reason: "this host's own".to_owned(),
            is_own: true,
            ghz: 3.5,
            clock: ClockSource::Measured,
            memory: vec![CalibratedField { field: "hierarchy.l2.miss".to_owned(), value: 45.0 }],
        },
        traced: TracedPart {
            skipped: None,
            tracer: "dynamorio".to_owned(),
            threads: 1,
            thread: 0,
            instructions: 2_000_000_000,
            simulated: 10_000_000,
            cost: SimulationCost {
                instructions: 20_000_000,
                cpu_s: 5.0,
                peak_rss_bytes: 300 << 20,
                detailed: None,
            },
            windows: vec![window; 2],
        },
        not_predicted: None,
        simulated_cycles: None,
        observations: vec![
            observation(Metric::Cycles, Source::Predicted, 1e9, 5e7),
            observation(Metric::Cycles, Source::Measured, 1.4e9, 1e7),
            observation(Metric::UserTime, Source::Predicted, 0.286, 0.014),
            observation(Metric::UserTime, Source::Measured, 0.4, 0.003),
            observation(Metric::InstructionsPerCycle, Source::Predicted, 2.0, 0.1),
            observation(Metric::InstructionsPerCycle, Source::Measured, 1.43, 0.01),
            observation(Metric::PredictedToMeasured, Source::Predicted, 0.714, 0.036),
            observation(Metric::KernelShare, Source::Measured, 0.024, 0.001),
        ],
        stack: vec![part("retiring", 0.4), part("dependency", 0.35), part("mispredict", 0.25)],
        beside: Vec::new(),
        stacked: None,
        verdicts: Vec::new(),
        what_if: Vec::new(),
        workload: None,
        seed: Some(1),
        other: None,
        measured_siblings: None,
        mispredicts_per_thousand: 4.9,
        measured: Some(MeasuredRuns {
            cpu: 1,
            warmup: 1,
            method: "brackets".to_owned(),
            tried: 9,
            runs: vec![run; 5],
        }),
        caveats: vec![Caveat::new("alone", "Nothing else is simulated.")],
    }
}

fn shown(prediction: &Prediction) -> String {
    let text = prediction_to_terminal(prediction, &View::of_file(90));
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_warms_and_what_is_timed_have_speeds_of_their_own() {
    let detailed = corun_record::DetailedCost { instructions: 2_000_000, cpu_s: 1.0 };
    let cost = SimulationCost {
        instructions: 50_000_000,
        cpu_s: 5.0,
        peak_rss_bytes: 0,
        detailed: Some(detailed),
    };
    let both = "2.0 million instructions per second in detail, and 12.0 million that warmed caches and predictors";
    assert_eq!(super::speed(&cost), both);
    for all in [None, Some(corun_record::DetailedCost { instructions: 50_000_000, cpu_s: 5.0 })] {
        let whole = SimulationCost { detailed: all, ..cost };
        assert_eq!(super::speed(&whole), "10.0 million instructions per second");
    }
}

#[test]
fn predicted_stands_beside_measured_and_the_cycles_are_explained() {
    insta::assert_snapshot!(shown(&prediction()), @"
    Not to be trusted: alone, the program takes 1.40 times the predicted cycles here, which is
    more than 15 % off.

    gzip -kc FILE
    alone on a core (zen3): this host's own

                 predicted        measured          predicted / measured
    ═════════════════════════════════════════════════════════════════════
     cycles      1.00 G ± 5.0 %   1.40 G ± 0.71 %   0.71 (0.68 to 0.75)
     user time   286 ms ± 4.9 %   400 ms ± 0.75 %   0.71
     IPC         2.00             1.43              1.40

    Simulated: 10,000,000 of 2,000,000,000 instructions in 2 windows, recorded by dynamorio,
    at 4.0 million instructions per second; times at the 3.50 GHz measured here; 4.9 branch
    MPKI.
    Measured: the 5 of 9 runs with the least contention on CPU 1; 2.4 % of its time in kernel
    mode; brackets.
    The last-level cache and memory are those of this machine, measured between the runs:
    hierarchy.l2.miss=45.

    Predicted cycle stack, in issue slots:
    - 40 % retiring: the slot issued a micro-op.
    - 35 % back-end bound, core: the oldest micro-op waited for its operands or executed.
    - 25 % bad speculation: the core recovered from a mispredicted branch.

    What limits trust:
    - Nothing else is simulated.
    ");
}

#[test]
fn without_a_measurement_the_clock_is_the_models() {
    let mut alone = prediction();
    alone.observations.retain(|seen| {
        seen.source == Source::Predicted && seen.metric != Metric::PredictedToMeasured
    });
    alone.measured = None;
    alone.core.clock = ClockSource::Model;
    alone.core.memory.clear();
    alone.traced.simulated = alone.traced.instructions;
    alone.traced.windows.truncate(1);
    insta::assert_snapshot!(shown(&alone), @"
    gzip -kc FILE
    alone on a core (zen3): this host's own

                 predicted        measured   predicted / measured
    ══════════════════════════════════════════════════════════════
     cycles      1.00 G ± 5.0 %   -          -
     user time   286 ms ± 4.9 %   -          -
     IPC         2.00             -          -

    Simulated: all 2,000,000,000 instructions, recorded by dynamorio, at 4.0 million
    instructions per second; times at the model's 3.50 GHz; 4.9 branch MPKI.

    Predicted cycle stack, in issue slots:
    - 40 % retiring: the slot issued a micro-op.
    - 35 % back-end bound, core: the oldest micro-op waited for its operands or executed.
    - 25 % bad speculation: the core recovered from a mispredicted branch.

    What limits trust:
    - Nothing else is simulated.
    ");
}

#[test]
fn what_is_not_predicted_says_why() {
    let mut kernel = prediction();
    kernel.observations.retain(|seen| seen.source == Source::Measured);
    kernel.not_predicted = Some("The program is in the kernel for 40 % of its time.".to_owned());
    let brief = prediction_in_brief(&kernel, 100);
    let expected =
        "It is not predicted for zen3. The program is in the kernel for 40 % of its time.\n";
    assert_eq!(brief, expected);
    insta::assert_snapshot!(shown(&kernel), @"
    NOT PREDICTED: The program is in the kernel for 40 % of its time.

    gzip -kc FILE
    alone on a core (zen3): this host's own

                 predicted   measured          predicted / measured
    ════════════════════════════════════════════════════════════════
     cycles      -           1.40 G ± 0.71 %   -
     user time   -           400 ms ± 0.75 %   -
     IPC         -           1.43              -

    Simulated: 10,000,000 of 2,000,000,000 instructions in 2 windows, recorded by dynamorio,
    at 4.0 million instructions per second; times at the 3.50 GHz measured here; 4.9 branch
    MPKI.
    Measured: the 5 of 9 runs with the least contention on CPU 1; 2.4 % of its time in kernel
    mode; brackets.
    The last-level cache and memory are those of this machine, measured between the runs:
    hierarchy.l2.miss=45.

    Predicted cycle stack of user-mode code, in issue slots:
    - 40 % retiring: the slot issued a micro-op.
    - 35 % back-end bound, core: the oldest micro-op waited for its operands or executed.
    - 25 % bad speculation: the core recovered from a mispredicted branch.

    What limits trust:
    - Nothing else is simulated.
    ");
}

#[test]
fn counts_have_prefixes() {
    let counts = [950.0, 9_994.0, 12_340.0, 999_960.0, 4.712e9].map(count);
    assert_eq!(counts, ["950", "9994", "12.3 k", "1.00 M", "4.71 G"]);
}

/// The prediction with a copy beside it that makes it take so much longer, which helps.
fn beside(slowdown: f64, half: f64) -> Prediction {
    let estimate = |value: f64, half: f64| Estimate {
        value,
        low: value - half,
        high: value + half,
        level: 0.95,
        blocks: 200,
    };
    let mut prediction = prediction();
    let cause = |effect, component: &str, share| Cause {
        effect,
        component: component.to_owned(),
        share,
        code: None,
    };
    let attributed = |share, instruction: Option<&str>, function: &str| AttributedCode {
        share,
        instruction: instruction.map(str::to_owned),
        function: Some(function.to_owned()),
        file: Some("solver.c".to_owned()),
        line: instruction.map(|_| 41),
        module: Some("solve".to_owned()),
        address: Some(0x11d3),
    };
    let rate = |cache: &str, alone, beside| MissRate { cache: cache.to_owned(), alone, beside };
    prediction.beside.push(PredictedPlacement {
        placement: Placement::Full(None),
        threads: 2,
        is_one_process: false,
        beside: Vec::new(),
        slowdown: estimate(slowdown, half),
        slowdown_of_other: None,
        stack: prediction.stack.clone(),
        causes: vec![
            Cause {
                code: Some(attributed(0.57, Some("idiv"), "update")),
                ..cause(Effect::Fills, "dependency", 0.35)
            },
            cause(Effect::Fills, "mispredict", 0.25),
            Cause {
                code: Some(attributed(
                    0.31,
                    None,
                    "std::vector<int, std::allocator<int> >::push_back(int&&)",
                )),
                ..cause(Effect::Costs, "sibling: ports", 0.6)
            },
            cause(Effect::Costs, "L2", 0.2),
        ],
        misses: vec![
            rate("L1I", 0.0, 0.01),
            rate("L1D", 2.0, 9.04),
            rate(MissRate::FROM_MEMORY, 18.0, 18.2),
        ],
        apart: Some(1.5),
    });
    let work = Estimate { value: 2.0 / slowdown, ..estimate(2.0 / slowdown, half) };
    let about = |metric, estimate| Observation {
        metric,
        arm: "full".to_owned(),
        against: Some("spread".to_owned()),
        of: None,
        unit: "1".to_owned(),
        estimate,
        bootstrap: None,
        source: Source::Predicted,
    };
    prediction.observations.push(about(Metric::SmtYield, work));
    prediction.verdicts.push(PredictedVerdict {
        metric: Metric::SmtYield,
        arm: "full".to_owned(),
        against: "spread".to_owned(),
        answer: Answer::Helps,
        practical: 0.05,
        simulated: [work.low, work.high],
    });
    prediction
}

#[test]
fn a_sibling_is_answered_first_with_bars_reasons_and_what_to_do() {
    let mut prediction = beside(1.25, 0.05);
    prediction.what_if.push(WhatIf {
        setting: "rob.policy=shared".to_owned(),
        placement: Placement::Full(None),
        estimate: Estimate { value: 1.7, low: 1.65, high: 1.75, level: 0.95, blocks: 200 },
    });
    insta::assert_snapshot!("siblings", shown(&prediction));
    let brief = prediction_in_brief(&prediction, 200);
    let first = "A busy sibling helps: two copies on a core of zen3 do 1.60 times the work of one (1.55 to 1.65); \
                 each takes 1.25 times as long as alone.\n";
    assert_eq!(brief.lines().next(), first.lines().next());
    // Alone it takes 1.4 times what was predicted.
    assert!(brief.contains("Not to be trusted"), "{brief}");
    prediction.core.is_own = false;
    assert!(!prediction_in_brief(&prediction, 200).contains("Not to be trusted"));
}

#[test]
fn a_cause_names_its_code_as_far_as_it_is_known() {
    let of = |change: fn(&mut AttributedCode)| {
        let mut prediction = beside(1.25, 0.05);
        change(prediction.beside[0].causes[0].code.as_mut().unwrap());
        let reason = siblings::reasons(&prediction).remove(0);
        let (_, code) = reason.split_once(" of it ").unwrap();
        code.split_once(')').unwrap().0.to_owned()
    };
    assert_eq!(of(|_| ()), "`idiv` in `update`, solver.c:41");
    assert_eq!(of(|it| it.function = None), "`idiv` at solver.c:41");
    assert_eq!(of(|it| it.line = None), "`idiv` in `update` of solve");
    let without = |it: &mut AttributedCode| (it.function, it.line) = (None, None);
    assert_eq!(of(without), "`idiv` at solve+0x11d3");
    let moved = |it: &mut AttributedCode| (it.function, it.line, it.address) = (None, None, None);
    assert_eq!(of(moved), "`idiv` in solve");
    let made = |it: &mut AttributedCode| {
        (it.function, it.line, it.address, it.module) = (None, None, None, None);
    };
    assert_eq!(of(made), "`idiv`");
}

#[test]
fn a_measured_yield_stands_below_the_predicted_one() {
    let shown = |value: f64, half: f64| {
        let mut prediction = beside(1.25, 0.05);
        prediction.core.is_own = false;
        prediction.measured_siblings = Some(MeasuredSiblings {
            cpus: vec![2, 10],
            evidence: SiblingEvidence::Topology,
            blocks: 9,
            elapsed_s: 12.0,
            clock: None,
        });
        let (low, high) = (value - half, value + half);
        prediction.observations.push(Observation {
            arm: "full".to_owned(),
            against: Some("spread".to_owned()),
            ..observation(Metric::SmtYield, Source::Measured, value, half)
        });
        assert_eq!(prediction.observations.last().map(|it| it.estimate.low), Some(low));
        assert!(high > low);
        prediction
    };
    let line = |prediction: &Prediction| {
        prediction_in_brief(prediction, 200).lines().nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(
        line(&shown(1.58, 0.01)),
        "Measured here in full (CPUs 2, 10 of one core): 1.58 times the work of one (1.57 to 1.59); the two intervals \
         overlap."
    );
    assert_eq!(
        line(&shown(1.25, 0.01)),
        "Measured here in full (CPUs 2, 10 of one core): 1.25 times the work of one (1.24 to 1.26); the prediction is \
         28.0 % too high."
    );
    let text = prediction_to_terminal(&shown(1.58, 0.01), &View::of_file(90));
    assert!(text.lines().any(|line| line.trim_start().starts_with("full, measured")), "{text}");
}

#[test]
fn a_built_in_workload_is_named_and_not_the_command_that_runs_it() {
    let mut prediction = prediction();
    let parameters = [("size".to_owned(), "4K".to_owned())].into();
    prediction.workload = Some(TracedWorkload { name: "chase".to_owned(), parameters, workers: 1 });
    let text = prediction_to_terminal(&prediction, &View::of_file(90));
    assert!(text.contains("the built-in workload chase size=4K\n"), "{text}");
    assert!(!text.contains("gzip"), "{text}");
}

#[test]
fn what_a_sibling_does_is_worded_by_its_verdict() {
    let worded = |verdicts: Vec<PredictedVerdict>| {
        let prediction = Prediction { verdicts, ..beside(1.25, 0.05) };
        let text = prediction_in_brief(&prediction, 300);
        text.trim_start_matches("A busy sibling ").split(':').next().unwrap_or_default().to_owned()
    };
    for (answer, words) in [
        (Answer::Helps, "helps"),
        (Answer::Hurts, "hurts"),
        (Answer::NoPracticalEffect, "hardly changes the work of a core"),
        (Answer::Inconclusive, "may help or hurt"),
    ] {
        let [verdict] = &beside(1.25, 0.05).verdicts[..] else { panic!("one verdict") };
        assert_eq!(worded(vec![PredictedVerdict { answer, ..verdict.clone() }]), words);
    }
    assert_eq!(worded(Vec::new()), "may help or hurt");
}

#[test]
fn several_cores_are_a_table_that_names_the_best_and_the_worst() {
    let mut other = beside(1.8, 0.01);
    other.core.model = "zen5".to_owned();
    let table = PredictionTable::new(vec![beside(1.25, 0.05), other], "0.1.0");
    let text = predictions_to_terminal(&table, &View::of_file(90));
    let first =
        "A busy sibling does most on zen3 (1.60 times the work of one) and least on zen5 (1.11).";
    assert_eq!(text.lines().next(), Some(first));
    insta::assert_snapshot!(
        "several_cores",
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    );
}

/// The prediction where busy siblings lower the clock, so that its yield of a second is not that of a cycle.
fn at_clock(mut prediction: Prediction, ratio: f64) -> Prediction {
    let source = "a publication".to_owned();
    let known = if ratio == 1.0 { KnownBy::Published } else { KnownBy::Measured };
    let clock = SiblingClock { ratio, low: 0.9, high: 1.0, known, source };
    let is_yield = |it: &&mut Observation| it.metric == Metric::SmtYield;
    let seen = prediction.observations.iter_mut().find(is_yield).expect("a yield");
    let a_cycle = Observation { metric: Metric::YieldInCycles, ..seen.clone() };
    seen.estimate = clock.work_a_second(&a_cycle.estimate);
    prediction.observations.push(a_cycle);
    prediction.core.sibling_clock = Some(clock);
    prediction
}

#[test]
fn work_a_second_and_work_a_cycle_are_both_said() {
    let said = |ratio| answers(&at_clock(beside(1.25, 0.05), ratio)).remove(0);
    assert_eq!(
        said(0.95),
        "A busy sibling helps: two copies on a core of zen3 do 1.52 times the work of one (1.40 to 1.65) a second, 1.60 a \
         cycle; each takes 1.32 times as long as alone."
    );
    let unknown = said(1.0);
    let expected =
        "do 1.60 times the work of one a cycle (1.40 to 1.65 a second); each takes 1.25 times";
    assert!(unknown.contains(expected), "{unknown}");
}

#[test]
fn a_prediction_fits_a_screen_with_its_answer_last() {
    let mut beside = at_clock(beside(1.25, 0.05), 0.95);
    let caveat = |kind: &str| {
        Caveat::new(kind, "A sentence of some length that says what is not known of it. ".repeat(3))
    };
    beside
        .caveats
        .extend(["nearest-model", "doctor-load", "kernel-share", "unknown-forms"].map(caveat));
    let mut alone = prediction();
    alone
        .caveats
        .push(Caveat::new("no-figure", "There is no figure of full: the time allowed was over."));
    for (name, it) in [("screen_beside", beside), ("screen_alone", alone)] {
        let view = View { is_terminal: true, is_kept: true, ..View::of_file(80) };
        let text = prediction_on_screen(&it, &view);
        assert!(text.lines().count() <= crate::screen::ROWS, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn a_missing_figure_is_part_of_the_brief_answer() {
    let mut alone = prediction();
    let why = "There is no figure of full: the time allowed was over.";
    alone.caveats.push(Caveat::new("no-figure", why));
    assert!(prediction_in_brief(&alone, 200).contains(why));
}

#[test]
fn a_sibling_that_costs_nothing_is_not_to_be_kept_idle() {
    let of = |slowdown| advice(&beside(slowdown, 0.001)).remove(0);
    assert_eq!(
        of(1.25),
        "For the most work, run copies of it on all hardware threads of a core; one alone, its sibling idle, takes 20 % less long."
    );
    assert_eq!(
        of(1.01),
        "Run copies of it on all hardware threads of a core: each takes no more than 1.0 % longer."
    );
}

#[test]
fn cycles_that_are_too_uncertain_are_no_figure() {
    let said = |half: f64| {
        let cycles = observation(Metric::Cycles, Source::Predicted, 3.3e5, half);
        alone(&Prediction { observations: vec![cycles], ..prediction() })
    };
    assert_eq!(said(3e4), "Alone on zen3 it takes 330 k cycles (300 k to 360 k).");
    assert_eq!(said(4e6), "How many cycles it takes alone on zen3 is too uncertain to say.");
}
