//! Contradictions in the kernel's report on the machine.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::{CPUS, System};
use crate::doctor::words::count;
use crate::{Finding, FindingKind};

pub(super) const CHECK: Check = Check {
    name: "contradictions",
    why: "Arms are placed by what the kernel says of its cores: where that is wrong, siblings are \
          taken for cores of their own.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
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
    let mut evidence: Vec<Evidence> = Vec::new();
    for finding in &odd {
        for read in read_again(system, finding) {
            if !evidence.iter().any(|one| one.file == read.file && one.text == read.text) {
                evidence.push(read);
            }
        }
    }
    let points: Vec<&str> = odd.iter().map(|finding| finding.sentence.as_str()).collect();
    let sentence = format!(
        "The kernel's description of the machine is odd in {}: {}.",
        count(odd.len(), "point"),
        points.join("; ")
    );
    Ok(Answer::disturbs(sentence).seen(evidence).advise(
        "Have the topology measured, and name the cores to use by hand if it is wrong.",
        ["corun topo --probe".to_owned()],
    ))
}

/// Text of the file of a finding, or the files of the CPUs concerned; nothing where it cannot be
/// read, as the finding says.
fn read_again(system: &mut System<'_>, finding: &Finding) -> Vec<Evidence> {
    let of_each = finding.file.strip_prefix(CPUS).and_then(|rest| rest.strip_prefix("/cpu*/"));
    let read = match of_each {
        Some(name) => system.of_cpus(&finding.cpus, name).map(|files| files.evidence()),
        None => system.find(&finding.file),
    };
    read.ok().flatten().into_iter().collect()
}
