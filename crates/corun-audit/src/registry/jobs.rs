//! N jobs of equal work on M logical CPUs end together, for N from 1 to 3 M: when and with what share of a
//! CPU each.
//!
//! `fairness` judges a window of time; this judges the end, which balancing over seconds decides. It is
//! also how the scheduler model is compared with a kernel (`docs/scheduling.md`).

use corun_record::{AuditBound, Metric, Observation};

use super::fairness::{counts, each};
use crate::facts::Facts;
use crate::load::{Load, MS, Task};
use corun_stats::percent;
use crate::property::{Figure, PropertyPlan, Property, Reading, value};
use crate::timeline::{Timeline, TaskLog, seconds};

pub(super) const PROPERTY: Property = Property {
    name: "jobs",
    question: "do N jobs of 5 s on M logical CPUs end when equal shares say, for N from 1 to 3 M?",
    source: "kernel/sched/fair.c: load_balance moves tasks until loads are equal on average",
    is_by_name_only: true,
    plan,
};

/// The CPU time of each job.
const WORK_NS: u64 = 5_000 * MS;
/// The least speed of the last job over that of equal shares, at the worst number of jobs.
const SLOWEST: f64 = 0.9;

const WORST: &str = "speed of the last job over that of equal shares, the worst number of jobs";
const MAKESPAN: &str = "until the last job has ended";
const SMALLEST_SHARE: &str = "of a CPU for the job that got least";
const MEAN: &str = "of a CPU for each job";
const GREATEST: &str = "of a CPU for the job that got most";

fn plan(facts: &Facts) -> Result<PropertyPlan, String> {
    let cpus = facts.free();
    let held = facts.pinned_to.as_deref();
    let load = |count: usize| Load::of(vec![Task::working(WORK_NS); count]).pinned_to(held);
    Ok(PropertyPlan {
        expected: format!("the last job has at least {} of the speed of equal shares", percent(SLOWEST)),
        bound: AuditBound::at_least(SLOWEST),
        loads: counts(cpus.len()).into_iter().map(load).collect(),
        read: Box::new(move |seen| read(seen, &cpus)),
        observed,
    })
}

/// When a job had done its work, and the share of a CPU that it had until then.
fn ended(log: &TaskLog) -> Option<(f64, f64)> {
    let end_s = seconds(*log.steps_ended_ns.get(1)?);
    let worked_s = log.cpu_s(0, 1);
    // A job that was broken off has no end.
    (worked_s >= seconds(WORK_NS) && end_s > 0.0).then(|| (end_s, (worked_s / end_s).min(1.0)))
}

fn read(seen: &[Timeline], cpus: &[u32]) -> Vec<Reading> {
    let mut details = Vec::new();
    let mut worst: Option<(f64, f64)> = None;
    let work_s = seconds(WORK_NS);
    for timeline in seen {
        let Some(jobs) = timeline.tasks.iter().map(ended).collect::<Option<Vec<_>>>() else { continue };
        let count = jobs.len();
        let makespan = jobs.iter().map(|&(end, _)| end).fold(0.0, f64::max);
        let shares = || jobs.iter().map(|&(_, share)| share);
        let speed = work_s / each(cpus.len(), count) / makespan;
        let others = timeline.others.on_all_s(cpus, 0, timeline.length_ns);
        if worst.is_none_or(|(other, _)| speed < other) {
            // All of what others had may have been taken from the last job.
            worst = Some((speed, others / makespan));
        }
        let arm = format!("free@{count}");
        let whole = Figure { metric: Metric::Makespan, ..Figure::time(MAKESPAN, arm.as_str()) };
        details.push(whole.reads(makespan, 0.0));
        details.push(Figure::share(SMALLEST_SHARE, arm.as_str()).reads(shares().fold(1.0, f64::min), 0.0));
        details.push(Figure::share(MEAN, arm.as_str()).reads(shares().sum::<f64>() / count as f64, 0.0));
        details.push(Figure::share(GREATEST, arm.as_str()).reads(shares().fold(0.0, f64::max), 0.0));
    }
    let Some((worst, attributed)) = worst else { return Vec::new() };
    let worst = Figure { metric: Metric::LeastShare, ..Figure::share(WORST, "free") }.reads(worst, attributed);
    std::iter::once(worst).chain(details).collect()
}

fn observed(seen: &[Observation]) -> String {
    format!("the last job has {} of the speed of equal shares at the worst number", percent(value(seen, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Others;

    /// Jobs that end at these seconds.
    fn timeline(ends_s: &[f64]) -> Timeline {
        let task = |end: &f64| TaskLog {
            steps_ended_ns: vec![0, (end * 1e9) as u64],
            cpu_at_steps_ns: vec![3, 3 + WORK_NS],
            ..TaskLog::default()
        };
        let tasks = ends_s.iter().map(task).collect();
        Timeline { length_ns: 20_000 * MS, tasks, others: Others::default() }
    }

    fn figure(readings: &[Reading], of: &str, arm: &str) -> f64 {
        readings.iter().find(|it| it.figure.of == of && it.figure.arm == arm).expect("it is read").value
    }

    #[test]
    fn five_that_rotate_on_four_end_after_five_fourths() {
        let readings = read(&[timeline(&[6.25; 5])], &[0, 1, 2, 3]);
        assert!((readings[0].value - 1.0).abs() < 1e-9, "{readings:?}");
        assert!((figure(&readings, MAKESPAN, "free@5") - 6.25).abs() < 1e-9);
        assert!((figure(&readings, SMALLEST_SHARE, "free@5") - 0.8).abs() < 1e-9);
    }

    #[test]
    fn a_pair_that_stays_on_one_cpu_is_late() {
        let readings = read(&[timeline(&[5.0, 5.0, 5.0, 7.5, 7.5])], &[0, 1, 2, 3]);
        assert!((readings[0].value - 6.25 / 7.5).abs() < 1e-9, "{readings:?}");
        assert!((figure(&readings, SMALLEST_SHARE, "free@5") - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(figure(&readings, GREATEST, "free@5"), 1.0);
    }

    #[test]
    fn jobs_that_were_broken_off_say_nothing() {
        let mut seen = timeline(&[5.0, 5.0]);
        seen.tasks[1].cpu_at_steps_ns[1] -= 10;
        assert_eq!(read(&[seen], &[0, 1]), []);
    }

    #[test]
    fn what_others_had_may_have_been_the_last_jobs() {
        let mut disturbed = timeline(&[5.0, 6.0]);
        disturbed.others.unplaced_s.insert(0, 1.0);
        let readings = read(&[disturbed], &[0, 1]);
        assert!((readings[0].value - 5.0 / 6.0).abs() < 1e-9, "{readings:?}");
        assert!((readings[0].attributed - 1.0 / 6.0).abs() < 1e-9, "{readings:?}");
    }
}
