//! Two coruns at once: the second refuses with a line that names the first, or waits for it.

use corun_guest_tests::Guest;

use crate::switch::{TWO_BY_TWO, boot};

#[test]
fn a_second_corun_refuses_or_waits() {
    let script = "
        mkfifo /tmp/runs /tmp/go
        before
        corun smt run --yes --state off -- sh -c 'echo >/tmp/runs; read line </tmp/go' &
        first=$!
        read line </tmp/runs
        echo $first >/results/first
        try on corun smt run --yes --state on -- touch /results/ran
        try off corun smt run --yes --state off -- touch /results/ran
        try stay-on corun smt on --yes
        try stay-off corun smt off --yes
        try restore corun smt restore
        try status corun smt status
        try topo corun topo
        try undisturbed cat $cpus/online
        corun smt run --wait --yes --state off -- cat $cpus/online >/results/second.out &
        second=$!
        # Nothing tells that it waits but its lock; whichever comes first, both have to end well.
        echo >/tmp/go
        wait $first
        wait $second
        restored both
    ";
    let Some(outcome) = boot(Guest::new(TWO_BY_TWO), script) else { return };
    let first = outcome.0.text("first").trim().to_owned();
    for name in ["on", "off", "stay-on", "stay-off", "restore"] {
        outcome.assert_refused(name, 1, &["another corun", &first, "--wait"]);
    }
    assert!(!outcome.0.results.files.contains_key("ran"));
    for name in ["status", "topo"] {
        outcome.assert_status(name, 0);
    }
    assert!(outcome.printed("status").contains(&first), "{}", outcome.printed("status"));
    assert_eq!(outcome.printed("undisturbed"), "0,2");
    assert_eq!(outcome.0.text("second.out").trim(), "0,2");
    outcome.assert_restored(&["both"]);
}
