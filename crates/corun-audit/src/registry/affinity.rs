//! A task runs where its mask allows it and nowhere else, also when the mask changes.

use corun_record::{AuditBound, Observation};

use crate::facts::Facts;
use crate::load::{Load, MS, ScriptStep, Task};
use corun_stats::percent;
use crate::property::{Figure, PropertyPlan, Property, Reading, value};
use crate::timeline::{Timeline, TaskLog, seconds};

pub(super) const PROPERTY: Property = Property {
    name: "affinity",
    question: "do tasks keep to their mask, also when it changes, while other CPUs are idle?",
    source: "sched_setaffinity(2)",
    is_by_name_only: false,
    plan,
};

/// When the mask changes to the other CPU.
const CHANGE_NS: u64 = 150 * MS;
const END_NS: u64 = 300 * MS;
/// The share of time that may be spent elsewhere: nothing but the clock's own grain.
const MAX_TIME_ELSEWHERE: f64 = 0.001;
/// The steps that set the first and the second mask.
const MASKS: [usize; 2] = [0, 3];

fn plan(facts: &Facts) -> Result<PropertyPlan, String> {
    let cpus = facts.two_cpus()?;
    let task = Task::new(vec![
        ScriptStep::MayUse(vec![cpus[0]]),
        ScriptStep::SleepUntil(0),
        ScriptStep::BusyUntil(CHANGE_NS),
        ScriptStep::MayUse(vec![cpus[1]]),
        ScriptStep::BusyUntil(END_NS),
    ]);
    Ok(PropertyPlan {
        expected: "never elsewhere; two tasks on one CPU get half each".to_owned(),
        bound: AuditBound::at_most(MAX_TIME_ELSEWHERE),
        loads: vec![Load::of(vec![task; 2])],
        read: Box::new(move |seen| seen.first().map_or_else(Vec::new, |seen| read(seen, cpus))),
        observed,
    })
}

fn read(seen: &Timeline, cpus: [u32; 2]) -> Vec<Reading> {
    let elsewhere_s: f64 = seen.tasks.iter().map(|task| elsewhere_s(task, cpus)).sum();
    let ran_s: f64 =
        seen.tasks.iter().map(|task| task.ran_on_s(0, seen.length_ns, |_| true)).sum();
    if ran_s == 0.0 {
        return Vec::new();
    }
    let given_s: f64 = seen.tasks.iter().map(|task| task.cpu_s(1, MASKS[1] + 1)).sum();
    let each = given_s / seen.tasks.len() as f64 / seconds(seen.length_ns);
    vec![
        Figure::share("time outside of the mask", "pinned@2").reads(elsewhere_s / ran_s, 0.0),
        Figure::share("of a CPU for each task", "pinned@2").reads(each, 0.0),
    ]
}

/// Time that a task ran where its mask did not allow it. While the mask changes it may be on either
/// CPU, so that each mask counts from when it was set, and until the task's next step at the latest.
fn elsewhere_s(task: &TaskLog, cpus: [u32; 2]) -> f64 {
    let ended = |step: usize| task.steps_ended_ns.get(step).copied().unwrap_or(0);
    let until = [ended(MASKS[1] - 1), ended(MASKS[1] + 1)];
    let spans = MASKS.into_iter().zip(until).zip(cpus);
    spans.map(|((set, until), cpu)| task.ran_on_s(ended(set), until, |on| on != cpu)).sum()
}

fn observed(seen: &[Observation]) -> String {
    let (elsewhere, each) = (value(seen, 0), value(seen, 1));
    format!("{} elsewhere; {} of a CPU each", percent(elsewhere), percent(each))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Others, Interval};

    fn reading(second_cpu: u32) -> Reading {
        let task = |from: u64| TaskLog {
            intervals: vec![
                Interval { cpu: 0, from_ns: from * MS, to_ns: (from + 75) * MS },
                Interval { cpu: second_cpu, from_ns: (from + 150) * MS, to_ns: (from + 225) * MS },
            ],
            steps_ended_ns: vec![0, 0, CHANGE_NS, CHANGE_NS, END_NS],
            cpu_at_steps_ns: vec![0, 0, 75 * MS, 75 * MS, 150 * MS],
            ..TaskLog::default()
        };
        let tasks = vec![task(0), task(75)];
        let seen = Timeline { length_ns: END_NS, tasks, others: Others::default() };
        let readings = read(&seen, [0, 1]);
        assert_eq!(readings[1].value, 0.5);
        readings[0].clone()
    }

    #[test]
    fn time_outside_of_the_mask_is_seen() {
        assert_eq!(reading(1).value, 0.0);
        assert_eq!(reading(0).value, 0.5);
        assert_eq!(read(&Timeline::default(), [0, 1]), []);
    }
}
