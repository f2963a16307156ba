//! Which logical CPUs there are, and which of them are online.
//!
//! Containers show some of these files in another numbering (LXCFS writes `0` into `online` for a
//! container of CPU 24), and captured trees lack some. So each CPU's own folder is asked as well,
//! and the affinity mask that the kernel grants; where they disagree, the summary is not believed.

use super::source::{CPU_FOLDER, Source, of_each};
use crate::{CpuSet, FindingKind, HIGHEST_CPU, SystemFiles};

/// The CPUs of a machine.
pub(super) struct KnownCpus {
    /// All that anything is known about.
    pub(super) all: CpuSet,
    /// Plugged in.
    pub(super) present: CpuSet,
    /// In use by the kernel.
    pub(super) online: CpuSet,
}

/// Reads them; `None` if there is not a single one. `granted` are the CPUs of the affinity mask, if
/// it is known.
pub(super) fn read<F: SystemFiles>(
    source: &mut Source<'_, F>,
    granted: Option<&CpuSet>,
) -> Option<KnownCpus> {
    let folders: CpuSet =
        source.files.list(CPU_FOLDER).iter().filter_map(|name| cpu_number(name)).collect();
    let present = source.list(&format!("{CPU_FOLDER}/present"));
    let listed = source.list(&format!("{CPU_FOLDER}/online"));
    let lists = [&present, &listed].into_iter().flatten();
    let all = lists.fold(folders, |all, more| all.union(more));
    let live = source.files.affinity();
    if all.is_empty() {
        return None;
    }
    let present = present.unwrap_or_else(|| all.clone());
    let online = match listed {
        Some(listed) => corrected(source, &listed, &present),
        None => by_folder(source, &present),
    };
    let granted = unknown_yet_granted(source, &online, live.as_ref(), granted);
    Some(KnownCpus {
        all: all.union(&granted),
        present: present.union(&granted),
        online: online.union(&granted),
    })
}

/// The kernel's summary, corrected by what each CPU's own folder says.
fn corrected<F: SystemFiles>(
    source: &mut Source<'_, F>,
    listed: &CpuSet,
    present: &CpuSet,
) -> CpuSet {
    let mut online = listed.clone();
    let mut by_file = CpuSet::new();
    let mut by_topology = CpuSet::new();
    for cpu in present.union(listed).iter() {
        let is_listed = listed.contains(cpu);
        match source.cpu_number(cpu, "online") {
            Some(own) => {
                if (own != 0) != is_listed {
                    by_file.insert(cpu);
                }
            }
            // The kernel removes the topology of a CPU that goes offline.
            None => {
                if !is_listed && has_topology(source, cpu) {
                    by_topology.insert(cpu);
                }
            }
        }
    }
    let summary = format!("{CPU_FOLDER}/online");
    for (differing, file) in [(&by_file, "online"), (&by_topology, "topology")] {
        if differing.is_empty() {
            continue;
        }
        let what =
            format!("the summary ({listed}) contradicts {}, which is believed", of_each(file));
        source.findings.add(FindingKind::ContradictoryOnline, &summary, what, differing);
        // Each of them is the other way round.
        online = online.difference(differing).union(&differing.difference(listed));
    }
    online
}

/// CPUs that are online although no file says so: the kernel runs this process on the CPUs of its
/// mask. All of them are online in the mask that the system call returns (`live`), at least one in
/// the list of a captured `status`, which keeps offline CPUs (`granted`).
fn unknown_yet_granted<F: SystemFiles>(
    source: &mut Source<'_, F>,
    online: &CpuSet,
    live: Option<&CpuSet>,
    granted: Option<&CpuSet>,
) -> CpuSet {
    let listed = granted.filter(|mask| mask.is_disjoint(online));
    let missing = live.or(listed).map(|mask| mask.difference(online)).unwrap_or_default();
    if !missing.is_empty() {
        let what = "they are in the affinity mask that the kernel grants, yet not online by these \
                    files; the mask is believed";
        let file = format!("{CPU_FOLDER}/online");
        source.findings.add(FindingKind::ContradictoryOnline, file, what, &missing);
    }
    missing
}

/// Without the kernel's summary: offline is what says so, or what has no topology while others do.
fn by_folder<F: SystemFiles>(source: &mut Source<'_, F>, present: &CpuSet) -> CpuSet {
    let not_offline: CpuSet =
        present.iter().filter(|&cpu| source.cpu_number(cpu, "online") != Some(0)).collect();
    let with_topology: CpuSet =
        not_offline.iter().filter(|cpu| has_topology(source, *cpu)).collect();
    if with_topology.is_empty() { not_offline } else { with_topology }
}

fn has_topology<F: SystemFiles>(source: &mut Source<'_, F>, cpu: u32) -> bool {
    !source.files.list(&format!("{CPU_FOLDER}/cpu{cpu}/topology")).is_empty()
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
