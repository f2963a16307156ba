//! A virtual machine: the guest's cores, and the host's cores that their vCPU threads run on.
//!
//! QEMU numbers vCPUs so that siblings of a guest core follow each other; how many a core has is in its option `-smp`
//! (`-smp 8,sockets=1,cores=4,threads=2`). It names the threads `CPU 0/KVM` where `-name debug-threads=on` is given,
//! as libvirt does.

use std::collections::BTreeMap;

use super::subject::Thread;
use super::{Guest, GuestCore, Pinning, VirtualCpu};
use crate::{CpuSet, Machine};

/// A process that runs a guest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hypervisor {
    threads_a_core: u32,
    /// The threads that run vCPUs, by their numbers.
    vcpus: BTreeMap<u32, Thread>,
    others: Vec<Thread>,
}

impl Hypervisor {
    /// The guest of a process, if it runs one: by its name and arguments, or by the names of its threads.
    pub(super) fn of(name: &str, arguments: &str, threads: Vec<Thread>) -> Option<Self> {
        let arguments: Vec<&str> = arguments.split('\0').collect();
        let program =
            arguments.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let is_qemu = [name, program]
            .iter()
            .any(|name| name.starts_with("qemu-system") || matches!(*name, "qemu-kvm" | "kvm"));
        let (vcpus, others): (Vec<Thread>, Vec<Thread>) =
            threads.into_iter().partition(|thread| number_of(&thread.name).is_some());
        if !is_qemu && vcpus.is_empty() {
            return None;
        }
        let vcpus = vcpus.into_iter().filter_map(|thread| Some((number_of(&thread.name)?, thread)));
        Some(Self { threads_a_core: threads_a_core(&arguments), vcpus: vcpus.collect(), others })
    }
}

/// The number of the vCPU that a thread of this name runs, such as `CPU 3/KVM`.
fn number_of(name: &str) -> Option<u32> {
    let (number, accelerator) = name.strip_prefix("CPU ")?.split_once('/')?;
    ["KVM", "TCG", "HVF"].contains(&accelerator).then(|| number.parse().ok()).flatten()
}

/// The siblings that a core of the guest has: the last `-smp` counts. What is left out of it is computed, and threads
/// only from all of the rest.
fn threads_a_core(arguments: &[&str]) -> u32 {
    let mut options = arguments.iter().zip(arguments.iter().skip(1));
    let is_smp = |option: &str| option == "-smp" || option == "--smp";
    let Some((_, smp)) = options.rfind(|(option, _)| is_smp(option)) else { return 1 };
    let mut values: BTreeMap<&str, u32> = BTreeMap::new();
    for part in smp.split(',') {
        let (key, value) = part.split_once('=').unwrap_or(("cpus", part));
        values.extend(value.parse().ok().filter(|value| *value > 0).map(|value: u32| (key, value)));
    }
    if let Some(threads) = values.get("threads") {
        return *threads;
    }
    let all = values.get("maxcpus").or(values.get("cpus"));
    let levels = ["drawers", "books", "sockets", "dies", "clusters", "modules", "cores"];
    let complete = values.contains_key("sockets") && values.contains_key("cores");
    let cores = levels
        .iter()
        .filter_map(|level| values.get(level))
        .try_fold(1, |product: u32, value| product.checked_mul(*value));
    match (all, cores.filter(|_| complete)) {
        (Some(all), Some(cores)) => (all / cores).max(1),
        _ => 1,
    }
}

/// Puts the guest's cores beside the host's.
pub(super) fn analyse(machine: &Machine, hypervisor: &Hypervisor) -> Guest {
    let width = hypervisor.threads_a_core.max(1);
    let mut by_core: BTreeMap<u32, Vec<VirtualCpu>> = BTreeMap::new();
    for (number, thread) in &hypervisor.vcpus {
        by_core.entry(number / width).or_default().push(VirtualCpu {
            number: *number,
            thread: thread.id,
            cpus: thread.cpus.clone(),
        });
    }
    let host_core = |cpu| machine.cpu(cpu).and_then(|cpu| cpu.core);
    let cores: Vec<GuestCore> = by_core
        .into_values()
        .map(|vcpus| {
            let cpus = vcpus.iter().flat_map(|vcpu| vcpu.cpus.iter());
            let host_cores = cpus.filter_map(host_core).collect();
            GuestCore { vcpus, host_cores }
        })
        .collect();
    let others = hypervisor.others.iter().flat_map(|thread| thread.cpus.as_slice().to_vec());
    Guest {
        threads_a_core: width,
        pinning: pinning(machine, &cores),
        other_threads: others.collect(),
        cores,
    }
}

fn pinning(machine: &Machine, cores: &[GuestCore]) -> Pinning {
    let cores_of = |cpus: &CpuSet| -> CpuSet {
        cpus.iter().filter_map(|cpu| machine.cpu(cpu).and_then(|cpu| cpu.core)).collect()
    };
    let vcpus = || cores.iter().flat_map(|core| &core.vcpus);
    if cores.is_empty() || vcpus().any(|vcpu| cores_of(&vcpu.cpus).is_empty()) {
        return Pinning::Unknown;
    }
    if vcpus().any(|vcpu| cores_of(&vcpu.cpus).len() > 1) {
        return Pinning::NotPinned;
    }
    if cores.iter().any(|core| core.host_cores.len() > 1) {
        return Pinning::Split;
    }
    let mut taken = CpuSet::new();
    for core in cores {
        if !core.host_cores.is_disjoint(&taken) {
            return Pinning::Crowded;
        }
        taken = taken.union(&core.host_cores);
    }
    let places = |core: &GuestCore| -> CpuSet {
        core.vcpus.iter().flat_map(|vcpu| vcpu.cpus.iter()).collect()
    };
    if cores.iter().any(|core| places(core).len() < core.vcpus.len()) {
        return Pinning::Stacked;
    }
    Pinning::Matches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_of_a_guest_core_is_what_qemu_computes() {
        for (smp, expected) in [
            ("8,sockets=1,dies=1,clusters=1,cores=4,threads=2", 2),
            ("cpus=8,maxcpus=16,sockets=2,cores=4", 2),
            ("8,sockets=2,cores=4", 1),
            ("8,cores=4", 1),
            ("8,sockets=4", 1),
            ("8", 1),
            ("threads=4,cores=2", 4),
            ("nonsense", 1),
            ("8,sockets=99999,cores=99999", 1),
            ("8,threads=0", 1),
        ] {
            assert_eq!(threads_a_core(&["qemu", "-smp", smp, "-m", "1G"]), expected, "{smp}");
        }
        assert_eq!(
            threads_a_core(&["qemu", "-smp", "2", "-smp", "4,threads=2"]),
            2,
            "the last counts"
        );
        assert_eq!(threads_a_core(&["qemu"]), 1);
        assert_eq!(threads_a_core(&["qemu", "-smp"]), 1);
    }

    #[test]
    fn vcpu_threads_are_known_by_their_names() {
        assert_eq!(number_of("CPU 13/KVM"), Some(13));
        assert_eq!(number_of("CPU 0/TCG"), Some(0));
        for other in ["CPU 0", "CPU x/KVM", "IO mon_iothread", "CPU 1/OTHER", "vnc_worker"] {
            assert_eq!(number_of(other), None, "{other}");
        }
    }
}
