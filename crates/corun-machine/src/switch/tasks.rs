//! Tasks that were given CPUs of their own: a CPU that goes offline may cost them their mask.
//!
//! `/proc/PID/task/TID/status` gives the mask with the offline CPUs in it, `sched_getaffinity(2)`
//! does not; see `proc_pid_status(5)` and `proc_pid_stat(5)`.

use std::collections::BTreeMap;

use corun_files::TaskStat;
use serde::{Deserialize, Serialize};

use super::runtime::Holder;
use super::system::{numbers, text};
use crate::{CpuSet, SystemFiles};

/// A task and its mask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskMask {
    /// The process.
    pub process: u32,
    /// The thread.
    pub task: u32,
    /// When it started, in clock ticks since boot: distinguishes it from a later task of the same number.
    pub started: u64,
    /// Name of the task.
    pub name: String,
    /// Mask, offline CPUs included.
    pub cpus: CpuSet,
}

impl TaskMask {
    /// True if a mask is what it was, or as much of it as can be set where `offline` are: the kernel
    /// leaves those out.
    pub(super) fn is_back(&self, now: &CpuSet, offline: &CpuSet) -> bool {
        *now == self.cpus || *now == self.cpus.difference(offline)
    }
}

/// The tasks that may not run on all of `online`, but for those that the kernel itself has bound,
/// and those that may run on none of them: these lose their mask without any switch.
pub(super) fn with_masks(files: &mut impl SystemFiles, online: &CpuSet) -> Vec<TaskMask> {
    let mut found = Vec::new();
    for process in numbers(files, "proc") {
        for task in numbers(files, &format!("proc/{process}/task")) {
            let narrow = mask(files, process, task)
                .filter(|cpus| !online.is_subset(cpus) && !online.is_disjoint(cpus));
            let Some(cpus) = narrow else { continue };
            if let Some(about) = about(files, process, task).filter(|about| !about.is_bound) {
                let TaskInfo { name, started, .. } = about;
                found.push(TaskMask { process, task, started, name, cpus });
            }
        }
    }
    found
}

/// The mask of a task now; `None` if it has ended.
pub(super) fn mask_of(files: &mut impl SystemFiles, task: &TaskMask) -> Option<CpuSet> {
    is_alive(files, task.process, task.task, task.started)
        .then(|| mask(files, task.process, task.task))
        .flatten()
}

/// True if the task that started then still runs.
pub(super) fn is_alive(
    files: &mut impl SystemFiles,
    process: u32,
    task: u32,
    started: u64,
) -> bool {
    about(files, process, task).is_some_and(|about| about.started == started)
}

/// True if this process runs, directly or not, on behalf of that corun.
pub(super) fn is_ancestor(holder: &Holder) -> bool {
    let parent = |process: u32| -> Option<u32> {
        let stat = corun_files::kernel_text(format!("/proc/{process}/stat")).ok()?;
        u32::try_from(TaskStat::parse(&stat)?.field(4)?).ok()
    };
    let mut process = std::process::id();
    while let Some(above) = parent(process).filter(|above| *above > 0) {
        if above == holder.process {
            return true;
        }
        process = above;
    }
    false
}

/// When each task of a list started, by its number; those that have ended are left out.
pub(super) fn starts(files: &mut impl SystemFiles, tasks: &[u32]) -> BTreeMap<u32, u64> {
    // A thread can be asked for by its own number as if it were a process.
    tasks.iter().filter_map(|&task| Some((task, about(files, task, task)?.started))).collect()
}

fn mask(files: &mut impl SystemFiles, process: u32, task: u32) -> Option<CpuSet> {
    let status = files.read(&format!("proc/{process}/task/{task}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    CpuSet::from_list(list.trim()).ok()
}

struct TaskInfo {
    name: String,
    started: u64,
    /// The kernel has bound it and lets no user change that.
    is_bound: bool,
}

fn about(files: &mut impl SystemFiles, process: u32, task: u32) -> Option<TaskInfo> {
    parse_stat(&text(files, &format!("proc/{process}/task/{task}/stat"))?)
}

fn parse_stat(stat: &str) -> Option<TaskInfo> {
    /// `PF_NO_SETAFFINITY` of the kernel's `include/linux/sched.h`.
    const NO_SET_AFFINITY: u64 = 0x0400_0000;
    let stat = TaskStat::parse(stat)?;
    let is_bound = stat.field(9)? & NO_SET_AFFINITY != 0;
    Some(TaskInfo { name: stat.name().into_owned(), started: stat.field(22)?, is_bound })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_anything() {
        let stat = "7 (a) S (b) R 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 417 0 0";
        let about = parse_stat(stat).unwrap();
        assert_eq!((about.name.as_str(), about.started, about.is_bound), ("a) S (b", 417, true));
        assert!(!parse_stat(&stat.replace("69238848", "4194304")).unwrap().is_bound);
        for wrong in ["", "7 (a", "7 (a) S 2", "7 a S 2 0 0 0 -1 x"] {
            assert!(parse_stat(wrong).is_none(), "{wrong}");
        }
    }
}
