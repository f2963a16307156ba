//! Busy shares of CPUs and cores.

use std::time::Duration;

use corun_monitor::{MonitorError, Options, Source, System};
use corun_record::{Actionable, CoBusyMethod, Document as _, Exit, Record};

use crate::trees::builder::{Tree, second};

const TWO_CORES: [&[u32]; 2] = [&[0, 2], &[1, 3]];

#[test]
fn cores_have_the_shares_of_their_siblings() {
    let tree = Tree::of_cores(&TWO_CORES);
    let mut system = tree.open();
    tree.cpus(&[
        (0, "100 0 0 1000 0 0 0 0 0 0"),
        (1, "0 0 0 1100 0 0 0 0 0 0"),
        (2, "30 0 10 1060 0 0 0 0 0 0"),
        (3, "0 0 0 1080 0 0 0 20 0 0"),
    ]);
    let activity = second(&mut system);
    assert_eq!((activity.interval_s, activity.cores.len()), (1.0, 2));
    let [busy, idle] = &activity.cores[..] else { panic!("{activity:?}") };
    assert_eq!(busy.cpus.iter().map(|it| it.cpu).collect::<Vec<_>>(), [0, 2]);
    assert!((busy.cpus[1].user - 0.3).abs() < 1e-9 && (busy.cpus[1].system - 0.1).abs() < 1e-9);
    // One sibling is busy all the time: nothing is left open but what ticks hide.
    assert!(
        (busy.one_busy() - 0.6).abs() < 1e-9 && (busy.co_busy() - 0.4).abs() < 1e-9,
        "{busy:?}"
    );
    assert_eq!((idle.idle(), idle.cpus[1].steal), (1.0, 0.2));
    assert_eq!(activity.co_busy.method, CoBusyMethod::Bounds);
    assert!(activity.co_busy.error < 0.03, "{:?}", activity.co_busy);
    assert!((activity.capacity.reported - 0.35).abs() < 1e-9, "{:?}", activity.capacity);
    assert!((activity.capacity.used_low - 0.35).abs() < 1e-9, "{:?}", activity.capacity);
    assert!((activity.capacity.used_high - 0.5).abs() < 1e-9, "{:?}", activity.capacity);
}

#[test]
fn what_siblings_leave_open_is_stated() {
    let tree = Tree::of_cores(&TWO_CORES[..1]);
    let mut system = tree.open();
    tree.cpus(&[(0, "50 0 0 1050 0 0 0 0 0 0"), (2, "50 0 0 1050 0 0 0 0 0 0")]);
    let activity = second(&mut system);
    assert!((activity.cores[0].co_busy() - 0.25).abs() < 0.02, "{activity:?}");
    let evidence = &activity.co_busy;
    assert!(
        (0.5..0.54).contains(&evidence.error),
        "both busy at once, or one after the other: {evidence:?}"
    );
    assert_eq!(evidence.not_exact_because.as_deref(), Some("A captured system runs nothing."));
}

#[test]
fn cpus_go_offline_and_online_in_between() {
    let tree = Tree::of_cores(&TWO_CORES);
    let mut system = tree.open();
    let half = "50 0 0 1050 0 0 0 0 0 0";
    tree.cpus(&[(0, half), (1, half), (2, half)]);
    tree.online(&[0, 1, 2]);
    tree.gone("sys/devices/system/cpu/cpu3/topology");
    let activity = second(&mut system);
    let cpus =
        |place: usize| activity.cores[place].cpus.iter().map(|it| it.cpu).collect::<Vec<_>>();
    assert_eq!((cpus(0), cpus(1)), (vec![0, 2], vec![1]));
    assert_eq!(activity.cores[1].busy_siblings, [0.5, 0.5]);
    // What has been online for a part of the interval is seen from the next one on.
    let idle = "50 0 0 1150 0 0 0 0 0 0";
    tree.cpus(&[(0, idle), (1, idle), (2, idle), (3, "0 0 0 10 0 0 0 0 0 0")]);
    tree.file("sys/devices/system/cpu/cpu3/topology/core_cpus_list", "1,3");
    tree.file("sys/devices/system/cpu/cpu3/topology/core_id", "1");
    tree.file("sys/devices/system/cpu/cpu3/topology/physical_package_id", "0");
    tree.online(&[0, 1, 2, 3]);
    assert_eq!(second(&mut system).cores[1].cpus.len(), 1);
    let later = "50 0 0 1250 0 0 0 0 0 0";
    tree.cpus(&[(0, later), (1, later), (2, later), (3, "100 0 0 10 0 0 0 0 0 0")]);
    let activity = second(&mut system);
    assert_eq!(activity.cores[1].cpus.len(), 2);
    assert!((activity.cores[1].one_busy() - 1.0).abs() < 1e-9, "{activity:?}");
}

#[test]
fn a_wall_clock_that_is_set_changes_nothing() {
    let tree = Tree::of_cores(&TWO_CORES[..1]);
    let mut system = tree.open();
    tree.file(
        "proc/stat",
        "cpu  0\ncpu0 25 0 0 1075 0 0 0 0 0 0\ncpu2 0 0 0 1100 0 0 0 0 0 0\nbtime 999999",
    );
    let activity = second(&mut system);
    assert!((activity.cores[0].cpus[0].busy() - 0.25).abs() < 1e-9, "{activity:?}");
}

#[test]
fn no_time_at_all_is_no_interval() {
    let tree = Tree::of_cores(&TWO_CORES);
    let mut system = tree.open();
    let activity = system.next(Duration::ZERO).unwrap();
    assert!(activity.cores.is_empty(), "{activity:?}");
    let json = Record::new(String::new(), 0.0, activity).to_json();
    assert!(!json.contains("-0.0") && !json.contains("\"reported\": null"), "{json}");
}

/// A sandbox that writes zeros, or a capture of one moment: not an idle machine.
#[test]
fn accounts_of_which_none_goes_on_are_unknown() {
    let tree = Tree::of_cores(&TWO_CORES);
    let error = tree.open().next(Duration::from_secs(1)).unwrap_err();
    assert!(matches!(error, MonitorError::NoAccounts), "{error}");
    assert_eq!(error.exit(), Exit::NotPossible);
}

/// A CPU without ticks that runs one task, on kernels that account for it later.
#[test]
fn a_cpu_whose_account_stands_still_while_others_go_on_is_not_idle() {
    let tree = Tree::of_cores(&TWO_CORES);
    let mut system = tree.open();
    let idle = "0 0 0 1100 0 0 0 0 0 0";
    tree.cpus(&[(0, idle), (1, idle), (2, "0 0 0 1000 0 0 0 0 0 0"), (3, idle)]);
    let activity = second(&mut system);
    let still = &activity.cores[0];
    assert_eq!(still.cpus.iter().map(|it| it.cpu).collect::<Vec<_>>(), [0, 2]);
    assert_eq!((still.cpus[1].busy(), still.idle()), (1.0, 0.0));
    assert!((activity.capacity.reported - 0.25).abs() < 0.01, "{:?}", activity.capacity);
}

#[test]
fn a_system_without_accounts_is_an_error_with_the_file() {
    let tree = Tree::of_cores(&TWO_CORES);
    let mut system = tree.open();
    tree.file("proc/stat", "nothing");
    let error = system.next(Duration::from_secs(1)).unwrap_err();
    assert_eq!(error.to_string(), "expected a readable /proc/stat, found: no line of a CPU");
    std::fs::remove_file(tree.root().join("proc/stat")).unwrap();
    let options = Options { root: tree.root().to_owned(), ..Options::default() };
    let error = System::open(options).unwrap_err();
    assert!(matches!(error, MonitorError::Unreadable { .. }), "{error}");
    assert_eq!(error.exit(), Exit::NotPossible);
    assert_eq!(error.to_string(), "expected a readable /proc/stat, found: missing");
}

#[test]
fn the_live_system_has_an_activity() {
    let mut system = System::open(Options::default()).unwrap();
    let activity = system.next(Duration::from_millis(30)).unwrap();
    assert!(activity.interval_s >= 0.03, "{}", activity.interval_s);
    for core in &activity.cores {
        let sum: f64 = core.busy_siblings.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6, "{core:?}");
    }
}
