//! The exporter as an operator starts it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

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
        (&[][..], 2, "corun: expected --listen or --textfile, found neither\n"),
        (&["--listen", "0.0.0.0:0"], 2, "--allow-remote"),
        (&["--listen", "localhost"], 2, "or localhost:PORT, found \"localhost\""),
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

/// An exporter that serves at an address.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("corun starts");
        let errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let address_of = |line: String| {
            let rest = line.strip_prefix("corun: serving http://")?;
            Some(rest.strip_suffix("/metrics")?.to_owned())
        };
        let address = errors.lines().map_while(Result::ok).find_map(address_of);
        Self { child, address: address.expect("it says where it serves") }
    }

    fn scrape(&self) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.0 200 OK"), "{answer}");
        answer
    }

    /// Ends it as an operator does.
    fn end(mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a number"));
        kill_process(pid.expect("a process"), Signal::TERM).expect("it runs");
        assert_eq!(self.child.wait().expect("an end").code(), Some(0));
    }

    /// The CPU time of all its threads, in nanoseconds.
    fn cpu_time_ns(&self) -> u64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let files = threads.expect("it runs").map(|it| it.expect("a thread").path());
        let times = files.filter_map(|it| std::fs::read_to_string(it.join("schedstat")).ok());
        times.filter_map(|it| it.split(' ').next()?.parse::<u64>().ok()).sum()
    }

    /// The memory that it has in use, in pages.
    fn resident_pages(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id()));
        text.expect("it runs").split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a number")
    }
}

#[test]
fn it_serves_until_it_is_ended() {
    let scratch = Scratch::new();
    let mut command = corun(["exporter", "--listen=127.0.0.1:0", "--interval=100ms", "--textfile"]);
    let serving = Serving::start(command.arg(scratch.file("corun.prom")));
    wait_until("an interval", || {
        serving.scrape().contains("corun_capacity_used_ratio{bound=\"low\"}")
    });
    wait_until("a text file", || scratch.read("corun.prom").contains("corun_build_info"));
    serving.end();
}

#[test]
fn a_thousand_scrapes_leave_nothing_behind() {
    // Nothing but scrapes takes CPU time within an hour.
    let line = ["exporter", "--listen=127.0.0.1:0", "--interval=1h", "--cgroups=0"];
    let serving = Serving::start(&mut corun(line));
    let scrapes = |count: usize| {
        let before_ns = serving.cpu_time_ns();
        (0..count).for_each(|_| drop(serving.scrape()));
        (serving.cpu_time_ns() - before_ns) as f64 / count as f64
    };
    scrapes(100);
    let resident = serving.resident_pages();
    let (first_ns, last_ns) = (scrapes(500), scrapes(500));
    let grown = serving.resident_pages() as f64 / resident as f64;
    eprintln!("{first_ns:.0} and {last_ns:.0} ns a scrape; memory {grown:.3} of that after 100");
    assert!(grown < 1.1, "resident memory became {grown:.2} times as large");
    assert!(last_ns < 2.0 * first_ns, "{first_ns:.0} ns a scrape at first, then {last_ns:.0}");
    serving.end();
}
