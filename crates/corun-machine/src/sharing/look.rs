//! Who else used the CPUs of a set, and the siblings of them, during a pause.

use super::analysis;
use super::subject::{ResolvedSubject, threads};
use super::{BusyCpu, BusyTask, Others, Subject};
use crate::doctor::Pause;
use crate::evidence::CpuTimes;
use crate::tasks::Tasks;
use crate::{CpuSet, Machine, SystemFiles};

/// A task that uses less than this share of a CPU is not busy.
const BUSY: f64 = 0.05;

pub(super) fn take(
    files: &mut impl SystemFiles,
    machine: &Machine,
    found: &ResolvedSubject,
    pause: &mut dyn Pause,
) -> Others {
    let (tasks, times) = (Tasks::read(files), CpuTimes::read(files));
    let seconds = pause.pause().as_secs_f64().max(1e-9);
    let (times_after, tasks_after) = (CpuTimes::read(files), Tasks::read(files));

    let cpus = found.cpus.intersection(&machine.online());
    let siblings = analysis::siblings_outside(machine, &cpus);
    let share = |used_s: f64| used_s / seconds;
    let siblings_busy = times.zip(times_after).map_or_else(Vec::new, |(before, after)| {
        let busy = |cpu| {
            let time = after.since(&before, cpu)?;
            Some(BusyCpu { cpu, share: share(time.busy_s).min(1.0) })
        };
        siblings.iter().filter_map(busy).collect()
    });
    let mut busy = Vec::new();
    for task in tasks_after.since(&tasks) {
        if share(task.used_s) < BUSY || belongs(files, found, task.id) {
            continue;
        }
        let may: CpuSet = threads(files, machine, task.id)
            .iter()
            .flat_map(|thread| thread.cpus.as_slice().to_vec())
            .collect();
        let (inside, outside) = (may.intersection(&cpus), may.intersection(&siblings));
        if inside.is_empty() && outside.is_empty() {
            continue;
        }
        busy.push(BusyTask {
            id: task.id,
            name: task.name,
            share: share(task.used_s),
            cpus: may,
            inside,
            siblings: outside,
        });
    }
    Others { seconds, siblings_busy, tasks: busy }
}

/// True if a task is of those that the question is about.
fn belongs(files: &mut impl SystemFiles, found: &ResolvedSubject, task: u32) -> bool {
    let is_process = matches!(found.subject, Subject::Process { id, .. } if id == task);
    is_process
        || found.group.as_ref().is_some_and(|group| {
            files.read(&format!("proc/{task}/cgroup")).is_ok_and(|groups| group.holds(groups))
        })
}
