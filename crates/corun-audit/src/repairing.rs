//! The load of the repair rows: two tasks are put where one of them has to go away, then set free.

use corun_record::{AuditBound, Observation};

use crate::facts::Facts;
use crate::load::{Load, MS, ScriptStep, Task};
use crate::property::{Figure, PropertyPlan, Reading, time, value};
use crate::timeline::{Timeline, seconds};

/// When the tasks are set free.
const FREE_NS: u64 = 100 * MS;
/// When they end.
const END_NS: u64 = 500 * MS;
/// Time limit, in seconds: corun's own bound, ten times what a balancer that runs every few milliseconds needs.
const MAX_S: f64 = 0.1;
/// The step after which a task is free.
const SETTING_FREE: usize = 3;

/// Two tasks begin on these CPUs; the imbalance is repaired when they are apart, as `is_apart` says.
pub(crate) fn plan(
    facts: &Facts,
    cpus: [u32; 2],
    is_apart: fn(&Facts, u32, u32) -> bool,
) -> PropertyPlan {
    let task = |cpu: u32| {
        Task::new(vec![
            ScriptStep::MayUse(vec![cpu]),
            ScriptStep::SleepUntil(0),
            ScriptStep::BusyUntil(FREE_NS),
            ScriptStep::MayUse(facts.free()),
            ScriptStep::BusyUntil(END_NS),
        ])
    };
    let facts = facts.clone();
    PropertyPlan {
        expected: format!("within {}", time(MAX_S)),
        bound: AuditBound::at_most(MAX_S),
        loads: vec![Load::of(cpus.map(task).to_vec())],
        read: Box::new(move |seen| {
            let is_apart = |one, other| is_apart(&facts, one, other);
            seen.first().map_or_else(Vec::new, |seen| read(seen, &facts, cpus, is_apart))
        }),
        observed,
    }
}

fn read(
    seen: &Timeline,
    facts: &Facts,
    begun_on: [u32; 2],
    is_apart: impl Fn(u32, u32) -> bool,
) -> Vec<Reading> {
    let free = seen.tasks.iter().filter_map(|task| task.steps_ended_ns.get(SETTING_FREE)).min();
    let Some(&free_ns) = free else { return Vec::new() };
    let states = seen.last_cpus(free_ns);
    let are_apart = |on: &[Option<u32>]| match on[..] {
        [Some(one), Some(other)] => Some(is_apart(one, other)),
        _ => None,
    };
    // On a slow machine one may not have come before the other was set free.
    if states.first().is_none_or(|(_, on)| are_apart(on) != Some(false)) {
        return Vec::new();
    }
    let repaired = states.into_iter().find(|(_, on)| are_apart(on) == Some(true));
    let repaired_ns = repaired.as_ref().map_or(seen.length_ns, |&(at_ns, _)| at_ns);
    // The idlest of the CPUs that one of the two could have gone to.
    let targets = facts.cpus().into_iter().filter(|&cpu| {
        begun_on.iter().any(|&begun| is_apart(begun, cpu)) && !begun_on.contains(&cpu)
    });
    let excused = targets.map(|cpu| seen.others.excused_s(&[cpu], free_ns, repaired_ns));
    let others = excused.min_by(f64::total_cmp).unwrap_or(0.0);
    let moved_ns = repaired_ns.saturating_sub(free_ns);
    vec![
        Figure::time("repair", "free@2").reads(seconds(moved_ns), others),
        Figure::share("imbalances not repaired", "free@2")
            .reads(f64::from(u8::from(repaired.is_none())), 0.0),
    ]
}

fn observed(seen: &[Observation]) -> String {
    match value(seen, 1) {
        1.0 => format!("never within {}", time(seconds(END_NS - FREE_NS))),
        _ => format!("after {}", time(value(seen, 0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::machine;
    use crate::timeline::{Interval, Others, TaskLog};

    fn readings(moved_at_ms: Option<u64>, others: Others) -> Vec<Reading> {
        let stays = TaskLog {
            intervals: vec![Interval { cpu: 0, from_ns: 0, to_ns: END_NS }],
            steps_ended_ns: vec![0, 0, FREE_NS, FREE_NS],
            ..TaskLog::default()
        };
        let goes = TaskLog {
            intervals: [Some(Interval { cpu: 0, from_ns: 90 * MS, to_ns: 95 * MS })]
                .into_iter()
                .chain([moved_at_ms.map(|at| Interval { cpu: 1, from_ns: at * MS, to_ns: END_NS })])
                .flatten()
                .collect(),
            ..TaskLog::default()
        };
        let seen = Timeline { length_ns: END_NS, tasks: vec![stays, goes], others };
        read(&seen, &machine(&[&[0], &[1]]), [0, 0], |one, other| one != other)
    }

    #[test]
    fn an_imbalance_lasts_until_both_run_apart() {
        let seen = readings(Some(104), Others::default());
        assert!((seen[0].value - 0.004).abs() < 1e-12 && seen[1].value == 0.0);
        let seen = readings(None, Others::default());
        assert!((seen[0].value - 0.4).abs() < 1e-12 && seen[1].value == 1.0);
    }

    #[test]
    fn others_where_it_could_have_gone_explain_the_time() {
        let intervals = vec![Interval { cpu: 1, from_ns: 0, to_ns: 200 * MS }];
        let seen = readings(Some(210), Others { intervals, ..Others::default() });
        assert!((seen[0].attributed - seen[0].value).abs() < 1e-12, "{seen:?}");
        let intervals = vec![Interval { cpu: 1, from_ns: 100 * MS, to_ns: 102 * MS }];
        let seen = readings(Some(210), Others { intervals, ..Others::default() });
        assert!((seen[0].attributed - 0.002).abs() < 1e-12, "{seen:?}");
    }

    #[test]
    fn tasks_need_not_run_at_once_to_be_apart() {
        let log = |intervals: &[(u32, u64, u64)]| TaskLog {
            intervals: intervals
                .iter()
                .map(|&(cpu, from, to)| Interval { cpu, from_ns: from * MS, to_ns: to * MS })
                .collect(),
            steps_ended_ns: vec![0, 0, FREE_NS, FREE_NS],
            ..TaskLog::default()
        };
        let tasks = vec![
            log(&[(0, 0, 90), (0, 95, 105), (0, 120, 130)]),
            log(&[(0, 90, 95), (0, 105, 110), (1, 110, 115)]),
        ];
        let seen = Timeline { length_ns: END_NS, tasks, others: Others::default() };
        let seen = read(&seen, &machine(&[&[0], &[1]]), [0, 0], |one, other| one != other);
        assert!((seen[0].value - 0.01).abs() < 1e-12, "{seen:?}");
    }

    #[test]
    fn a_task_that_was_never_set_free_say_nothing() {
        let seen = Timeline { length_ns: END_NS, ..Timeline::default() };
        assert_eq!(read(&seen, &machine(&[&[0], &[1]]), [0, 0], |_, _| true), []);
    }
}
