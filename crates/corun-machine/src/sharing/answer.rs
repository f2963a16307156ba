//! The answer, as one says it to who asked.

use corun_record::excerpt;
use corun_stats::percent;

use super::{BusyTask, CoreShare, CoreUse, CpuSharing, Guest, Pinning, Subject};
use crate::doctor::words::{count, cpus};
use crate::{CpuSet, Machine};

/// The guest's view first, if there is one; then the cores.
pub(super) fn sentences(machine: &Machine, sharing: &CpuSharing) -> String {
    let guest = sharing.guest.as_ref().map(of_guest);
    let parts = [guest, Some(cores(machine, sharing)), busy_siblings(sharing), unseen(machine)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Caveat on what nobody inside of a virtual machine can see.
fn unseen(machine: &Machine) -> Option<String> {
    machine.hypervisor.is_some().then(|| {
        "This is a virtual machine: what its host runs on the same cores cannot be seen from here.".to_owned()
    })
}

/// Who runs beside the set now.
fn busy_siblings(sharing: &CpuSharing) -> Option<String> {
    let tasks = &sharing.others.as_ref()?.tasks;
    let beside: Vec<&BusyTask> = tasks.iter().filter(|task| !task.siblings.is_empty()).collect();
    let busiest = beside.first()?;
    let name = excerpt(&busiest.name);
    let used = percent(busiest.share);
    Some(match beside.len() {
        1 => format!("One busy task may run on siblings outside now: {name} ({used} of a CPU)."),
        several => format!(
            "{several} busy tasks may run on siblings outside now, the busiest of them {name} ({used} of a CPU)."
        ),
    })
}

fn cores(machine: &Machine, sharing: &CpuSharing) -> String {
    let set = &sharing.cpus;
    let all = *set == machine.online();
    let which = match all {
        true => format!("all {} of this machine", count(set.len(), "online CPU")),
        false => cpus(set),
    };
    let subject = match &sharing.subject {
        Subject::Cpus if set.len() == 1 => format!("{} is ", capitalised(&which)),
        Subject::Cpus => format!("{} are ", capitalised(&which)),
        Subject::Process { id, name, masks } => {
            let name = excerpt(name);
            match (all, masks.len() > 1) {
                (true, false) => {
                    format!("Process {id} ({name}) is not pinned: it may run on {which}, ")
                }
                (_, false) => format!("Process {id} ({name}) may run on {which}: "),
                (_, true) => format!("The threads of process {id} ({name}) may run on {which}: "),
            }
        }
        Subject::ControlGroup { folder, .. } => {
            format!("The control group /{} may run on {which}: ", excerpt(folder))
        }
    };
    format!("{subject}{}", core_use(sharing, all))
}

/// The end of the sentence: which parts of cores these CPUs are.
fn core_use(sharing: &CpuSharing, all: bool) -> String {
    let (number, cores) = (sharing.cpus.len(), sharing.cores.len());
    let outside = sharing.outside();
    let others = |outside: &CpuSet| match outside.len() {
        1 => format!("the sibling, CPU {outside}, is not among them"),
        _ => format!("the siblings, CPUs {outside}, are not among them"),
    };
    match sharing.core_use {
        CoreUse::Unknown => "the kernel does not report their cores.".to_owned(),
        CoreUse::NoSiblings if cores == 1 => "a core without other siblings online.".to_owned(),
        CoreUse::NoSiblings => {
            format!(
                "{cores} cores without siblings online: none of these CPUs shares a core with another."
            )
        }
        CoreUse::WholeCores => {
            let whole =
                format!("{} of {}", count(cores, "whole core"), siblings_each(&sharing.cores));
            match (all, cores) {
                (true, _) => format!("{whole}."),
                (false, 1) => format!("{whole}: only what runs on these CPUs shares it."),
                (false, _) => format!("{whole}: only what runs on these CPUs shares them."),
            }
        }
        CoreUse::OneACore if number == 1 => format!(
            "one sibling of its core; the other{}, {}, may run other work on that core.",
            if outside.len() == 1 { "" } else { "s" },
            cpus(&outside)
        ),
        CoreUse::OneACore => format!(
            "one CPU of each of {}; {}, and what runs there shares the cores.",
            count(cores, "core"),
            others(&outside)
        ),
        CoreUse::Mixed => {
            let whole = sharing.cores.iter().filter(|core| core.outside.is_empty()).count();
            format!(
                "{number} CPUs on {}, unequal: {whole} with all siblings, {} with a part of them; {}.",
                count(cores, "core"),
                cores - whole,
                others(&outside)
            )
        }
    }
}

fn siblings_each(cores: &[CoreShare]) -> String {
    let widths = cores.iter().map(|core| core.inside.len());
    let (least, most) = (widths.clone().min().unwrap_or(0), widths.max().unwrap_or(0));
    match (cores.len(), least == most) {
        (1, _) => count(most, "CPU"),
        (_, true) => format!("{} each", count(most, "CPU")),
        (_, false) => format!("{least} to {most} CPUs"),
    }
}

fn of_guest(guest: &Guest) -> String {
    let cores = count(guest.cores.len(), "guest core");
    let width = guest.threads_a_core;
    let first = |is: fn(&super::GuestCore) -> bool| guest.cores.iter().position(is).unwrap_or(0);
    match guest.pinning {
        Pinning::Matches if width == 1 => {
            format!("Each vCPU has a host core of its own: {cores}, pinned.")
        }
        Pinning::Matches => format!(
            "The guest's siblings are siblings of the host: {cores} of {width} vCPUs, each pinned to a host core of \
             its own."
        ),
        Pinning::Split => {
            let core = first(|core| core.host_cores.len() > 1);
            format!(
                "The guest's siblings are not siblings of the host: the vCPUs of guest core {core} are pinned to \
                 different host cores."
            )
        }
        Pinning::Crowded => "Cores of the guest share a core of the host, which the guest cannot know: its scheduler \
                             takes them for separate cores."
            .to_owned(),
        Pinning::Stacked => "vCPUs of one guest core are pinned to fewer CPUs than they are: they take turns where the \
                             guest takes them for siblings."
            .to_owned(),
        Pinning::NotPinned if width == 1 => {
            "The vCPUs are not pinned to single cores: any two of them may share one, which the guest cannot know."
                .to_owned()
        }
        Pinning::NotPinned => format!(
            "The vCPUs are not pinned to single cores: the guest's {width} siblings a core are siblings by name only."
        ),
        Pinning::Unknown if guest.cores.is_empty() => {
            "This is a virtual machine, and its vCPU threads cannot be distinguished: start QEMU with -name \
             debug-threads=on."
                .to_owned()
        }
        Pinning::Unknown => {
            "This is a virtual machine, and the host's cores are not known.".to_owned()
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
