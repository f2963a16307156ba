//! Busy tasks that have a logical CPU each stay where they are.

use corun_record::{AuditBound, Metric, Observation};

use crate::facts::Facts;
use crate::load::{Load, MS, Task};
use crate::property::{Figure, PropertyPlan, Property, Reading, value};
use crate::timeline::{Timeline, seconds};

pub(super) const PROPERTY: Property = Property {
    name: "migrations",
    question: "do busy tasks that have a logical CPU each stay where they are?",
    source: "a balanced load leaves a balancer nothing to do; Molnar 2002, affinity",
    is_by_name_only: false,
    plan,
};

/// Tasks settle until here.
const SETTLED_NS: u64 = 100 * MS;
const END_NS: u64 = 500 * MS;
/// Moves of a task in a second: one in ten slices of 10 ms.
const MAX_MIGRATIONS_PER_S: f64 = 10.0;
/// Others who take more than this of the CPUs push tasks about.
const PUSHING: f64 = 0.02;

fn plan(facts: &Facts) -> Result<PropertyPlan, String> {
    facts.two_cpus()?;
    let cpus = facts.cpus();
    let load = |count| {
        Load::of(vec![Task::busy(SETTLED_NS, END_NS); count]).pinned_to(facts.pinned_to.as_deref())
    };
    Ok(PropertyPlan {
        expected: format!("fewer than {MAX_MIGRATIONS_PER_S:.0} moves a second of each task"),
        bound: AuditBound::at_most(MAX_MIGRATIONS_PER_S),
        loads: vec![load(cpus.len()), load(cpus.len() + 1)],
        read: Box::new(move |seen| seen.iter().filter_map(|seen| read(seen, &cpus)).collect()),
        observed,
    })
}

fn read(seen: &Timeline, cpus: &[u32]) -> Option<Reading> {
    let (from_ns, to_ns) = (SETTLED_NS, seen.length_ns);
    let span_s = seconds(to_ns.checked_sub(from_ns)?);
    let moves: usize = seen.tasks.iter().map(|task| task.migrations(from_ns, to_ns)).sum();
    let rate = moves as f64 / span_s / seen.tasks.len() as f64;
    let others = seen.others.on_all_s(cpus, from_ns, to_ns) / span_s / cpus.len() as f64;
    let figure = Figure {
        metric: Metric::Rate,
        of: "moves of each task",
        arm: format!("free@{}", seen.tasks.len()),
        unit: "migrations/s",
    };
    rate.is_finite().then(|| figure.reads(rate, if others > PUSHING { rate } else { 0.0 }))
}

fn observed(seen: &[Observation]) -> String {
    format!("{:.1} a second; with one task more {:.1}", value(seen, 0), value(seen, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Others, Interval, TaskLog};

    fn reading(moves: u64, others: Others) -> Reading {
        let length = (END_NS - SETTLED_NS) / (moves + 1);
        let interval = |index: u64| {
            let from_ns = SETTLED_NS + index * length;
            Interval { cpu: (index % 2) as u32, from_ns, to_ns: from_ns + length }
        };
        let moving = TaskLog { intervals: (0..=moves).map(interval).collect(), ..TaskLog::default() };
        let tasks = vec![moving, TaskLog::default()];
        read(&Timeline { length_ns: END_NS, tasks, others }, &[0, 1]).unwrap()
    }

    #[test]
    fn moves_are_counted_for_each_task_and_second() {
        assert_eq!(reading(0, Others::default()).value, 0.0);
        let moving = reading(8, Others::default());
        assert!((moving.value - 10.0).abs() < 1e-9 && moving.attributed == 0.0, "{moving:?}");
    }

    #[test]
    fn others_who_are_busy_push_tasks_about() {
        let others = Others { unplaced_s: [(0, 0.1)].into(), ..Others::default() };
        let moving = reading(8, others);
        assert_eq!(moving.value, moving.attributed);
    }
}
