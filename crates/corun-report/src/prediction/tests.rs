//! What a user is shown of predictions: with and without a measurement, and of what is not predicted.

use corun_record::{
    CalibratedField, Caveat, Document, MachineSummary, MeasuredRun, Observation, PredictedCore,
    PredictedWindow, SimulationCost, StackShare, TracedPart,
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
            model: "zen3".to_owned(),
            title: "a core".to_owned(),
            reason: "this host's own".to_owned(),
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
            },
            windows: vec![window; 2],
        },
        not_predicted: None,
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
    let text = prediction_to_terminal(prediction, 90);
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn predicted_stands_beside_measured_and_the_cycles_are_explained() {
    insta::assert_snapshot!(shown(&prediction()), @"
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
    insta::assert_snapshot!(shown(&kernel), @"
    gzip -kc FILE
    alone on a core (zen3): this host's own

    NOT PREDICTED: The program is in the kernel for 40 % of its time.

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
