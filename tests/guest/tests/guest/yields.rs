//! `corun measure` where the truth is known: host pinning decides what guest siblings share.
//!
//! Siblings on one host CPU add nothing to each other: their yield is 1. Siblings on two host CPUs are as good
//! as those are together, which the control of each boot tells. Both are known within the practical bound.

use std::ops::RangeInclusive;

use corun_guest_tests::{Control, Finding, Guest, Host, Scenario, Shape};
use corun_record::{Answer, Document, Metric, Run, Verdict};

/// `--practical` of the scenario.
const PRACTICAL: f64 = 0.15;

/// Runs as a user who may not open performance events: opening and closing them makes the kernel
/// patch its code all the time, by which guests freeze (see the harness). Giving a parameter leaves
/// out the arms whose data share a cache line. A sample is long beside what corun itself takes of an emulated CPU.
fn scenario(blocks: usize, arms: &str) -> Scenario {
    Scenario::new(format!(
        "echo 3 >/proc/sys/kernel/perf_event_paranoid
         su nobody -c 'corun measure --workload fib --param granularity=128 --sample-time 300ms \
             --practical 15% --blocks {blocks} --placement {arms} --quiet --json /results/run'"
    ))
}

/// The true value, as far as it is known.
fn near(value: f64) -> RangeInclusive<f64> {
    (1.0 - PRACTICAL) * value..=(1.0 + PRACTICAL) * value
}

fn assert_truth(
    host: &Host,
    guest: &Guest,
    scenario: &Scenario,
    truth: impl Fn(&Run, Control) -> Finding,
) {
    guest.assert_truth(host, scenario, |outcome, control| {
        truth(&Run::from_json(outcome.text("run")).unwrap(), control)
    });
}

fn smt_yield(run: &Run, arm: &str, bounds: RangeInclusive<f64>) -> Finding {
    Finding::of_run(run, Metric::SmtYield, arm, &bounds)
}

/// True if the answer is right. That it cannot tell is one only if two identical arms differed by as much as is
/// asked for, or the interval reaches from a practical effect to none.
fn is_answered(run: &Run, arm: &str, is_right: impl Fn(Answer) -> bool) -> Finding {
    let verdict = verdict(run, arm);
    let seen = run.observation(Metric::SmtYield, arm).map(|it| it.estimate);
    let reaches = |bound: f64| seen.is_some_and(|it| it.low < bound && bound < it.high);
    let is_noisy = seen.is_none()
        || verdict.noise_floor.is_none_or(|floor| floor > PRACTICAL)
        || reaches(1.0 + PRACTICAL)
        || reaches(1.0 - PRACTICAL);
    match verdict.answer {
        right if is_right(right) => Finding::Confirmed,
        Answer::Inconclusive if is_noisy => Finding::Undecided,
        _ => Finding::Contradicted,
    }
}

fn verdict<'a>(run: &'a Run, arm: &str) -> &'a Verdict {
    let mut verdicts = run.verdicts.iter();
    verdicts
        .find(|verdict| verdict.metric == Metric::SmtYield && verdict.arm == arm)
        .expect("a verdict on the arm's yield")
}

#[test]
fn siblings_that_share_a_host_cpu_add_nothing() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(Shape { sockets: 1, cores: 1, threads: 2 }).pins(&[0, 0]);
    assert_truth(host, &guest, &scenario(8, "spread,full"), |run, _| {
        Finding::all([
            smt_yield(run, "full", near(1.0)),
            // Where workers wait for the host's CPU that they share, corun may withhold an answer.
            is_answered(run, "full", |answer| !matches!(answer, Answer::Helps | Answer::Hurts)),
        ])
    });
}

#[test]
fn siblings_with_a_core_each_help() {
    let Some(host) = Host::or_skip() else { return };
    if host.cores() < 2 {
        return corun_testing::skip("guest", "siblings with a core each need two host cores");
    }
    let guest = Guest::new(Shape { sockets: 1, cores: 1, threads: 2 }).pins(&[0, 1]);
    assert_truth(host, &guest, &scenario(8, "spread,full"), |run, control| {
        Finding::all([
            smt_yield(run, "full", near(control.gain())),
            is_answered(run, "full", |answer| answer == Answer::Helps),
        ])
    });
}

#[test]
fn four_threads_a_core_have_an_arm_for_each_number_of_workers() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(Shape { sockets: 1, cores: 1, threads: 4 }).pins(&[0, 0, 0, 0]);
    assert_truth(host, &guest, &scenario(4, "spread,full@2,full@3,full"), |run, _| {
        assert_eq!(run.machine.smt_width, 4);
        let of = |(id, workers)| {
            let arm = run.arm(id).unwrap_or_else(|| panic!("no arm {id} in {:?}", run.arms));
            assert_eq!(arm.workers, workers);
            smt_yield(run, id, near(1.0))
        };
        Finding::all([("full@2", 2), ("full@3", 3), ("full", 4)].map(of))
    });
}
