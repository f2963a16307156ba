//! The load of the rows about weights: tasks that share one CPU, and what the first of them gets.

use corun_record::AuditBound;

use crate::facts::Facts;
use crate::load::{Load, MS, Process, Task};
use crate::property::{Figure, PropertyPlan, Reading, value};
use crate::timeline::{TaskLog, Timeline, seconds};
use corun_stats::percent;

/// Tasks settle until here.
const SETTLED_NS: u64 = 100 * MS;
const END_NS: u64 = 600 * MS;
/// Tolerance of the share around the expected one.
const REACH: f64 = 0.05;

/// Processes whose tasks, by their nice values, share one CPU; the first task should get `share` of
/// what all get.
pub(crate) fn plan(
    facts: &Facts,
    processes: &[&[i32]],
    share: f64,
    of: &'static str,
    expected: String,
) -> PropertyPlan {
    let cpu = facts.one_cpu();
    let process = |nice_values: &&[i32]| Process {
        cpus: Some(vec![cpu]),
        tasks: nice_values.iter().map(|&nice| Task::busy(SETTLED_NS, END_NS).nice(nice)).collect(),
        ..Process::default()
    };
    PropertyPlan {
        expected,
        bound: AuditBound::within(share, REACH),
        loads: vec![Load { processes: processes.iter().map(process).collect() }],
        read: Box::new(move |seen| {
            seen.first().and_then(|seen| read(seen, cpu, of)).into_iter().collect()
        }),
        observed: |seen| percent(value(seen, 0)),
    }
}

fn read(seen: &Timeline, cpu: u32, of: &'static str) -> Option<Reading> {
    let all_s: f64 = seen.tasks.iter().map(TaskLog::settled_s).sum();
    let first_s = seen.tasks.first().map(TaskLog::settled_s).filter(|_| all_s > 0.0)?;
    // All that others had may have been taken from the first task, or from the rest.
    let others = seen.others.at_most_s(cpu, SETTLED_NS, END_NS);
    let figure = Figure::share(of, format!("stacked@{}", seen.tasks.len()));
    Some(figure.reads(first_s / all_s, (others / seconds(END_NS - SETTLED_NS)).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Others;

    #[test]
    fn the_first_tasks_share_is_of_what_all_got() {
        let task = |given: u64| TaskLog {
            cpu_at_steps_ns: vec![0, 9, 9 + given * MS],
            ..TaskLog::default()
        };
        let others = Others { unplaced_s: [(0, 0.1)].into(), ..Others::default() };
        let tasks = vec![task(300), task(100)];
        let seen = Timeline { length_ns: END_NS, tasks, others };
        let reading = read(&seen, 0, "a share").unwrap();
        assert!((reading.value - 0.75).abs() < 1e-9 && (reading.attributed - 0.2).abs() < 1e-9);
        assert_eq!(read(&Timeline::default(), 0, "a share"), None);
    }
}
