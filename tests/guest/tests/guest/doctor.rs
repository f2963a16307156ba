//! `corun doctor` on a real kernel: what is wrong is named, and what is not is left alone.

use corun_guest_tests::{Cpu, Guest, Host, Scenario, Shape};
use serde_json::Value;

/// How many host CPUs others may keep busy, on average, during a boot that counts as quiet.
const QUIET: f64 = 0.1;
/// All states in one boot, on a processor that the kernel takes for vulnerable.
const SCRIPT: &str = "
    doctor() { corun doctor --watch 500ms --json /results/$1; }
    cpus=/sys/devices/system/cpu
    doctor boot
    echo on >$cpus/smt/control
    doctor on
    echo 0 >$cpus/cpu3/online
    doctor by-hand
    echo 1 >$cpus/cpu3/online
    yes >/dev/null &
    doctor busy
    kill $!
    mkdir /groups
    mount -t cgroup2 none /groups
    echo +cpu >/groups/cgroup.subtree_control
    mkdir -p /groups/limited
    echo 50000 100000 >/groups/limited/cpu.max
    echo $$ >/groups/limited/cgroup.procs
    doctor limited
";

fn diagnosis<'a>(report: &'a Value, check: &str) -> &'a Value {
    let diagnoses = report["diagnoses"].as_array().expect("a list");
    diagnoses
        .iter()
        .find(|diagnosis| diagnosis["check"] == check)
        .unwrap_or_else(|| panic!("no check {check} in {report}"))
}

fn texts(diagnosis: &Value) -> Vec<&str> {
    let evidence = diagnosis["evidence"].as_array().expect("a list");
    evidence.iter().filter_map(|one| one["text"].as_str()).collect()
}

#[test]
fn each_trouble_is_named_while_it_lasts() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(Shape { sockets: 1, cores: 2, threads: 2 })
        .cpu(Cpu::SkylakeClient)
        .kernel_argument("mitigations=auto,nosmt");
    let outcome =
        guest.boot(host, &Scenario::new(SCRIPT)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
    for (state, smt, quota, is_busy) in [
        ("boot", "spoils", "fine", false),
        ("on", "fine", "fine", false),
        ("by-hand", "disturbs", "fine", false),
        ("busy", "fine", "fine", true),
        ("limited", "fine", "spoils", false),
    ] {
        let report = outcome.json(state);
        assert_eq!(diagnosis(&report, "smt")["severity"], smt, "{state}: {report:#}");
        assert_eq!(diagnosis(&report, "quota")["severity"], quota, "{state}: {report:#}");
        let load = diagnosis(&report, "load");
        assert_eq!(load.to_string().contains("yes"), is_busy, "{state}: {load:#}");
        // An emulated CPU that has to wait for the host takes long for the least housekeeping.
        if is_busy || outcome.load.cpus() < QUIET {
            assert_eq!(load["severity"] == "spoils", is_busy, "{state}: {load:#}");
        }
    }

    let boot = outcome.json("boot");
    assert!(texts(diagnosis(&boot, "smt")).contains(&"mitigations=auto,nosmt"), "{boot:#}");
    assert_eq!(diagnosis(&boot, "virtual-machine")["severity"], "disturbs");
    let limited = outcome.json("limited");
    assert_eq!(texts(diagnosis(&limited, "quota"))[0], "50000 100000");
}

#[test]
fn the_kernels_own_words_on_smt_are_understood() {
    let Some(host) = Host::or_skip() else { return };
    let guest = Guest::new(Shape { sockets: 1, cores: 1, threads: 2 }).cpu(Cpu::SkylakeClient);
    let script = "
        corun doctor --watch 10ms --json /results/report
        grep -l SMT /sys/devices/system/cpu/vulnerabilities/* >/results/mentioned
    ";
    let outcome =
        guest.boot(host, &Scenario::new(script)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
    let report = outcome.json("report");
    let explained = report["smt_vulnerabilities"].as_array().expect("a list");
    let mut mentioned = 0;
    for file in outcome.text("mentioned").lines() {
        mentioned += 1;
        let is_of_file = |one: &&Value| one["evidence"]["file"] == file.trim_start_matches('/');
        let one = explained.iter().find(is_of_file).unwrap_or_else(|| panic!("{file}: {report:#}"));
        for part in ["what", "meaning"] {
            assert!(!one[part].as_str().unwrap_or_default().contains("does not know"), "{one:#}");
        }
    }
    assert!(mentioned > 0, "{report:#}");
}
