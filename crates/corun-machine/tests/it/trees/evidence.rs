//! The readings around a sample, from files that a test can write.

use corun_machine::evidence::{
    CpuPressure, CpuTimes, FrequencyControl, PackageEnergy, run_times_ns,
};
use corun_machine::{CpuSet, ProcessorState, RootFiles};

use crate::trees::builder::Tree;

fn files(tree: &Tree) -> RootFiles {
    RootFiles::open(tree.root()).unwrap()
}

#[test]
fn energy_counts_packages_once_and_survives_a_wrap() {
    let zone = |zone: &str, file: &str| format!("sys/class/powercap/{zone}/{file}");
    let tree = Tree::empty()
        .file(&zone("intel-rapl:0", "name"), "package-0")
        .file(&zone("intel-rapl:0", "energy_uj"), 900)
        .file(&zone("intel-rapl:0", "max_energy_range_uj"), 1000)
        .file(&zone("intel-rapl:0:0", "name"), "core")
        .file(&zone("intel-rapl:0:0", "energy_uj"), 1)
        .file(&zone("intel-rapl-mmio:0", "name"), "package-0")
        .file(&zone("intel-rapl-mmio:0", "energy_uj"), 7)
        .file(&zone("intel-rapl:1", "name"), "package-1")
        .file(&zone("intel-rapl:1", "energy_uj"), 10)
        .file(&zone("intel-rapl:2", "name"), "psys")
        .file(&zone("intel-rapl:2", "energy_uj"), 1);
    let energy = PackageEnergy::find(&mut files(&tree));
    let names: Vec<&str> = energy.counters().iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(names, ["package-0", "package-1"]);
    let before = energy.read(&mut files(&tree));
    let tree = tree
        .file(&zone("intel-rapl:0", "energy_uj"), 100)
        .file(&zone("intel-rapl:1", "energy_uj"), 30);
    let after = energy.read(&mut files(&tree));
    assert_eq!(energy.joules(&before, &after), Some(200e-6 + 20e-6));
    // Without a range the meaning of a step back is not known.
    let backwards = energy.read(&mut files(&tree.file(&zone("intel-rapl:1", "energy_uj"), 5)));
    assert_eq!(energy.joules(&before, &backwards), None);
}

#[test]
fn a_machine_that_shows_nothing_gives_nothing() {
    let tree = Tree::empty();
    let files = &mut files(&tree);
    assert_eq!(CpuTimes::read(files), None);
    assert_eq!(run_times_ns(files), None);
    assert_eq!(CpuPressure::read(files), None);
    assert_eq!(FrequencyControl::read(files, &CpuSet::from([0])), FrequencyControl::default());
    assert_eq!(ProcessorState::read(files), ProcessorState::default());
    let energy = PackageEnergy::find(files);
    let reading = energy.read(files);
    assert_eq!(energy.joules(&reading, &reading), None);
}

#[test]
fn governors_and_both_switches_of_turbo_are_read() {
    let governor = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let no_turbo = "sys/devices/system/cpu/intel_pstate/no_turbo";
    let tree = Tree::empty()
        .file(&governor(0), "powersave")
        .file(&governor(1), "performance")
        .file(&governor(2), "ondemand")
        .file("sys/devices/system/cpu/cpu1/cpufreq/scaling_driver", "intel_pstate")
        .file(no_turbo, 1);
    let control = FrequencyControl::read(&mut files(&tree), &CpuSet::from([0, 1]));
    assert_eq!(control.governors.iter().collect::<Vec<_>>(), ["performance", "powersave"]);
    assert_eq!(control.drivers.iter().collect::<Vec<_>>(), ["intel_pstate"]);
    assert_eq!(control.turbo, Some(false));
    let tree = tree.file("sys/devices/system/cpu/cpufreq/boost", 1);
    assert_eq!(FrequencyControl::read(&mut files(&tree), &CpuSet::new()).turbo, Some(true));
}

#[test]
fn microcode_and_mitigations_are_as_the_kernel_writes_them() {
    let tree = Tree::empty()
        .raw(
            "proc/cpuinfo",
            b"processor\t: 0\nmicrocode\t: 0xa201016\n\nprocessor\t: 1\nmicrocode\t: 0x1\n",
        )
        .file("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected")
        .file("sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable; SMT vulnerable");
    let state = ProcessorState::read(&mut files(&tree));
    assert_eq!(state.microcode.as_deref(), Some("0xa201016"));
    let known: Vec<(&str, &str)> =
        state.vulnerabilities.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(known, [("mds", "Vulnerable; SMT vulnerable"), ("meltdown", "Not affected")]);
}

#[test]
fn the_times_of_many_cpus_are_read_whole() {
    let lines: String =
        (0..2000).map(|cpu| format!("cpu{cpu} {cpu} 0 0 0 0 0 0 0 0 0\n")).collect();
    let tree = Tree::empty().raw("proc/stat", lines.as_bytes());
    let times = CpuTimes::read(&mut files(&tree)).unwrap();
    assert_eq!(times.0.len(), 2000);
    assert!(times.0[&1999].busy_s > 1.0);
}
