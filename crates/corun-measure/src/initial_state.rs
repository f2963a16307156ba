//! State of the machine when a run begins: what `corun doctor` finds spoiling, and which cores are idle.
//!
//! The checks are the doctor's own list; this adds none.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use corun_machine::doctor::{Pause, Report, Sleep};
use corun_machine::evidence::CpuTimes;
use corun_machine::{Affinity, CpuSet, RootFiles, SystemFiles};
use corun_record::{Arm, Caveat};

use crate::cores::{Core, core_types};

/// Time for which the machine is watched before a run; the kernel counts ticks of 10 ms.
const WATCHED: Duration = Duration::from_millis(200);
/// A CPU that is busy for less is idle: the kernel's own work, and the account's resolution.
const IDLE: f64 = 0.15;

/// The machine just before a run.
#[derive(Debug, Clone, Default)]
pub struct InitialState {
    caveats: Vec<Caveat>,
    /// The share of the time for which each CPU was busy.
    busy: BTreeMap<u32, f64>,
    /// Programs that may run on this CPU only.
    pinned: BTreeMap<u32, u32>,
    seconds: f64,
}

impl InitialState {
    /// Watches this machine for a moment, in which corun itself does nothing.
    pub fn observe() -> Self {
        let initial_state = Self::below(Path::new("/"), &mut Sleep(WATCHED));
        Self { pinned: pinned_programs(), ..initial_state }
    }

    /// Watches the machine below a root while `pause` lets time pass; what cannot be read is not
    /// reported.
    pub fn below(root: &Path, pause: &mut dyn Pause) -> Self {
        let opened = RootFiles::open(root).and_then(|files| Ok((files, RootFiles::open(root)?)));
        let Ok((mut files, watched)) = opened else { return Self::default() };
        let mut watching = Watching { files: watched, pause, seen: None };
        let report = Report::from_files(&mut files, Some(&mut watching));
        let (seconds, busy) = watching.seen.unwrap_or_default();
        let caveats = report.iter().flat_map(Report::spoiling).map(|found| {
            let sentence =
                format!("{} `corun doctor` says that it spoils a comparison.", found.sentence);
            Caveat::new(format!("doctor-{}", found.check), sentence)
        });
        Self { caveats: caveats.collect(), busy, pinned: BTreeMap::new(), seconds }
    }

    /// Findings of the doctor that would spoil a comparison, each as a caveat.
    pub fn caveats(&self) -> Vec<Caveat> {
        self.caveats.clone()
    }

    /// The cores of each type with the idle ones first, in the given order where they are alike.
    pub fn idlest_first(&self, cores: Vec<Core>) -> Vec<Core> {
        let types = core_types(&cores);
        let mut cores = cores;
        cores.sort_by_key(|core| {
            let core_type = types.iter().position(|it| *it == core.core_type);
            // In steps of what can be distinguished.
            let busy = (self.busy_of(core) / IDLE) as u32;
            let pinned: u32 = core.cpus.iter().filter_map(|cpu| self.pinned.get(cpu)).sum();
            (core_type, busy, pinned)
        });
        cores
    }

    /// Busy share of the busiest sibling.
    fn busy_of(&self, core: &Core) -> f64 {
        core.online_siblings
            .iter()
            .filter_map(|cpu| self.busy.get(cpu))
            .copied()
            .fold(0.0, f64::max)
    }

    /// Which cores were chosen and why, where not all of them were idle or free.
    pub fn choice(&self, cores: &[Core], arms: &[Arm]) -> Option<Caveat> {
        let core_is_taken = |core: &&Core| {
            self.busy_of(core) >= IDLE || core.cpus.iter().any(|cpu| self.pinned.contains_key(cpu))
        };
        let taken: Vec<&Core> = cores.iter().filter(core_is_taken).collect();
        if taken.is_empty() || arms.iter().all(|arm| arm.cpus.is_empty()) {
            return None;
        }
        let what = |core: &&Core| {
            let cpus: CpuSet = core.online_siblings.iter().copied().collect();
            let pinned: u32 = core.cpus.iter().filter_map(|cpu| self.pinned.get(cpu)).sum();
            let pinned = match pinned {
                0 => String::new(),
                1 => ", 1 program is pinned to it".to_owned(),
                some => format!(", {some} programs are pinned to it"),
            };
            let percent = self.busy_of(core) * 100.0;
            format!("CPU {cpus} was busy for {percent:.0} % of {:.1} s{pinned}", self.seconds)
        };
        let shown: Vec<String> = taken.iter().take(8).map(what).collect();
        let used: CpuSet = arms.iter().flat_map(|arm| arm.cpus.iter().copied()).collect();
        let order: Vec<String> = cores
            .iter()
            .map(|core| core.cpus[0])
            .filter(|&cpu| used.contains(cpu))
            .take(8)
            .map(|cpu| cpu.to_string())
            .collect();
        Some(Caveat::new(
            "busy-cores",
            format!(
                "Before the run other work was seen: {}. Idle cores are taken first; the order of the \
                 cores used is that of CPUs {}.",
                shown.join("; "),
                order.join(", ")
            ),
        ))
    }
}

/// Reads how busy CPUs are on both sides of a pause.
struct Watching<'a> {
    files: RootFiles,
    pause: &'a mut dyn Pause,
    seen: Option<(f64, BTreeMap<u32, f64>)>,
}

impl Pause for Watching<'_> {
    fn pause(&mut self) -> Duration {
        let before = CpuTimes::read(&mut self.files);
        let paused = self.pause.pause();
        let seconds = paused.as_secs_f64().max(1e-9);
        if let Some((before, after)) = before.zip(CpuTimes::read(&mut self.files)) {
            let share =
                |&cpu: &u32| Some((cpu, (after.since(&before, cpu)?.busy_s / seconds).min(1.0)));
            self.seen = Some((seconds, after.0.keys().filter_map(share).collect()));
        }
        paused
    }
}

/// The programs, threads of the kernel left out, that may run on a single CPU only, by CPU.
fn pinned_programs() -> BTreeMap<u32, u32> {
    let mut found = BTreeMap::new();
    let Ok(mut files) = RootFiles::open(Path::new("/")) else { return found };
    let own = std::process::id();
    let ids: Vec<u32> = files
        .list("proc")
        .iter()
        .filter_map(|name| name.parse().ok())
        .filter(|&id| id != own)
        .collect();
    for id in ids {
        let Ok(mask) = Affinity::of(id.cast_signed()) else { continue };
        let cpus = mask.cpus();
        if let [cpu] = cpus.as_slice()
            // A thread of the kernel has no command line; neither has what has ended.
            && files.read(&format!("proc/{id}/cmdline")).is_ok_and(|line| !line.is_empty())
        {
            *found.entry(*cpu).or_insert(0) += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    fn core(cpus: &[u32], core_type: Option<&str>) -> Core {
        Core {
            cpus: cpus.to_vec(),
            online_siblings: cpus.to_vec(),
            core_type: core_type.map(str::to_owned),
            numa_node: None,
        }
    }

    fn busy(busy: &[(u32, f64)]) -> InitialState {
        InitialState { busy: busy.iter().copied().collect(), seconds: 0.2, ..Default::default() }
    }

    fn firsts(cores: &[Core]) -> Vec<u32> {
        cores.iter().map(|core| core.cpus[0]).collect()
    }

    #[test]
    fn idle_cores_come_first_and_alike_ones_stay_in_order() {
        let cores = vec![core(&[0, 4], None), core(&[1, 5], None), core(&[2, 6], None)];
        let firsts_with = |seen: &InitialState| firsts(&seen.idlest_first(cores.clone()));
        assert_eq!(firsts_with(&busy(&[(0, 0.05), (1, 0.1)])), [0, 1, 2]);
        assert_eq!(firsts_with(&busy(&[(0, 1.0)])), [1, 2, 0]);
        assert_eq!(firsts_with(&busy(&[(4, 1.0), (1, 0.4)])), [2, 1, 0]);
        let pinned = InitialState { pinned: [(0, 2)].into(), ..busy(&[]) };
        assert_eq!(firsts_with(&pinned), [1, 2, 0]);
    }

    #[test]
    fn core_types_keep_their_order() {
        let cores = vec![core(&[0], Some("P")), core(&[1], Some("P")), core(&[2], Some("E"))];
        let sorted = busy(&[(0, 1.0), (1, 0.5)]).idlest_first(cores);
        assert_eq!(firsts(&sorted), [1, 0, 2]);
    }

    /// A machine of two CPUs in nested control groups of `version` with these quotas, in CPUs: the
    /// process's own group first.
    fn machine(version: u32, quotas: &[Option<f64>]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path: PathBuf = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("sys/devices/system/cpu/online", "0-1");
        for cpu in 0..2 {
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            write(&format!("{topology}/thread_siblings_list"), "0-1");
            write(&format!("{topology}/core_cpus_list"), "0-1");
            write(&format!("{topology}/core_id"), "0");
            write(&format!("{topology}/physical_package_id"), "0");
        }
        write("proc/stat", "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n");
        let mut group = "/inner".repeat(quotas.len());
        let (mount, groups, point) = match version {
            1 => (
                "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0",
                format!("2:cpu:{group}"),
                "sys/fs/cgroup/cpu",
            ),
            _ => ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", format!("0::{group}"), "sys/fs/cgroup"),
        };
        write("proc/mounts", mount);
        write("proc/self/cgroup", &groups);
        write(&format!("{point}/cgroup.sane_behavior"), "0");
        for quota in quotas {
            let folder = format!("{point}{group}");
            let microseconds = quota.map(|cpus| format!("{:.0}", cpus * 1e5));
            if version == 1 {
                let quota = microseconds.unwrap_or_else(|| "-1".to_owned());
                write(&format!("{folder}/cpu.cfs_quota_us"), &quota);
                write(&format!("{folder}/cpu.cfs_period_us"), "100000");
            } else {
                let quota = microseconds.unwrap_or_else(|| "max".to_owned());
                write(&format!("{folder}/cpu.max"), &format!("{quota} 100000"));
            }
            group.truncate(group.len() - "/inner".len());
        }
        root
    }

    struct Moment;

    impl Pause for Moment {
        fn pause(&mut self) -> Duration {
            WATCHED
        }
    }

    fn quota(version: u32, quotas: &[Option<f64>]) -> Option<String> {
        let root = machine(version, quotas);
        let caveats = InitialState::below(root.path(), &mut Moment).caveats();
        caveats.into_iter().find(|it| it.kind == "doctor-quota").map(|it| it.sentence)
    }

    #[test]
    fn a_quota_of_all_cpus_is_no_caveat() {
        for version in [1, 2] {
            assert_eq!(quota(version, &[None, None]), None);
            assert_eq!(quota(version, &[Some(2.0), None]), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_tightest_quota_on_the_way_up_is_a_caveat_in_both_versions(
            version in 1_u32..=2,
            quotas in prop::collection::vec(prop::option::of(1_u32..=300), 1..5),
        ) {
            let quotas: Vec<Option<f64>> =
                quotas.into_iter().map(|it| it.map(|percent| f64::from(percent) / 100.0)).collect();
            let tightest = quotas.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            let said = quota(version, &quotas);
            prop_assert_eq!(said.is_some(), tightest < 2.0, "{:?}", said);
            if let Some(said) = said {
                let expected = format!("the time of {tightest:.2} CPUs");
                prop_assert!(said.contains(&expected), "{}, not {}", said, expected);
            }
        }
    }

    /// Whatever the doctor's list holds, now or later: what it calls spoiling, and nothing else.
    #[test]
    fn what_spoils_is_what_the_doctor_says() {
        for quotas in [[None, None], [Some(0.2), None]] {
            let root = machine(2, &quotas);
            let mut files = RootFiles::open(root.path()).unwrap();
            let report = Report::from_files(&mut files, Some(&mut Moment)).unwrap();
            let spoiling: Vec<String> =
                report.spoiling().map(|found| format!("doctor-{}", found.check)).collect();
            let caveats = InitialState::below(root.path(), &mut Moment).caveats();
            assert_eq!(caveats.into_iter().map(|it| it.kind).collect::<Vec<_>>(), spoiling);
        }
    }

    struct Busy(PathBuf);

    impl Pause for Busy {
        fn pause(&mut self) -> Duration {
            fs::write(self.0.join("proc/stat"), "cpu0 19 0 0 1 0 0 0 0\ncpu1 0 0 0 20 0 0 0 0\n")
                .unwrap();
            WATCHED
        }
    }

    #[test]
    fn load_at_the_start_is_said_with_the_choice() {
        let root = machine(2, &[None]);
        let seen = InitialState::below(root.path(), &mut Busy(root.path().to_owned()));
        assert!(seen.caveats().iter().any(|it| it.kind == "doctor-load"), "{seen:?}");
        let cores = seen.idlest_first(vec![core(&[0], None), core(&[1], None)]);
        assert_eq!(firsts(&cores), [1, 0]);
        let arm = Arm {
            id: "single".to_owned(),
            ..Arm::new(corun_record::Placement::Single, 1, 1, vec![1])
        };
        insta::assert_snapshot!(
            seen.choice(&cores, std::slice::from_ref(&arm)).unwrap().sentence,
            @"Before the run other work was seen: CPU 0 was busy for 95 % of 0.2 s. Idle cores are taken first; the order of the cores used is that of CPUs 1."
        );
        assert_eq!(busy(&[(0, 0.05)]).choice(&cores, &[arm]), None);
    }
}
