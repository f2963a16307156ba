//! Siblings to compare: the switch, what the boot line forces, what was taken offline by hand.

use crate::doctor::check::{Answer, Check, CheckUnavailable};
use crate::doctor::report::Evidence;
use crate::doctor::system::{CPUS, System};
use crate::doctor::words::{count, cpus, write};
use crate::{Core, CpuSet, SmtControl};

pub(super) const CHECK: Check = Check {
    name: "smt",
    why: "What sharing a core does can only be seen where a core has two siblings online.",
    examine,
};

/// More commands than this are not shown.
const COMMANDS: usize = 8;

fn examine(system: &mut System<'_>) -> Result<Answer, CheckUnavailable> {
    let machine = system.machine;
    let online = machine.online();
    let siblings = |core: &Core| core.cpus.intersection(&online).len();
    let siblings: Vec<usize> = machine.cores.iter().map(siblings).filter(|&it| it > 1).collect();
    let pairs = siblings.len();
    let present = machine.logical_cpus.iter().filter(|cpu| cpu.present).map(|cpu| cpu.id);
    let offline = present.collect::<CpuSet>().difference(&online);
    let mut evidence = evidence(system, &offline);
    let control = machine.smt.control.as_ref();
    if pairs == 0 {
        let answer = match control {
            Some(SmtControl::Off | SmtControl::Threads(_)) => Answer::spoils(
                "SMT is switched off: no core has two siblings online, so there is nothing to \
                 compare.",
            )
            .advise("Switch SMT on.", ["sudo corun smt on".to_owned()]),
            Some(SmtControl::ForceOff) => Answer::spoils(
                "SMT is switched off until the next boot: no core has two siblings online, so \
                 there is nothing to compare.",
            )
            .advise("Take what forces it off out of the boot line, and boot again.", []),
            Some(SmtControl::On) if !offline.is_empty() => {
                let sentence = format!(
                    "SMT is switched on, yet no core has two siblings online: {} {} taken offline \
                     one by one, so there is nothing to compare.",
                    cpus(&offline),
                    if offline.len() == 1 { "was" } else { "were" },
                );
                Answer::spoils(sentence).advise("Bring them back.", back_online(&offline))
            }
            _ => Answer::spoils(
                "The kernel knows no core with two siblings, so there is nothing to compare.",
            )
            .advise(without_smt(machine.hypervisor.is_some()), []),
        };
        return Ok(answer.seen(evidence));
    }
    let on = matches!(control, None | Some(SmtControl::On | SmtControl::NotImplemented));
    if !offline.is_empty() {
        let by = if on { " although SMT is on" } else { "" };
        let verb = if offline.len() == 1 { "is" } else { "are" };
        let sentence = format!(
            "{} {verb} offline{by}; {} still {} two siblings or more.",
            cpus(&offline),
            count(pairs, "core"),
            if pairs == 1 { "has" } else { "have" },
        );
        let advice = "Bring them back, unless cores of several widths are meant.";
        return Ok(Answer::disturbs(sentence).seen(evidence).advise(advice, back_online(&offline)));
    }
    evidence.truncate(2);
    let width = siblings.iter().max().unwrap_or(&0);
    let upto = if siblings.iter().all(|it| it == width) { "" } else { "up to " };
    let sentence = if pairs == 1 {
        format!("1 core has {width} siblings online.")
    } else {
        format!("{pairs} cores have {upto}{width} siblings online each.")
    };
    Ok(Answer::fine(sentence).seen(evidence))
}

/// The switch, the CPUs that are offline, and what the boot line says of it.
fn evidence(system: &mut System<'_>, offline: &CpuSet) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    for file in ["control", "active"] {
        // The lists of siblings decide; what cannot be read here is reported as a contradiction.
        evidence.extend(system.find(&format!("{CPUS}/smt/{file}")).ok().flatten());
    }
    if !offline.is_empty() {
        evidence.extend(system.find(&format!("{CPUS}/online")).ok().flatten());
        evidence.extend(system.of_cpus(offline, "online").ok().and_then(|files| files.evidence()));
    }
    if let Ok(boot_line) = system.boot_line() {
        let words = boot_line.about_siblings();
        evidence.extend(words.iter().map(|word| Evidence::boot_word(&word.text)));
    }
    evidence
}

fn back_online(offline: &CpuSet) -> Vec<String> {
    let command = |cpu| write("1", &format!("{CPUS}/cpu{cpu}/online"));
    offline.iter().take(COMMANDS).map(command).collect()
}

fn without_smt(virtual_machine: bool) -> &'static str {
    if virtual_machine {
        "Give the virtual machine cores with two threads, each pinned to a sibling of one core of \
         the host."
    } else {
        "If the processor has SMT, the firmware's settings may switch it on."
    }
}
