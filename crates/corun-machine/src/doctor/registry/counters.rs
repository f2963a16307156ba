//! Hardware counters: whether there are any, and whether this user may have them
//! (`Documentation/admin-guide/perf-security.rst`).

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;

pub(super) const CHECK: Check = Check {
    name: "counters",
    why: "Without instructions and misses a run can show that siblings cost time, and not which \
          shared resource it went to.",
    examine,
};

const DEVICES: &str = "sys/bus/event_source/devices";
/// The capabilities CAP_SYS_ADMIN and CAP_PERFMON (`capabilities(7)`).
const PRIVILEGED: u64 = 1 << 21 | 1 << 38;
/// Above this, an ordinary user may not even count in his own programs.
const PARANOID: i32 = 2;

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let devices = system.list(DEVICES);
    if devices.is_empty() {
        return Err(CheckUnavailable::new(format!("/{DEVICES} shows nothing.")));
    }
    let is_core = |name: &&String| {
        ["cpu", "cpu_core", "cpu_atom", "cpum_cf"].contains(&name.as_str())
            || ["armv", "apple_"].iter().any(|vendor| name.starts_with(vendor))
    };
    let cores: Vec<&str> = devices.iter().filter(is_core).map(String::as_str).collect();
    if cores.is_empty() {
        let answer = Answer::note("There are no hardware counters.")
            .seen([Evidence::new(DEVICES, devices.join(" "))]);
        return Ok(if system.machine.hypervisor.is_some() {
            answer.advise("Ask for a virtual machine with a performance monitoring unit.", [])
        } else {
            answer
        });
    }
    let paranoid = system.read("proc/sys/kernel/perf_event_paranoid")?;
    let evidence = [Evidence::new(DEVICES, cores.join(" ")), paranoid.clone()];
    if paranoid.number::<i32>()? <= PARANOID || is_privileged(system)? {
        return Ok(
            Answer::fine("There are hardware counters, and corun may use them.").seen(evidence)
        );
    }
    Ok(Answer::note("There are hardware counters, and this user may not use them.")
        .seen(evidence)
        .advise(
            "Allow users to count in their own programs.",
            [format!("sudo sysctl kernel.perf_event_paranoid={PARANOID}")],
        ))
}

/// True if this process has a capability that lifts the restriction.
fn is_privileged(system: &mut System<'_>) -> Result<bool, CheckUnavailable> {
    let status = system.read("proc/self/status")?;
    let effective = status.text.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    match effective {
        Some(capabilities) => Ok(capabilities & PRIVILEGED != 0),
        None => Err(CheckUnavailable::new("/proc/self/status has no CapEff.")),
    }
}
