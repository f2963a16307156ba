//! A captured machine is read as the machine that it was taken from, and holds no other data.

use corun_machine::doctor::Report;
use corun_machine::{Capture, CaptureError, Machine, Names, RootFiles};

use crate::trees::builder::Tree;

const CPUS: &str = "sys/devices/system/cpu";
const GROUP: &str = "sys/fs/cgroup/user.slice/user-1000.slice";

/// A machine that has everything, on the desk of somebody called Ann.
fn tree() -> Tree {
    Tree::of_cores(&[&[0, 2], &[1, 3]])
        .offline(3)
        .smt("on", "1")
        .file(
            "proc/cpuinfo",
            "model name : Some CPU\nflags : fpu hypervisor\nSerial : 10000000feedbeef",
        )
        .file(
            "proc/cmdline",
            "root=UUID=0a1b2c3d-0000-4000-8000-00aabbccddee nosmt isolcpus=1 host=ann-pc",
        )
        .file("proc/self/status", "Name:\tann-shell\nCpus_allowed_list:\t0-2\nCapEff:\t00")
        .file("proc/self/cgroup", "0::/user.slice/user-1000.slice")
        .file(
            "proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
             40 23 0:33 / /home/ann rw - nfs4 ann-server:/home rw",
        )
        .file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu")
        .file(&format!("{GROUP}/cpuset.cpus.effective"), "0-2")
        .file(&format!("{GROUP}/cpu.max"), "150000 100000")
        .file("proc/17/comm", "ann-secret")
        .file("sys/class/dmi/id/sys_vendor", "QEMU")
        .file("sys/class/dmi/id/product_serial", "ann-serial")
        .file("sys/bus/event_source/devices/cpu/type", "4")
        .file("sys/devices/system/node/node0/cpulist", "0-2")
        .file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1024 kB")
        .file("sys/devices/system/node/node1/cpulist", "")
        .file(&format!("{CPUS}/cpu0/cpufreq/cpuinfo_min_freq"), "800000")
        .file(&format!("{CPUS}/cpu0/cpufreq/cpuinfo_max_freq"), "4200000")
        .file(&format!("{CPUS}/cpu0/cpufreq/scaling_governor"), "powersave")
        .file(&format!("{CPUS}/cpu0/acpi_cppc/nominal_freq"), "2400")
        .file("run/corun/smt-unfinished.json", r#"{"boot": "x", "by": {"command": "ann"}}"#)
}

fn capture(tree: &Tree, names: Names) -> Capture {
    Capture::take(&mut RootFiles::open(tree.root()).unwrap(), names).unwrap()
}

/// The machine and the doctor's findings.
fn read(root: &std::path::Path) -> (Machine, Report) {
    let report = Report::read(root, std::time::Duration::ZERO).unwrap();
    (Machine::read(root).unwrap(), report)
}

#[test]
fn what_is_captured_reads_the_same() {
    let (tree, scratch) = (tree(), tempfile::tempdir().unwrap());
    let root = scratch.path().join("captured");
    capture(&tree, Names::Kept).write(&root).unwrap();
    let ((machine, report), (again, report_again)) = (read(tree.root()), read(&root));
    assert_eq!(machine, again);
    assert_eq!(machine.clocks[0].base_khz, Some(2_400_000));
    // The tasks that run are not captured, irqbalance included.
    for one in report.diagnoses.iter().filter(|one| one.check != "irqbalance") {
        assert_eq!(Some(one), report_again.diagnosis(&one.check));
    }
}

#[test]
fn without_names_only_the_names_are_missing() {
    let (tree, scratch) = (tree(), tempfile::tempdir().unwrap());
    let root = scratch.path().join("captured");
    capture(&tree, Names::LeftOut).write(&root).unwrap();
    let (mut machine, mut again) =
        (Machine::read(tree.root()).unwrap(), Machine::read(&root).unwrap());
    let cpuset =
        |machine: &mut Machine| machine.allowed_by.cpuset.as_mut().unwrap().file.split_off(0);
    assert_eq!(cpuset(&mut again), "sys/fs/cgroup/group-1/group-2/cpuset.cpus.effective");
    cpuset(&mut machine);
    assert_eq!(machine, again);
}

#[test]
fn nothing_tells_of_ann_or_of_serial_numbers() {
    let all = |names| {
        let capture = capture(&tree(), names);
        let files = capture.files().map(|(path, text)| format!("{path}\n{text}\n"));
        files.collect::<String>()
    };
    let named = all(Names::Kept);
    for never in ["feedbeef", "ann-serial", "ann-secret", "ann-server", "ann-shell"] {
        assert!(!named.contains(never), "{never}: {named}");
    }
    assert!(named.contains("host=ann-pc") && named.contains("user-1000"), "{named}");
    let anonymous = all(Names::LeftOut);
    for never in ["ann", "user", "feedbeef", "0a1b2c3d", "aabbccddee"] {
        assert!(!anonymous.contains(never), "{never}: {anonymous}");
    }
    assert!(anonymous.contains("isolcpus=1"), "{anonymous}");
}

#[test]
fn this_machine_reads_the_same_from_its_capture() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("captured");
    let mut files = RootFiles::open(std::path::Path::new("/")).unwrap();
    Capture::take(&mut files, Names::Kept).unwrap().write(&root).unwrap();
    assert_eq!(Machine::read(std::path::Path::new("/")).unwrap(), Machine::read(&root).unwrap());
}

#[test]
fn a_folder_that_has_something_in_it_is_left_alone() {
    let (tree, scratch) = (tree(), tempfile::tempdir().unwrap());
    std::fs::write(scratch.path().join("file"), "mine").unwrap();
    let capture = capture(&tree, Names::Kept);
    let error = capture.write(scratch.path()).unwrap_err();
    assert!(matches!(error, CaptureError::Occupied(_)), "{error}");
    let missing = scratch.path().join("missing/captured");
    assert!(matches!(capture.write(&missing), Err(CaptureError::Write { .. })));
    let empty = scratch.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    capture.write(&empty).unwrap();
    assert!(empty.join("proc/cpuinfo").exists());
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 2, "nothing is left over");
}
