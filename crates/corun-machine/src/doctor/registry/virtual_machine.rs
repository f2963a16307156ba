//! A hypervisor below the kernel.

use crate::doctor::check::{Answer, CannotTell, Check};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;

pub(super) const CHECK: Check = Check {
    name: "virtual-machine",
    why: "A hypervisor may put two virtual CPUs on one core of the host whatever the guest's \
          topology says, and may move them between two samples.",
    examine,
};

/// Where a hypervisor may leave its name.
const TRACES: [&str; 4] = [
    "sys/hypervisor/type",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
];

fn examine(system: &mut System<'_>) -> Result<Answer, CannotTell> {
    let cpuinfo = system.read_start("proc/cpuinfo");
    let Some(name) = system.machine.hypervisor.clone() else {
        return cpuinfo.map(|_| Answer::fine("There is no trace of a hypervisor."));
    };
    let mut evidence = Vec::new();
    let flags =
        |line: &&str| line.starts_with("flags") && line.split(' ').any(|it| it == "hypervisor");
    if cpuinfo.is_ok_and(|info| info.text.lines().any(|line| flags(&line))) {
        evidence.push(Evidence::new("proc/cpuinfo", "flags: ... hypervisor ..."));
    }
    for file in TRACES {
        evidence.extend(system.find(file).ok().flatten());
    }
    let sentence = format!("This is a virtual machine (hypervisor: {name}).");
    Ok(Answer::disturbs(sentence).seen(evidence).advise(
        "Measure on the host, or have each virtual CPU pinned there to a sibling of its own, and \
         check that the siblings are true.",
        ["corun topo --probe".to_owned()],
    ))
}
