//! What the monitor says of co-busy siblings and of capacity where the truth is known: loads that are busy in turns, and
//! siblings that share a CPU of the host.

use std::time::Duration;

use corun_guest_tests::{Finding, Guest, Host, Scenario, Shape};
use corun_record::{Activity, CapacityCurve, CoBusyMethod, Document, Filling, Record};
use serde::Deserialize;

const SIBLINGS: Shape = Shape { sockets: 1, cores: 1, threads: 2 };
/// By how much a share may differ from the truth, beside what others than the load took.
const TWO_POINTS: f64 = 0.02;
/// The most that others may take where there is a truth to speak of.
const OTHERS: f64 = 0.06;

/// A line of `duty-cycle cases`.
#[derive(Debug, Deserialize)]
struct Case {
    case: String,
    /// By every switch, then by samples; each once, or three times where the first was off.
    found: [Vec<Watched>; 2],
}

/// What was found of a time, and how it was.
#[derive(Debug, Deserialize)]
struct Watched {
    truth: Vec<f64>,
    /// Time that others than the load took, as a share of one CPU.
    others: f64,
    activity: Activity,
}

impl Watched {
    /// The farthest that a share is from the truth, beyond what others took.
    fn error(&self) -> f64 {
        let shares = self.activity.cores[0].busy_siblings.iter();
        let errors = shares.zip(&self.truth).map(|(one, other)| (one - other).abs());
        (errors.fold(0.0, f64::max) - self.others).max(0.0)
    }

    fn finding(&self, case: &str, method: CoBusyMethod) -> Finding {
        let Self { truth, others, activity } = self;
        let shares = &activity.cores[0].busy_siblings;
        // Host CPUs of their own: each sibling does as much as one alone.
        let used = 0.5 * truth[1] + truth[2];
        let capacity = &activity.capacity;
        let error = TWO_POINTS + others;
        let range = capacity.used_low - error..=capacity.used_high + error;
        eprintln!(
            "{case}: {shares:.3?}, truth {truth:.3?}, others {others:.3}; {used:.3} in {range:.3?}; {:?}",
            activity.co_busy
        );
        if *others > OTHERS {
            return Finding::Undecided;
        }
        let is_near = shares.len() == 3 && self.error() <= TWO_POINTS;
        Finding::from(is_near && range.contains(&used) && activity.co_busy.method == method)
    }
}

/// The middle one of an odd number of findings.
fn median(mut findings: Vec<Finding>) -> Finding {
    findings.sort();
    findings[findings.len() / 2]
}

#[test]
fn co_busy_siblings_are_found_by_switches_and_by_samples() {
    let Some(host) = Host::or_skip() else { return };
    if host.cores() < 2 {
        return corun_testing::skip("guest", "siblings with a core each need two host cores");
    }
    let guest = Guest::new(SIBLINGS).pins(&[0, 1]).deadline(Duration::from_secs(240));
    let scenario = Scenario::new("/bin/duty-cycle cases /results/cases")
        .file("/bin/duty-cycle", host.duty_cycle());
    guest.assert_truth(host, &scenario, |outcome, _| {
        let cases: Vec<Case> = outcome
            .text("cases")
            .lines()
            .map(|line| serde_json::from_str(line).expect("a case"))
            .collect();
        assert_eq!(cases.len(), 8);
        let methods = [CoBusyMethod::Exact, CoBusyMethod::Sampled];
        Finding::all(cases.iter().flat_map(|Case { case, found }| {
            let by = found.iter().zip(methods);
            by.map(|(each, method)| {
                median(each.iter().map(|it| it.finding(case, method)).collect())
            })
            .collect::<Vec<_>>()
        }))
    });
}

/// Siblings that share a CPU of the host add nothing: two busy cores are all that there is, and one core is half of it,
/// whether one or two of its siblings are busy.
#[test]
fn both_orders_of_filling_give_the_capacity_that_there_is() {
    let Some(host) = Host::or_skip() else { return };
    if host.cores() < 2 {
        return corun_testing::skip("guest", "cores of their own need two host cores");
    }
    let shape = Shape { sockets: 1, cores: 2, threads: 2 };
    let guest = Guest::new(shape).pins(&[0, 0, 1, 1]).deadline(Duration::from_secs(240));
    // As a user who may not open performance events, as the scenario of the yields.
    let scenario = Scenario::new(
        "echo 3 >/proc/sys/kernel/perf_event_paranoid
         su nobody -c 'corun capacity --workload fib --param granularity=128 --sample-time 100ms --blocks 4 --quiet \
             --json /results/curve'",
    );
    guest.assert_truth(host, &scenario, |outcome, _| {
        let curve =
            Record::<CapacityCurve>::from_json(outcome.text("curve")).expect("a curve").body;
        let fillings: Vec<Filling> = curve.orders.iter().map(|it| it.filling).collect();
        assert_eq!(fillings, [Filling::CoresFirst, Filling::SiblingsFirst]);
        Finding::all(curve.orders.iter().flat_map(|order| {
            let used: Vec<_> = order.points.iter().map(|it| it.used).collect();
            let busy: Vec<u32> = order.points.iter().map(|it| it.busy).collect();
            eprintln!("{}: {busy:?} busy, {used:.2?}", order.filling.name());
            assert_eq!(busy.last(), Some(&4), "{busy:?}");
            // More busy CPUs never do less.
            let grows = used.windows(2).map(|it| Finding::from(it[0].low <= it[1].high));
            let half = order.points.iter().find(|it| it.busy == 2).expect("two of four").used;
            let truth = match order.filling {
                Filling::CoresFirst => 0.85..=1.15,
                Filling::SiblingsFirst => 0.4..=0.6,
            };
            grows.chain([Finding::within(&truth, half)]).collect::<Vec<_>>()
        }))
    });
}

#[test]
fn siblings_go_offline_and_come_back_while_they_are_watched() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(SIBLINGS).deadline(Duration::from_secs(120));
    let scenario = Scenario::new(
        "lines() { wc -l </results/watched 2>/dev/null || echo 0; }
         more() { seen=$(lines); until [ $(lines) -ge $((seen + 3)) ]; do usleep 20000; done; }
         touch /results/watched
         /bin/duty-cycle watch /results/watched --until /tmp/over &
         more; corun smt off --yes; more; corun smt on --yes; more
         touch /tmp/over
         wait $!",
    )
    .file("/bin/duty-cycle", host.duty_cycle());
    let outcome = guest.boot(host, &scenario).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
    let mut cpus: Vec<Vec<u32>> = Vec::new();
    for line in outcome.text("watched").lines() {
        let activity: Activity = serde_json::from_str(line).expect("an activity");
        for core in &activity.cores {
            let sum: f64 = core.busy_siblings.iter().sum();
            assert!((sum - 1.0).abs() < 1e-6, "{core:?}");
            assert_eq!(core.busy_siblings.len(), core.cpus.len() + 1);
        }
        cpus.push(activity.cores.iter().flat_map(|it| &it.cpus).map(|it| it.cpu).collect());
    }
    cpus.dedup();
    assert_eq!(cpus, [vec![0, 1], vec![0], vec![0, 1]], "{}", outcome.console);
}
