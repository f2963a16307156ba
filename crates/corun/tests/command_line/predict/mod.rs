//! `corun predict`: a program's cycles on a core, beside what it takes here.

mod interrupts;
mod outputs;
mod programs;
mod siblings;

use std::path::Path;
use std::process::Command;

use corun_record::{
    CalibratedField, ClockSource, Document, MeasuredRuns, Metric, Prediction, Source,
};
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun};
use crate::schema::validator;

/// Alone, which is quicker. Tests do not ask for the host's own core, which may be one of which nothing is known.
fn predict(options: &[&str]) -> Command {
    let mut command = corun(["predict", "--quiet", "--model=zen3", "--placement=spread"]);
    command.args(options);
    command
}

/// Counts to so many, with some ten thousand instructions each.
fn counts(most: u32) -> [String; 4] {
    let script = format!("i=0; while [ $i -lt {most} ]; do i=$((i + 1)); done; exit 0");
    ["--".to_owned(), "sh".to_owned(), "-c".to_owned(), script]
}

#[track_caller]
fn read(outcome: &Outcome) -> Prediction {
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let json: Value = serde_json::from_str(&outcome.output).expect("nothing but JSON");
    let validator = validator(Prediction::FORMAT);
    let faults: Vec<String> = validator.iter_errors(&json).map(|it| it.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());
    let prediction = Prediction::from_json(&outcome.output).expect("a prediction");
    assert_eq!(prediction.to_json(), outcome.output);
    let sum: f64 = prediction.stack.iter().map(|part| part.share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    prediction
}

fn kinds(prediction: &Prediction) -> Vec<&str> {
    prediction.caveats.iter().map(|caveat| caveat.kind.as_str()).collect()
}

#[test]
fn a_program_is_predicted_beside_what_it_takes() {
    let prediction = read(&Outcome::of(predict(&["--json=-"]).args(counts(1500))));
    let of = |metric, source| prediction.estimate(metric, source).copied();
    let measured = prediction.measured.as_ref().expect("runs");
    assert!(!measured.runs.is_empty());
    assert!(measured.runs.iter().all(|run| run.user_s > 0.0 && run.ghz > 0.0), "{measured:?}");
    let cycles = of(Metric::Cycles, Source::Measured).expect("measured cycles");
    assert!(cycles.low <= cycles.value && cycles.value <= cycles.high, "{cycles:?}");
    let kernel = of(Metric::KernelShare, Source::Measured).expect("the kernel's share");
    let predicted = of(Metric::Cycles, Source::Predicted);
    assert_eq!(predicted.is_none(), kernel.value > MeasuredRuns::MAX_KERNEL_SHARE);
    assert_eq!(predicted.is_none(), prediction.not_predicted.is_some());
    let is_own = prediction.core.is_own;
    if let Some(predicted) = predicted.filter(|_| is_own) {
        let ratio = of(Metric::PredictedToMeasured, Source::Predicted).expect("a ratio");
        assert!((ratio.value - predicted.value / cycles.value).abs() < 1e-9, "{ratio:?}");
    }
    let of_another_core = of(Metric::PredictedToMeasured, Source::Predicted).is_some() && !is_own;
    assert!(!of_another_core, "{prediction:?}");
    let clock = if is_own { ClockSource::Measured } else { ClockSource::Model };
    assert_eq!(prediction.core.clock, clock);
    assert!(kinds(&prediction).contains(&"alone"), "{:?}", kinds(&prediction));
    let says = |word: &str| prediction.caveats.iter().any(|it| it.sentence.contains(word));
    assert!(says("The core model ") && says("published figures"), "{:?}", prediction.caveats);
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn memory_is_this_hosts_where_that_is_asked_and_what_the_user_set_stays() {
    let reported = |options: &[&str]| {
        let options = [&["--max-time=10s", "--json=-"][..], options].concat();
        read(&Outcome::of(predict(&options).args(counts(1500))))
    };
    let set = ["--memory=host", "--set=main.nanoseconds=500", "--set=l3.background_fills=0"];
    // Readings that other programs made impossible are not used, and a caveat says so.
    let is_refused = |it: &Prediction| kinds(it).contains(&"memory-of-model");
    let tried: Vec<Prediction> = (0..3).map(|_| reported(&set)).collect();
    assert!(tried.iter().all(|it| it.core.memory.is_empty() == is_refused(it)));
    let Some(found) = tried.into_iter().find(|it| !is_refused(it)) else { return };
    let kept = found.core.memory;
    let mut fields: Vec<&str> = kept.iter().map(|it| it.field.as_str()).collect();
    // Of a virtual machine.
    fields.retain(|field| *field != "hierarchy.walk.nested");
    assert_eq!(
        fields,
        ["l2.miss", "main.gigabytes_a_second", "walk.cycles"].map(|it| format!("hierarchy.{it}"))
    );
    // A host may remember more pages than the model, which then has no walk that takes time.
    let is_walk = |it: &CalibratedField| it.field == "hierarchy.walk.cycles";
    assert!(kept.iter().all(|it| it.value > 0.0 || is_walk(it) && it.value == 0.0), "{kept:?}");
    assert_eq!(reported(&["--memory=model"]).core.memory, []);
}

#[test]
fn memory_of_a_host_that_is_not_measured_is_wrong_usage() {
    let mut command = predict(&["--memory=host", "--no-measure"]);
    let reported = Outcome::of(command.args(["--", "true"])).reported(Path::new("/nowhere"));
    let expected = "exit 2\ncorun: expected to measure where memory is to be this host's, found --no-measure\n";
    assert!(reported.starts_with(expected), "{reported}");
}

#[test]
fn a_short_run_is_simulated_whole_and_a_long_one_in_windows() {
    let whole = read(&Outcome::of(predict(&["--no-measure", "--json=-"]).args(counts(20))));
    assert_eq!((whole.traced.windows.len(), whole.measured), (1, None));
    assert_eq!(whole.traced.simulated, whole.traced.instructions);
    assert_eq!(whole.core.clock, ClockSource::Model);

    let options = ["--no-measure", "--sample=50:4k", "--json=-"];
    let sampled = read(&Outcome::of(predict(&options).args(counts(100))));
    let windows = &sampled.traced.windows;
    assert_eq!(windows.len(), 50);
    // The run that is recorded may end before the last one does.
    let mut lengths = windows[..49].iter().map(|window| window.instructions);
    assert!(lengths.all(|length| length.abs_diff(4000) < 100), "{windows:?}");
    assert!(windows.iter().all(|window| window.cycles > 0), "{windows:?}");
    assert!(windows.windows(2).all(|pair| pair[0].begin + 4000 < pair[1].begin), "{windows:?}");
    let cycles = sampled.estimate(Metric::Cycles, Source::Predicted).expect("cycles");
    assert!(cycles.low < cycles.value && cycles.value < cycles.high && cycles.blocks == 50);

    let options = ["--no-measure", "--length=50k", "--json=-"];
    let start = read(&Outcome::of(predict(&options).args(counts(20))));
    assert!(start.traced.simulated.abs_diff(50_000) < 500 && start.traced.windows.len() == 1);
    assert!(start.traced.instructions > 60_000, "{}", start.traced.instructions);
    assert!(kinds(&start).contains(&"start-only"), "{:?}", kinds(&start));
}

/// Of a run so long that its start, of which all is new to the caches, is a small part.
#[test]
fn windows_agree_with_the_whole_run() {
    let cycles = |options: &[&str]| {
        let mut command = predict(&["--no-measure", "--json=-"]);
        // The many folders that cargo sets are searched first, for longer than until the first window.
        command.env_remove("LD_LIBRARY_PATH");
        let prediction = read(&Outcome::of(command.args(options).args(counts(1000))));
        prediction.estimate(Metric::InstructionsPerCycle, Source::Predicted).expect("one").value
    };
    let (whole, sampled) = (cycles(&["--whole"]), cycles(&["--sample=20:20k"]));
    assert!((sampled / whole - 1.0).abs() < 0.1, "{sampled} against {whole}");
}

#[test]
fn few_windows_stand_for_the_whole_run() {
    let options = ["--no-measure", "--json=-", "--sample=4:5k"];
    let prediction = read(&Outcome::of(predict(&options).args(counts(100))));
    let windows = &prediction.traced.windows;
    assert!((2..=4).contains(&windows.len()), "{windows:?}");
    let stand_for: u64 = windows.iter().filter_map(|window| window.weight).sum();
    // The run that is recorded may have a few more or less than the one before.
    assert!(stand_for.abs_diff(prediction.traced.instructions) < 5000, "{windows:?}");
}

/// A worker lays out its memory, asks for its parent's number, and works.
#[test]
fn what_counts_may_begin_behind_a_system_call() {
    let worker = |options: &[&str]| {
        let mut command = predict(&["--json=-", "--max-time=10m"]);
        let corun = env!("CARGO_BIN_EXE_corun");
        let parameters = ["kernel-worker", "--operations=300000", "chase", "size=256K"];
        command.args(options).args(["--", corun]).args(parameters);
        read(&Outcome::of(&mut command))
    };
    let predicted =
        |of: &Prediction| of.estimate(Metric::Cycles, Source::Predicted).map(|it| it.value);
    let measured = |of: &Prediction| of.estimate(Metric::Cycles, Source::Measured).unwrap().value;
    let whole = worker(&["--whole"]);
    assert_eq!(whole.traced.skipped, None);
    for options in
        [&["--whole"][..], &["--sample=5:10k"], &["--sample=60:1k"], &["--length=50k"], &[]]
    {
        let from = worker(&[options, &["--from-call=sched_get_priority_max"]].concat());
        let before = from.traced.skipped.as_ref().expect("instructions before");
        assert_eq!(before.call, "sched_get_priority_max");
        assert!(before.instructions > 100_000, "{options:?} {before:?}");
        let all = before.instructions + from.traced.instructions;
        let is_near = all.abs_diff(whole.traced.instructions) < whole.traced.instructions / 20;
        assert!(is_near, "{options:?} {before:?} {}", whole.traced.instructions);
        assert!(measured(&from) > 0.0);
        // A program that reads the list of its mappings, as Rust's do at their start, does more the more a tracer maps: the
        // part that counts is then not that which was chosen, and this is said.
        if from.caveats.iter().any(|caveat| caveat.kind == "other-work") {
            continue;
        }
        if let (Some(part), Some(all)) = (predicted(&from), predicted(&whole)) {
            // A load takes as long as the second level, and what comes before is more than nothing.
            let of_a_load = part / 3e5;
            assert!((10.0..20.0).contains(&of_a_load), "{options:?}: {of_a_load}");
            assert!(part < all, "{options:?}: {part} of {all}");
        }
    }
}

#[test]
fn the_answer_is_in_words() {
    let outcome = Outcome::of(predict(&["--no-measure", "--verbose"]).args(counts(20)));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let shown = outcome.unwrapped();
    for part in ["predicted", "% retiring", "Nothing else is simulated"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn the_programs_output_is_not_shown_and_its_trace_can_be_kept() {
    let scratch = Scratch::new();
    let mut command = predict(&["--no-measure", "--keep=kept", "--json=-"]);
    command.current_dir(scratch.path()).args(["--", "sh", "-c", "echo words; exit 3"]);
    let prediction = read(&Outcome::of(&mut command));
    assert!(kinds(&prediction).contains(&"exit-code"), "{:?}", kinds(&prediction));
    let checked = Outcome::of(corun(["trace", "check"]).arg(scratch.file("kept")));
    assert!(checked.output.ends_with("sound and complete\n"), "{}", checked.output);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_predicted_says_why() {
    let reported = |options: &[&str]| {
        Outcome::of(corun(["predict", "--quiet"]).args(options)).reported(Path::new("/no/folder"))
    };
    insta::assert_snapshot!(reported(&["--model=zen3", "--", "/nowhere/to/be/found"]), @r#"
    exit 1
    corun: expected a program, found nothing called "/nowhere/to/be/found" on the search path or at that place
      Check the spelling, or give the program's full path. An alias or a function of a shell is no program.
    "#);
    insta::assert_snapshot!(reported(&["--model=zen3", "--", "sh", "-c", "kill -SEGV $$"]), @"
    exit 1
    corun: expected a program that ends by itself, found that `sh` was killed by signal 11
      Make the program end by itself first; if it does so without corun, try another --tracer.
    ");
    let unknown = reported(&["--model=zen33", "--", "true"]);
    assert!(unknown.starts_with("exit 2\ncorun: no core model is called `zen33`"), "{unknown}");
    let unknown = reported(&["--model=zen3", "--tracer=magic", "--", "true"]);
    assert!(unknown.starts_with("exit 2\ncorun: expected the name of a tracer"), "{unknown}");
    for options in [
        &["--whole", "--length=5", "--", "true"][..],
        &["--sample=5:5", "--length=5", "--", "true"],
        &["--sample=0:5", "--", "true"],
        &["--length=0", "--", "true"],
        &["true", "--whole"],
        &[],
    ] {
        assert!(reported(options).starts_with("exit 2\n"), "{options:?}: {}", reported(options));
    }
}
