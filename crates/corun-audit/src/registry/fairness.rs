//! N busy tasks on M logical CPUs share them equally, for N from 1 to 3 M.

use std::collections::BTreeSet;

use corun_record::{AuditBound, Metric, Observation};

use crate::facts::Facts;
use crate::load::{Load, MS, Task};
use corun_stats::percent;
use crate::property::{Figure, PropertyPlan, Property, Reading, value};
use crate::timeline::{Timeline, TaskLog};

pub(super) const PROPERTY: Property = Property {
    name: "fairness",
    question: "do N busy tasks on M logical CPUs get equal shares, for N from 1 to 3 M?",
    source: "Documentation/scheduler/sched-design-CFS.rst and sched-eevdf.rst: an ideal processor runs \
             all tasks at once, at equal speed",
    is_by_name_only: false,
    plan,
};

/// Tasks settle until here.
const SETTLED_NS: u64 = 50 * MS;
const END_NS: u64 = 450 * MS;
/// The least share of an equal share that a task may get.
const MIN_FAIR_SHARE: f64 = 0.9;
/// On more CPUs than this not every number of tasks is tried.
const ALL_UP_TO: usize = 4;

const SMALLEST_SHARE: &str = "the least of an equal share, the worst number of tasks";
const OF_ONE: &str = "the least of an equal share";
const OF_A_CPU: &str = "of a CPU for each task";

fn plan(facts: &Facts) -> Result<PropertyPlan, String> {
    let cpus = facts.cpus();
    let counts = counts(cpus.len());
    let tasks = |count: usize| vec![Task::busy(SETTLED_NS, END_NS); count];
    let held = facts.pinned_to.as_deref();
    Ok(PropertyPlan {
        expected: format!(
            "equal shares: {} of a CPU each for {} tasks on {}",
            percent(each(facts.free().len(), three_halves(cpus.len()))),
            three_halves(cpus.len()),
            facts.free().len()
        ),
        bound: AuditBound::at_least(MIN_FAIR_SHARE),
        loads: counts.iter().map(|&count| Load::of(tasks(count)).pinned_to(held)).collect(),
        read: Box::new(move |seen| read(seen, &cpus)),
        observed,
    })
}

/// The numbers of tasks for so many CPUs: those at which something changes, and the lecture's five on
/// four and ten on eight.
pub(super) fn counts(cpus: usize) -> Vec<usize> {
    if cpus <= ALL_UP_TO {
        return (1..=3 * cpus).collect();
    }
    let quarter = cpus / 4;
    let counts = [1, cpus / 2, cpus - 1, cpus, cpus + 1, cpus + quarter, cpus + 2 * quarter];
    let counts = counts.into_iter().chain([2 * cpus, 2 * cpus + 1, 3 * cpus]);
    counts.collect::<BTreeSet<_>>().into_iter().collect()
}

fn three_halves(cpus: usize) -> usize {
    (3 * cpus).div_ceil(2)
}

/// Share that each of `tasks` gets of a CPU when all share `cpus` equally.
pub(super) fn each(cpus: usize, tasks: usize) -> f64 {
    (cpus as f64 / tasks.max(1) as f64).min(1.0)
}

fn read(seen: &[Timeline], cpus: &[u32]) -> Vec<Reading> {
    let mut details = Vec::new();
    let mut worst: Option<(f64, f64)> = None;
    for timeline in seen {
        let Some((least, attributed, mean)) = shares(timeline, cpus) else { continue };
        if worst.is_none_or(|(other, _)| least < other) {
            worst = Some((least, attributed));
        }
        let arm = format!("free@{}", timeline.tasks.len());
        details.push(least_share(OF_ONE, &arm).reads(least, attributed));
        details.push(Figure::share(OF_A_CPU, arm).reads(mean, 0.0));
    }
    let Some((least, attributed)) = worst else { return Vec::new() };
    let worst = least_share(SMALLEST_SHARE, "free").reads(least, attributed);
    std::iter::once(worst).chain(details).collect()
}

/// The least share over an equal one, what others could have taken from it, and the mean share of a
/// CPU.
fn shares(timeline: &Timeline, cpus: &[u32]) -> Option<(f64, f64, f64)> {
    let (from_ns, to_ns) = (SETTLED_NS, timeline.length_ns);
    let ran: Vec<f64> = timeline.tasks.iter().map(TaskLog::settled_s).collect();
    let mean = ran.iter().sum::<f64>() / ran.len() as f64;
    let least = ran.iter().copied().min_by(f64::total_cmp).filter(|_| mean > 0.0)?;
    // Everything that others had may have been taken from one task alone.
    let others = timeline.others.on_all_s(cpus, from_ns, to_ns);
    let span_s = crate::timeline::seconds(to_ns - from_ns);
    Some((least / mean, others / mean, mean / span_s))
}

fn least_share(of: &'static str, arm: &str) -> Figure {
    Figure { metric: Metric::LeastShare, ..Figure::share(of, arm) }
}

fn observed(seen: &[Observation]) -> String {
    let of_one = seen.iter().filter(|it| it.of.as_deref() == Some(OF_ONE));
    let worst = of_one.min_by(|one, other| one.estimate.value.total_cmp(&other.estimate.value));
    let arm = worst.map_or("", |it| it.arm.trim_start_matches("free@"));
    let least = worst.map_or_else(|| value(seen, 0), |it| it.estimate.value);
    format!("worst with {arm} tasks: one gets {} of an equal share", percent(least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Others;

    /// Tasks that take turns so that each runs for its share of the time.
    fn timeline(shares: &[f64]) -> Timeline {
        let task = |&share: &f64| {
            let given = ((END_NS - SETTLED_NS) as f64 * share) as u64;
            TaskLog { cpu_at_steps_ns: vec![0, 7, 7 + given], ..TaskLog::default() }
        };
        let tasks = shares.iter().map(task).collect();
        Timeline { length_ns: END_NS, tasks, others: Others::default() }
    }

    #[test]
    fn five_on_four_get_four_fifths_each() {
        assert!(counts(4).contains(&5) && counts(8).contains(&10));
        assert_eq!(each(4, 5), 0.8);
        let fair = read(&[timeline(&[0.8; 5])], &[0, 1, 2, 3]);
        assert!((fair[0].value - 1.0).abs() < 1e-6, "{fair:?}");
        let mean = fair.iter().find(|it| it.figure.of == OF_A_CPU).unwrap();
        assert!((mean.value - 0.8).abs() < 1e-6 && mean.figure.arm == "free@5");
    }

    #[test]
    fn two_that_share_a_cpu_beside_three_that_do_not_are_treated_badly() {
        let unfair = [timeline(&[1.0, 1.0]), timeline(&[0.5, 0.5, 1.0, 1.0, 1.0])];
        let readings = read(&unfair, &[0, 1, 2, 3]);
        assert!((readings[0].value - 0.625).abs() < 1e-6, "{readings:?}");
        assert_eq!(readings.len(), 5);
    }

    #[test]
    fn what_others_had_may_have_been_one_tasks() {
        let mut disturbed = timeline(&[0.5, 1.0]);
        disturbed.others.unplaced_s.insert(0, 0.15);
        let readings = read(&[disturbed], &[0, 1]);
        assert!((readings[0].attributed - 0.5).abs() < 1e-6, "{readings:?}");
    }

    #[test]
    fn tasks_that_never_ran_say_nothing() {
        assert_eq!(read(&[timeline(&[0.0, 0.0])], &[0, 1]), []);
        assert_eq!(read(&[], &[0]), []);
    }

    #[test]
    fn large_machines_are_tried_where_something_changes() {
        assert_eq!(counts(1), [1, 2, 3]);
        assert_eq!(counts(8), [1, 4, 7, 8, 9, 10, 12, 16, 17, 24]);
        assert!(counts(256).len() == 10 && counts(5).contains(&15));
    }
}
