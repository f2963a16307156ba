//! `corun threads` where the truth is known: host pinning decides what guest siblings share.
//!
//! Workers on one host CPU take turns, so as many are of use as there are host CPUs below the candidate's
//! guest CPUs; of equal numbers the fewest are the answer.

use std::time::Duration;

use corun_guest_tests::{Finding, Guest, Host, Scenario, Shape};
use corun_record::{Document, Record, ThreadSweep, ThreadVerdict};

/// Sweeps of one boot.
fn sweeps() -> u64 {
    corun_testing::repetitions(10, 1)
}

/// As the scenario of the yields: as a user who may not open performance events.
fn scenario() -> Scenario {
    Scenario::new(format!(
        "echo 3 >/proc/sys/kernel/perf_event_paranoid
         for sweep in $(seq {}); do
           su nobody -c \"corun threads --workload fib --param granularity=128 --sample-time 100ms \\
             --practical 15% --max-time 15s --quiet --json /results/sweep$sweep\" || [ $? = 5 ]
         done",
        sweeps()
    ))
}

/// Sweeps where guest CPUs run on these host CPUs, of which the `best` arms do the most with the fewest workers, and
/// the `others` as much with more.
fn assert_best(shape: Shape, pins: &[usize], best: &[&str], others: &[&str]) {
    let Some(host) = Host::or_skip() else { return };
    if host.cores() < 2 {
        return corun_testing::skip("guest", "siblings with a core each need two host cores");
    }
    let guest = Guest::new(shape).pins(pins).deadline(Duration::from_secs(60 + 40 * sweeps()));
    guest.assert_truth(host, &scenario(), |outcome, _| {
        Finding::all((1..=sweeps()).map(|sweep| {
            let text = outcome.text(&format!("sweep{sweep}"));
            let sweep = Record::<ThreadSweep>::from_json(text).unwrap();
            let answer = sweep.body.answer.as_ref().expect("a finished block");
            eprintln!("{}: {}", answer.arm, answer.sentence);
            let picked = best.contains(&answer.arm.as_str());
            corun_testing::count(if picked { "true best picked" } else { "another picked" });
            match answer.verdict {
                _ if picked => Finding::Confirmed,
                ThreadVerdict::Undecided | ThreadVerdict::TooFewBlocks => Finding::Undecided,
                // It says that fewer workers may do as well.
                ThreadVerdict::GoodEnough if others.contains(&answer.arm.as_str()) => {
                    Finding::Undecided
                }
                _ => Finding::Contradicted,
            }
        }))
    });
}

const TWO_CORES: Shape = Shape { sockets: 1, cores: 2, threads: 2 };
const FOUR_THREADS: Shape = Shape { sockets: 1, cores: 1, threads: 4 };

#[test]
fn siblings_that_share_a_host_cpu_are_left_alone() {
    assert_best(TWO_CORES, &[0, 0, 1, 1], &["spread@2", "free@2"], &["full", "free@4"]);
}

#[test]
fn siblings_with_a_host_cpu_each_are_packed() {
    assert_best(TWO_CORES, &[0, 1, 0, 1], &["packed@2"], &["full", "free@4"]);
}

#[test]
fn of_four_siblings_on_two_host_cpus_two_are_used() {
    assert_best(FOUR_THREADS, &[0, 1, 0, 1], &["scatter@2", "free@2"], &["full", "free@4"]);
}

#[test]
fn of_four_siblings_whose_second_pair_has_the_other_host_cpu_all_are_used() {
    assert_best(FOUR_THREADS, &[0, 0, 1, 1], &["full", "free@4", "free@2", "free@3"], &[]);
}

#[test]
fn where_all_share_a_host_cpu_one_worker_is_as_good_as_any() {
    let others = ["scatter@2", "scatter@3", "full", "free@2", "free@3", "free@4"];
    assert_best(FOUR_THREADS, &[0, 0, 0, 0], &["spread@1", "free@1"], &others);
}
