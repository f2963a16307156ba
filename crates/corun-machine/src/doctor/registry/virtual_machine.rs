//! A hypervisor below the kernel.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;
use crate::hypervisor::{Hypervisor, Trace};

pub(super) const CHECK: Check = Check {
    name: "virtual-machine",
    why: "A hypervisor may put two virtual CPUs on one core of the host whatever the guest's \
          topology says, and may move them between two samples.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let evidence = |trace: Trace| Evidence::new(trace.file, trace.text);
    match system.hypervisor() {
        Hypervisor::Found { name, traces } => {
            let sentence = format!("This is a virtual machine (hypervisor: {name}).");
            Ok(Answer::disturbs(sentence).seen(traces.into_iter().map(evidence)).advise(
                "Measure on the host, or have each virtual CPU pinned there to a sibling of its \
                 own, and check that the siblings are true.",
                ["corun topo --probe".to_owned()],
            ))
        }
        Hypervisor::Absent { sentence, trace } => {
            Ok(Answer::fine(sentence).seen(trace.map(evidence)))
        }
        Hypervisor::Unknown => system.read_start("proc/cpuinfo").and_then(|_| {
            Err(CheckUnavailable::new(
                "No file of this machine shows whether a hypervisor is below the kernel: the \
                 processor has no flag for it, and firmware and devices are not described.",
            ))
        }),
    }
}
