//! Status that `corun smt status` shows: the switch, who took which CPU offline, and what a switch would do to others.

use corun_record::{Body, SmtState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::runtime::{Holder, Runtime, State};
use super::snapshot::{Snapshot, state};
use super::system::text;
use super::{cpus, irqs};
use crate::boot_line::{self, BootArgument, BootLine};
use crate::{CpuSet, Machine, SmtControl, SystemFiles};

/// The state of the switch and what hangs on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmtStatus {
    /// On if any core has two siblings online.
    pub smt: SmtState,
    /// `smt/control`; `null` where the kernel has no such file.
    pub control: Option<SmtControl>,
    /// `smt/active`, by the kernel's account.
    pub active: Option<bool>,
    /// The SMT width S as far as known: the largest number of known siblings of a core.
    pub width: u32,
    /// The online siblings that SMT off takes away.
    pub extra_siblings: CpuSet,
    /// The CPUs that are offline, and by whom as far as the kernel shows.
    pub offline: Vec<OfflineCpu>,
    /// Arguments of the kernel's command line about it.
    pub boot_line: Vec<BootArgument>,
    /// Dependents, which would lose something by SMT off.
    pub depends: Dependents,
    /// State that corun has switched and not yet restored.
    pub left_by_corun: Option<LeftByCorun>,
}

/// An offline CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfflineCpu {
    /// The kernel's number.
    pub cpu: u32,
    /// Who took it offline.
    pub by: OfflineBy,
}

/// Who took a CPU offline.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OfflineBy {
    /// corun, which has written down that it was online.
    Corun,
    /// Somebody by hand, before corun switched.
    Hand,
    /// The switch, or a user by hand: with SMT off the kernel does not distinguish them.
    SwitchOrHand,
    /// The boot line did not let it come up, and it was not brought up since.
    BootLine,
}

/// Dependents, which would lose something by SMT off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependents {
    /// Cpusets of version 1 that would shrink.
    pub cpusets: Vec<DependentCpuset>,
    /// Tasks whose mask names a sibling.
    pub tasks: Vec<DependentTask>,
    /// Interrupts bound to siblings.
    pub irqs: Vec<DependentIrq>,
}

/// A cpuset of version 1 that would shrink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependentCpuset {
    /// Folder of the cpuset.
    pub folder: String,
    /// CPUs of the cpuset.
    pub cpus: CpuSet,
    /// Those that it would lose.
    pub loses: CpuSet,
}

/// A task whose mask names a sibling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependentTask {
    /// The process.
    pub process: u32,
    /// The thread.
    pub task: u32,
    /// Name of the task.
    pub name: String,
    /// Mask of the task.
    pub cpus: CpuSet,
    /// The CPUs it would keep; with none the kernel lets it run anywhere.
    pub keeps: CpuSet,
}

/// An interrupt bound to siblings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependentIrq {
    /// Number of the interrupt.
    pub irq: u32,
    /// Who asked for it.
    pub users: Vec<String>,
    /// CPUs of the interrupt.
    pub cpus: CpuSet,
    /// The CPUs it would keep; with none the kernel moves it.
    pub keeps: CpuSet,
}

/// State that corun has switched and not yet restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftByCorun {
    /// Reason.
    pub why: LeftBecause,
    /// The file in which it is written down how everything was.
    pub file: String,
    /// Who switched; `null` where the file cannot be read.
    pub by: Option<Holder>,
    /// When, UTC, RFC 3339; `null` where the file cannot be read.
    pub since: Option<String>,
}

/// Reason for which something is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftBecause {
    /// A corun is switching right now.
    UnderWay,
    /// The file cannot be read.
    Unreadable,
    /// A corun died before it had brought everything back.
    Died,
    /// `smt off` or `smt on` was asked for.
    AskedFor,
}

impl SmtStatus {
    /// Reads the status; `None` if there is no CPU to speak of.
    pub fn read(files: &mut impl SystemFiles, runtime: &Runtime) -> Option<Self> {
        let machine = Machine::from_files(files)?;
        let now = Snapshot::take(files, &machine);
        let (left, snapshot) = left_by_corun(runtime).unzip();
        // After a change that was undone by hand, nothing shows who took what offline since.
        let snapshot = snapshot.flatten().filter(|before| before.smt != now.smt);
        let boot_line =
            BootLine::new(&text(files, boot_line::FILE).unwrap_or_default()).about_siblings();
        let siblings = cpus::taken_by_off(files, &machine);
        let offline = machine.logical_cpus.iter().filter(|cpu| cpu.present && !cpu.online);
        let offline = offline
            .map(|cpu| OfflineCpu {
                cpu: cpu.id,
                by: offline_by(cpu.id, &now, snapshot.as_ref(), &boot_line),
            })
            .collect();
        Some(Self {
            smt: state(&machine),
            control: now.control.clone(),
            active: machine.smt.active,
            width: machine.smt.width,
            offline,
            boot_line,
            depends: dependents(files, &now, &machine, &siblings),
            left_by_corun: left,
            extra_siblings: siblings,
        })
    }
}

impl Body for SmtStatus {
    const FORMAT: &str = "corun-smt";
}

/// State that corun has left, and the snapshot from before, if that can be read.
pub(super) fn left_by_corun(runtime: &Runtime) -> Option<(LeftByCorun, Option<Snapshot>)> {
    let unfinished = (runtime.unfinished().transpose(), runtime.unfinished_file());
    let held = (runtime.held().transpose(), runtime.held_file());
    let (is_held, found, file) = match (unfinished, held) {
        ((Some(found), file), _) => (false, found, file),
        (_, (found, file)) => (true, found?, file),
    };
    let file = corun_record::shown(file);
    let Ok(State { by, taken, before, .. }) = found else {
        let why = LeftBecause::Unreadable;
        return Some((LeftByCorun { why, file, by: None, since: None }, None));
    };
    let why = match is_held {
        true => LeftBecause::AskedFor,
        false if runtime.is_locked().is_some() => LeftBecause::UnderWay,
        false => LeftBecause::Died,
    };
    Some((LeftByCorun { why, file, by: Some(by), since: Some(taken) }, Some(before)))
}

fn offline_by(
    cpu: u32,
    now: &Snapshot,
    before: Option<&Snapshot>,
    boot_line: &[BootArgument],
) -> OfflineBy {
    if let Some(&was_online) = before.and_then(|before| before.online.get(&cpu)) {
        return if was_online { OfflineBy::Corun } else { OfflineBy::Hand };
    }
    let limit = boot_line.iter().find_map(|argument| argument.text.strip_prefix("maxcpus="));
    if limit.and_then(|limit| limit.parse().ok()).is_some_and(|limit: u32| cpu >= limit) {
        return OfflineBy::BootLine;
    }
    match now.control {
        Some(SmtControl::Off | SmtControl::ForceOff | SmtControl::Threads(_)) => {
            OfflineBy::SwitchOrHand
        }
        _ => OfflineBy::Hand,
    }
}

fn dependents(
    files: &mut impl SystemFiles,
    now: &Snapshot,
    machine: &Machine,
    siblings: &CpuSet,
) -> Dependents {
    let online = machine.online();
    let cpusets = super::cpusets::that_name(&now.cpusets, siblings);
    let tasks = now.tasks.iter().filter(|task| !task.cpus.is_disjoint(siblings));
    let irqs = now.irqs.iter().filter_map(|(&irq, list)| {
        let cpus = CpuSet::from_list(list).ok()?;
        (!cpus.is_disjoint(siblings) && !online.is_subset(&cpus)).then_some((irq, cpus))
    });
    let remaining = online.difference(siblings);
    Dependents {
        cpusets: cpusets
            .into_iter()
            .map(|set| DependentCpuset {
                folder: format!("/{}", set.folder),
                cpus: set.cpus.clone(),
                loses: set.cpus.intersection(siblings),
            })
            .collect(),
        tasks: tasks
            .map(|task| DependentTask {
                process: task.process,
                task: task.task,
                name: task.name.clone(),
                cpus: task.cpus.clone(),
                keeps: task.cpus.intersection(&remaining),
            })
            .collect(),
        irqs: irqs
            .map(|(irq, cpus)| DependentIrq {
                irq,
                users: irqs::users(files, irq),
                keeps: cpus.intersection(&remaining),
                cpus,
            })
            .collect(),
    }
}
