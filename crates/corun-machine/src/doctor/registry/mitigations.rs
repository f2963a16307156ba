//! Mitigations of the processor's vulnerabilities by the kernel, and their cost at its boundaries.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::{CPUS, System};
use crate::doctor::words::count;

pub(super) const CHECK: Check = Check {
    name: "mitigations",
    why: "Mitigations make system calls and task switches dearer, some of them only while siblings \
          are active: figures hold for machines with the same ones.",
    examine,
};

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let folder = format!("{CPUS}/vulnerabilities");
    let boot_line = system.boot_line();
    let word = boot_line.ok().and_then(|line| line.find("mitigations").map(Evidence::boot_word));
    let mut active = Vec::new();
    for name in system.list(&folder) {
        let found = system.read(&format!("{folder}/{name}"))?;
        active.extend(Some(found).filter(is_mitigated));
    }
    let listed = !system.list(&folder).is_empty();
    let value = |word: &Evidence| word.text.split_once('=').map(|(_, value)| value.to_owned());
    match word.as_ref().and_then(value).as_deref() {
        Some("off") => {
            let sentence = "The boot line switches mitigations off: figures do not carry over to \
                            machines that have them.";
            Ok(Answer::note(sentence).seen(word).seen(active))
        }
        Some(value) if value.split(',').any(|part| part == "nosmt") => {
            let sentence = "The boot line lets the kernel switch SMT off where a mitigation asks \
                            for it.";
            Ok(Answer::note(sentence)
                .seen(word)
                .seen(active)
                .advise("To measure with SMT, boot with `mitigations=auto`.", []))
        }
        _ if !listed => Err(CheckUnavailable::new(format!(
            "/{folder} is missing, as it is in kernels before 4.15."
        ))),
        _ if active.is_empty() => Ok(Answer::fine("No mitigation is active.").seen(word)),
        _ => {
            let number = count(active.len(), "mitigation");
            let verb = if active.len() == 1 { "is" } else { "are" };
            Ok(Answer::note(format!("{number} {verb} active.")).seen(word).seen(active))
        }
    }
}

fn is_mitigated(found: &Evidence) -> bool {
    found.text.starts_with("Mitigation")
}
