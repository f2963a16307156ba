//! `corun predict`: a program's cycles on a core, beside what it takes here.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use corun_record::{
    Answer, CalibratedField, ClockSource, Document, MeasuredRuns, Metric, Placement, Prediction,
    PredictionTable, Source,
};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun, wait_until};
use crate::interruption::{ended_by, start};
use crate::one_cpu::on_one_cpu;
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

#[test]
fn a_program_that_leaves_its_work_to_others_is_not_predicted() {
    let work = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; exit 0";
    // In a program of its own, and in a copy of the shell.
    for (script, named) in [
        (format!("sh -c '{work}' word; exit 0"), "most of all `sh -c "),
        (format!("({work}); exit 0"), "most of all a copy of `"),
    ] {
        let ways: [&[&str]; 3] = [&[], &["--no-measure"], &["--whole", "--no-measure", "--brief"]];
        for options in ways {
            let outcome = Outcome::of(predict(options).args(["--", "sh", "-c", &script]));
            assert_eq!((outcome.exit, outcome.output.as_str()), (Some(1), ""), "{options:?}");
            let begin = "corun: expected a program that does its work itself, found that processes which `sh` starts take";
            assert!(outcome.errors.starts_with(begin), "{}", outcome.errors);
            assert!(outcome.errors.contains(named), "{}", outcome.errors);
        }
    }
    let beside = format!("--beside=sh -c \"({work}); exit 0\"");
    let options = ["--quiet", "--model=zen3", "--no-measure", &beside, "--", "true"];
    let outcome = Outcome::of(corun(["predict"]).args(options));
    assert!(outcome.errors.contains("processes which `sh` starts"), "{}", outcome.errors);
}

#[test]
fn what_a_program_becomes_is_predicted_and_named() {
    for command in
        [&["env", "A=1", "sh", "-c", "exit $A"][..], &["sh", "-c", "exec sh -c 'exit 1'"]]
    {
        let mut predict = predict(&["--no-measure", "--json=-"]);
        let prediction = read(&Outcome::of(predict.arg("--").args(command)));
        assert!(prediction.command[0].ends_with("/sh"), "{:?}", prediction.command);
        let said = |kind: &str| prediction.caveats.iter().find(|it| it.kind == kind);
        let sentence = &said("becomes-another").expect("a caveat").sentence;
        assert!(sentence.starts_with("The program becomes `sh -c "), "{sentence}");
        assert_eq!(said("exit-code").unwrap().sentence, "The program ends with exit code 1.");
    }
    let options = ["--model=zen3", "--no-measure", "--json=-", "--beside=env true", "--", "true"];
    let prediction = read(&Outcome::of(corun(["predict", "--quiet"]).args(options)));
    assert!(kinds(&prediction).contains(&"becomes-another"), "{:?}", kinds(&prediction));
    // Its input is not there without the shell.
    let piped = "exec < FILE; read line; exec cat";
    let scratch = Scratch::new();
    std::fs::write(scratch.file("FILE"), "a\nb\n").unwrap();
    let mut command = predict(&["--no-measure"]);
    let outcome = Outcome::of(command.current_dir(scratch.path()).args(["--", "sh", "-c", piped]));
    assert_eq!(outcome.exit, Some(1), "{}", outcome.output);
    assert!(outcome.errors.contains("becomes `cat` (exec), and its standard input is no file"));
    // One that the kernel refuses to replace goes on, and says so itself.
    let refused = Outcome::of(predict(&["--no-measure"]).args(["--", "env", "/"]));
    assert_eq!(refused.exit, Some(0), "{}", refused.errors);
}

#[test]
fn limits_that_a_wrapper_sets_hold_or_are_a_reason() {
    // The exit code of the traced run is the limit that it found, in MiB.
    let script = "ulimit -s 4096; exec sh -c 'exit $(($(ulimit -s) / 1024))'";
    let mut command = predict(&["--no-measure", "--json=-"]);
    let prediction = read(&Outcome::of(command.args(["--", "sh", "-c", script])));
    let ended = prediction.caveats.iter().find(|it| it.kind == "exit-code").expect("a caveat");
    assert_eq!(ended.sentence, "The program ends with exit code 4.");
    for (script, why) in [
        ("ulimit -v 4000000; exec true", "its limit on the address space (RLIMIT_AS)"),
        ("exec 7</dev/null; exec true", "it runs with open files that it was given"),
    ] {
        let refused = Outcome::of(predict(&["--no-measure"]).args(["--", "sh", "-c", script]));
        assert_eq!(refused.exit, Some(1), "{}", refused.output);
        let expected = format!("that `sh` becomes `true` (exec), and {why}");
        assert!(refused.errors.contains(&expected), "{}", refused.errors);
    }
}

#[test]
fn a_program_that_works_for_a_time_is_said_to_do_other_work_when_traced() {
    let script = "import signal, sys\nsignal.signal(signal.SIGALRM, lambda *_: sys.exit(0))\n\
                  signal.setitimer(signal.ITIMER_REAL, 0.05)\nwhile True: pass";
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        return corun_testing::skip("a program that works for a time", "there is no python3");
    }
    let mut command = predict(&["--sample=50:1000", "--json=-"]);
    let prediction = read(&Outcome::of(command.arg("--").arg(python).args(["-c", script])));
    let kinds = kinds(&prediction);
    assert!(kinds.contains(&"runs-by-time"), "{kinds:?}");
    let ratio = prediction.estimate(Metric::PredictedToMeasured, Source::Predicted);
    assert!(ratio.is_none(), "what was measured is of other work: {ratio:?}");
}

#[test]
fn a_pipe_can_be_read_only_once() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(writer);
    let outcome = Outcome::of(predict(&[]).args(["--", "cat"]).stdin(reader));
    insta::assert_snapshot!(outcome.reported(Path::new("/no/folder")), @"
    exit 2
    corun: expected a program that can run several times, found a pipe on standard input
      Give the input as a file: corun predict ... < FILE; or run it once only, with --whole --no-measure.
    ");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(writer);
    let once = ["--whole", "--no-measure", "--json=-"];
    read(&Outcome::of(predict(&once).args(["--", "cat"]).stdin(reader)));
}

/// Hangs in its run of this number, counted from 1, and says in the folder that it runs.
fn hangs_in_run(scratch: &Scratch, number: u32) -> std::path::PathBuf {
    scratch.script(&format!(
        "echo >> \"$folder/runs\"\nread_lines() {{ n=0; while read -r _; do n=$((n + 1)); done; }}\n\
         read_lines < \"$folder/runs\"\n[ $n -lt {number} ] || while :; do :; done\nexit 0"
    ))
}

/// Ended by a signal in its run of this number; what it wrote is in the second folder.
fn interrupted_in_run(number: usize, signal: Signal) -> (Outcome, Scratch, Scratch) {
    let (scratch, places) = (Scratch::new(), Scratch::new());
    let script = hangs_in_run(&scratch, number as u32);
    let corun = start(
        predict(&["--keep=kept", "--json=json"])
            .current_dir(places.path())
            .env("TMPDIR", places.path())
            .arg("--")
            .arg(&script),
    );
    wait_until("the run", || scratch.read("runs").lines().count() >= number);
    (ended_by(corun, signal), scratch, places)
}

#[test]
fn a_prediction_that_is_interrupted_before_anything_is_recorded_says_so() {
    // Seen without a tracer, counted.
    for (run, during) in [(1, "run to see its processes"), (2, "run to count its instructions")] {
        let (outcome, scratch, places) = interrupted_in_run(run, Signal::INT);
        let reported = outcome.reported(scratch.path());
        let expected = format!(
            "exit 5\ncorun: interrupted while the program was {during}: nothing was recorded yet"
        );
        assert!(reported.starts_with(&expected), "run {run}: {reported}");
        assert_eq!(outcome.output, "");
        assert_eq!(std::fs::read_dir(places.path()).unwrap().count(), 0, "run {run}");
    }
}

#[test]
fn what_was_recorded_when_a_prediction_is_interrupted_is_the_answer() {
    // Traced, measured.
    for (run, signal, kind, said) in [
        (3, Signal::INT, "time-limit", "It was ended by the user while the program was traced: "),
        (3, Signal::TERM, "time-limit", "It was ended by the user while the program was traced: "),
        (4, Signal::INT, "not-measured", "It was not measured: it was ended by the user "),
    ] {
        let (outcome, _scratch, places) = interrupted_in_run(run, signal);
        assert_eq!(outcome.exit, Some(5), "run {run}: {}", outcome.errors);
        let prediction = Prediction::from_json(&places.read("json")).expect("a prediction");
        assert!(prediction.ending.is_interrupted(), "run {run}");
        let cycles = prediction.estimate(Metric::Cycles, Source::Predicted).expect("cycles");
        assert!(cycles.low < cycles.value && cycles.value < cycles.high, "run {run}: {cycles:?}");
        let caveat = prediction.caveats.iter().find(|it| it.kind == kind).expect("a caveat");
        assert!(caveat.sentence.starts_with(said), "run {run}: {caveat:?}");
        let checked = Outcome::of(corun(["trace", "check"]).arg(places.file("kept")));
        assert_eq!(checked.exit, Some(0), "run {run}: {}", checked.errors);
    }
}

/// It would be traced for ever.
#[test]
fn the_time_allowed_is_a_limit_and_what_is_known_then_is_the_answer() {
    let mut command = predict(&["--max-time=24s", "--json=-"]);
    command.args(["--", "sh", "-c", "i=0; while :; do i=$((i + 1)); done"]);
    let prediction = read(&Outcome::of(&mut command));
    assert_eq!(prediction.ending.reason, corun_record::EndReason::TimeUp);
    let limit = prediction.caveats.iter().find(|it| it.kind == "time-limit").expect("a caveat");
    assert!(limit.sentence.contains("the figures are of its first "), "{limit:?}");
    let cycles = prediction.estimate(Metric::Cycles, Source::Predicted).expect("cycles");
    assert!(cycles.low < cycles.value && cycles.value < cycles.high, "{cycles:?}");
    assert!(prediction.measured.is_none() && kinds(&prediction).contains(&"not-measured"));
}

#[test]
fn places_that_cannot_be_written_are_errors() {
    let scratch = Scratch::new();
    let reported = |options: &[&str]| {
        let mut command = predict(&["--no-measure"]);
        command.current_dir(scratch.path()).env("TMPDIR", scratch.path());
        Outcome::of(command.args(options).args(["--", "true"])).reported(scratch.path())
    };
    let missing = reported(&["--keep=missing/t"]);
    let expected = "exit 1\ncorun: could not write the trace to missing/t: ";
    assert!(missing.starts_with(expected), "{missing}");
    let missing = reported(&["--json=missing/t"]);
    assert!(missing.starts_with("exit 1\ncorun: could not write \"missing/t\""), "{missing}");
    let folder = reported(&["--keep=."]);
    assert!(folder.starts_with("exit 1\ncorun: could not write the trace to .: "), "{folder}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    let mut nowhere = predict(&["--no-measure"]);
    nowhere.env("TMPDIR", "/nonexistent").args(["--", "true"]);
    let nowhere = Outcome::of(&mut nowhere).reported(scratch.path());
    let expected =
        "exit 1\ncorun: could not write the trace to /nonexistent, where temporary files go: ";
    assert!(nowhere.starts_with(expected) && nowhere.contains("Set TMPDIR"), "{nowhere}");
    let full = reported(&["--json=/dev/full"]);
    let kept = full.lines().nth(1).expect("what is kept");
    let kept = kept.strip_prefix("corun: the whole result is kept in FOLDER/").expect(kept);
    assert!(Prediction::from_json(&scratch.read(kept)).is_ok());
    assert!(full.starts_with("exit 1\n") && full.contains("No space left on device"), "{full}");
}

#[test]
fn an_answer_that_does_not_fit_on_the_disk_is_kept_elsewhere() {
    let scratch = Scratch::new();
    let full = File::options().write(true).open("/dev/full").expect("every Linux has it");
    let mut command = predict(&["--no-measure"]);
    command.env("TMPDIR", scratch.path()).stdout(full).args(["--", "true"]);
    let reported = Outcome::of(&mut command).reported(scratch.path());
    assert!(
        reported.starts_with("exit 1\ncorun: the whole result is kept in FOLDER/"),
        "{reported}"
    );
}

#[test]
fn a_trace_that_does_not_fit_is_no_prediction() {
    let scratch = Scratch::new();
    let mut command = predict(&["--no-measure", "--whole", "--tracer=ptrace", "--keep=kept"]);
    command.current_dir(scratch.path()).args(["--", "sh", "-c", "exit 0"]);
    let limit = Rlimit { current: Some(16 << 10), maximum: Some(16 << 10) };
    // SAFETY: the call is one system call, which may be made between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(Resource::Fsize, limit)?));
    }
    let reported = Outcome::of(&mut command).reported(scratch.path());
    assert!(reported.starts_with("exit 1\ncorun: "), "{reported}");
    assert!(reported.contains("File too large"), "{reported}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn a_busy_sibling_is_predicted_with_its_interval_and_causes() {
    let options = [
        "--no-measure",
        "--sample=60:4k",
        "--warmup=20k",
        "--json=-",
        "--what-if=rob.policy=shared",
    ];
    let of = || {
        Outcome::of(corun(["predict", "--quiet", "--model=zen4"]).args(options).args(counts(300)))
    };
    let prediction = read(&of());
    let [full] = &prediction.beside[..] else { panic!("{:?}", prediction.beside) };
    assert_eq!((full.placement, full.threads), (Placement::Full(None), 2));
    let slowdown = full.slowdown;
    assert!(1.0 < slowdown.value && slowdown.value < 2.2, "{slowdown:?}");
    assert!(slowdown.low < slowdown.value && slowdown.value < slowdown.high, "{slowdown:?}");
    let work = prediction.estimate(Metric::SmtYield, Source::Predicted).expect("a yield");
    assert!((work.value - 2.0 / slowdown.value).abs() < 1e-9);
    let sum: f64 = full.stack.iter().map(|part| part.share).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    assert!(!full.causes.is_empty() && full.apart.is_some());
    let [changed] = &prediction.what_if[..] else { panic!("{:?}", prediction.what_if) };
    assert_eq!(changed.setting, "rob.policy=shared");
    let [verdict] = &prediction.verdicts[..] else { panic!("{:?}", prediction.verdicts) };
    assert_eq!((verdict.arm.as_str(), verdict.against.as_str()), ("full", "spread"));
    let simulated = [2.0 / slowdown.high, 2.0 / slowdown.low];
    assert_eq!((verdict.metric, verdict.simulated), (Metric::SmtYield, simulated));
    let expected = match () {
        () if simulated[0] >= 0.95 && simulated[1] <= 1.05 => Answer::NoPracticalEffect,
        () if work.low > 1.0 => Answer::Helps,
        () if work.high < 1.0 => Answer::Hurts,
        () => Answer::Inconclusive,
    };
    assert_eq!(verdict.answer, expected);
}

#[test]
fn several_cores_are_a_table_and_another_program_can_run_beside() {
    let options =
        ["--no-measure", "--model=zen4,ivy-bridge", "--sample=60:4k", "--warmup=20k", "--json=-"];
    let outcome = Outcome::of(corun(["predict", "--quiet"]).args(options).args(counts(300)));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let table = PredictionTable::from_json(&outcome.output).expect("a table");
    let models: Vec<&str> = table.predictions.iter().map(|it| it.core.model.as_str()).collect();
    assert_eq!(models, ["zen4", "ivy-bridge"]);
    assert!(table.predictions.iter().all(|it| it.beside.len() == 1));

    let options = [
        "--no-measure",
        "--sample=60:4k",
        "--warmup=20k",
        "--json=-",
        "--beside=sh -c 'echo a; echo b'",
    ];
    let mut command = corun(["predict", "--quiet", "--model=zen4"]);
    let pair = read(&Outcome::of(command.args(options).args(counts(300))));
    let [full] = &pair.beside[..] else { panic!("{:?}", pair.beside) };
    assert_eq!(full.beside[0][1..], ["-c", "echo a; echo b"]);
    let other = full.slowdown_of_other.expect("the other one's");
    let work = pair.estimate(Metric::SmtYield, Source::Predicted).expect("a yield");
    assert!((work.value - 1.0 / full.slowdown.value - 1.0 / other.value).abs() < 1e-9);
}

#[test]
fn placements_that_have_no_prediction_are_named_with_what_has() {
    let refused = |options: &[&str]| {
        let mut command = corun(["predict", "--quiet", "--model=zen3"]);
        let outcome = Outcome::of(command.args(options).args(["--", "true"]));
        assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
        outcome.errors
    };
    let text = refused(&["--placement=free@4"]);
    assert!(
        text.contains("expected spread, full, full@K, packed or stacked, found free@4"),
        "{text}"
    );
    let text = refused(&["--placement=spread", "--what-if=rob.policy=shared"]);
    assert!(text.contains("expected a placement with a busy sibling for --what-if"), "{text}");
    let text = refused(&["--placement=packed", "--beside=true"]);
    assert!(text.contains("with --beside"), "{text}");
}

#[test]
fn without_siblings_nothing_is_measured_on_them_and_the_program_does_not_run() {
    let scratch = Scratch::new();
    let script = scratch.script("echo ran > \"$folder/runs\"");
    let script = script.to_str().expect("plain");
    for option in ["--measure", "--record=."] {
        let command = ["predict", "--quiet", "--model=zen3", option, "--", script];
        let command = match option {
            // A record is of the host's own core.
            "--record=." => vec!["predict", "--quiet", option, "--", script],
            _ => command.to_vec(),
        };
        let outcome = on_one_cpu(&command);
        assert_eq!((outcome.exit, outcome.output.as_str()), (Some(3), ""), "{}", outcome.errors);
        let expected = "corun: expected ";
        assert!(outcome.errors.starts_with(expected), "{}", outcome.errors);
    }
    let outcome = on_one_cpu(&["predict", "--quiet", "--model=zen3", "--measure", "--", script]);
    for part in
        ["expected siblings to measure on, found none: ", "leave --measure and --record out"]
    {
        assert!(outcome.errors.contains(part), "{}", outcome.errors);
    }
    assert!(!scratch.path().join("runs").exists());
}

#[test]
fn what_is_measured_on_siblings_has_to_be_predicted_beside_them() {
    let refused = |options: &[&str], part: &str| {
        let mut command = corun(["predict", "--quiet", "--model=zen3"]);
        let outcome = Outcome::of(command.args(options).args(["--", "true"]));
        assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
        assert!(outcome.errors.contains(part), "{}", outcome.errors);
    };
    refused(&["--measure", "--placement=spread"], "expected a placement with a busy sibling");
    refused(&["--measure", "--no-measure"], "cannot be used with");
    refused(&["--measure", "--beside=true"], "cannot be used with");
    let mut command = corun(["predict", "--quiet", "--record=missing/folder"]);
    let outcome = Outcome::of(command.args(["--", "true"]));
    // Before anything else is done; of a host without a model that is said first.
    assert!(matches!(outcome.exit, Some(1 | 3)), "{}", outcome.errors);
    refused(&["--record=.", "--set=main.nanoseconds=99"], "the model as it is for --record");
    refused(&["--work=per-worker"], "expected {workers} in the command");
}

#[test]
fn copies_that_take_turns_lose_switches_and_refills() {
    let options =
        ["--no-measure", "--placement=full,stacked", "--sample=60:4k", "--warmup=20k", "--json=-"];
    let mut command = corun(["predict", "--quiet", "--model=zen4", "--seed=7"]);
    let prediction = read(&Outcome::of(command.args(options).args(counts(300))));
    let stacked = prediction.stacked.as_ref().expect("it was asked for");
    let work = prediction.estimate(Metric::TimeSlicing, Source::Predicted).expect("the work");
    assert_eq!(*work, stacked.work);
    // No more than the switch is sure, and a shell has more in the caches than nothing.
    assert!(work.value < 1.0 - 1e-3 * stacked.switch_us / stacked.slice_ms + 1e-9, "{stacked:?}");
    assert!(work.value > 0.8 && stacked.refill_cycles > 100.0, "{stacked:?}");
    let of = |metric| prediction.estimate(metric, Source::Predicted).expect("it").value;
    let gain = of(Metric::SmtYield) / work.value;
    assert!((of(Metric::MultitaskingGain) - gain).abs() < 1e-9);
    assert_eq!(prediction.seed, Some(7));
    let mut alone = corun(["predict", "--quiet", "--model=zen4", "--placement=spread,stacked"]);
    let alone = read(&Outcome::of(alone.args(["--no-measure", "--json=-"]).args(counts(20))));
    assert!(alone.stacked.is_some() && alone.beside.is_empty());
}

/// Workers of a process that each do as much in memory of their own.
fn kernel_worker(workers: &str, operations: &str) -> Vec<String> {
    let corun = env!("CARGO_BIN_EXE_corun").to_owned();
    let workers = ["--workers", "--threads"].map(|option| format!("{option}={workers}"));
    let [all, threads] = workers;
    let operations = format!("--operations={operations}");
    let words = ["kernel-worker".to_owned(), all, threads, operations, "fib".to_owned()];
    ["--".to_owned(), corun].into_iter().chain(words).collect()
}

#[test]
fn a_program_with_a_number_of_threads_has_them_on_one_core() {
    let words = kernel_worker("{workers}", "60000");
    let predicted = |options: &[&str]| {
        let mut command = corun(["predict", "--quiet", "--model=zen4", "--no-measure", "--whole"]);
        read(&Outcome::of(command.args(options).arg("--json=-").args(&words)))
    };
    let yield_of =
        |it: &Prediction| it.estimate(Metric::SmtYield, Source::Predicted).expect("a yield").value;
    let per_worker = || predicted(&["--work=per-worker"]);
    let prediction = per_worker();
    let [full] = &prediction.beside[..] else { panic!("{:?}", prediction.beside) };
    assert_eq!((full.placement, full.threads), (Placement::Full(None), 2));
    assert!(full.is_one_process && full.beside.is_empty() && full.apart.is_none());
    let work = yield_of(&prediction);
    assert!((work - 2.0 / full.slowdown.value).abs() < 1e-9);
    assert!((0.8..2.05).contains(&work), "{work}");
    let sum: f64 = full.stack.iter().map(|part| part.share).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    assert!(prediction.command.contains(&"--threads=1".to_owned()), "{:?}", prediction.command);
    assert!(kinds(&prediction).contains(&"threads-together"), "{:?}", kinds(&prediction));
    // What each does here is the same: of a fixed total it would be half. A busy machine changes how threads that are
    // recorded take turns, so that one pair of recordings in three must agree.
    let differs = |work: f64| (2.0 * yield_of(&predicted(&[])) / work - 1.0).abs();
    let agrees = differs(work) < 0.05 || (0..2).any(|_| differs(yield_of(&per_worker())) < 0.05);
    assert!(agrees, "no pair of recordings agrees");
}

#[test]
fn threads_are_those_of_the_program_that_does_the_work() {
    let options = ["--model=zen4", "--no-measure", "--whole", "--json=-", "--work=per-worker"];
    let mut command = corun(["predict", "--quiet"]);
    // A shell becomes the program with its number of threads.
    let [dashes, words @ ..] = &kernel_worker("{workers}", "60000")[..] else { panic!("no words") };
    let command = command.args(options).args([dashes, "sh", "-c", "exec \"$@\"", "word"]);
    let prediction = read(&Outcome::of(command.args(words)));
    assert!(prediction.command.contains(&"--threads=1".to_owned()), "{:?}", prediction.command);
    let [full] = &prediction.beside[..] else { panic!("{:?}", prediction.beside) };
    assert!(full.is_one_process && full.threads == 2, "{full:?}");
    // With two workers a process that is not traced does the work.
    let script = "work() { i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; }\n\
                  if [ $0 = 1 ]; then work; else (work); fi; exit 0";
    let mut command = corun(["predict", "--quiet"]);
    let command = command.args(options).args(["--", "sh", "-c", script, "{workers}"]);
    let refused = Outcome::of(command);
    assert_eq!(refused.exit, Some(1), "{}", refused.output);
    assert!(refused.errors.contains("processes which `sh` starts"), "{}", refused.errors);
}

#[test]
fn threads_of_a_program_can_be_packed() {
    let options = ["--no-measure", "--placement=spread,packed", "--whole", "--json=-"];
    let mut command = corun(["predict", "--quiet", "--model=zen4"]);
    // Enough work to outweigh the start of the program, which one thread does alone.
    let words = kernel_worker("2", "150000");
    let prediction = read(&Outcome::of(command.args(options).args(words)));
    let [packed] = &prediction.beside[..] else { panic!("{:?}", prediction.beside) };
    assert!(packed.is_one_process && packed.threads == 2, "{packed:?}");
    let time = prediction.estimate(Metric::CoreEquivalence, Source::Predicted).expect("a ratio");
    assert!((0.95..2.5).contains(&time.value), "{time:?}");
    assert!((time.value - packed.slowdown.value).abs() < 1e-9, "{time:?} {packed:?}");
}

#[test]
fn the_other_program_and_a_built_in_workload_are_in_the_document() {
    let options = ["--sample=50:4k", "--warmup=20k", "--json=-", "--max-time=10m"];
    let mut command = corun(["predict", "--quiet", "--model=zen4", "--beside=sh -c 'exit 3'"]);
    let pair = read(&Outcome::of(command.args(options).args(counts(100))));
    let other = pair.other.as_ref().expect("another program");
    assert_eq!(other.command[1..], ["-c", "exit 3"]);
    assert!(other.threads == 1 && other.instructions > 1000, "{other:?}");
    assert!(other.kernel_share.is_some(), "{other:?}");
    assert!(kinds(&pair).contains(&"exit-code-of-other"), "{:?}", kinds(&pair));

    let options = ["--no-measure", "--workload=chase", "--param=size=16K", "--operations=20000"];
    let mut command = predict(&["--json=-"]);
    let prediction = read(&Outcome::of(command.args(options)));
    let workload = prediction.workload.as_ref().expect("a built-in workload");
    assert_eq!((workload.name.as_str(), workload.workers), ("chase", 1));
    assert_eq!(workload.parameters.get("size").map(String::as_str), Some("16384"));
    let shown = Outcome::of(predict(&[]).args(options)).unwrapped();
    assert!(shown.contains("the built-in workload chase ") && !shown.contains("kernel-worker"));
}
