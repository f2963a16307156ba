//! What shells and manuals get from corun: completions that they accept, pages without warnings, colour where it is
//! wanted, and standard input that is either used or remarked on.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use corun_testing::skip;

use crate::common::{FEWEST, Outcome, Scratch, corun, measure_one_worker};

/// True if a program of the system can be started.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok()
}

/// The completions for a shell, in a file.
fn completions(scratch: &Scratch, shell: &str) -> std::path::PathBuf {
    let outcome = Outcome::of(&mut corun(["completions", shell]));
    assert_eq!((outcome.exit, &*outcome.errors), (Some(0), ""));
    let file = scratch.file("corun-completions");
    std::fs::write(&file, &outcome.output).unwrap();
    assert!(outcome.output.contains("memory-hierarchy"), "{shell}");
    for internal in ["audit-load", "kernel-worker", "smt-watchdog"] {
        assert!(!outcome.output.contains(internal), "{shell} offers {internal}");
    }
    file
}

#[test]
fn shells_accept_their_completions() {
    let scratch = Scratch::new();
    for (shell, only_parse) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        if !has(shell) {
            skip("shells_accept_their_completions", &format!("there is no {shell}"));
            continue;
        }
        let file = completions(&scratch, shell);
        let parsed = Outcome::of(Command::new(shell).arg(only_parse).arg(file));
        assert_eq!((parsed.exit, &*parsed.errors), (Some(0), ""), "{shell}");
    }
}

#[test]
fn bash_completes_subcommands_and_options() {
    let scratch = Scratch::new();
    let file = completions(&scratch, "bash");
    let completed = |words: &[&str]| {
        let last = words.len() - 1;
        let script = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={last}; _corun corun '{}' '{}'; echo \"${{COMPREPLY[*]}}\"",
            file.display(),
            words.join(" "),
            words[last],
            words[last - 1]
        );
        Outcome::of(Command::new("bash").args(["-c", &script])).output.trim().to_owned()
    };
    assert_eq!(completed(&["corun", "meas"]), "measure");
    assert_eq!(completed(&["corun", "trace", "in"]), "info");
    assert_eq!(completed(&["corun", "measure", "--max-t"]), "--max-time");
    assert_eq!(completed(&["corun", "measure", "--color", "al"]), "always");
    for (words, name) in [
        (&["corun", "simulate", "--model", "zen5"][..], "zen5"),
        (&["corun", "models", "show", "ivy"], "ivy-bridge"),
        (&["corun", "measure", "--workload", "strea"], "stream"),
        (&["corun", "bench", "run", "fi"], "fib"),
        (&["corun", "study", "run", "smt-t"], "smt-test-2020"),
        (&["corun", "schema", "corun-tren"], "corun-trend"),
    ] {
        let found = completed(words);
        assert!(found.split(' ').any(|it| it == name), "{words:?}: {found}");
    }
}

/// The manual pages, in a folder that was not there.
fn pages(scratch: &Scratch) -> Vec<std::path::PathBuf> {
    let folder = scratch.file("man/man1");
    let outcome = Outcome::of(corun(["man"]).arg(&folder));
    assert_eq!((outcome.exit, &*outcome.errors), (Some(0), ""));
    let mut pages: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    pages
}

#[test]
fn each_subcommand_has_a_manual_page() {
    let scratch = Scratch::new();
    let pages = pages(&scratch);
    let names: Vec<_> =
        pages.iter().map(|page| page.file_name().unwrap().to_str().unwrap()).collect();
    for name in
        ["corun.1", "corun-measure.1", "corun-trace.1", "corun-trace-info.1", "corun-smt-run.1"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("kernel-worker")), "{names:?}");
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "\"EXIT STATUS\""] {
            assert!(text.contains(&format!(".SH {section}\n")), "{}: {section}", page.display());
        }
    }
}

#[test]
fn manual_pages_are_shown_without_warnings() {
    if !has("man") || !has("groff") {
        return skip("manual_pages_are_shown_without_warnings", "there is no man with groff");
    }
    let scratch = Scratch::new();
    for page in pages(&scratch) {
        let shown = Outcome::of(
            Command::new("man")
                .args(["--warnings", "-E", "UTF-8", "-l"])
                .arg(&page)
                .envs([
                    ("LC_ALL", "C.UTF-8"),
                    ("MANWIDTH", "80"),
                    ("MANROFFSEQ", ""),
                    ("MANPAGER", "cat"),
                ])
                .stdin(Stdio::null()),
        );
        assert_eq!((shown.exit, &*shown.errors), (Some(0), ""), "{}", page.display());
        assert!(shown.output.contains("EXIT STATUS"), "{}", page.display());
    }
}

#[test]
fn colour_is_where_it_is_asked_for() {
    let is_coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = corun(arguments);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
            command.env_remove(name);
        }
        let outcome = Outcome::of(command.env("TERM", "xterm").envs(variables.iter().copied()));
        (outcome.output + &outcome.errors).contains('\u{1b}')
    };
    let force = ("CLICOLOR_FORCE", "1");
    for command in [&["topo"][..], &["measure", "--help"], &["measure", "--nonsense"]] {
        let with = |more: &[&'static str]| [command, more].concat();
        assert!(!is_coloured(command, &[]), "{command:?}: no terminal");
        assert!(is_coloured(&with(&["--color", "always"]), &[]), "{command:?}");
        assert!(is_coloured(&with(&["--color=always"]), &[("NO_COLOR", "1")]), "{command:?}");
        assert!(is_coloured(command, &[force]), "{command:?}");
        assert!(!is_coloured(command, &[force, ("NO_COLOR", "1")]), "{command:?}");
        assert!(!is_coloured(&with(&["--color=never"]), &[force]), "{command:?}");
    }
}

#[test]
fn progress_is_on_a_terminal_and_nowhere_else() {
    if !has("script") {
        return skip("progress_is_on_a_terminal_and_nowhere_else", "there is no script");
    }
    let line = ["bench", "run", "fib", "--blocks=2", "--sample-time=1ms"];
    let on_a_terminal = |more: &str| {
        let corun = env!("CARGO_BIN_EXE_corun");
        let command =
            format!("stty columns 60 rows 20; {corun} {} {more} > /dev/null", line.join(" "));
        let script = ["-q", "-e", "-f", "-c", &command, "/dev/null"];
        let mut command = Command::new("script");
        let outcome = Outcome::of(command.args(script).stdin(Stdio::null()).env("CORUN_STORE", ""));
        assert_eq!(outcome.exit, Some(0), "{}{}", outcome.output, outcome.errors);
        outcome.output
    };
    let shown = on_a_terminal("");
    assert!(
        shown.contains("] ") && shown.contains(" % ") && shown.contains("1 of 1: fib"),
        "{shown}"
    );
    for drawn in shown.split(['\r', '\n']).filter(|it| it.contains("1 of 1")) {
        let text = drawn.split('\u{1b}').next().unwrap();
        assert!(text.chars().count() <= 60, "{drawn:?}");
    }
    assert_eq!(on_a_terminal("--quiet").trim(), "");
    assert_eq!(Outcome::of(&mut corun(line)).errors, "");
}

/// The end of a measurement with this written into its standard input, which is a pipe.
fn fed(scratch: &Scratch, options: &[&str], command: &Path, input: &[u8]) -> Outcome {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(input).expect("a pipe holds that much");
    drop(writer);
    Outcome::of(
        measure_one_worker(FEWEST)
            .current_dir(scratch.path())
            .args(options)
            .arg(command)
            .stdin(Stdio::from(reader)),
    )
}

#[test]
fn a_pipe_is_kept_for_every_run() {
    let scratch = Scratch::new();
    let script = scratch.script("mkdir -p \"$folder/read\"; cat > \"$folder/read/$$\"");
    let outcome = fed(&scratch, &["--stdin=-"], &script, b"one\ntwo\n");
    assert_eq!((outcome.exit, &*outcome.errors), (Some(0), ""));
    let copies: Vec<_> = std::fs::read_dir(scratch.file("read")).unwrap().flatten().collect();
    assert!(copies.len() > 1, "{copies:?}");
    for copy in copies {
        assert_eq!(std::fs::read(copy.path()).unwrap(), b"one\ntwo\n");
    }
}

#[test]
fn a_pipe_that_nothing_reads_is_remarked_on() {
    let scratch = Scratch::new();
    let script = scratch.script("exit 0");
    let outcome = fed(&scratch, &[], &script, b"unread\n");
    assert_eq!(outcome.exit, Some(0));
    insta::assert_snapshot!(outcome.errors, @r"corun: standard input is a pipe that nothing reads; `--stdin -` gives it to every run of the command");
    assert_eq!(fed(&scratch, &[], &script, b"").errors, "", "an empty pipe");
    assert_eq!(
        fed(&scratch, &["--stdin=/dev/null"], &script, b"unread\n").errors,
        "",
        "another input"
    );
}

#[test]
fn what_was_meant_for_a_shell_is_recognised() {
    let scratch = Scratch::new();
    let said = |command: &[&str]| {
        let outcome = Outcome::of(measure_one_worker(FEWEST).arg("--").args(command));
        outcome.reported(scratch.path())
    };
    insta::assert_snapshot!(said(&["sort -n", "a file"]), @r#"
    exit 1
    corun: expected a program, found nothing called "sort -n" on the search path or at that place
      Give the program and each argument as a word of its own: -- sort -n 'a file'
    "#);
    insta::assert_snapshot!(said(&["cd", "/tmp"]), @r#"
    exit 1
    corun: expected a program, found nothing called "cd" on the search path or at that place
      No shell reads the command; name one that does: -- sh -c 'cd /tmp'
    "#);
    insta::assert_snapshot!(said(&["source", "./settings"]), @r#"
    exit 1
    corun: expected a program, found nothing called "source" on the search path or at that place
      No shell reads the command; name one that does: -- bash -c 'source ./settings'
    "#);
    insta::assert_snapshot!(said(&["OMP_NUM_THREADS=4", "./solver"]), @r#"
    exit 1
    corun: expected a program, found nothing called "OMP_NUM_THREADS=4" on the search path or at that place
      Set a variable with --env: --env OMP_NUM_THREADS=4 -- ./solver
    "#);
    let variables = said(&["A={workers}", "B=1", "./solver", "4"]);
    assert!(
        variables.ends_with("--env: --env A={workers} --env B=1 -- ./solver 4\n"),
        "{variables}"
    );
    let remark = said(&["true", "&&", "false"]);
    insta::assert_snapshot!(remark, @r"
    exit 0
    corun: `&&` is an argument of true here, since no shell reads the command; for one: -- sh -c '...'
    ");
    for command in [&["trace", "-o", "trace", "sleep 1"][..], &["predict", "sleep 1"]] {
        let outcome = Outcome::of(corun(command).current_dir(scratch.path()));
        assert!(outcome.errors.ends_with("a word of its own: -- sleep 1\n"), "{}", outcome.errors);
    }
}

#[test]
fn a_line_in_one_word_runs_as_in_hyperfine_and_is_said() {
    let scratch = Scratch::new();
    let run = |command: &str| {
        let mut measure = measure_one_worker(FEWEST);
        let outcome =
            Outcome::of(measure.args(["--json=-", "--", command]).current_dir(scratch.path()));
        (outcome.run().workload.command, outcome.errors)
    };
    let (words, said) = run("seq {workers} | sort > out; echo $? >> out");
    assert_eq!(words, ["sh", "-c", "seq {workers} | sort > out; echo $? >> out"]);
    assert_eq!(said, "corun: runs as -- sh -c 'seq {workers} | sort > out; echo $? >> out'\n");
    assert_eq!(scratch.read("out"), "1\n0\n");
    let (words, said) = run("NUMBER={workers} sh -c 'echo $NUMBER > out'");
    assert_eq!((words[0].as_str(), scratch.read("out").as_str()), ("sh", "1\n"), "{said}");
    let (words, said) = run("[[ 1 < 2 ]]");
    assert_eq!(
        (words[0].as_str(), said.as_str()),
        ("bash", "corun: runs as -- bash -c '[[ 1 < 2 ]]'\n")
    );
    let (words, said) = run("seq {workers} 3");
    assert_eq!(words, ["seq", "{workers}", "3"]);
    assert_eq!(said, "corun: runs as -- seq {workers} 3\n");
    // Words of its own are no line, and neither is a file with a blank in its name.
    let script = scratch.executable("a file", "#!/bin/sh\n");
    assert_eq!(run(script.to_str().expect("plain")).1, "");
    // What prepares a sample is a line always, and is given to a shell as far as it needs one.
    let mut measure = measure_one_worker(FEWEST);
    measure.args(["--prepare", "rm -f *.o && echo prepared > out", "--", "true"]);
    std::fs::write(scratch.file("a.o"), "").expect("a file can be written");
    let prepared = Outcome::of(measure.current_dir(scratch.path()));
    assert_eq!((prepared.exit, scratch.read("out").as_str()), (Some(0), "prepared\n"));
    assert!(!scratch.file("a.o").exists());
}

#[test]
fn near_misses_are_told_the_right_spelling() {
    let scratch = Scratch::new();
    scratch.executable("omp", "#!/bin/sh\n");
    let said = |arguments: &[&str]| {
        let mut command = corun(["threads", "--max-time=5"]);
        Outcome::of(command.args(arguments).current_dir(scratch.path())).reported(scratch.path())
    };
    insta::assert_snapshot!(said(&["omp", "4"]), @r"
    exit 1
    corun: expected a program on the search path, found omp in this directory only
      Name its place: -- ./omp 4
    ");
    insta::assert_snapshot!(said(&["--", "./omp", "-j{worker}"]), @r"
    exit 2
    corun: expected {workers} in place of the number of threads, found {worker}
      Write -j{workers}
    ");
    for arguments in [
        &["--env=OMP_NUM_THREADS={WORKERS}", "./omp"][..],
        &["--prepare=echo {worker}", "./omp"],
        &["--serve=./omp {Threads}", "--load=./omp", "--ready=1"],
    ] {
        let said = said(arguments);
        assert!(said.starts_with("exit 2\n") && said.contains("{workers}\n"), "{said}");
    }
    let direct = Outcome::of(corun(["./omp"]).current_dir(scratch.path())).reported(scratch.path());
    insta::assert_snapshot!(direct, @r"
    exit 2
    corun: expected a subcommand, found the program ./omp
      How many workers it should have: corun threads ./omp
      What siblings do to it: corun measure ./omp
    ");
    let nothing = Outcome::of(&mut corun(["capacity"])).reported(scratch.path());
    assert!(nothing.ends_with("\n  For instance: corun capacity ./server-test\n"), "{nothing}");
}

#[test]
fn lists_longer_than_the_terminal_go_through_the_pager() {
    if !has("script") {
        return skip("lists_longer_than_the_terminal_go_through_the_pager", "there is no script");
    }
    let shown = |rows: u32, pager: &str| {
        let corun = env!("CARGO_BIN_EXE_corun");
        let line = format!("stty rows {rows} cols 80; PAGER='{pager}' {corun} models list");
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null());
        let outcome = Outcome::of(&mut command);
        assert_eq!(outcome.exit, Some(0), "{}{}", outcome.output, outcome.errors);
        outcome.output
    };
    assert!(shown(5, "sed s/^/paged/").contains("paged zen4"));
    for (rows, pager) in [(50, "sed s/^/paged/"), (5, ""), (5, "no-such-pager")] {
        let text = shown(rows, pager);
        assert!(text.contains(" zen4 ") && !text.contains("paged"), "{rows} {pager}: {text}");
    }
}
