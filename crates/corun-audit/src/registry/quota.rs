//! A control group with a quota gets its quota, and no more.

use corun_record::{AuditBound, Metric, Observation};

use crate::facts::Facts;
use crate::load::{Group, Load, MS, Process, Task};
use crate::property::{Figure, PropertyPlan, Property, Reading, value};
use crate::timeline::{Timeline, TaskLog, seconds};

pub(super) const PROPERTY: Property = Property {
    name: "quota",
    question: "do two busy tasks in a control group with a quota of half a CPU get just that?",
    source: "Documentation/admin-guide/cgroup-v2.rst, cpu.max; Documentation/scheduler/sched-bwc.rst",
    is_by_name_only: false,
    plan,
};

/// Microseconds of CPU time a period, and the period.
const CPU_MAX: [u64; 2] = [25_000, 50_000];
/// Tasks settle until here, for whole periods.
const SETTLED_NS: u64 = 100 * MS;
const END_NS: u64 = 700 * MS;
/// Tolerance of the use around the quota, as CPUs.
const REACH: f64 = 0.05;
const QUOTA: f64 = 0.5;

fn plan(facts: &Facts) -> Result<PropertyPlan, String> {
    let parent = facts.groups.clone()?;
    let folder = format!("{parent}/{}", group_name(std::process::id()));
    let process = Process {
        cpus: None,
        group: Some(Group { folder, cpu_max: CPU_MAX }),
        tasks: vec![Task::busy(SETTLED_NS, END_NS); 2],
    };
    let cpus = facts.cpus();
    Ok(PropertyPlan {
        expected: format!("{QUOTA:.2} CPUs together"),
        bound: AuditBound::within(QUOTA, REACH),
        loads: vec![Load { processes: vec![process] }],
        read: Box::new(move |seen| seen.first().map(|seen| read(seen, &cpus)).into_iter().collect()),
        observed: |seen: &[Observation]| format!("{:.2} CPUs", value(seen, 0)),
    })
}

/// The control group of the corun with this process id.
pub(crate) fn group_name(process: u32) -> String {
    format!("corun-audit-{process}")
}

fn read(seen: &Timeline, cpus: &[u32]) -> Reading {
    let span_s = seconds(END_NS - SETTLED_NS);
    let ran_s: f64 = seen.tasks.iter().map(TaskLog::settled_s).sum();
    let others = seen.others.on_all_s(cpus, SETTLED_NS, END_NS) / span_s;
    // Others can keep the group from its quota; they cannot lift it.
    let attributed = if ran_s / span_s < QUOTA { others } else { 0.0 };
    let figure = Figure {
        metric: Metric::Throughput,
        of: "CPUs that the group uses",
        arm: "free@2".to_owned(),
        unit: "CPUs",
    };
    figure.reads(ran_s / span_s, attributed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Others;

    fn reading(ran: u64) -> Reading {
        let cpu_at_steps_ns = vec![0, 5, 5 + ran * MS];
        let others = Others { unplaced_s: [(0, 0.06)].into(), ..Others::default() };
        let tasks = vec![TaskLog { cpu_at_steps_ns, ..TaskLog::default() }];
        read(&Timeline { length_ns: END_NS, tasks, others }, &[0])
    }

    #[test]
    fn others_explain_less_than_the_quota_and_never_more() {
        let less = reading(240);
        assert!((less.value - 0.4).abs() < 1e-9 && (less.attributed - 0.1).abs() < 1e-9);
        let more = reading(360);
        assert!((more.value - 0.6).abs() < 1e-9 && more.attributed == 0.0);
    }
}
