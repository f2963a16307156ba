//! Services: a server that is placed, asked by a load generator. Here both are scripts of a few lines;
//! `real_services.rs` has real ones.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Outcome, Scratch, measure, wait_until};

/// A server that leaves its process id, its CPUs and its arguments in the folder, says that it is
/// ready, and waits.
const SERVER: &str = "echo $$ >>$folder/servers
grep Cpus_allowed_list /proc/$$/status | cut -f 2 >>$folder/server-cpus
echo \"$*\" >>$folder/arguments
echo ready
while :; do sleep 3600 & wait $!; done";

/// A load that says what it measured, after a line that it has asked.
const LOAD: &str = "echo load >>$folder/order
grep Cpus_allowed_list /proc/$$/status | cut -f 2 >>$folder/load-cpus
echo 'rate 1,250.5 per second'
echo 'median 2 us, worst 3.5'";

struct Fake {
    folder: Scratch,
}

impl Fake {
    fn new(server: &str, load: &str) -> Self {
        let folder = Scratch::new();
        let text =
            |body: &str| format!("#!/bin/sh\nfolder='{}'\n{body}\n", folder.path().display());
        folder.executable("server", &text(server));
        folder.executable("load", &text(load));
        folder.executable("warmup", &text("echo warmup >>$folder/order"));
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.file(name).display().to_string()
    }

    /// `corun measure` of this service in one placement: a run and its twin in each of two blocks.
    fn measure(&self) -> Command {
        let mut command = measure("spread", 2);
        command.args(["--serve", &format!("{} 'a b' {{workers}}", self.path("server"))]);
        command.args(["--load", &self.path("load"), "--json=-"]);
        command.args(["--throughput", r"rate ([\d.,]+)"]);
        command
    }

    fn outcome(&self, ready: &str, more: &[&str]) -> Outcome {
        let outcome = Outcome::of(self.measure().args(["--ready", ready]).args(more));
        self.nothing_runs();
        outcome
    }

    /// Whatever happened, no server is left.
    fn nothing_runs(&self) {
        for server in self.folder.read("servers").lines() {
            wait_until("the end of a server", || !Path::new("/proc").join(server).exists());
        }
    }
}

const READY: &str = "line ^ready$";

#[test]
fn every_sample_has_a_fresh_server_and_what_its_load_says() {
    let fake = Fake::new(SERVER, LOAD);
    let latencies = [r"--latency=p50=median (\d+) (\w+)", r"--latency=p99=worst ([\d.]+)"];
    let warmup = format!("--load-warmup={}", fake.path("warmup"));
    let outcome = fake.outcome(READY, &[latencies[0], latencies[1], &warmup]);
    let run = outcome.run();
    assert_eq!(run.samples.len(), 4);
    for sample in &run.samples {
        assert_eq!(sample.throughput, 1250.5);
        let latency = sample.latencies["requests"];
        assert_eq!((latency.p50_s, latency.p99_s), (Some(2e-6), Some(3.5e-3)));
        assert_eq!((latency.count, latency.max_s), (None, None));
    }
    assert_eq!(fake.folder.read("servers").lines().count(), 4);
    assert_eq!(fake.folder.read("order"), "warmup\nload\n".repeat(4));
    let workers = run.arms[0].workers;
    assert_eq!(fake.folder.read("arguments"), format!("a b {workers}\n").repeat(4));
    let load = run.workload.load.expect("a load");
    assert_eq!(load.command, [fake.path("load")]);
    let cpus =
        |of: &str| -> Vec<String> { fake.folder.read(of).lines().map(str::to_owned).collect() };
    let places = cpus("server-cpus");
    if load.cpus.is_empty() {
        corun_testing::skip("load of its own CPUs", "one core");
        return;
    }
    let used: corun_machine::CpuSet = run.arms[0].cpus.iter().copied().collect();
    assert!(places.iter().all(|it| *it == used.to_string()), "{places:?} {used}");
    let asked: corun_machine::CpuSet = load.cpus.iter().copied().collect();
    assert!(cpus("load-cpus").iter().all(|it| *it == asked.to_string()), "{asked}");
    assert!(used.is_disjoint(&asked), "{used} {asked}");
}

#[test]
fn figures_may_stand_in_json_in_a_file() {
    let load =
        "echo '{\"all\": {\"Ops/sec\": 7.5, \"p99\": 250}}' >$folder/figures.json; echo rate 9";
    let fake = Fake::new(SERVER, load);
    let mut command = measure("spread", 2);
    command.args(["--serve", &fake.path("server"), "--load", &fake.path("load"), "--json=-"]);
    command.args(["--ready", READY, "--load-output", &fake.path("figures.json")]);
    command.args(["--load-json", "throughput=/all/Ops/sec", "--load-json", "p99=/all/p99"]);
    let run = Outcome::of(command.args(["--latency-unit", "us"])).run();
    assert!(run.samples.iter().all(|sample| sample.throughput == 7.5));
    assert!(run.samples.iter().all(|it| it.latencies["requests"].p99_s == Some(250.0 * 1e-6)));
}

#[test]
fn a_server_that_ends_at_once_is_quoted() {
    let fake = Fake::new("echo cannot bind; exit 3", LOAD);
    let outcome = fake.outcome(READY, &[]);
    assert_eq!(outcome.exit, Some(1));
    for said in ["become ready", "exit status 3", "cannot bind", "foreground"] {
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
    }
}

#[test]
fn a_server_that_never_is_ready_is_ended() {
    let fake = Fake::new(SERVER, LOAD);
    let outcome = fake.outcome("line listening", &["--ready-limit=300ms"]);
    assert_eq!(outcome.exit, Some(1));
    for said in ["matches \"listening\"", "within 0.3 s", "ready", "--ready-limit"] {
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
    }
}

#[test]
fn a_server_that_does_not_stop_is_ended_and_named() {
    let fake = Fake::new(&format!("trap '' TERM\n{SERVER}"), LOAD);
    let outcome = fake.outcome(READY, &["--stop-limit=200ms"]);
    assert_eq!(outcome.exit, Some(1));
    for said in ["within 0.2 s of SIGTERM", "--stop-signal"] {
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
    }
    let outcome = fake.outcome(READY, &["--stop-signal=KILL"]);
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
}

#[test]
fn a_load_without_a_figure_is_quoted() {
    let fake = Fake::new(SERVER, "echo 'rate unknown'");
    let outcome = fake.outcome(READY, &[]);
    assert_eq!(outcome.exit, Some(1));
    for said in ["a throughput", "no match", "rate unknown", "--throughput REGEX"] {
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
    }
    let fake = Fake::new(SERVER, LOAD);
    let outcome = fake.outcome(READY, &[r"--latency=p99=tail (\d+)"]);
    assert!(outcome.errors.contains("a p99 latency"), "{}", outcome.errors);
}

#[test]
fn a_load_that_fails_is_quoted_unless_its_server_has_gone() {
    let fake = Fake::new(SERVER, "echo refused; exit 9");
    let outcome = fake.outcome(READY, &[]);
    for said in ["exit status 0 of the load", "exit status 9", "refused"] {
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
    }
    let kill = "kill -9 $(tail -n 1 $folder/servers); echo refused; exit 9";
    let outcome = Fake::new(SERVER, kill).outcome(READY, &[]);
    for said in ["the server to run until the load ends", "signal 9"] {
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
    }
}

#[test]
fn a_load_that_takes_too_long_is_ended() {
    let fake = Fake::new(SERVER, "echo $$ >>$folder/servers; exec sleep 3600");
    let outcome = fake.outcome(READY, &["--timeout=200ms"]);
    assert!(outcome.errors.contains("within 0.2 s"), "{}", outcome.errors);
}

#[test]
fn neither_server_nor_load_outlives_corun() {
    for signal in [Signal::INT, Signal::KILL] {
        let fake = Fake::new(SERVER, "echo $$ >>$folder/servers; exec sleep 3600");
        let mut command = fake.measure();
        command.args(["--ready", READY]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let corun = command.spawn().expect("corun starts");
        wait_until("a load", || fake.folder.read("servers").lines().count() == 2);
        let process = Pid::from_child(&corun);
        kill_process(process, signal).expect("corun is there");
        let outcome = Outcome::from(corun.wait_with_output().expect("corun ends"));
        let is_asked = signal == Signal::INT;
        assert_eq!(outcome.exit, is_asked.then_some(5), "{}", outcome.errors);
        fake.nothing_runs();
    }
}

#[test]
fn a_place_that_is_taken_is_not_measured() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let fake = Fake::new(SERVER, LOAD);
    let outcome = fake.outcome(&port, &[]);
    assert_eq!(outcome.exit, Some(1));
    assert!(outcome.errors.contains("before the server starts"), "{}", outcome.errors);
    assert_eq!(fake.folder.read("servers"), "", "no server was started");
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_runs() {
    let fake = Fake::new(SERVER, LOAD);
    let (server, load) = (fake.path("server"), fake.path("load"));
    let refused = |arguments: &[&str], said: &str| {
        let outcome = Outcome::of(measure("spread", 2).args(arguments));
        assert_eq!(outcome.exit, Some(2), "{arguments:?}: {}", outcome.errors);
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
    };
    let service = ["--serve", &server, "--load", &load];
    refused(&service, "--ready");
    refused(&["--serve", &server, "--ready", "80"], "--load");
    let with = |more: &[&'static str]| [&service[..], &["--ready", "80"], more].concat();
    refused(&with(&[]), "where to read its throughput");
    refused(&with(&["--throughput", "(1)", "--", "true"]), "cannot be used with");
    refused(&with(&["--throughput", "(1)", "--steady"]), "cannot be used with");
    refused(&with(&["--throughput", "(1)", "--smt-switch"]), "cannot be used with");
    refused(&with(&["--throughput", "(1)", "--load-json", "throughput=/x"]), "one place for each");
    refused(&with(&["--throughput", "(1)", "--load-cpus", "4000"]), "expected CPUs for the load");
    refused(&with(&["--latency", "p42=(1)"]), "p50, p90, p99, max");
    refused(&["--serve", "'", "--load", &load, "--ready", "80"], "quote");
    assert_eq!(fake.folder.read("servers"), "");
}
