//! What the kernel says of the machine and contradicts elsewhere.

use crate::doctor::check::{Answer, CannotTell, Check};
use crate::doctor::report::Evidence;
use crate::doctor::system::System;
use crate::doctor::words::count;
use crate::{Finding, FindingKind};

pub(super) const CHECK: Check = Check {
    name: "contradictions",
    why: "Arms are placed by what the kernel says of its cores: where that is wrong, siblings are \
          taken for cores of their own.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CannotTell> {
    // Offline CPUs, of which the core is not known, are another check's business.
    let odd: Vec<&Finding> = system
        .machine
        .findings
        .iter()
        .filter(|finding| finding.kind != FindingKind::UnknownCore)
        .collect();
    if odd.is_empty() {
        return Ok(Answer::fine("What the kernel says of its CPUs fits together."));
    }
    let evidence = odd.iter().map(|finding| Evidence::new(&finding.file, &finding.sentence));
    let points = count(odd.len(), "point");
    let sentence = format!("The kernel's description of the machine is odd in {points}.");
    Ok(Answer::disturbs(sentence).seen(evidence).advise(
        "Have the topology measured, and name the cores to use by hand if it is wrong.",
        ["corun topo --probe".to_owned()],
    ))
}
