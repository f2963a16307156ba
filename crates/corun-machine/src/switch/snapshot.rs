//! Snapshot of everything that a switch of SMT can change.
//!
//! Hotplug is not undone by hotplug: switching off and on again brings back CPUs that were offline
//! by hand, and loses interrupts' CPUs, tasks' masks and the CPUs of version 1 cpusets.

use std::collections::BTreeMap;
use std::fmt;

use corun_record::SmtState;
use serde::{Deserialize, Serialize};

use super::cpusets::{self, CpusetMembers};
use super::tasks::{self, TaskMask};
use super::{cpus, irqs};
use crate::{CpuSet, Machine, SmtControl, SystemFiles};

/// The state that comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// On if any core had two siblings online.
    pub smt: SmtState,
    /// `smt/control`; `null` where the kernel has no such file.
    pub control: Option<SmtControl>,
    /// For each CPU, true if it was online; those that cannot go offline are left out.
    pub online: BTreeMap<u32, bool>,
    /// The CPUs of each interrupt, as the kernel writes them.
    pub irqs: BTreeMap<u32, String>,
    /// The cpusets of version 1, parents first.
    pub cpusets: Vec<CpusetMembers>,
    /// The tasks that had a mask of their own.
    pub tasks: Vec<TaskMask>,
}

impl Snapshot {
    /// Takes it; `machine` has just been read from the same files.
    pub fn take(files: &mut impl SystemFiles, machine: &Machine) -> Self {
        Self {
            smt: state(machine),
            control: cpus::control(files),
            online: cpus::online(files),
            irqs: irqs::affinities(files),
            cpusets: cpusets::of_version_1(files),
            tasks: tasks::with_masks(files, &machine.online()),
        }
    }

    /// Differences from the snapshot, as far as it still exists: a task may have ended, a cpuset may have been removed.
    pub fn differences(&self, files: &mut impl SystemFiles) -> Vec<Difference> {
        let mut found = Vec::new();
        if let Some(before) = &self.control {
            let now = cpus::control(files).map(|control| control.to_string());
            found.extend(Difference::of(path(cpus::CONTROL), before, now));
        }
        let online = cpus::online(files);
        for (&cpu, &before) in &self.online {
            let now = online.get(&cpu).map(|&now| u8::from(now));
            found.extend(Difference::of(path(&cpus::online_file(cpu)), u8::from(before), now));
        }
        for set in &self.cpusets {
            let now = cpusets::cpus_of(files, set);
            found.extend(Difference::of(path(&set.cpus_path()), &set.cpus, now));
            for task in cpusets::moved_out(files, set) {
                found.push(Difference {
                    file: path(&set.tasks_path()),
                    before: format!("task {task}"),
                    now: "not in it".to_owned(),
                });
            }
        }
        for (&irq, before) in &self.irqs {
            let now = crate::switch::system::text(files, &irqs::file(irq));
            found.extend(Difference::of(path(&irqs::file(irq)), before, now));
        }
        let offline = self.offline();
        for task in &self.tasks {
            let now = tasks::mask_of(files, task).filter(|now| !task.is_back(now, &offline));
            let file = format!("affinity of task {} ({})", task.task, task.name);
            found.extend(Difference::of(file, &task.cpus, now));
        }
        found
    }

    fn offline(&self) -> CpuSet {
        self.online.iter().filter(|(_, online)| !**online).map(|(&cpu, _)| cpu).collect()
    }
}

/// A path below the root as users know it.
fn path(below_root: &str) -> String {
    format!("/{below_root}")
}

/// State of SMT: on if any core has two siblings online.
pub(super) fn state(machine: &Machine) -> SmtState {
    if cpus::extra_siblings(machine).is_empty() { SmtState::Off } else { SmtState::On }
}

/// Something that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// File.
    pub file: String,
    /// Text before.
    pub before: String,
    /// Text now.
    pub now: String,
}

impl Difference {
    /// None if nothing differs, or there is nothing any more.
    fn of<B: ToString, N: ToString>(file: String, before: B, now: Option<N>) -> Option<Self> {
        let (before, now) = (before.to_string(), now?.to_string());
        (before != now).then_some(Self { file, before, now })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: was `{}`, is `{}`", self.file, self.before, self.now)
    }
}
