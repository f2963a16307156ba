//! Which logical CPUs there are, and which of them are online.
//!
//! The kernel's summaries (`present`, `online`) are older than most machines but not than all
//! captured trees; without them the folders of the CPUs tell.

use super::source::{CPU_FOLDER, Source};
use crate::{CpuSet, HIGHEST_CPU, SystemFiles};

/// The CPUs of a machine.
pub(super) struct KnownCpus {
    /// All that anything is known about.
    pub(super) all: CpuSet,
    /// Plugged in.
    pub(super) present: CpuSet,
    /// In use by the kernel.
    pub(super) online: CpuSet,
}

/// Reads them; `None` if there is not a single one.
pub(super) fn read<F: SystemFiles>(source: &mut Source<'_, F>) -> Option<KnownCpus> {
    let folders: CpuSet =
        source.files.list(CPU_FOLDER).iter().filter_map(|name| cpu_number(name)).collect();
    let present = source.list(&format!("{CPU_FOLDER}/present"));
    let online = source.list(&format!("{CPU_FOLDER}/online"));
    let listed = [&present, &online].into_iter().flatten();
    let all = listed.fold(folders, |all, more| all.union(more));
    if all.is_empty() {
        return None;
    }
    let present = present.unwrap_or_else(|| all.clone());
    let online = match online {
        Some(online) => online,
        None => by_folder(source, &present),
    };
    Some(KnownCpus { all, present, online })
}

/// Without the kernel's summary: offline is what says so, or what has no topology while others do.
fn by_folder<F: SystemFiles>(source: &mut Source<'_, F>, present: &CpuSet) -> CpuSet {
    let not_offline: CpuSet =
        present.iter().filter(|&cpu| source.cpu_number(cpu, "online") != Some(0)).collect();
    let has_topology =
        |cpu: &u32| !source.files.list(&format!("{CPU_FOLDER}/cpu{cpu}/topology")).is_empty();
    let with_topology: CpuSet = not_offline.iter().filter(has_topology).collect();
    if with_topology.is_empty() { not_offline } else { with_topology }
}

fn cpu_number(folder: &str) -> Option<u32> {
    let digits = folder.strip_prefix("cpu")?;
    let number = digits.parse().ok().filter(|&number| number <= HIGHEST_CPU)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_cpus_count() {
        let names = ["cpu0", "cpu12", "cpufreq", "cpuidle", "cpu", "cpu+1", "cpu99999999999"];
        assert_eq!(names.map(cpu_number), [Some(0), Some(12), None, None, None, None, None]);
    }
}
