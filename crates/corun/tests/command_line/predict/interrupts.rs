//! Predictions that are interrupted or reach their limit answer from what is known by then.

use corun_record::{Document, Metric, Prediction, Source};
use rustix::process::Signal;

use super::{kinds, predict, read};
use crate::common::{Outcome, Scratch, corun, wait_until};
use crate::interruption::{ended_by, start};

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
