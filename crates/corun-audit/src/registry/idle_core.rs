//! A new thread goes to a whole idle core while one exists.

use std::collections::BTreeSet;

use corun_record::{AuditBound, Observation};

use crate::facts::Facts;
use crate::load::{Load, MS, ScriptStep, Task};
use corun_stats::percent;
use crate::property::{Figure, PropertyPlan, Property, Reading, value};
use crate::timeline::{Timeline, TaskLog, seconds};

pub(super) const PROPERTY: Property = Property {
    name: "idle-core",
    question: "does a new thread go to a whole idle core while one exists?",
    source: "select_idle_core and find_idlest_cpu of kernel/sched/fair.c; Molnar 2002, passive balancing",
    is_by_name_only: false,
    plan,
};

/// Between two births.
const APART_NS: u64 = 10 * MS;
/// After the last birth.
const TAIL_NS: u64 = 400 * MS;
/// More threads than this show no more.
const MAX_TASKS: usize = 8;
/// The share of time that may be spent beside an idle core.
const MAX_TIME_BESIDE_IDLE_CORE: f64 = 0.05;

fn plan(facts: &Facts) -> Result<PropertyPlan, String> {
    facts.core_beside_another()?;
    let tasks = facts.cores.len().min(MAX_TASKS);
    let load = Load::of(chain(tasks)).pinned_to(facts.pinned_to.as_deref());
    let facts = facts.clone();
    Ok(PropertyPlan {
        expected: "none of the time".to_owned(),
        bound: AuditBound::at_most(MAX_TIME_BESIDE_IDLE_CORE),
        loads: vec![load],
        read: Box::new(move |seen| seen.first().map_or_else(Vec::new, |seen| read(seen, &facts))),
        observed,
    })
}

/// Tasks that begin one another, each computing all the time: no other task has to be awake when one is
/// born.
fn chain(tasks: usize) -> Vec<Task> {
    let end_ns = tasks as u64 * APART_NS + TAIL_NS;
    let task = |place: usize| {
        let mut steps = Vec::new();
        if place + 1 < tasks {
            steps.push(ScriptStep::BusyUntil((place as u64 + 1) * APART_NS));
            steps.push(ScriptStep::Begin(place + 1));
        }
        steps.push(ScriptStep::BusyUntil(end_ns));
        Task { is_begun_by_another: place > 0, ..Task::new(steps) }
    };
    (0..tasks).map(task).collect()
}

fn read(seen: &Timeline, facts: &Facts) -> Vec<Reading> {
    let arm = format!("free@{}", seen.tasks.len());
    let births = seen.tasks.iter().skip(1).filter_map(|task| task.intervals.first());
    let Some(second) = births.clone().map(|birth| birth.from_ns).min() else { return Vec::new() };
    let span_s = seconds(seen.length_ns.saturating_sub(second).max(1));
    let mut wasted_s = 0.0;
    let mut idle_cores = BTreeSet::new();
    let states = seen.last_cpus(second);
    let ends = states.iter().skip(1).map(|(at_ns, _)| *at_ns).chain([seen.length_ns]);
    for ((from_ns, on), to_ns) in states.iter().zip(ends) {
        let Some(idle) = wasted(on, facts) else { continue };
        wasted_s += seconds(to_ns.min(seen.length_ns).saturating_sub(*from_ns));
        idle_cores.extend(idle);
    }
    // The idlest of the idle cores.
    let excused = idle_cores.into_iter().map(|core| {
        seen.others.excused_s(&facts.cores[core], second, seen.length_ns)
    });
    let excused_s = excused.min_by(f64::total_cmp).unwrap_or(0.0);
    let mut readings = vec![
        Figure::share("time that two workers share a core beside an idle one", &arm)
            .reads(wasted_s / span_s, excused_s / span_s),
    ];
    let (born, well) = births.fold((0, 0), |(born, well), birth| {
        let taken = cores_in_use(seen, birth.from_ns, facts);
        let is_well = facts.core_of(birth.cpu).is_some_and(|core| !taken.contains(&core));
        (born + 1, well + usize::from(is_well || taken.len() == facts.cores.len()))
    });
    readings.push(
        Figure::share("threads that began on an idle core", arm)
            .reads(f64::from(well as u32) / f64::from(born.max(1)), 0.0),
    );
    readings
}

/// The idle cores, if two workers share a core although there is one.
fn wasted(on: &[Option<u32>], facts: &Facts) -> Option<Vec<usize>> {
    let mut taken = BTreeSet::new();
    let mut is_shared = false;
    for core in on.iter().flatten().filter_map(|&cpu| facts.core_of(cpu)) {
        is_shared |= !taken.insert(core);
    }
    let idle: Vec<usize> = (0..facts.cores.len()).filter(|core| !taken.contains(core)).collect();
    (is_shared && !idle.is_empty()).then_some(idle)
}

/// The cores that tasks were on just before a time; all of them compute from their birth on.
fn cores_in_use(seen: &Timeline, at_ns: u64, facts: &Facts) -> BTreeSet<usize> {
    let last_cpu = |task: &TaskLog| {
        task.intervals.iter().take_while(|it| it.from_ns < at_ns).last().map(|it| it.cpu)
    };
    seen.tasks.iter().filter_map(last_cpu).filter_map(|cpu| facts.core_of(cpu)).collect()
}

fn observed(seen: &[Observation]) -> String {
    format!("{} of new threads began on an idle core", percent(value(seen, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::machine;
    use crate::timeline::{Others, Interval};

    const END_NS: u64 = 110 * MS;

    /// The first task on CPU 0, the second from 10 ms on as given.
    fn readings(second: &[(u32, u64)], others: Others) -> Vec<Reading> {
        let facts = machine(&[&[0, 1], &[2, 3]]);
        let mut from_ns = 10 * MS;
        let interval = |&(cpu, to): &(u32, u64)| {
            let interval = Interval { cpu, from_ns, to_ns: to * MS };
            from_ns = interval.to_ns;
            interval
        };
        let second = TaskLog { intervals: second.iter().map(interval).collect(), ..TaskLog::default() };
        let first = Interval { cpu: 0, from_ns: 0, to_ns: END_NS };
        let first = TaskLog { intervals: vec![first], ..TaskLog::default() };
        read(&Timeline { length_ns: END_NS, tasks: vec![first, second], others }, &facts)
    }

    #[test]
    fn a_thread_born_on_the_sibling_wastes_a_core_until_it_moves() {
        let readings = readings(&[(1, 35), (2, 110)], Others::default());
        assert_eq!((readings[0].value, readings[0].attributed), (0.25, 0.0));
        assert_eq!(readings[1].value, 0.0);
    }

    #[test]
    fn a_thread_born_on_an_idle_core_wastes_nothing() {
        let readings = readings(&[(3, 110)], Others::default());
        assert_eq!((readings[0].value, readings[1].value), (0.0, 1.0));
    }

    #[test]
    fn workers_with_a_core_each_waste_nothing_however_many_cores_are_idle() {
        let facts = machine(&[&[0, 1], &[2, 3], &[4, 5]]);
        assert_eq!(wasted(&[Some(0), Some(2)], &facts), None);
        assert_eq!(wasted(&[Some(0), Some(1)], &facts), Some(vec![1, 2]));
        assert_eq!(wasted(&[Some(0), Some(1), Some(2), Some(4)], &facts), None);
        assert_eq!(wasted(&[Some(0), None], &facts), None);
    }

    #[test]
    fn others_on_the_idle_core_excuse_the_sibling() {
        let intervals = vec![Interval { cpu: 2, from_ns: 0, to_ns: 60 * MS }];
        let readings = readings(&[(1, 110)], Others { intervals, ..Others::default() });
        assert_eq!((readings[0].value, readings[0].attributed), (1.0, 1.0));
    }
}
