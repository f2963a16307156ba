//! The CPUs of who is asked about: a list, a process with its threads, or a control group.

use std::collections::BTreeMap;

use corun_record::{Actionable, Exit, excerpt};

use super::guest::Hypervisor;
use super::{Subject, ThreadMasks};
use crate::control_groups::{Mount, group_of, mounts};
use crate::{CpuSet, Machine, SystemFiles};

/// CPUs to describe: by their numbers, or those of a process or control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharingQuery {
    /// These.
    Cpus(CpuSet),
    /// Those that a process may use.
    Process(u32),
    /// Those of a control group, named by its folder or as `/proc/PID/cgroup` names it.
    ControlGroup(String),
}

/// Why there are no such CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SharingError {
    /// The list is empty, or names CPUs that the machine does not have.
    #[error("expected CPUs of this machine ({known}), found {found:?}", found = found.to_string())]
    NoSuchCpus {
        /// Those that there are.
        known: CpuSet,
        /// Those that there are not.
        found: CpuSet,
    },
    /// No CPU of the set is online.
    #[error("expected CPUs that are online ({online}), found {found}, all of them offline")]
    Offline {
        /// Those that are.
        online: CpuSet,
        /// Those that were asked for.
        found: CpuSet,
    },
    /// There is no such process, or another user's /proc hides it.
    #[error("expected a process that can be seen here, found no number {0} in /proc")]
    NoProcess(u32),
    /// No mount shows such a control group.
    #[error("expected the folder or the name of a control group, found {}", excerpt(.0))]
    NoGroup(String),
}

impl Actionable for SharingError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoSuchCpus { .. } | Self::Offline { .. } => Exit::Usage,
            Self::NoProcess(_) | Self::NoGroup(_) => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::NoSuchCpus { .. } | Self::Offline { .. } => {
                "Look at the machine's CPUs with corun topo.".to_owned()
            }
            Self::NoProcess(_) => {
                "Look for its number with ps or pgrep, on the side of the container where corun runs."
                    .to_owned()
            }
            Self::NoGroup(_) => "Name it as /proc/PID/cgroup does, or by its folder, such as \
                                 /sys/fs/cgroup/system.slice."
                .to_owned(),
        }
    }
}

/// The process, control group or list that a query names, and its CPUs.
pub(super) struct ResolvedSubject {
    pub(super) subject: Subject,
    /// All CPUs that were named, offline ones included.
    pub(super) cpus: CpuSet,
    /// The threads of a virtual machine, if it is one.
    pub(super) hypervisor: Option<Hypervisor>,
    /// Mount that shows whether a task belongs to the control group.
    pub(super) group: Option<Group>,
}

/// A control group and the mount that shows it.
pub(super) struct Group {
    mount: Mount,
    controller: Option<&'static str>,
    folder: String,
}

impl Group {
    /// True if the group of a task is this one or below it, by the text of `/proc/PID/cgroup`.
    pub(super) fn holds(&self, groups: &str) -> bool {
        let folder =
            group_of(groups, self.controller).and_then(|group| self.mount.own_folder(group));
        folder.is_some_and(|folder| {
            folder
                .strip_prefix(&self.folder)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// A thread of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) cpus: CpuSet,
}

pub(super) fn find(
    files: &mut impl SystemFiles,
    machine: &Machine,
    query: &SharingQuery,
) -> Result<ResolvedSubject, SharingError> {
    let found = match query {
        SharingQuery::Cpus(cpus) => of_cpus(machine, cpus)?,
        SharingQuery::Process(id) => of_process(files, machine, *id)?,
        SharingQuery::ControlGroup(name) => of_group(files, machine, name)?,
    };
    let online = machine.online();
    if found.cpus.is_disjoint(&online) {
        return Err(SharingError::Offline { online, found: found.cpus });
    }
    Ok(found)
}

fn of_cpus(machine: &Machine, cpus: &CpuSet) -> Result<ResolvedSubject, SharingError> {
    let known: CpuSet = machine.logical_cpus.iter().map(|cpu| cpu.id).collect();
    if cpus.is_empty() || !cpus.is_subset(&known) {
        return Err(SharingError::NoSuchCpus { found: cpus.difference(&known), known });
    }
    Ok(ResolvedSubject {
        subject: Subject::Cpus,
        cpus: cpus.clone(),
        hypervisor: None,
        group: None,
    })
}

fn of_process(
    files: &mut impl SystemFiles,
    machine: &Machine,
    id: u32,
) -> Result<ResolvedSubject, SharingError> {
    let threads = threads(files, machine, id);
    if threads.is_empty() {
        return Err(SharingError::NoProcess(id));
    }
    let mut counts: BTreeMap<&CpuSet, usize> = BTreeMap::new();
    for thread in &threads {
        *counts.entry(&thread.cpus).or_default() += 1;
    }
    let mut masks: Vec<ThreadMasks> = counts
        .into_iter()
        .map(|(cpus, threads)| ThreadMasks { cpus: cpus.clone(), threads })
        .collect();
    masks.sort_by_key(|mask| std::cmp::Reverse(mask.threads));
    let name = files.read(&format!("proc/{id}/comm")).unwrap_or_default().to_owned();
    let arguments = files.read(&format!("proc/{id}/cmdline")).unwrap_or_default().to_owned();
    let cpus = threads.iter().flat_map(|thread| thread.cpus.as_slice().to_vec()).collect();
    Ok(ResolvedSubject {
        hypervisor: Hypervisor::of(&name, &arguments, threads),
        subject: Subject::Process { id, name, masks },
        cpus,
        group: None,
    })
}

/// The threads of a process with the online CPUs that each may use.
pub(super) fn threads(files: &mut impl SystemFiles, machine: &Machine, id: u32) -> Vec<Thread> {
    let online = machine.online();
    let mut ids: Vec<u32> = files
        .list(&format!("proc/{id}/task"))
        .into_iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    ids.sort_unstable();
    let read = |id_of_thread: u32| {
        let status = files.read(&format!("proc/{id}/task/{id_of_thread}/status")).ok()?;
        let line =
            |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let cpus = CpuSet::from_list(line("Cpus_allowed_list:")?).ok()?;
        let name = line("Name:").unwrap_or_default().to_owned();
        Some(Thread { id: id_of_thread, name, cpus: cpus.intersection(&online) })
    };
    ids.into_iter().filter_map(read).collect()
}

fn of_group(
    files: &mut impl SystemFiles,
    machine: &Machine,
    name: &str,
) -> Result<ResolvedSubject, SharingError> {
    let no_group = || SharingError::NoGroup(name.to_owned());
    let mounts = mounts(files).map_err(|_| no_group())?;
    let of_version_1 = mounts.iter().any(|mount| mount.is_version_1_of("cpuset"));
    let controller = of_version_1.then_some("cpuset");
    let mount = mounts
        .into_iter()
        .find(|mount| match of_version_1 {
            true => mount.is_version_1_of("cpuset"),
            false => mount.is_version_2(),
        })
        .ok_or_else(no_group)?;
    let name = name.trim_matches('/');
    let below = |folder: &str| {
        name.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let folder = match below(&mount.point) {
        true => name.to_owned(),
        false if name.is_empty() => mount.point.clone(),
        false => format!("{}/{name}", mount.point),
    };
    if folder.split('/').any(|part| part == "..") || files.list(&folder).is_empty() {
        return Err(no_group());
    }
    let file = match of_version_1 {
        true => mount.cpuset_file("cpus"),
        false => "cpuset.cpus.effective".to_owned(),
    };
    // A group of version 2 without the controller has the set of its nearest ancestor that has it.
    let above =
        folder[mount.point.len()..].match_indices('/').map(|(at, _)| mount.point.len() + at);
    let mut folders: Vec<&str> = above.map(|end| &folder[..end]).collect();
    folders.push(&folder);
    let set = folders.iter().rev().find_map(|folder| {
        let file = format!("{folder}/{file}");
        let set = CpuSet::from_list(files.read(&file).ok()?).ok().filter(|set| !set.is_empty())?;
        Some((file, set))
    });
    let (cpuset, cpus) = match set {
        Some((file, set)) => (Some(file), set),
        None => (None, machine.online()),
    };
    Ok(ResolvedSubject {
        subject: Subject::ControlGroup { folder: folder.clone(), cpuset },
        cpus,
        hypervisor: None,
        group: Some(Group { mount, controller, folder }),
    })
}
