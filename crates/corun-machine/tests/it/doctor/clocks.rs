//! What decides about the clock: turbo, governors, limits, heat.

use corun_machine::doctor::Severity;

use crate::doctor::healthy::{CPUS, one, only, tree};
use crate::trees::builder::Tree;

/// The healthy machine with another text in a file of some CPUs.
fn with(cpus: &[u32], file: &str, text: &str) -> Tree {
    cpus.iter().fold(tree(), |tree, cpu| tree.file(&format!("{CPUS}/cpu{cpu}/{file}"), text))
}

const ALL: [u32; 4] = [0, 1, 2, 3];
const GOVERNOR: &str = "cpufreq/scaling_governor";

#[test]
fn turbo_is_read_from_either_switch() {
    let no_turbo = format!("{CPUS}/intel_pstate/no_turbo");
    let on = only(&tree().file(&no_turbo, 0), "turbo", Severity::Disturbs);
    assert_eq!(on.advice.unwrap().commands, [format!("echo 1 | sudo tee /{no_turbo}")]);

    let boost = format!("{CPUS}/cpufreq/boost");
    let amd = || tree().without(&no_turbo);
    let on = only(&amd().file(&boost, 1), "turbo", Severity::Disturbs);
    assert_eq!(on.advice.unwrap().commands, [format!("echo 0 | sudo tee /{boost}")]);
    assert_eq!(one(&amd().file(&boost, 0), "turbo").severity, Severity::Fine);
    only(&amd(), "turbo", Severity::Unknown);
}

#[test]
fn governors_that_follow_the_load_disturb() {
    for (governor, driver, severity) in [
        ("schedutil", "acpi-cpufreq", Severity::Disturbs),
        ("ondemand", "acpi-cpufreq", Severity::Disturbs),
        ("powersave", "intel_pstate", Severity::Disturbs),
        ("powersave", "amd-pstate-epp", Severity::Disturbs),
        ("powersave", "acpi-cpufreq", Severity::Note),
        ("powersave", "amd-pstate", Severity::Note),
        ("userspace", "acpi-cpufreq", Severity::Note),
    ] {
        let tree = ALL.iter().fold(with(&ALL, GOVERNOR, governor), |tree, cpu| {
            tree.file(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_driver"), driver)
        });
        let diagnosis = only(&tree, "governor", severity);
        assert_eq!(diagnosis.evidence[0].text, governor);
        assert_eq!(diagnosis.evidence[1].text, driver);
    }
    let mixed = only(&with(&[1, 3], GOVERNOR, "powersave"), "governor", Severity::Disturbs);
    assert_eq!(mixed.evidence[0].text, "performance (CPUs 0,2), powersave (CPUs 1,3)");
}

#[test]
fn without_cpufreq_it_is_said_who_else_chooses_the_clock() {
    let bare = Tree::of_cores(&[&[0, 1]]);
    assert!(one(&bare, "governor").sentence.contains("firmware"));
    let guest = bare.file("proc/cpuinfo", "flags : hypervisor");
    for check in ["governor", "turbo", "frequency-limits", "thermal"] {
        assert_eq!(one(&guest, check).severity, Severity::Unknown, "{check}");
    }
    assert!(one(&guest, "governor").sentence.contains("host"));
}

#[test]
fn a_range_is_a_condition_and_different_limits_disturb() {
    let range =
        only(&with(&ALL, "cpufreq/scaling_min_freq", "800000"), "frequency-limits", Severity::Note);
    insta::assert_snapshot!(range.sentence, @"The clock may move between 0.80 GHz and 2.00 GHz.");
    let capped = with(&[1], "cpufreq/scaling_max_freq", "1500000");
    let capped = only(&capped, "frequency-limits", Severity::Disturbs);
    insta::assert_snapshot!(capped.sentence, @"CPUs of one core type may run up to different clocks (1.50 GHz to 2.00 GHz): CPUs 0-3.");
}

#[test]
fn core_types_may_have_limits_of_their_own() {
    let hybrid = with(&[1, 3], "cpufreq/scaling_max_freq", "1500000")
        .file("sys/devices/cpu_core/cpus", "0,2")
        .file("sys/devices/cpu_atom/cpus", "1,3");
    let own = one(&hybrid, "frequency-limits");
    assert_eq!(own.severity, Severity::Fine);
    assert_eq!(own.sentence, "The clock is held at 1.50 GHz, 2.00 GHz.");
}

#[test]
fn throttling_since_boot_is_counted() {
    let hot = with(&[2], "thermal_throttle/package_throttle_count", "17");
    let hot = only(&hot, "thermal", Severity::Disturbs);
    assert!(hot.sentence.contains("17 times"), "{}", hot.sentence);
    assert_eq!(hot.evidence[1].text, "0 (CPUs 0-1,3), 17 (CPUs 2)");
}

#[test]
fn clocks_outside_of_the_core_disturb() {
    let folder = "sys/devices/system/clocksource/clocksource0";
    let current = format!("{folder}/current_clocksource");
    let slow = tree()
        .file(&current, "hpet")
        .file(&format!("{folder}/available_clocksource"), "tsc hpet acpi_pm");
    let slow = only(&slow, "clock-source", Severity::Disturbs);
    assert_eq!(slow.advice.unwrap().commands, [format!("echo tsc | sudo tee /{current}")]);
    only(&tree().file(&current, "sundial"), "clock-source", Severity::Note);
}
