//! `corun topo --probe` where the truth is known: host pinning decides which "siblings" are real.
//!
//! What a probe says for sure must be true however busy the host is; that it says something is
//! asked of a quiet host only.

use std::time::Duration;

use corun_guest_tests::{Guest, Host, Outcome, Scenario, Shape};
use serde_json::{Value, json};

/// sysfs says that 0 and 1 are siblings, and so are 2 and 3.
const TWO_BY_TWO: Shape = Shape { sockets: 1, cores: 2, threads: 2 };
/// The probes of one boot.
fn number_of_probes() -> usize {
    corun_testing::repetitions(10, 3) as usize
}

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

/// Boots with these pins and probes. However busy the host is, nothing said for sure may be wrong;
/// every probe must see that sysfs lies, if it does, unless the host was busy.
fn assert_truth(pins: &[usize], sharing: &[Cpus], lies: &[Cpus]) {
    let Some(host) = Host::or_skip() else { return };
    if host.cores() < 2 {
        return corun_testing::skip("guest", "telling two cores from one needs two host cores");
    }
    let guest = Guest::new(TWO_BY_TWO).pins(pins).deadline(PATIENCE);
    guest.assert_truth(host, &scenario(), |outcome, _| {
        let probes =
            (1..=number_of_probes()).map(|probe| Findings::of(outcome, probe, sharing, lies));
        let probes: Vec<Findings> = probes.collect();
        let siblings: usize = probes.iter().map(|probe| probe.siblings).sum();
        let decided: usize = probes.iter().map(|probe| probe.decided).sum();
        let flagged = probes.iter().filter(|probe| probe.flagged > 0).count();
        let (all, pairs) = (probes.len(), 6 * probes.len());
        eprintln!("{flagged} of {all} probes flagged sysfs, {decided} of {pairs} pairs decided");
        if siblings > 0 {
            eprintln!("{siblings} pairs with a host CPU each found to be siblings");
        }
        let slicing: usize = probes.iter().map(|probe| probe.slicing).sum();
        // A host that is a virtual machine may be moved so that its own CPUs are siblings at times:
        // what is said of pairs with a CPU each is then not for this test to judge.
        let is_complete = siblings == 0 && decided == pairs;
        let is_true = slicing == sharing.len() * all && (is_complete || host.is_virtual_machine());
        is_true && (lies.is_empty() || flagged == all)
    });
}

fn scenario() -> Scenario {
    let probes = number_of_probes();
    Scenario::new(format!(
        "for probe in $(seq {probes}); do
             corun topo --probe --json /results/probe-$probe 2>>/results/errors
         done"
    ))
}

/// How many of the six pairs a probe has decided, and in how many it contradicts sysfs.
///
/// Pairs with a host CPU each stay undecided where the host's own CPUs share a core at times.
struct Findings {
    decided: usize,
    flagged: usize,
    /// Pairs found to take turns on one host CPU.
    slicing: usize,
    /// Pairs with a host CPU each that are said to share a core as siblings do.
    siblings: usize,
}

impl Findings {
    /// # Panics
    /// If the probe says anything that is not true.
    fn of(outcome: &Outcome, probe: usize, sharing: &[Cpus], lies: &[Cpus]) -> Self {
        let probe = &outcome.json(&format!("probe-{probe}"))["probe"];
        let pairs = probe["pairs"].as_array().unwrap_or_else(|| panic!("no pairs in {probe}"));
        assert_eq!(pairs.len(), 6, "{probe:#}");
        let (mut decided, mut slicing) = (0, 0);
        let mut siblings = Vec::new();
        for pair in pairs {
            let shares = sharing.contains(&cpus(pair));
            let conclusion = &pair["conclusion"];
            let is_decided = *conclusion != "undecided";
            decided += usize::from(is_decided);
            if !shares && pair["sharing"] == "smt" {
                siblings.push(cpus(pair));
                continue;
            }
            assert!(!is_decided || (*conclusion == "shares_a_core") == shares, "{pair:#}");
            let expected = if is_decided && shares { json!("time_slicing") } else { json!(null) };
            assert_eq!(pair["sharing"], expected, "{pair:#}");
            slicing += usize::from(is_decided && shares);
        }
        let flagged = probe["contradictions"].as_array().expect("a list");
        let mut flagged: Vec<Cpus> = flagged.iter().map(cpus).collect();
        flagged.retain(|cpus| !siblings.contains(cpus));
        assert!(flagged.iter().all(|cpus| lies.contains(cpus)), "{probe:#}");
        Self { decided, flagged: flagged.len(), slicing, siblings: siblings.len() }
    }
}

fn cpus(pair: &Value) -> Cpus {
    let numbers =
        pair["cpus"].as_array().map(|cpus| cpus.iter().filter_map(Value::as_u64).collect());
    let numbers: Vec<u64> = numbers.unwrap_or_default();
    numbers.try_into().unwrap_or_else(|_| panic!("no two CPUs in {pair}"))
}
