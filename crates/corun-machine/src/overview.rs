//! A machine in three lines, for who calls corun for the first time: cores and siblings, what this process may use of
//! them, and what would spoil a measurement.

use corun_record::excerpt;

use crate::doctor::words::count;
use crate::doctor::{Diagnosis, Report, Severity};
use crate::smt::SmtControl;
use crate::{CpuLimits, Machine};

/// The three lines.
pub fn overview(machine: &Machine, limits: &CpuLimits, report: &Report) -> [String; 3] {
    [cores(machine), usable(limits), worst(report)]
}

/// `Some CPU: 4 cores of 2 siblings, 8 logical CPUs, SMT is on.`
fn cores(machine: &Machine) -> String {
    let model = machine.cpu_model.as_deref().map_or("CPU of unknown model".to_owned(), excerpt);
    let guest = machine.hypervisor.as_deref().map(|name| match name {
        "unknown" => " (virtual machine)".to_owned(),
        name => format!(" (virtual machine, {})", excerpt(name)),
    });
    let cpus = count(machine.online().len(), "logical CPU");
    let cores = match machine.cores.len() {
        0 => "cores not known".to_owned(),
        number => count(number, "core"),
    };
    format!("{model}{}: {cores}, {cpus} online; {}.", guest.unwrap_or_default(), smt(machine))
}

/// Number of siblings of a core, and their state.
fn smt(machine: &Machine) -> String {
    let online = machine.online();
    let widths = machine.cores.iter().map(|core| core.cpus.intersection(&online).len());
    let with_siblings = widths.clone().filter(|width| *width > 1).count();
    let most = widths.max().unwrap_or(0);
    match (&machine.smt.control, most) {
        (Some(SmtControl::Off), 0..=1) => "SMT is switched off".to_owned(),
        (Some(SmtControl::ForceOff), 0..=1) => "SMT is off until the next boot".to_owned(),
        (_, 0) => "siblings not known".to_owned(),
        (_, 1) if machine.smt.width > 1 => "all siblings but one a core are offline".to_owned(),
        (_, 1) if machine.hypervisor.is_some() => "the guest sees no siblings".to_owned(),
        (_, 1) => "no SMT".to_owned(),
        (_, most) if with_siblings == machine.cores.len() => {
            format!("SMT is on, {most} siblings a core")
        }
        (_, most) => {
            let cores = machine.cores.len();
            format!("SMT is on, {most} siblings on {with_siblings} of {cores} cores")
        }
    }
}

fn usable(limits: &CpuLimits) -> String {
    let allowed = limits.allowed.len();
    let limited: Vec<String> = limits.limits.iter().map(ToString::to_string).collect();
    if limited.is_empty() && !limits.unknown.is_empty() {
        let cpus = count(allowed, "CPU");
        return format!(
            "This process may run on {cpus}; whether a control group limits its CPU time is not known."
        );
    }
    match (limited.is_empty(), allowed) {
        (true, 1) => "This process may use the only CPU.".to_owned(),
        (true, 2) => "This process may use both CPUs.".to_owned(),
        (true, _) => format!("This process may use all {allowed} CPUs."),
        (false, _) => limited.join(" "),
    }
}

/// The worst finding in a sentence, and how many more there are.
fn worst(report: &Report) -> String {
    let of = |severity| report.diagnoses.iter().filter(move |found| found.severity == severity);
    for (severity, verb) in [(Severity::Spoils, "spoil"), (Severity::Disturbs, "disturb")] {
        let found: Vec<&Diagnosis> = of(severity).collect();
        let [first, others @ ..] = &found[..] else { continue };
        let sentence = first_sentence(&first.sentence);
        let also: Vec<&str> = others.iter().map(|other| other.check.as_str()).collect();
        let also =
            if also.is_empty() { String::new() } else { format!(" Also: {}.", also.join(", ")) };
        return format!("Would {verb} a measurement: {}: {sentence}{also}", first.check);
    }
    "Nothing was found that would spoil a measurement.".to_owned()
}

/// A text up to the end of its first sentence.
fn first_sentence(text: &str) -> String {
    let text = excerpt(text);
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}
