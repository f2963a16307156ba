//! Programs that become others, leave their work to others, or set limits: predicted or refused with the reason.

use std::path::Path;

use corun_record::{Metric, Source};

use super::{kinds, predict, read};
use crate::common::{Outcome, Scratch, corun};

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
