//! The workloads that are about siblings, where there are siblings: on a real SMT kernel.
//!
//! Host pinning decides what a waiting sibling takes: on one host CPU a spinning waiter takes half of
//! it, a sleeping one nothing: the yields are 0.5 and 1.

use corun_guest_tests::{Finding, Guest, Host, Outcome, Scenario, Shape};
use corun_record::{Bench, Document, Metric, Run};

const QUICKLY: &str = "--blocks 4 --sample-time 50ms --quiet";

#[test]
fn a_waiter_takes_what_it_spins() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(Shape { sockets: 1, cores: 1, threads: 2 }).pins(&[0, 0]);
    let bench = |wait| {
        format!("corun bench run spin --param wait={wait} {QUICKLY} --json /results/{wait}\n")
    };
    let scenario = Scenario::new(bench("nothing") + &bench("futex"));
    guest.assert_truth(host, &scenario, |outcome, _| {
        let beside =
            |wait, bounds| Finding::of_run(&run(outcome, wait), Metric::SmtYield, "full", &bounds);
        Finding::all([beside("nothing", 0.35..=0.65), beside("futex", 0.85..=1.15)])
    });
}

/// The lecture's five workers on four logical CPUs.
#[test]
fn five_share_four() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(Shape { sockets: 1, cores: 2, threads: 2 });
    let scenario =
        Scenario::new(format!("corun bench run fairness {QUICKLY} --json /results/fairness"));
    guest.assert_truth(host, &scenario, |outcome, _| {
        let fairness = run(outcome, "fairness");
        let arm = fairness.arm("free@5").expect("one worker more than logical CPUs");
        assert_eq!((arm.workers, fairness.workload.steady), (5, true));
        assert!(fairness.samples.iter().all(|sample| sample.workers.len() == 5));
        let least = fairness.observation(Metric::LeastShare, "free@5").expect("a least share");
        eprintln!("least share {:.2}", least.estimate.value);
        (0.2..=1.0).contains(&least.estimate.value)
    });
}

fn run(outcome: &Outcome, file: &str) -> Run {
    let bench = Bench::from_json(outcome.text(file)).expect("a bench");
    assert_eq!(
        (bench.runs.len(), bench.ending.is_interrupted()),
        (1, false),
        "{:?}",
        bench.not_possible
    );
    bench.runs.into_iter().next().expect("one run")
}
