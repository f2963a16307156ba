//! Which host CPUs a guest's CPUs run on: this decides what its "siblings" share.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The first allowed logical CPU of each core of the system below `root`.
///
/// Siblings of one core would not give two guest CPUs the speed of two. Where the kernel tells no
/// siblings, each CPU counts as a core.
pub(crate) fn one_cpu_per_core(root: &Path) -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    let mut seen = BTreeSet::new();
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu) && seen.insert(core_of(root, cpu)))
        .collect())
}

/// Allows a thread one host CPU.
pub(crate) fn pin(thread: Pid, cpu: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(Some(thread), &only)?)
}

fn core_of(root: &Path, cpu: usize) -> String {
    let siblings =
        root.join(format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    fs::read_to_string(siblings).unwrap_or_else(|_| cpu.to_string()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_siblings_only_the_first_counts() {
        let root = tempfile::tempdir().unwrap();
        let allowed = sched_getaffinity(None).unwrap();
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        assert_eq!(one_cpu_per_core(root.path()).unwrap(), cpus);
        for cpu in &cpus {
            let folder = root.path().join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("thread_siblings_list"), "0-9\n").unwrap();
        }
        assert_eq!(one_cpu_per_core(root.path()).unwrap(), cpus[..1]);
    }
}
