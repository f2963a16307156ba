//! Whose CPUs these are: cores, caches and nodes in common, other tasks, and the cores of guests.

use std::time::Duration;

use corun_machine::doctor::Pause;
use corun_machine::sharing::{
    CoreUse, CpuSharing, Pinning, SharingError, SharingQuery, Subject, describe,
};
use corun_machine::{CpuSet, Machine, RootFiles};
use corun_record::{Actionable, Exit};

use crate::trees::builder::Tree;

/// Two packages of two cores of two siblings, a NUMA node each.
fn tree() -> Tree {
    Tree::empty()
        .package(0, &[&[0, 4], &[1, 5]])
        .package(1, &[&[2, 6], &[3, 7]])
        .all_present()
        .all_online()
        .file("sys/devices/system/node/node0/cpulist", "0-1,4-5")
        .file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 67108864 kB")
        .file("sys/devices/system/node/node1/cpulist", "2-3,6-7")
}

fn read(tree: &Tree, query: &SharingQuery) -> Result<CpuSharing, SharingError> {
    let mut files = RootFiles::open(tree.root()).unwrap();
    let machine = Machine::from_files(&mut files).unwrap();
    CpuSharing::read(&mut files, &machine, query, None)
}

fn of_cpus(tree: &Tree, list: &str) -> CpuSharing {
    read(tree, &SharingQuery::Cpus(list.parse().unwrap())).unwrap()
}

#[test]
fn whole_cores_are_distinguished_from_one_cpu_a_core_and_from_a_mixture() {
    let answers: Vec<(CoreUse, String)> = ["0,4", "0-1,4-5", "0-3", "0", "0-1,4", "0-7"]
        .iter()
        .map(|list| {
            let sharing = of_cpus(&tree(), list);
            (sharing.core_use, sharing.answer)
        })
        .collect();
    insta::assert_debug_snapshot!(answers, @r#"
    [
        (
            WholeCores,
            "CPUs 0,4 are 1 whole core of 2 CPUs: only what runs on these CPUs shares it.",
        ),
        (
            WholeCores,
            "CPUs 0-1,4-5 are 2 whole cores of 2 CPUs each: only what runs on these CPUs shares them.",
        ),
        (
            OneACore,
            "CPUs 0-3 are one CPU of each of 4 cores; the siblings, CPUs 4-7, are not among them, and what runs there shares the cores.",
        ),
        (
            OneACore,
            "CPU 0 is one sibling of its core; the other, CPU 4, may run other work on that core.",
        ),
        (
            Mixed,
            "CPUs 0-1,4 are 3 CPUs on 2 cores, unequal: 1 with all siblings, 1 with a part of them; the sibling, CPU 5, is not among them.",
        ),
        (
            WholeCores,
            "All 8 online CPUs of this machine are 4 whole cores of 2 CPUs each.",
        ),
    ]
    "#);
}

#[test]
fn a_mixed_set_names_the_siblings_that_are_left_out() {
    insta::assert_snapshot!(describe(&of_cpus(&tree(), "0-1,4"), 80), @r"
    CPUs 0-1,4 are 3 CPUs on 2 cores, unequal: 1 with all siblings, 1 with a part of
    them; the sibling, CPU 5, is not among them.

    cores         2, shared with CPU 5
    L3 caches     1 of 16 MiB, shared with CPU 5
    NUMA          node 0 (64 GiB): CPUs 0-1,4, shared with CPU 5
    others        cannot be seen in a captured tree
    ");
}

#[test]
fn without_siblings_online_nothing_is_shared() {
    let tree = Tree::of_cores(&[&[0, 2], &[1, 3]]).offline(2).offline(3);
    let sharing = of_cpus(&tree, "0-3");
    assert_eq!((sharing.core_use, sharing.offline), (CoreUse::NoSiblings, CpuSet::from([2, 3])));
    insta::assert_snapshot!(sharing.answer, @"All 2 online CPUs of this machine are 2 cores without siblings online: none of these CPUs shares a core with another.");
    let error = read(&tree, &SharingQuery::Cpus(CpuSet::from([3]))).unwrap_err();
    insta::assert_snapshot!(error, @"expected CPUs that are online (0-1), found 3, all of them offline");
}

#[test]
fn cpus_that_the_machine_does_not_have_are_refused() {
    let error = read(&tree(), &SharingQuery::Cpus("6-9".parse().unwrap())).unwrap_err();
    insta::assert_snapshot!(error, @r#"expected CPUs of this machine (0-7), found "8-9""#);
    assert_eq!(error.exit(), Exit::Usage);
    let none = read(&tree(), &SharingQuery::Cpus(CpuSet::new())).unwrap_err();
    assert_eq!(none.exit(), Exit::Usage);
}

/// Adds a process of these threads: name and CPUs.
fn process(tree: Tree, id: u32, name: &str, arguments: &str, threads: &[(&str, &str)]) -> Tree {
    let mut tree = tree
        .file(&format!("proc/{id}/comm"), name)
        .raw(&format!("proc/{id}/cmdline"), arguments.replace(' ', "\0").as_bytes());
    for (thread, (name, cpus)) in threads.iter().enumerate() {
        let status = format!("Name:\t{name}\nUmask:\t0022\nCpus_allowed_list:\t{cpus}");
        tree = tree.file(&format!("proc/{id}/task/{}/status", id as usize + thread), status);
    }
    tree
}

#[test]
fn a_process_may_use_what_any_of_its_threads_may() {
    let tree = process(tree(), 40, "solver", "solver", &[("solver", "0"), ("w", "4"), ("w", "4")]);
    let sharing = read(&tree, &SharingQuery::Process(40)).unwrap();
    let Subject::Process { masks, .. } = &sharing.subject else { panic!("{sharing:#?}") };
    assert_eq!((masks[0].threads, &masks[0].cpus), (2, &CpuSet::from([4])));
    insta::assert_snapshot!(sharing.answer, @"The threads of process 40 (solver) may run on CPUs 0,4: 1 whole core of 2 CPUs: only what runs on these CPUs shares it.");
    assert_eq!(read(&tree, &SharingQuery::Process(41)).unwrap_err(), SharingError::NoProcess(41));
}

#[test]
fn a_control_group_has_the_set_of_its_nearest_ancestor_that_has_one() {
    let tree = tree()
        .file("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        .file("sys/fs/cgroup/cpuset.cpus.effective", "0-7")
        .file("sys/fs/cgroup/batch/cpuset.cpus.effective", "1,5")
        .file("sys/fs/cgroup/batch/job/cgroup.procs", "");
    for name in ["/batch/job", "batch/job", "/sys/fs/cgroup/batch/job", "/sys/fs/cgroup/batch/job/"]
    {
        let sharing = read(&tree, &SharingQuery::ControlGroup(name.to_owned())).unwrap();
        assert_eq!(sharing.cpus, CpuSet::from([1, 5]), "{name}");
        insta::allow_duplicates! { insta::assert_snapshot!(sharing.answer, @"The control group /sys/fs/cgroup/batch/job may run on CPUs 1,5: 1 whole core of 2 CPUs: only what runs on these CPUs shares it."); }
    }
    for missing in ["/nothing", "/batch/../..", "/sys/fs/cgroup/other"] {
        let error = read(&tree, &SharingQuery::ControlGroup(missing.to_owned())).unwrap_err();
        assert_eq!(error, SharingError::NoGroup(missing.to_owned()));
    }
    let version_1 = self::tree()
        .file("proc/self/mountinfo", "34 31 0:31 / /cg rw - cgroup cgroup rw,cpuset")
        .file("cg/job/cpuset.cpus", "2-3");
    let sharing = read(&version_1, &SharingQuery::ControlGroup("/job".to_owned())).unwrap();
    assert_eq!(sharing.cpus, CpuSet::from([2, 3]));
}

/// Sharing of four vCPUs, two a guest core, on these CPUs.
fn guest(smp: &str, cpus: [&str; 4]) -> CpuSharing {
    let names = ["CPU 0/KVM", "CPU 1/KVM", "CPU 2/KVM", "CPU 3/KVM"];
    let mut threads = vec![("qemu-system-x86", "3,7")];
    threads.extend(names.into_iter().zip(cpus));
    let arguments =
        format!("/usr/bin/qemu-system-x86_64 -name guest=a,debug-threads=on -smp {smp}");
    read(&process(tree(), 70, "qemu-system-x86", &arguments, &threads), &SharingQuery::Process(70))
        .unwrap()
}

#[test]
fn a_guest_is_judged_by_where_the_siblings_of_its_cores_run() {
    let two = "4,sockets=1,cores=2,threads=2";
    for (smp, cpus, expected) in [
        (two, ["0", "4", "1", "5"], Pinning::Matches),
        (two, ["0,4", "0,4", "1,5", "1,5"], Pinning::Matches),
        (two, ["0", "1", "4", "5"], Pinning::Split),
        (two, ["0", "4", "0", "4"], Pinning::Crowded),
        (two, ["0", "0", "1", "1"], Pinning::Stacked),
        (two, ["0-7", "0-7", "0-7", "0-7"], Pinning::NotPinned),
        ("4", ["0", "4", "1", "5"], Pinning::Crowded),
        ("4", ["0", "1", "2", "3"], Pinning::Matches),
    ] {
        let sharing = guest(smp, cpus);
        let guest = sharing.guest.expect("a guest");
        assert_eq!(guest.pinning, expected, "{smp} {cpus:?}");
        assert_eq!(guest.other_threads, CpuSet::from([3, 7]));
    }
    insta::assert_snapshot!(describe(&guest(two, ["0", "1", "4", "5"]), 80), @r"
    The guest's siblings are not siblings of the host: the vCPUs of guest core 0 are
    pinned to different host cores. The threads of process 70 (qemu-system-x86) may
    run on CPUs 0-1,3-5,7: 3 whole cores of 2 CPUs each: only what runs on these
    CPUs shares them.

    cores         3, not shared with CPUs outside
    L3 caches     2 of 16 MiB, shared with CPUs 2,6
    NUMA          node 0 (64 GiB): CPUs 0-1,4-5, not shared with CPUs outside
    NUMA          node 1: CPUs 3,7, shared with CPUs 2,6
    guest core 0  vCPU 0 on CPU 0, vCPU 1 on CPU 1 (2 host cores)
    guest core 1  vCPU 2 on CPU 4, vCPU 3 on CPU 5 (2 host cores)
    QEMU itself   other threads on CPUs 3,7
    others        cannot be seen in a captured tree
    ");
}

#[test]
fn a_guest_whose_threads_have_no_names_is_not_judged() {
    let threads = [("qemu-system-x86", "0"), ("qemu-system-x86", "1")];
    let tree = process(tree(), 70, "qemu-system-x86", "qemu-system-x86_64 -smp 2", &threads);
    let sharing = read(&tree, &SharingQuery::Process(70)).unwrap();
    assert_eq!(sharing.guest.expect("a guest").pinning, Pinning::Unknown);
    assert!(sharing.answer.contains("debug-threads=on"), "{}", sharing.answer);
}

/// Time in which something else happens to a tree.
struct Meanwhile<F>(Option<F>);

impl<F: FnOnce()> Pause for Meanwhile<F> {
    fn pause(&mut self) -> Duration {
        self.0.take().expect("one pause")();
        Duration::from_secs(1)
    }
}

#[test]
fn busy_tasks_count_where_they_may_run_on_the_set_or_its_siblings() {
    let stat = |id: u32, ticks: u32| {
        format!("{id} (make) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 777 0 0")
    };
    let times = |busy: u32| format!("cpu 0 0 0 0 0 0 0 0\ncpu4 {busy} 0 0 0 0 0 0 0");
    let mut tree = tree()
        .file("proc/stat", times(0))
        .file("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    for (id, cpus) in [(11, "4"), (12, "0-7"), (13, "2"), (14, "4")] {
        tree = process(tree, id, "x", "x", &[("x", cpus)])
            .file(&format!("proc/{id}/stat"), stat(id, 0));
    }
    let mut files = RootFiles::open(tree.root()).unwrap();
    let machine = Machine::from_files(&mut files).unwrap();
    let tick = u32::try_from(rustix::param::clock_ticks_per_second()).unwrap();
    let write = |path: String, text: String| std::fs::write(tree.root().join(path), text).unwrap();
    let mut pause = Meanwhile(Some(|| {
        write("proc/11/stat".to_owned(), stat(11, tick / 2));
        write("proc/12/stat".to_owned(), stat(12, tick));
        write("proc/13/stat".to_owned(), stat(13, tick));
        write("proc/14/stat".to_owned(), stat(14, tick / 100));
        write("proc/stat".to_owned(), times(tick / 2));
    }));
    let query = SharingQuery::Cpus(CpuSet::from([0]));
    let sharing = CpuSharing::read(&mut files, &machine, &query, Some(&mut pause)).unwrap();
    insta::assert_snapshot!(describe(&sharing, 80), @r"
    CPU 0 is one sibling of its core; the other, CPU 4, may run other work on that
    core. 2 busy tasks may run on siblings outside now, the busiest of them make
    (100 % of a CPU).

    cores         1, shared with CPU 4
    L3 caches     1 of 16 MiB, shared with CPUs 1,4-5
    NUMA          node 0 (64 GiB): CPU 0, shared with CPUs 1,4-5
    siblings      in 1.00 s the busiest sibling outside, CPU 4, was busy for 50 % of
                  the time
    beside it     may run, with their use of a CPU: make (12) 100 %, make (11) 50 %
    in the set    may run, with their use of a CPU: make (12) 100 %
    ");
    let others = sharing.others.unwrap();
    let ids: Vec<u32> = others.tasks.iter().map(|task| task.id).collect();
    assert_eq!(ids, [12, 11], "13 runs elsewhere, 14 hardly runs");
    assert_eq!(others.siblings_busy[0].cpu, 4);
}
