//! Commands that cannot be run, or do not end as they should: what was wrong, and what to do.

use crate::common::{FEWEST, Outcome, Scratch, measure_one_worker};

/// The end of a measurement of this command, with options before the `--`.
fn reported(scratch: &Scratch, options: &[&str], command: &[&str]) -> String {
    let outcome = Outcome::of(
        measure_one_worker(FEWEST)
            .current_dir(scratch.path())
            .args(options)
            .arg("--")
            .args(command),
    );
    assert_eq!(outcome.output, "");
    outcome.reported(scratch.path())
}

#[test]
fn a_program_must_exist() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(reported(&scratch, &[], &["no-such-program"]), @r#"
    exit 1
    corun: expected a program, found nothing called "no-such-program" on the search path or at that place
      Check the spelling, or give the program's full path. An alias or a function of a shell is no program.
    "#);
    insta::assert_snapshot!(reported(&scratch, &[], &["./no-such-program"]), @r#"
    exit 1
    corun: expected a program, found nothing called "./no-such-program" on the search path or at that place
      Check the spelling, or give the program's full path. An alias or a function of a shell is no program.
    "#);
    insta::assert_snapshot!(reported(&scratch, &[], &[""]), @r#"
    exit 1
    corun: expected a program, found nothing called "" on the search path or at that place
      Check the spelling, or give the program's full path. An alias or a function of a shell is no program.
    "#);
    scratch.executable("file", "");
    insta::assert_snapshot!(reported(&scratch, &[], &["./file/program"]), @r#"
    exit 1
    corun: expected a program, found nothing called "./file/program" on the search path or at that place
      Check the spelling, or give the program's full path. An alias or a function of a shell is no program.
    "#);
    let elsewhere = ["--env=PATH=/nowhere"];
    insta::assert_snapshot!(reported(&scratch, &elsewhere, &["true"]), @r#"
    exit 1
    corun: expected a program, found nothing called "true" on the search path or at that place
      Check the spelling, or give the program's full path. An alias or a function of a shell is no program.
    "#);
}

#[test]
fn a_program_must_be_executable() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("text"), "").unwrap();
    insta::assert_snapshot!(reported(&scratch, &[], &["./text"]), @r#"
    exit 4
    corun: expected a program that may be executed, found "./text" without that permission
      Make it executable (chmod +x), or name its interpreter: `-- bash FILE`.
    "#);
    insta::assert_snapshot!(reported(&scratch, &[], &["./"]), @r#"
    exit 1
    corun: expected a program, found the directory "./"
      Name a program after `--`; `--cwd DIR` runs it in a directory.
    "#);
    scratch.executable("no-first-line", "echo hello\n");
    insta::assert_snapshot!(reported(&scratch, &[], &["./no-first-line"]), @r#"
    exit 1
    corun: could not execute "./no-first-line": Exec format error (os error 8)
      A script names its interpreter in its first line (#!/bin/sh), or is run as `-- sh FILE`.
    "#);
    scratch.executable("no-interpreter", "#!/nowhere/sh\n");
    insta::assert_snapshot!(reported(&scratch, &[], &["./no-interpreter"]), @r#"
    exit 1
    corun: could not execute "./no-interpreter": No such file or directory (os error 2)
      Check that the interpreter in its first line, or the loader it asks for, exists.
    "#);
}

#[test]
fn a_program_on_the_search_path_that_may_not_be_executed_hides_none_behind_it() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("true"), "").unwrap();
    let path = format!("--env=PATH={}:/bin:/usr/bin", scratch.path().display());
    assert!(reports_success(&scratch, &[&path], &["true"]));
}

#[test]
fn input_and_directory_must_be_there() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(reported(&scratch, &["--stdin=missing"], &["true"]), @r#"
    exit 1
    corun: could not open "missing" for the workers' input: No such file or directory (os error 2)
      Name a readable file with `--stdin`.
    "#);
    insta::assert_snapshot!(reported(&scratch, &["--stdin=."], &["true"]), @r#"
    exit 1
    corun: could not open "." for the workers' input: is a directory
      Name a readable file with `--stdin`.
    "#);
    insta::assert_snapshot!(reported(&scratch, &["--cwd=missing"], &["true"]), @r#"
    exit 1
    corun: could not enter the working directory "missing": No such file or directory (os error 2)
      Name a directory that you may enter with `--cwd`.
    "#);
    scratch.executable("file", "");
    insta::assert_snapshot!(reported(&scratch, &["--cwd=file"], &["true"]), @r#"
    exit 1
    corun: could not enter the working directory "file": Not a directory (os error 20)
      Name a directory that you may enter with `--cwd`.
    "#);
}

#[test]
fn a_failing_command_shows_its_last_lines() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(reported(&scratch, &[], &["false"]), @r"
    exit 1
    corun: expected exit status 0, found exit status 1 from worker 0 of arm spread.aa; it wrote nothing
      Make the command succeed by itself first; `--expect-exit N` accepts another status.
    ");
    let script = "seq 1 20; echo 'out of luck' >&2; exit 3";
    insta::assert_snapshot!(reported(&scratch, &[], &["sh", "-c", script]), @r"
    exit 1
    corun: expected exit status 0, found exit status 3 from worker 0 of arm spread.aa; its last lines:
        12
        13
        14
        15
        16
        17
        18
        19
        20
        out of luck
      Make the command succeed by itself first; `--expect-exit N` accepts another status.
    ");
    insta::assert_snapshot!(reported(&scratch, &[], &["sh", "-c", "kill -SEGV $$"]), @r"
    exit 1
    corun: expected exit status 0, found death by signal 11 from worker 0 of arm spread.aa; it wrote nothing
      Make the command succeed by itself first; `--expect-exit N` accepts another status.
    ");
}

#[test]
fn another_exit_status_can_be_the_expected_one() {
    let scratch = Scratch::new();
    assert!(reports_success(&scratch, &["--expect-exit=3"], &["sh", "-c", "exit 3"]));
    insta::assert_snapshot!(reported(&scratch, &["--expect-exit=3"], &["true"]), @r"
    exit 1
    corun: expected exit status 3, found exit status 0 from worker 0 of arm spread.aa; it wrote nothing
      Make the command succeed by itself first; `--expect-exit N` accepts another status.
    ");
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(reported(&scratch, &["--timeout=50ms"], &["sleep", "600"]), @r"
    exit 1
    corun: expected arm spread.aa to end within 0.05 s, found it still running
      Allow more with `--timeout`, or give the command less work.
    ");
}

#[test]
fn the_output_must_hold_the_number() {
    let scratch = Scratch::new();
    let rate = [r"--throughput=rate: (\S+)"];
    insta::assert_snapshot!(reported(&scratch, &rate, &["echo", "speed: 12"]), @r#"
    exit 1
    corun: expected the output of worker 0 of arm spread.aa to match "rate: (\\S+)" with a positive number, found no match
      Try the expression on the command's own output; its one group must catch the number.
    "#);
    insta::assert_snapshot!(reported(&scratch, &rate, &["echo", "rate: unknown"]), @r#"
    exit 1
    corun: expected the output of worker 0 of arm spread.aa to match "rate: (\\S+)" with a positive number, found "unknown"
      Try the expression on the command's own output; its one group must catch the number.
    "#);
    insta::assert_snapshot!(reported(&scratch, &rate, &["echo", "rate: 0"]), @r#"
    exit 1
    corun: expected the output of worker 0 of arm spread.aa to match "rate: (\\S+)" with a positive number, found "0"
      Try the expression on the command's own output; its one group must catch the number.
    "#);
}

fn reports_success(scratch: &Scratch, options: &[&str], command: &[&str]) -> bool {
    let mut measuring = measure_one_worker(FEWEST);
    let outcome =
        Outcome::of(measuring.current_dir(scratch.path()).args(options).arg("--").args(command));
    outcome.reported(scratch.path()) == "exit 0\n"
}

/// Two names become one when the client's recorded name is replaced by the worker's own.
#[test]
fn a_built_in_workload_that_cannot_go_on_says_why() {
    let scratch = Scratch::new();
    let load = scratch.file("load");
    let lines = [
        r#"NTCreateX "\client0" 0x40 0x2 1 NT_STATUS_OK"#,
        r#"NTCreateX "\client1" 0x40 0x1 2 NT_STATUS_OBJECT_NAME_NOT_FOUND"#,
    ];
    std::fs::write(&load, lines.join("\n")).unwrap();
    let load = format!("--param=load={}", load.display());
    let outcome = Outcome::of(measure_one_worker(FEWEST).args(["--workload=dbench", &load]));
    insta::assert_snapshot!(outcome.reported(scratch.path()), @r#"
    exit 1
    corun: line 2 of the load "FOLDER/load" (NTCreateX): expected a failure, found success (worker 0 of arm spread)
      See what the load cannot decide (room on the disk, limits, other processes), and run it again.
    "#);
}
