//! What `corun measure` answers, and that it does not take longer than it may.

use corun_record::{Answer, Document, EndReason, Run};

use crate::common::{FEWEST, Outcome, Scratch, corun, measure};

#[test]
fn a_limit_that_is_too_short_is_refused_at_once() {
    let scratch = Scratch::new();
    let json = scratch.file("run.json");
    let mut command = corun(["measure", "--placement=spread,stacked", "--brief"]);
    let outcome = Outcome::of(
        command.args(["--max-time=100ms", "--json"]).arg(&json).args(["--", "sleep", "60"]),
    );
    assert_eq!(outcome.reported(scratch.path()), "exit 5\n");
    insta::assert_snapshot!(
        outcome.unwrapped(),
        @"Too few blocks to say: one run of spread takes longer than the time allowed (100ms). Allow more with --max-time, measure fewer placements with --placement, or shorten the command."
    );
    let run = Run::from_json(&scratch.read("run.json")).expect("a whole run");
    assert_eq!((run.ending.reason, run.design.blocks), (EndReason::TimeUp, 0));
    assert!(run.samples.is_empty() && run.observations.is_empty() && run.verdicts.is_empty());
}

/// Beside other work that is not known of a program, so that it is asked again, and not said.
#[test]
fn a_program_that_waits_has_no_other_answer() {
    const TIMES: usize = 5;
    let scratch = Scratch::new();
    let json = scratch.file("run.json");
    for _ in 0..TIMES {
        let mut command = measure("spread,stacked", FEWEST);
        command.arg("--brief").arg("--json").arg(&json).args(["--", "sleep", "0.05"]);
        let outcome = Outcome::of(&mut command);
        assert_eq!(outcome.reported(scratch.path()), "exit 0\n");
        let run = Run::from_json(&scratch.read("run.json")).expect("a whole run");
        let has = |kind: &str| run.caveats.iter().any(|caveat| caveat.kind == kind);
        let shown = outcome.unwrapped();
        if has("foreign-load") {
            assert!(!shown.contains("The program waits"), "{shown}");
            continue;
        }
        assert!(shown.starts_with("The program waits: it uses a CPU for "), "{shown}");
        assert_eq!(shown.matches("The program waits").count(), 1, "{shown}");
        assert!(run.verdicts.iter().all(|verdict| verdict.answer == Answer::Inconclusive));
        assert!(has("waits"), "{:?}", run.caveats);
        return;
    }
}
