//! The kernel's moving of pages to the node that uses them
//! (`Documentation/admin-guide/sysctl/kernel.rst`).

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::system::System;
use crate::doctor::words::count;

pub(super) const CHECK: Check = Check {
    name: "numa-balancing",
    why: "Pages that move during a sample, and the page faults that find out where to, cost arms \
          on several nodes more than arms on one.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let nodes = system.machine.numa_nodes.len();
    if nodes < 2 {
        return Ok(Answer::fine("There are no NUMA nodes to balance between."));
    }
    let found = system.read("proc/sys/kernel/numa_balancing")?;
    if found.number::<u32>()? == 0 {
        let sentence =
            format!("The kernel leaves pages where they are, on {}.", count(nodes, "node"));
        return Ok(Answer::fine(sentence).seen([found]));
    }
    let sentence = format!("The kernel moves pages between {}.", count(nodes, "node"));
    Ok(Answer::disturbs(sentence).seen([found]).advise(
        "Switch it off while measuring.",
        ["sudo sysctl kernel.numa_balancing=0".to_owned()],
    ))
}
