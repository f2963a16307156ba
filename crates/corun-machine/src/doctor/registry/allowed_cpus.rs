//! CPUs that an affinity mask or a cpuset takes away, siblings of allowed ones above all.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;
use crate::doctor::words::cpus;
use crate::{Core, CpuSet};

pub(super) const CHECK: Check = Check {
    name: "allowed-cpus",
    why: "Only a core of which all siblings are allowed can run full and keep siblings idle; a \
          forbidden sibling may be busy with the work of others.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let machine = system.machine;
    let (online, allowed) = (machine.online(), machine.allowed());
    if machine.allowed_by.affinity.is_none() && machine.allowed_by.cpuset.is_none() {
        return Err(CheckUnavailable::new(
            "Neither an affinity mask nor a cpuset of the measuring process can be read here.",
        ));
    }
    let evidence = evidence(system)?;
    if allowed.is_empty() {
        return Ok(Answer::spoils("No CPU that is online is allowed.").seen(evidence));
    }
    if allowed == online {
        let sentence = format!("All {} CPUs that are online are allowed.", online.len());
        return Ok(Answer::fine(sentence).seen(evidence));
    }
    let siblings = |core: &Core| core.cpus.intersection(&online);
    let paired = machine.cores.iter().filter(|core| siblings(core).len() > 1);
    let (whole, other): (Vec<&Core>, Vec<&Core>) =
        paired.partition(|core| siblings(core).is_subset(&allowed));
    let lost: CpuSet = other
        .iter()
        .filter(|core| !core.cpus.is_disjoint(&allowed))
        .flat_map(|core| siblings(core).difference(&allowed).as_slice().to_vec())
        .collect();
    let answer = if lost.is_empty() {
        Answer::note(format!(
            "{} of {} CPUs are allowed: {}, whole cores. The others may be busy with other work.",
            allowed.len(),
            online.len(),
            cpus(&allowed)
        ))
    } else if whole.is_empty() {
        Answer::spoils(format!(
            "No core has all its siblings allowed: {} {} missing.",
            cpus(&lost),
            if lost.len() == 1 { "is" } else { "are" }
        ))
    } else {
        Answer::disturbs(format!("Some siblings of allowed CPUs are not allowed: {}.", cpus(&lost)))
    };
    let advice = "Run corun with whole cores: widen the mask (taskset, numactl) or the cpuset (the \
                  service's AllowedCPUs, the container's CPUs).";
    let answer = answer.seen(evidence);
    Ok(if lost.is_empty() { answer } else { answer.advise(advice, []) })
}

/// The mask and the cpuset, as far as there are any.
fn evidence(system: &mut System<'_>) -> Result<Vec<Evidence>, CheckUnavailable> {
    let mut evidence = Vec::new();
    if let Some(status) = system.find("proc/self/status")?
        && let Some(line) = status.text.lines().find(|line| line.starts_with("Cpus_allowed_list:"))
    {
        let line: Vec<&str> = line.split_whitespace().collect();
        evidence.push(Evidence::new(status.file.clone(), line.join(" ")));
    }
    if let Some(cpuset) = &system.machine.allowed_by.cpuset {
        evidence.extend(system.find(&cpuset.file)?);
    }
    Ok(evidence)
}
