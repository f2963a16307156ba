//! `corun top` without a terminal, and with one; and the times of a command.

use std::io::{Read, Write};
use std::process::Stdio;

use corun_record::{Activity, CommandTimes};

use crate::common::{Outcome, Scratch, corun};
use crate::schema::fitting;

#[test]
fn one_interval_is_text_or_a_document() {
    let outcome = Outcome::of(&mut corun(["top", "--once", "--interval=100ms"]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    for part in ["reported", "capacity   used", "cores", "%CPU"] {
        assert!(outcome.output.contains(part), "{part}: {}", outcome.output);
    }
    assert!(!outcome.output.contains('\u{1b}'), "colour without a terminal");
    let outcome = Outcome::of(&mut corun(["top", "--once", "--interval=100ms", "--json"]));
    let record = fitting::<Activity>(&outcome.output);
    assert!(record.machine.is_some() && !record.body.cores.is_empty());
    let capacity = record.body.capacity;
    assert!(capacity.used_low <= capacity.used_high, "{capacity:?}");
}

#[test]
fn given_yields_narrow_the_range() {
    let of = |yields: &str| {
        let line = ["top", "--once", "--interval=100ms", "--json=-", "--yield", yields];
        fitting::<Activity>(&Outcome::of(&mut corun(line)).output)
    };
    let record = of("1.2..1.2");
    let capacity = record.body.capacity;
    // No core gains more than it has siblings.
    let most = f64::from(record.machine.expect("a machine").smt_width).min(1.2);
    assert_eq!((capacity.yields.low, capacity.yields.high), (most, most));
    assert_eq!(capacity.used_low, capacity.used_high);
}

#[test]
fn a_count_of_intervals_is_printed_and_no_more() {
    let outcome = Outcome::of(&mut corun(["top", "--count=2", "--interval=100ms"]));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    assert_eq!(outcome.output.matches("corun top ").count(), 2, "{}", outcome.output);
}

#[test]
fn text_without_end_ends_with_its_reader() {
    let mut command = corun(["top", "--batch", "--interval=100ms"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut first = [0; 9];
    output.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"corun top");
    drop(output);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_not_valid_is_refused() {
    let scratch = Scratch::new();
    let said = |line: &str| {
        let mut command = corun(line.split(' '));
        let outcome = Outcome::of(command.current_dir(scratch.path()));
        let text = outcome.reported(scratch.path());
        text.lines().take(3).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(
        [
            said("top --json"),
            said("top --interval 1us"),
            said("top --once --yield 0.5..1"),
            said("top --once --root missing"),
            said("top --once -- true"),
        ]
        .join("\n")
    );
}

#[test]
fn a_command_ends_with_its_status_and_its_times() {
    let scratch = Scratch::new();
    let json = scratch.file("times.json");
    let mut command = corun(["top", "--json"]);
    // Two jobs that end only when both were seen to run; the shell waits for them.
    let script = "job() { while [ ! -e stop ]; do :; done; }; job & job & sleep 0.3; touch stop; wait; exit 7";
    command.arg(&json).args(["--", "sh", "-c", script]).current_dir(scratch.path());
    let outcome = Outcome::of(&mut command);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(7), ""));
    let times = fitting::<CommandTimes>(&scratch.read("times.json")).body;
    assert_eq!(times.exit_status, Some(7));
    // A shell that has not become `touch` yet may be seen, too.
    let shells = times.processes.iter().filter(|it| it.name == "sh").count();
    assert!(shells >= 3, "{times:?}");
    assert!(times.user_s + times.system_s > 0.0 && times.real_s >= 0.3, "{times:?}");
    for process in &times.processes {
        assert!(!process.is_left && !process.cpus.is_empty(), "{process:?}");
        assert!(process.real_s <= times.real_s + 0.1, "{process:?}");
    }
}

#[test]
fn times_are_said_beside_the_output_of_the_command() {
    let outcome = Outcome::of(&mut corun(["top", "--", "echo", "a result"]));
    assert_eq!((outcome.exit, outcome.output.as_str()), (Some(0), "a result\n"));
    for column in ["real", "user", "system", "%", "CPUs", "echo a result"] {
        assert!(outcome.errors.contains(column), "{column}: {}", outcome.errors);
    }
}

/// `corun top` on a terminal of `script`, which gets these keys once the screen is there; and all that it wrote.
fn on_a_terminal(keys: &[u8], environment: &[(&str, &str)]) -> Option<(String, Option<i32>)> {
    let line = format!(
        "stty rows 24 cols 80; {} top --interval 100ms; echo status $?; stty -a",
        env!("CARGO_BIN_EXE_corun")
    );
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--command", &line, "/dev/null"]);
    command.env("TERM", "xterm-256color").env("CORUN_STORE", "").env_remove("NO_COLOR");
    command.envs(environment.iter().copied());
    let mut child = match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            corun_testing::skip("top on a terminal", &format!("script of util-linux: {error}"));
            return None;
        }
    };
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    // The heading of the tasks is on the screen after the first interval.
    while !String::from_utf8_lossy(&seen).contains("%CPU") {
        let got = output.read(&mut buffer).unwrap();
        assert!(got > 0, "it ended early: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&buffer[..got]);
    }
    input.write_all(keys).unwrap();
    output.read_to_end(&mut seen).unwrap();
    let code = child.wait().unwrap().code();
    Some((String::from_utf8_lossy(&seen).into_owned(), code))
}

#[test]
fn the_terminal_is_given_back_as_it_was() {
    for keys in [&b"q"[..], b"\x03", b"?qtHdp q"] {
        let Some((seen, _)) = on_a_terminal(keys, &[]) else { return };
        let (screen, after) = seen.rsplit_once("\u{1b}[?1049l").expect("the screen was left");
        assert!(screen.contains("\u{1b}[?1049h") && screen.contains("\u{1b}[?25l"), "{seen}");
        assert!(after.contains("\u{1b}[?25h"), "the cursor is hidden: {after:?}");
        assert!(after.contains("status 0"), "{after}");
        for mode in ["icanon", "echo", "isig"] {
            assert!(after.split_whitespace().any(|it| it == mode), "{mode}: {after}");
        }
    }
}

#[test]
fn no_colour_means_none() {
    let is_coloured = |seen: &str| seen.contains("\u{1b}[38;5;") || seen.contains("\u{1b}[94m");
    let Some((seen, _)) = on_a_terminal(b"q", &[]) else { return };
    assert!(is_coloured(&seen), "{seen:?}");
    let Some((seen, _)) = on_a_terminal(b"q", &[("NO_COLOR", "1")]) else { return };
    assert!(!is_coloured(&seen), "{seen:?}");
}
