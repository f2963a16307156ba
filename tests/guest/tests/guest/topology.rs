//! `corun topo` on shapes and SMT states of a real kernel.

use corun_guest_tests::{Cpu, Guest, Host, Outcome, Scenario, Shape};
use serde_json::{Value, json};

const TWO_BY_TWO: Shape = Shape { sockets: 1, cores: 2, threads: 2 };

/// The outcome of a scenario that must succeed; `None` where no guest can be booted.
fn boot(guest: &Guest, script: &str) -> Option<Outcome> {
    let host = Host::or_skip()?;
    let outcome =
        guest.boot(host, &Scenario::new(script)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
    Some(outcome)
}

/// One property of every logical CPU, by number.
fn of_each_cpu(topology: &Value, property: &str) -> Vec<Value> {
    topology["logical_cpus"]
        .as_array()
        .unwrap_or_else(|| panic!("no logical CPUs in {topology}"))
        .iter()
        .enumerate()
        .map(|(number, cpu)| {
            assert_eq!(cpu["id"], number, "{topology}");
            cpu[property].clone()
        })
        .collect()
}

/// The guest's CPUs are numbered thread by thread, core by core, socket by socket.
fn assert_shape(shape: Shape) {
    let Some(outcome) = boot(&Guest::new(shape), "corun topo --json - >/results/topology") else {
        return;
    };
    let topology = outcome.json("topology");
    let cpus = 0..shape.cpus();
    let siblings = |cpu: u32| {
        let first = cpu - cpu % shape.threads;
        json!((first..first + shape.threads).collect::<Vec<_>>())
    };
    let package = |cpu: u32| json!(cpu / (shape.cores * shape.threads));
    assert_eq!(of_each_cpu(&topology, "siblings"), cpus.clone().map(siblings).collect::<Vec<_>>());
    assert_eq!(of_each_cpu(&topology, "package"), cpus.clone().map(package).collect::<Vec<_>>());
    assert_eq!(of_each_cpu(&topology, "allowed"), cpus.map(|_| json!(true)).collect::<Vec<_>>());
    assert_eq!(topology["smt"], json!({ "control": "on", "active": true, "width": shape.threads }));
    assert_eq!(topology["findings"], json!([]));
}

#[test]
fn two_cores_of_two_threads() {
    assert_shape(TWO_BY_TWO);
}

#[test]
fn one_core_of_four_threads() {
    assert_shape(Shape { sockets: 1, cores: 1, threads: 4 });
}

#[test]
fn two_sockets() {
    assert_shape(Shape { sockets: 2, cores: 2, threads: 2 });
}

#[test]
fn smt_states_at_boot() {
    for (cpu, argument, control) in [
        (Cpu::Nehalem, "nosmt", "off"),
        (Cpu::Nehalem, "nosmt=force", "forceoff"),
        (Cpu::SkylakeClient, "mitigations=auto,nosmt", "off"),
        (Cpu::Epyc, "", "notsupported"),
    ] {
        let guest = Guest::new(TWO_BY_TWO).cpu(cpu).kernel_argument(argument);
        let Some(outcome) = boot(&guest, "corun topo --json - >/results/topology") else { return };
        let topology = outcome.json("topology");
        assert_eq!(topology["smt"]["control"], control, "{argument}");
        assert_eq!(topology["smt"]["active"], false, "{argument}");
        let siblings_online = control == "notsupported";
        assert_eq!(
            of_each_cpu(&topology, "online"),
            [true, siblings_online, true, siblings_online].map(Value::from),
            "{argument}"
        );
    }
}

#[test]
fn siblings_offlined_by_hand_and_by_the_switch() {
    let script = "
        cpus=/sys/devices/system/cpu
        echo 0 >$cpus/cpu1/online
        echo 0 >$cpus/cpu3/online
        corun topo --json - >/results/by-hand
        echo off >$cpus/smt/control
        corun topo --json - >/results/off
        echo on >$cpus/smt/control
        corun topo --json - >/results/on
        echo 0 >$cpus/cpu2/online
        echo 0 >$cpus/cpu3/online
        corun topo --json - >/results/core-offline
    ";
    let Some(outcome) = boot(&Guest::new(TWO_BY_TWO), script) else { return };
    for (state, control, active, online) in [
        // The switch still says `on`: the kernel counts what is allowed, not what is online.
        ("by-hand", "on", false, [true, false, true, false]),
        ("off", "off", false, [true, false, true, false]),
        ("on", "on", true, [true; 4]),
        ("core-offline", "on", true, [true, true, false, false]),
    ] {
        let topology = outcome.json(state);
        assert_eq!(topology["smt"]["control"], control, "{state}");
        assert_eq!(topology["smt"]["active"], active, "{state}");
        assert_eq!(of_each_cpu(&topology, "online"), online.map(Value::from), "{state}");
        assert_eq!(of_each_cpu(&topology, "allowed"), online.map(Value::from), "{state}");
    }
    assert_eq!(of_each_cpu(&outcome.json("core-offline"), "siblings")[0], json!([0, 1]));
}
