//! `corun audit` where there are siblings: every row is there, and a bad mask is found out.
//!
//! Time is slow and noisy in an emulated machine, so that speeds are not asked for: what a mask
//! forbids must not be seen, what it costs must be.

use std::collections::BTreeSet;
use std::time::Duration;

use corun_guest_tests::{Guest, Host, Outcome, Scenario, Shape};
use corun_record::{Audit, AuditRow, AuditVerdict, Document};

/// CPUs 0 and 1 are siblings, and so are 2 and 3. Opening performance events makes the kernel patch its
/// code, by which guests freeze.
const SCRIPT: &str = "
    groups() { find /groups -mindepth 1 -type d; }
    mkdir /groups
    mount -t cgroup2 none /groups
    echo +cpu >/groups/cgroup.subtree_control
    cat /proc/sys/kernel/sched_autogroup_enabled >/results/before
    corun audit --list >/results/list
    corun audit --no-events --quiet --max-time 1s --json /results/all
    corun audit --no-events --quiet --max-time 15s --only idle-core,repair-cores --pinned-to 0-1 \
        --json /results/siblings
    for signal in TERM KILL; do
        corun audit --no-events --quiet --max-time 10m --only quota 2>/dev/null &
        until [ -n \"$(groups)\" ]; do usleep 1000; done
        kill -$signal $!
        wait $! || true
        while [ -n \"$(groups)\" ]; do usleep 1000; done
        echo $signal >>/results/groups-left
    done
    groups >/results/left
    cat /proc/sys/kernel/sched_autogroup_enabled >/results/after
";

#[test]
fn every_property_is_shown_and_a_bad_mask_is_found_out() {
    let Some(host) = Host::or_skip() else { return };
    let guest =
        Guest::new(Shape { sockets: 1, cores: 2, threads: 2 }).deadline(Duration::from_secs(240));
    guest.assert_truth(host, &Scenario::new(SCRIPT), |outcome, _| {
        let all = audit(outcome, "all");
        assert_everything_is_shown(&all);
        assert_eq!(outcome.text("left"), "", "a control group was left behind");
        assert_eq!(outcome.text("groups-left"), "TERM\nKILL\n");
        assert_eq!(outcome.text("before"), outcome.text("after"));
        assert!(!outcome.text("list").contains("not possible"), "{}", outcome.text("list"));
        // On a busy host a load may end before all of its tasks have come.
        let is_seen = |name: &&str| readings(row(&all, name), 0).count() == all.rounds as usize;
        let missing = ["idle-core", "wake-sibling"].into_iter().find(|name| !is_seen(name));
        missing.is_none() && is_found_out(&audit(outcome, "siblings"))
    });
}

fn audit(outcome: &Outcome, name: &str) -> Audit {
    let audit = Audit::from_json(outcome.text(name)).expect("an audit");
    eprintln!("{name}: {} rounds in {:.1} s", audit.rounds, audit.elapsed_s);
    for row in &audit.rows {
        eprintln!("{}: {} {:?}", row.property, row.verdict.name(), row.observed);
    }
    audit
}

/// Every row is there, no figure is out of its range, and no task was where it must not be.
fn assert_everything_is_shown(audit: &Audit) {
    assert!(audit.rounds >= 2 && !audit.ending.is_interrupted(), "{audit:?}");
    assert_eq!((audit.machine.smt_width, audit.machine.allowed_cpus), (2, 4));
    let names: BTreeSet<&str> = audit.rows.iter().map(|row| row.property.as_str()).collect();
    for name in ["idle-core", "wake-sibling", "repair-cores", "fairness", "quota", "autogroup"] {
        assert!(names.contains(name), "{names:?}");
    }
    for row in &audit.rows {
        assert_ne!(row.verdict, AuditVerdict::NotPossible, "{row:?}");
        assert!(readings(row, 0).all(|value| value.is_finite() && value >= 0.0), "{row:?}");
    }
    let fairness = row(audit, "fairness");
    for tasks in 1..=12 {
        let arm = format!("free@{tasks}");
        assert!(fairness.readings.iter().any(|it| it.arm == arm), "{arm}");
    }
    assert!(readings(row(audit, "affinity"), 0).all(|elsewhere| elsewhere == 0.0));
}

/// Loads that are held on the siblings of one core never begin on the other, and waste it.
fn is_found_out(audit: &Audit) -> bool {
    assert_eq!(audit.pinned_to, Some(vec![0, 1]));
    let idle_core = row(audit, "idle-core");
    assert!(readings(idle_core, 1).all(|well| well == 0.0), "{idle_core:?}");
    let repair = row(audit, "repair-cores");
    assert!(readings(repair, 1).all(|never| never == 1.0), "{repair:?}");
    [idle_core, repair].iter().all(|row| row.verdict == AuditVerdict::Violated)
}

fn row<'a>(audit: &'a Audit, name: &str) -> &'a AuditRow {
    audit.rows.iter().find(|row| row.property == name).unwrap_or_else(|| panic!("no row {name}"))
}

/// What each round read of the observation at this place.
fn readings(row: &AuditRow, place: usize) -> impl Iterator<Item = f64> {
    let observation = row.observations.get(place);
    let is_of = move |of: &str| observation.is_some_and(|it| it.of.as_deref() == Some(of));
    row.readings.iter().filter(move |it| is_of(&it.of)).map(|it| it.value)
}
