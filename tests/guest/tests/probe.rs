//! `corun topo --probe` where the truth is known: host pinning decides which "siblings" are real.
//!
//! What a probe says for sure must be true however busy the host is; that it says something is
//! asked of a quiet host only.

use std::time::Duration;

use corun_guest_tests::{Guest, Host, Outcome, Scenario, Shape};
use serde_json::{Value, json};

/// sysfs says that 0 and 1 are siblings, and so are 2 and 3.
const TWO_BY_TWO: Shape = Shape { sockets: 1, cores: 2, threads: 2 };
const PROBES: usize = 10;
/// How many host CPUs others may keep busy, on average, during a boot that counts as quiet.
const QUIET: f64 = 0.1;
const ATTEMPTS: usize = 4;
/// On a host that leaves a guest a tenth of its time ten probes take minutes.
const PATIENCE: Duration = Duration::from_secs(400);

/// A pair of CPUs.
type Cpus = [u64; 2];

#[test]
fn a_true_sysfs_is_never_contradicted() {
    assert_truth(&[0, 0, 1, 1], &[[0, 1], [2, 3]], &[]);
}

#[test]
fn a_sysfs_that_lies_is_found_out_every_time() {
    assert_truth(&[0, 1, 0, 1], &[[0, 2], [1, 3]], &[[0, 1], [0, 2], [1, 3], [2, 3]]);
}

/// Boots with these pins until every probe has found which pairs share a core and where sysfs lies,
/// or has not on a quiet host.
fn assert_truth(pins: &[usize], sharing: &[Cpus], lies: &[Cpus]) {
    let Some(host) = Host::or_skip() else { return };
    if host.cores() < 2 {
        return corun_testing::skip("guest", "telling two cores from one needs two host cores");
    }
    let guest = Guest::new(TWO_BY_TWO).pins(pins).deadline(PATIENCE);
    let mut loads = Vec::new();
    for _ in 0..ATTEMPTS {
        let outcome = guest.boot(host, &scenario()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
        let load = outcome.load.cpus();
        let complete = (1..=PROBES).filter(|probe| finds(&outcome, *probe, sharing, lies)).count();
        let seconds = outcome.load.elapsed.as_secs_f64();
        eprintln!("{complete} of {PROBES} probes found all in {seconds:.1} s, load {load:.2}");
        if complete == PROBES {
            return;
        }
        let moved =
            outcome.results.files.values().any(|file| says(file, "they share a core at times"));
        let is_quiet = load <= QUIET && !moved;
        assert!(!is_quiet, "{complete} of {PROBES} probes found all on a quiet host");
        loads.push(format!("{load:.1}"));
    }
    let reason = format!("others kept {} host CPUs busy in {ATTEMPTS} attempts", loads.join(", "));
    corun_testing::skip("guest timing", &reason);
}

/// A host that is a virtual machine itself may be moved to siblings while its guest is probed.
fn says(file: &[u8], words: &str) -> bool {
    String::from_utf8_lossy(file).contains(words)
}

fn scenario() -> Scenario {
    Scenario::new(format!(
        "for probe in $(seq {PROBES}); do
             corun topo --probe --json /results/probe-$probe 2>>/results/errors
         done"
    ))
}

/// Whether a probe has found everything; what it has found must be true in any case.
fn finds(outcome: &Outcome, probe: usize, sharing: &[Cpus], lies: &[Cpus]) -> bool {
    let probe = &outcome.json(&format!("probe-{probe}"))["probe"];
    let pairs = probe["pairs"].as_array().unwrap_or_else(|| panic!("no pairs in {probe}"));
    assert_eq!(pairs.len(), 6, "{probe:#}");
    for pair in pairs {
        let shares = sharing.contains(&cpus(pair));
        let conclusion = &pair["conclusion"];
        let is_true = *conclusion == "undecided" || (*conclusion == "shares_a_core") == shares;
        assert!(is_true, "{pair:#}");
        let expected =
            if *conclusion == "shares_a_core" { json!("time_slicing") } else { json!(null) };
        assert_eq!(pair["sharing"], expected, "{pair:#}");
        if *conclusion == "undecided" {
            eprintln!("{pair:#}");
        }
    }
    let flagged = probe["contradictions"].as_array().expect("a list");
    let flagged: Vec<Cpus> = flagged.iter().map(cpus).collect();
    assert!(flagged.iter().all(|cpus| lies.contains(cpus)), "{probe:#}");
    flagged == lies && pairs.iter().all(|pair| pair["conclusion"] != "undecided")
}

fn cpus(pair: &Value) -> Cpus {
    let numbers = pair["cpus"].as_array().map(|cpus| cpus.iter().flat_map(Value::as_u64).collect());
    let numbers: Vec<u64> = numbers.unwrap_or_default();
    numbers.try_into().unwrap_or_else(|_| panic!("no two CPUs in {pair}"))
}
