//! The harness tells a scenario that failed from a guest that hung, crashed or fell silent.

use std::time::Duration;

use corun_guest_tests::{BootError, Guest, Host, Scenario, Shape};

const SMALL: Shape = Shape { sockets: 1, cores: 1, threads: 1 };

#[test]
fn files_and_exit_code_come_back_whole() {
    let Some(host) = Host::or_skip() else { return };
    let scenario = Scenario::new(
        "head -c 100000 /dev/urandom >/results/noise\n\
         sha256sum </results/noise >/results/sum\n\
         cp /given/source /results/copy\n\
         exit 7",
    )
    .file("/given/source", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guest/harness.rs"));
    let outcome = Guest::new(SMALL).boot(host, &scenario).unwrap();
    assert_eq!(outcome.results.exit, 7, "{}", outcome.console);
    assert_eq!(outcome.results.files["noise"].len(), 100_000);
    assert_eq!(outcome.text("sum").len(), 64 + "  -\n".len());
    assert_eq!(outcome.text("copy"), include_str!("harness.rs"));
}

#[test]
fn a_guest_that_hangs_is_killed_and_its_console_shown() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(SMALL).deadline(Duration::from_secs(10));
    match guest.boot(host, &Scenario::new("echo about to hang; sleep 1000")) {
        Err(BootError::Deadline { console, .. }) => {
            assert!(console.contains("about to hang"), "{console}");
        }
        other => panic!("expected a deadline, found {other:?}"),
    }
}

#[test]
fn a_kernel_panic_is_not_taken_for_a_power_off() {
    let Some(host) = Host::or_skip() else { return };
    match Guest::new(SMALL).boot(host, &Scenario::new("echo c >/proc/sysrq-trigger")) {
        Err(BootError::KernelPanic(console)) => assert!(console.contains("sysrq"), "{console}"),
        other => panic!("expected a panic, found {other:?}"),
    }
}

#[test]
fn a_guest_that_ends_early_has_no_results() {
    let Some(host) = Host::or_skip() else { return };
    let ended = Guest::new(SMALL).boot(host, &Scenario::new("poweroff -f"));
    assert!(matches!(ended, Err(BootError::Results { .. })), "{ended:?}");
}

#[test]
fn pins_beyond_the_host_are_refused() {
    let Some(host) = Host::or_skip() else { return };
    for pins in [&[host.cores()][..], &[0, 0]] {
        let ended = Guest::new(SMALL).pins(pins).boot(host, &Scenario::new(""));
        assert!(matches!(ended, Err(BootError::Pins { .. })), "{ended:?}");
    }
}
