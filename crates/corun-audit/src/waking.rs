//! The load of the wake-up rows: a task that falls asleep on a busy CPU and is woken there.

use corun_record::{AuditBound, Observation};

use crate::facts::Facts;
use crate::load::{Load, MS, ScriptStep, Task};
use crate::property::{Figure, PropertyPlan, Reading, time, value};
use crate::timeline::{Timeline, Wake, seconds};
use corun_stats::percent;

/// At most so many wake-ups, in at most this time.
const WAKES: u64 = 40;
const END_NS: u64 = 410 * MS;
/// Each after such a sleep.
const SLEEP_NS: u64 = 5 * MS;
/// The share of wake-ups that must begin on the idle CPU.
const MIN_WAKE_UPS_ON_IDLE: f64 = 0.95;

/// A task computes on `busy`; another falls asleep there and may run on `idle` too when it wakes.
pub(crate) fn plan(facts: &Facts, [busy, idle]: [u32; 2], where_to: &str) -> PropertyPlan {
    let free = facts.free();
    let allowed = |cpu: &u32| *cpu == busy || free.contains(cpu);
    let both: Vec<u32> = [busy, idle].into_iter().filter(allowed).collect();
    let competitor = Task::new(vec![
        ScriptStep::MayUse(vec![busy]),
        ScriptStep::SleepUntil(0),
        ScriptStep::BusyUntil(END_NS),
    ]);
    let mut steps = vec![ScriptStep::SleepUntil(0)];
    for _ in 0..WAKES {
        steps.extend([
            ScriptStep::MayUse(vec![busy]),
            ScriptStep::MayUse(both.clone()),
            ScriptStep::SleepFor(SLEEP_NS),
        ]);
    }
    PropertyPlan {
        expected: format!("all begin on the idle {where_to}"),
        bound: AuditBound::at_least(MIN_WAKE_UPS_ON_IDLE),
        loads: vec![Load::of(vec![competitor, Task::new(steps)])],
        read: Box::new(move |seen| {
            seen.first().map_or_else(Vec::new, |seen| read(seen, [busy, idle]))
        }),
        observed,
    }
}

fn read(seen: &Timeline, [busy, idle]: [u32; 2]) -> Vec<Reading> {
    // Not the common start, for which all tasks wake up.
    let slept = |it: &&Wake| it.from_cpu == busy && it.due_ns > 0;
    let wakes: Vec<&Wake> = seen.tasks.iter().flat_map(|task| &task.wakes).filter(slept).collect();
    if wakes.is_empty() {
        return Vec::new();
    }
    let well = wakes.iter().filter(|wake| wake.to_cpu == idle).count();
    let others = seen.others.excused_s(&[idle], 0, seen.length_ns) / seconds(seen.length_ns);
    let mut late: Vec<u64> = wakes.iter().map(|it| it.ran_ns.saturating_sub(it.due_ns)).collect();
    late.sort_unstable();
    let median = late[late.len() / 2];
    vec![
        Figure::share("wake-ups that begin on the idle CPU", "free@2")
            .reads(well as f64 / wakes.len() as f64, others),
        Figure::time("wake-up, median", "free@2").reads(seconds(median), 0.0),
    ]
}

fn observed(seen: &[Observation]) -> String {
    let (well, late) = (value(seen, 0), value(seen, 1));
    format!("{} begin there, half of them within {}", percent(well), time(late))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Interval, Others, TaskLog};

    fn readings(to_cpus: &[u32], others: Others) -> Vec<Reading> {
        let wake = |(index, &to_cpu): (usize, &u32)| {
            let due_ns = (index as u64 + 1) * SLEEP_NS;
            Wake { from_cpu: 0, to_cpu, due_ns, ran_ns: due_ns + 50_000 }
        };
        let wakes = to_cpus.iter().enumerate().map(wake).collect();
        let tasks = vec![TaskLog::default(), TaskLog { wakes, ..TaskLog::default() }];
        read(&Timeline { length_ns: 100 * MS, tasks, others }, [0, 1])
    }

    #[test]
    fn wake_ups_on_the_busy_cpu_are_missed_ones() {
        assert_eq!(readings(&[1, 1, 1, 1], Others::default())[0].value, 1.0);
        let readings = readings(&[1, 0, 0, 0], Others::default());
        assert_eq!((readings[0].value, readings[1].value), (0.25, 50e-6));
    }

    #[test]
    fn others_on_the_idle_cpu_explain_what_was_missed() {
        let intervals = vec![Interval { cpu: 1, from_ns: 0, to_ns: 75 * MS }];
        let readings = readings(&[0, 0, 0, 1], Others { intervals, ..Others::default() });
        assert_eq!((readings[0].value, readings[0].attributed), (0.25, 1.0));
    }

    #[test]
    fn without_a_wake_up_there_is_nothing_to_read() {
        assert_eq!(readings(&[], Others::default()), []);
    }
}
