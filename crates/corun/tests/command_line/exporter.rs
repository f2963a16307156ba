//! The exporter as an operator starts it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::common::{Outcome, Scratch, corun, wait_until};

#[test]
fn one_interval_is_written_as_a_whole_file() {
    let scratch = Scratch::new();
    let file = scratch.file("corun.prom");
    let mut command = corun(["exporter", "--once", "--interval=100ms", "--textfile"]);
    let outcome = Outcome::of(command.arg(&file));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let page = scratch.read("corun.prom");
    for line in [
        "# TYPE corun_core_time_seconds_total counter\n",
        "corun_capacity_left_ratio{bound=\"high\"} ",
        "corun_sample_failures_total",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let names: Vec<_> = std::fs::read_dir(scratch.path()).expect("a folder").collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn mistakes_are_answered_before_anything_is_read() {
    let scratch = Scratch::new();
    let nowhere = scratch.file("no/corun.prom");
    let nowhere = nowhere.to_str().expect("text");
    let asked = |arguments: &[&str]| Outcome::of(&mut corun([&["exporter"], arguments].concat()));
    for (arguments, exit, says) in [
        (&[][..], 2, "--listen"),
        (&["--listen", "0.0.0.0:0"], 2, "--allow-remote"),
        (&["--listen", "localhost"], 2, "ADDRESS:PORT"),
        (&["--listen", "127.0.0.1:0", "--once"], 2, "--once"),
        (&["--textfile", "-", "--interval", "1ms"], 2, "100ms"),
        (&["--textfile", "-", "--yield", "0.5..2"], 2, "1.1..1.35"),
        (&["--textfile", nowhere], 1, "corun.prom"),
    ] {
        let outcome = asked(arguments);
        assert_eq!(outcome.exit, Some(exit), "{arguments:?}: {}", outcome.errors);
        assert!(outcome.errors.contains(says), "{arguments:?}: {}", outcome.errors);
    }
}

#[test]
fn it_serves_until_it_is_told_to_end() {
    let scratch = Scratch::new();
    let mut command = corun(["exporter", "--listen=127.0.0.1:0", "--interval=100ms", "--textfile"]);
    command.arg(scratch.file("corun.prom")).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("corun starts");
    let errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let address_of = |line: String| {
        let rest = line.strip_prefix("corun: serving http://")?;
        Some(rest.strip_suffix("/metrics")?.to_owned())
    };
    let address = errors.lines().map_while(Result::ok).find_map(address_of);
    let address = address.expect("it says where it serves");
    wait_until("an interval", || {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.0 200 OK"), "{answer}");
        answer.contains("corun_capacity_used_ratio{bound=\"low\"}")
    });
    wait_until("a text file", || scratch.read("corun.prom").contains("corun_build_info"));
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
    kill_process(pid, Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
}
