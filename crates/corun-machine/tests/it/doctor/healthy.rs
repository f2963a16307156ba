//! A machine on which every check is fine, and the means to say what became of it.

use std::time::Duration;

use corun_machine::RootFiles;
use corun_machine::doctor::{Diagnosis, Pause, Report, Severity};

use crate::trees::builder::Tree;

pub(crate) const CPUS: &str = "sys/devices/system/cpu";
pub(crate) const GROUP: &str = "sys/fs/cgroup/user.slice";

/// Two cores of two siblings, quiet in every respect.
pub(crate) fn tree() -> Tree {
    let mut tree = Tree::of_cores(&[&[0, 2], &[1, 3]])
        .smt("on", "1")
        .file("proc/cmdline", "quiet")
        .file("proc/cpuinfo", "model name : Some CPU\nflags : fpu tsc")
        .file("proc/self/status", "Name:\tcorun\nCpus_allowed_list:\t0-3")
        .file("proc/self/cgroup", "0::/user.slice")
        .file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        .file(&format!("{GROUP}/cpu.max"), "max 100000")
        .file("proc/stat", stat([1000; 4], [0; 4]))
        .file("proc/pressure/memory", pressure("0.00"))
        .file("proc/vmstat", "pswpin 5\npswpout 7")
        .file("proc/interrupts", interrupts(100))
        .file("proc/self/stat", task(50, "corun", 10))
        .file("proc/50/stat", task(50, "corun", 10))
        .file("proc/50/comm", "corun")
        .file("proc/1/stat", task(1, "init", 10))
        .file("proc/1/comm", "init")
        .file(&format!("{CPUS}/vulnerabilities/meltdown"), "Not affected")
        .file(&format!("{CPUS}/isolated"), "")
        .file(&format!("{CPUS}/nohz_full"), "(null)")
        .file(&format!("{CPUS}/intel_pstate/no_turbo"), 1)
        .file("sys/bus/event_source/devices/cpu/type", 4)
        .file("proc/sys/kernel/perf_event_paranoid", 2)
        .file("proc/sys/kernel/nmi_watchdog", 0)
        .file("proc/sys/kernel/randomize_va_space", 2)
        .file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
        .file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    for cpu in 0..4 {
        let of_cpu = |file: &str| format!("{CPUS}/cpu{cpu}/{file}");
        tree = tree
            .file(&of_cpu("cpufreq/scaling_governor"), "performance")
            .file(&of_cpu("cpufreq/scaling_driver"), "intel_pstate")
            .file(&of_cpu("cpufreq/scaling_min_freq"), 2_000_000)
            .file(&of_cpu("cpufreq/scaling_max_freq"), 2_000_000)
            .file(&of_cpu("thermal_throttle/core_throttle_count"), 0)
            .file(&of_cpu("thermal_throttle/package_throttle_count"), 0)
            .file(&of_cpu("cpuidle/state0/name"), "POLL")
            .file(&of_cpu("cpuidle/state0/time"), 10);
    }
    tree
}

/// `/proc/stat` with these ticks of user and of stolen time for each CPU.
pub(crate) fn stat(user: [u64; 4], steal: [u64; 4]) -> String {
    let lines =
        (0..4).map(|cpu| format!("cpu{cpu} {} 0 0 9000 0 0 0 {} 0 0\n", user[cpu], steal[cpu]));
    lines.collect()
}

/// `/proc/PID/stat` of a task that has used these ticks.
pub(crate) fn task(id: u32, name: &str, ticks: u64) -> String {
    format!("{id} ({name}) S 1 1 1 0 -1 4194304 9 0 0 0 {ticks} 0 0 0 20 0 1 0 777 0 0")
}

/// `/proc/interrupts` with one device, which has interrupted CPU 3 so often.
pub(crate) fn interrupts(count: u64) -> String {
    format!(
        "      CPU0 CPU1 CPU2 CPU3\n 45:   0    0    0 {count}  PCI-MSI 5-edge  nvme0q1\nLOC: 9 9 9 9 Local timer interrupts"
    )
}

/// `/proc/pressure/memory` with this average of a minute.
pub(crate) fn pressure(average: &str) -> String {
    format!(
        "some avg10=0.00 avg60={average} avg300=0.00 total=9\n\
         full avg10=0.00 avg60=0.00 avg300=0.00 total=9"
    )
}

/// Lets something happen in a tree, for which this time passes.
struct Meanwhile<F>(Duration, F);

impl<F: FnMut()> Pause for Meanwhile<F> {
    fn pause(&mut self) -> Duration {
        (self.1)();
        self.0
    }
}

/// Report on a machine on which `happens` happens in the second for which it is watched.
pub(crate) fn watched(tree: &Tree, happens: impl FnMut()) -> Report {
    watched_for(Duration::from_secs(1), tree, happens)
}

/// As [`watched`], for another time.
pub(crate) fn watched_for(time: Duration, tree: &Tree, happens: impl FnMut()) -> Report {
    let mut files = RootFiles::open(tree.root()).unwrap();
    let report = Report::from_files(&mut files, Some(&mut Meanwhile(time, happens))).unwrap();
    crate::doctor::evidence::assert_it_was_read(&report, &mut files);
    report
}

/// Writes a file of a tree while it is watched.
pub(crate) fn rewrite(tree: &Tree, path: &str, text: &str) {
    std::fs::write(tree.root().join(path), text).unwrap();
}

/// The only diagnosis that is not fine, which must be of this check and severity.
#[track_caller]
pub(crate) fn only(tree: &Tree, check: &str, severity: Severity) -> Diagnosis {
    only_in(&watched(tree, || ()), check, severity)
}

/// As [`only`], of a report.
#[track_caller]
pub(crate) fn only_in(report: &Report, check: &str, severity: Severity) -> Diagnosis {
    let found: Vec<(&str, Severity)> = report
        .diagnoses
        .iter()
        .filter(|diagnosis| diagnosis.severity != Severity::Fine)
        .map(|diagnosis| (diagnosis.check.as_str(), diagnosis.severity))
        .collect();
    assert_eq!(found, [(check, severity)], "{:#?}", report.diagnosis(check));
    report.diagnosis(check).unwrap().clone()
}

/// The diagnosis of one check, whatever the others say.
#[track_caller]
pub(crate) fn one(tree: &Tree, check: &str) -> Diagnosis {
    watched(tree, || ()).diagnosis(check).unwrap().clone()
}

#[test]
fn all_is_fine() {
    let report = watched(&tree(), || ());
    for diagnosis in &report.diagnoses {
        assert_eq!(diagnosis.severity, Severity::Fine, "{diagnosis:#?}");
    }
    assert_eq!(report.smt_vulnerabilities, []);
}

#[test]
fn without_a_file_a_check_says_which_and_does_not_pass() {
    for (file, check) in [
        ("proc/cmdline", "idle-polling"),
        ("proc/self/cgroup", "quota"),
        ("proc/cpuinfo", "virtual-machine"),
        ("proc/interrupts", "interrupts"),
        ("proc/sys/kernel/perf_event_paranoid", "counters"),
        ("proc/sys/kernel/randomize_va_space", "address-layout"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "huge-pages"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "clock-source"),
    ] {
        let diagnosis = only(&tree().without(file), check, Severity::Unknown);
        assert!(diagnosis.sentence.contains(file), "{diagnosis:#?}");
        // Which is a finding about the topology too, where that is read from the same file.
        let diagnosis = one(&tree().unreadable(file), check);
        assert_eq!(diagnosis.severity, Severity::Unknown, "{diagnosis:#?}");
        assert!(diagnosis.sentence.contains(file), "{diagnosis:#?}");
    }
}

#[test]
fn a_text_that_is_not_as_documented_is_quoted_and_does_not_pass() {
    for (file, check) in [
        ("sys/fs/cgroup/user.slice/cpu.max", "quota"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "turbo"),
        ("sys/devices/system/cpu/cpu2/cpufreq/scaling_max_freq", "frequency-limits"),
        ("sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "thermal"),
        ("proc/pressure/memory", "memory-pressure"),
        ("sys/devices/system/cpu/isolated", "isolation"),
        ("proc/sys/kernel/perf_event_paranoid", "counters"),
        ("proc/sys/kernel/nmi_watchdog", "watchdog"),
        ("proc/sys/kernel/randomize_va_space", "address-layout"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "huge-pages"),
    ] {
        let diagnosis = only(&tree().file(file, "zebra"), check, Severity::Unknown);
        assert_eq!(diagnosis.evidence[0].text, "zebra", "{diagnosis:#?}");
        only(&tree().unreadable(file), check, Severity::Unknown);
    }
}
