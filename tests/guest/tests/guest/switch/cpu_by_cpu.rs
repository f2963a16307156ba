//! A kernel without `smt/control`: siblings go and come one by one.

use corun_guest_tests::Guest;

use crate::switch::{TWO_BY_TWO, boot};

#[test]
fn siblings_are_switched_one_by_one_where_there_is_no_switch() {
    let script = "
        mount -t tmpfs none $cpus/smt
        bind 2; bind 3
        for by_hand in none 3; do
            [ $by_hand = none ] || echo 0 >$cpus/cpu$by_hand/online
            before
            try $by_hand-run corun smt run --yes --state off -- wake cat $cpus/online
            restored $by_hand-run
            try $by_hand-off corun smt off --yes
            try $by_hand-while-off wake cat $cpus/online
            try $by_hand-status corun smt status
            try $by_hand-restore corun smt restore
            restored $by_hand-restore
            try $by_hand-off-again corun smt off --yes
            try $by_hand-on corun smt on --yes
            restored $by_hand-on
            try $by_hand-killed taskset 1 kill-at-step kill 2 --from 'cpu1/online' -- \
                corun smt run --yes --state off -- true
            restored $by_hand-killed
        done
        try run-on corun smt run --yes --state on -- cat $cpus/online
    ";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    let mut expected = Vec::new();
    for by_hand in ["none", "3"] {
        for name in ["run", "off", "status", "restore", "off-again", "on", "killed"] {
            outcome.assert_status(&format!("{by_hand}-{name}"), 0);
        }
        for name in ["run", "while-off"] {
            assert_eq!(outcome.printed(&format!("{by_hand}-{name}")), "0,2");
        }
        for name in ["run", "restore", "on", "killed"] {
            expected.push(format!("{by_hand}-{name}"));
        }
        let killed = outcome.printed(&format!("{by_hand}-killed"));
        assert!(
            killed.starts_with("killed\twrite /sys/devices/system/cpu/cpu1/online 0"),
            "{killed}"
        );
    }
    outcome.assert_restored(&expected.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(outcome.printed("none-status").contains("no smt/control"));
}
