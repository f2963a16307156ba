//! `corun measure --smt-switch` where the truth is known: host pinning decides what siblings share.
//!
//! Siblings on one host CPU gain nothing; siblings with a host CPU each, where cores share one, gain
//! what a second host CPU gives. Switching must tell so, and idle siblings must say the same.

use std::ops::RangeInclusive;

use corun_guest_tests::{Control, Finding, Guest, Host, Outcome, Scenario};
use corun_record::{Document, Metric, Run, SmtState};

use crate::switch::TWO_BY_TWO;

/// Giving a parameter leaves out the arms whose data share a cache line.
const MEASURE: &str = "
    corun measure --smt-switch --yes --workload fib --param granularity=128 --sample-time 100ms \
        --practical 15% --blocks 6 --placement spread,full,free --quiet --json /results/run </dev/null
    cat /sys/devices/system/cpu/online >/results/online
";

/// The switch gain, and the yield by switching and by idle siblings, where all three are truly within bounds.
fn gains(outcome: &Outcome, bounds: &RangeInclusive<f64>) -> Finding {
    assert_eq!(outcome.text("online").trim(), "0-3");
    let run = Run::from_json(outcome.text("run")).unwrap();
    assert!(run.arms.iter().any(|arm| arm.smt == Some(SmtState::Off)), "{:?}", run.arms);
    let metrics =
        [(Metric::SwitchGain, "free"), (Metric::SwitchYield, "full"), (Metric::SmtYield, "full")];
    Finding::all(metrics.map(|(metric, arm)| Finding::of_run(&run, metric, arm, bounds)))
}

/// The true value, within the practical bound of the scenario.
fn near(value: f64) -> RangeInclusive<f64> {
    0.85 * value..=1.15 * value
}

fn assert_truth(pins: &[usize], truth: fn(Control) -> f64) {
    let Some(host) = Host::or_skip() else { return };
    if host.cores() < 2 {
        return corun_testing::skip("guest", "telling two cores from one needs two host cores");
    }
    let guest = Guest::new(TWO_BY_TWO).pins(pins);
    guest.assert_truth(host, &Scenario::new(MEASURE), |outcome, control| {
        gains(outcome, &near(truth(control)))
    });
}

#[test]
fn siblings_that_share_a_host_cpu_gain_nothing() {
    assert_truth(&[0, 0, 1, 1], |_| 1.0);
}

#[test]
fn siblings_with_a_host_cpu_each_gain_what_it_gives() {
    assert_truth(&[0, 1, 0, 1], Control::gain);
}
