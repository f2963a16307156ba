//! Requests that are not valid, or not possible on this machine: one sentence, a next step, an exit code.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::common::{Outcome, Scratch, corun};
use crate::limits::LINES;

/// The end of `corun measure` with these arguments.
fn reported(arguments: &[&str]) -> String {
    let outcome = Outcome::of(corun(["measure"]).args(arguments));
    assert_eq!(outcome.output, "");
    outcome.reported(Path::new("/nowhere"))
}

#[test]
fn a_first_word_that_is_no_unicode_is_no_command() {
    let outcome = Outcome::of(&mut corun([OsStr::from_bytes(b"\xff")]));
    assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
    assert!(!outcome.errors.contains("panicked"), "{}", outcome.errors);
}

#[test]
fn a_command_is_needed() {
    insta::assert_snapshot!(reported(&[]), @r"
    exit 2
    corun: expected a command or `--workload NAME`, found neither
      For instance: corun measure ./solver input.dat
    ");
    insta::assert_snapshot!(reported(&["true", "--max-time=1s"]), @r"
    exit 2
    corun: expected corun's options before the command, or `--` in front of it, found --max-time=1s after true
      If it is corun's: corun measure --max-time=1s true
      If it is true's: corun measure -- true --max-time=1s
    ");
}

#[test]
fn a_command_and_a_workload_are_two_things() {
    insta::assert_snapshot!(reported(&["--workload=fib", "--", "true"]), @r"
    exit 2
    error: the argument '--workload <NAME>' cannot be used with '[COMMAND]...'

    Usage: corun measure --workload <NAME> [COMMAND]...

    For more information, try '--help'.
    ");
    for option in ["--env=A=B", "--env-clear", "--cwd=/", "--stdin=/dev/null", "--expect-exit=1"] {
        let reported = reported(&["--workload=fib", option]);
        assert!(
            reported.starts_with("exit 2\nerror: the argument '--workload <NAME>'"),
            "{reported}"
        );
    }
    assert!(reported(&["--throughput=(.)", "--workload=fib"]).starts_with("exit 2\n"));
    assert!(reported(&["--work=total", "--workload=fib"]).starts_with("exit 2\n"));
    insta::assert_snapshot!(reported(&["--sample-time=1s", "--", "true"]), @r"
    exit 2
    error: the argument '--sample-time <TIME>' cannot be used with '[COMMAND]...'

    Usage: corun measure --sample-time <TIME> [COMMAND]...

    For more information, try '--help'.
    ");
}

#[test]
fn the_number_in_the_output_needs_one_group() {
    insta::assert_snapshot!(reported(&["--throughput=rate", "--", "true"]), @r"
    exit 2
    error: invalid value 'rate' for '--throughput <REGEX>': expected one group around the number, as in 'score: ([0-9.]+)', found 0 groups

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(reported(&["--throughput=(a)(b)", "--", "true"]), @r"
    exit 2
    error: invalid value '(a)(b)' for '--throughput <REGEX>': expected one group around the number, as in 'score: ([0-9.]+)', found 2 groups

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(reported(&["--throughput=(", "--", "true"]), @r"
    exit 2
    error: invalid value '(' for '--throughput <REGEX>': regex parse error:
        (
        ^
    error: unclosed group

    For more information, try '--help'.
    ");
}

#[test]
fn zero_workers_are_refused() {
    let zero = reported(&["--copies=0", "--", "true"]);
    insta::assert_snapshot!(zero, @r"
    exit 2
    corun: expected at least one worker, found 0
      Ask for one worker or more.
    ");
    assert_eq!(reported(&["--cores=0", "--", "true"]), zero);
    insta::assert_snapshot!(reported(&["--placement=free@0", "--", "true"]), @r#"
    exit 2
    error: invalid value 'free@0' for '--placement <LIST>': expected a placement (single, spread, spread@N, full, full@K, packed, packed@N, scatter@N, stacked, free or free@N), found "free@0"

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(reported(&["--copies=many", "--", "true"]), @r#"
    exit 2
    error: invalid value 'many' for '--copies [<N>]': expected a number of copies, or `--copies --` before the command, found "many"

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(reported(&["--copies=2", "--cores=2", "--", "true"]), @r"
    exit 2
    error: the argument '--copies [<N>]' cannot be used with '--cores <C>'

    Usage: corun measure --copies [<N>] <COMMAND>...

    For more information, try '--help'.
    ");
}

#[test]
fn more_cores_than_there_are_is_not_possible() {
    let reported = reported(&["--cores=100000", "--", "true"]);
    assert!(reported.starts_with("exit 3\ncorun: expected at most "), "{reported}");
    assert!(reported.contains(", found 100000 asked for\n"), "{reported}");
    assert!(reported.ends_with("\n  Ask for fewer; `corun topo` shows the cores.\n"), "{reported}");
}

#[test]
fn a_named_placement_must_be_possible() {
    for (arms, placement) in
        [("spread,packed", "packed"), ("full@99", "full@99"), ("spread@99", "spread@99")]
    {
        let reported = reported(&["--placement", arms, "--cores=1", "--", "true"]);
        let start = format!("exit 3\ncorun: the placement {placement} is not possible here: ");
        assert!(reported.starts_with(&start), "{reported}");
        let end = "  Leave the placement out.\n";
        assert!(reported.ends_with(end), "{reported}");
    }
}

#[test]
fn placements_and_core_types_have_names() {
    insta::assert_snapshot!(reported(&["--placement=spread,fast", "--", "true"]), @r#"
    exit 2
    error: invalid value 'fast' for '--placement <LIST>': expected a placement (single, spread, spread@N, full, full@K, packed, packed@N, scatter@N, stacked, free or free@N), found "fast"

    For more information, try '--help'.
    "#);
    let reported = reported(&["--core-type=imaginary", "--", "true"]);
    assert!(reported.starts_with("exit 2\ncorun: expected one of the core types "), "{reported}");
    assert!(reported.contains(", found \"imaginary\"\n"), "{reported}");
}

#[test]
fn workloads_and_parameters_have_names_and_values() {
    let answer = reported(&["--workload=fob"]);
    let start = "exit 2\ncorun: no built-in workload is called `fob`; the nearest are: fib, ";
    assert!(answer.starts_with(start), "{answer}");
    assert!(answer.ends_with("\n  Did you mean `fib`?\n"), "{answer}");
    insta::assert_snapshot!(reported(&["--workload=fib", "--param=granularty=128"]), @r"
    exit 2
    corun: `fib` has no parameter `granularty`; it has: granularity, variant, call
      Did you mean `granularity`?
    ");
    insta::assert_snapshot!(reported(&["--workload=fib", "--param=granularity=some"]), @r"
    exit 2
    corun: parameter `granularity` of `fib`: expected a size from 32 B to 1 GiB that is a multiple of 8 B, like 4096, 4K, 4KiB or 2xL1, found `some`
      Give `granularity` such a value, or leave it out to get the default.
    ");
    insta::assert_snapshot!(reported(&["--workload=fib", "--param=granularity"]), @r"
    exit 2
    corun: expected a parameter of `fib` as name=value, found `granularity`
      Write the name, an equals sign and the value.
    ");
    insta::assert_snapshot!(reported(&["--param=granularity=128", "--", "true"]), @r"
    exit 2
    error: the argument '--param <NAME=VALUE>' cannot be used with '[COMMAND]...'

    Usage: corun measure --param <NAME=VALUE> [COMMAND]...

    For more information, try '--help'.
    ");
}

#[test]
fn copies_and_threads_do_not_mix() {
    insta::assert_snapshot!(reported(&["--steady", "--", "run", "-t{workers}"]), @r"
    exit 2
    corun: expected process copies with --steady, found one process with threads
      Leave --steady out, or measure copies.
    ");
    insta::assert_snapshot!(reported(&["--copies", "--", "run", "-t{workers}"]), @r"
    exit 2
    corun: expected either --copies or {workers} in the command, found both
      Leave --copies out, or write the number of threads into the command.
    ");
    insta::assert_snapshot!(reported(&["--work=per-worker", "--", "run"]), @r"
    exit 2
    corun: expected {workers} in the command with --work per-worker, found none
      Write {workers} where the command takes its number of threads.
    ");
    insta::assert_snapshot!(reported(&["--steady", "--throughput=(.)", "--", "run"]), @r"
    exit 2
    error: the argument '--steady' cannot be used with '--throughput <REGEX>'

    Usage: corun measure --steady <COMMAND>...

    For more information, try '--help'.
    ");
}

#[test]
fn numbers_have_units_and_limits() {
    insta::assert_snapshot!(reported(&["--target=1", "--", "true"]), @r#"
    exit 2
    error: invalid value '1' for '--target <PERCENT>': expected a percentage such as 1% or 0.5%, found "1"

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(reported(&["--max-time=soon", "--", "true"]), @r#"
    exit 2
    error: invalid value 'soon' for '--max-time <TIME>': expected a time such as 500ms, 90s or 5m, found "soon"

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(reported(&["--blocks=1", "--", "true"]), @r"
    exit 2
    error: invalid value '1' for '--blocks <N>': 1 is not in 2..=100000

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(reported(&["--expect-exit=256", "--", "true"]), @r"
    exit 2
    error: invalid value '256' for '--expect-exit <STATUS>': 256 is not in 0..=255

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(reported(&["--env=NAME", "--", "true"]), @r#"
    exit 2
    error: invalid value 'NAME' for '--env <NAME=VALUE>': expected NAME=VALUE, found "NAME"

    For more information, try '--help'.
    "#);
}

#[test]
fn standard_output_takes_one_export() {
    insta::assert_snapshot!(reported(&["--json=-", "--csv=-", "--", "true"]), @r#"
    exit 2
    corun: expected a place of its own for each export, found "-" twice
      Name another file for one of them.
    "#);
}

#[test]
fn the_exit_code_does_not_depend_on_an_open_output() {
    for device in ["/dev/full", "/dev/null"] {
        let deaf = std::fs::File::create(device).expect("every Linux has it");
        let status = corun(["measure"]).stderr(deaf).status().expect("corun starts");
        assert_eq!(status.code(), Some(2), "{device}");
    }
}

/// Commands that read a file or a folder, as [`LINES`] and no other do; FILE is its path without an ending.
const MORE_LINES: &[&[&str]] = &[
    &["bench", "run", "dbench", "--param=load=FILE"],
    &["models", "diff", "zen4", "FILE.toml"],
    &["compare", "FILE.json", "FILE.json"],
    &["compare", "--over-time", "FILE.json", "FILE.json"],
    &["report", "FILE.json", "--markdown=-"],
    &["report", "FILE.json", "-o=/dev/null"],
    &["runs", "import", "FILE"],
    &["fleet", "plan", "--engine=local", "FILE"],
    &["fleet", "status", "FILE"],
    &["fleet", "report", "FILE"],
    &["top", "--once", "--replay=FILE"],
    // Any file and any folder will do, if it is there.
    &["measure", "--stdin=FILE", "--", "true"],
    &["measure", "--cwd=FILE", "--", "true"],
    &["measure", "--", "FILE"],
    &["threads", "--stdin=FILE", "--", "true"],
    &["trace", "-o=/dev/null", "--", "FILE"],
    &["top", "--", "FILE"],
    &["top", "--once", "--root=FILE"],
    &["schedule", "--root=FILE", "--load=make"],
];

/// Words of the command line that name nothing.
const WITH_NAME: [&[&str]; 14] = [
    &["measure", "--workload=none"],
    &["measure", "--resume=none"],
    &["predict", "--no-measure", "--model=none", "--", "true"],
    &["bench", "show", "none"],
    &["models", "show", "none"],
    &["study", "show", "none"],
    &["study", "run", "os-lecture", "--only=none"],
    &["schedule", "--topology=1x1x1", "--load=none"],
    &["compare", "none", "none"],
    &["report", "none"],
    &["runs", "show", "none"],
    &["runs", "tag", "none", "x"],
    &["runs", "export", "--json=-", "none"],
    &["schema", "none"],
];

/// As `corun --help` has it: 1 where a file fails, 2 where the command line is not valid.
#[test]
fn a_file_that_fails_is_no_wrong_command_line() {
    let scratch = Scratch::new();
    for ending in ["", ".json", ".toml"] {
        std::fs::write(scratch.file(&format!("garbage{ending}")), "garbage\n").unwrap();
        std::fs::create_dir(scratch.file(&format!("folder{ending}"))).unwrap();
    }
    let differs = |line: &[&str], file: &str, expected: i32| {
        let words = line.iter().map(|word| word.replace("FILE", file));
        let mut command = corun(words);
        command.current_dir(scratch.path()).env("CORUN_STORE", scratch.file("corun.db"));
        let Outcome { exit, errors, .. } = Outcome::of(&mut command);
        (exit != Some(expected)).then(|| format!("{line:?} {file}: {exit:?} {errors}"))
    };
    let mut wrong = Vec::new();
    let takes_any = |word: &&str| {
        ["--stdin", "--cwd", "--root", "--"].iter().any(|it| word.split('=').next() == Some(it))
    };
    for line in LINES.iter().chain(MORE_LINES) {
        let files: &[&str] = match line.iter().any(takes_any) && !line.contains(&"FILE.toml") {
            true => &["missing"],
            false => &["missing", "garbage", "folder"],
        };
        wrong.extend(files.iter().filter_map(|file| differs(line, file, 1)));
    }
    wrong.extend(WITH_NAME.iter().filter_map(|line| differs(line, "missing", 2)));
    assert_eq!(wrong.join("\n"), "");
}
