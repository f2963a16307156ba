//! Summary above and below the cores: the machine in a few lines, caches, legend, findings.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::doctor::words::ghz;
use crate::{CacheType, Clock, CpuSet, FindingKind, Machine};

use super::Palette;
use super::grid::Mark;

/// The machine in up to three lines.
pub(super) fn head(machine: &Machine, ink: &Palette) -> String {
    let model = machine.cpu_model.as_deref().unwrap_or("CPU model not known");
    let mut text = format!("{}\n", ink.bold(model));
    if let Some(hypervisor) = &machine.hypervisor {
        let _ = writeln!(text, "virtual machine, hypervisor: {hypervisor}");
    }
    let _ = writeln!(
        text,
        "{}{}, {}, {}; {}",
        count(machine.logical_cpus.len(), "logical CPU"),
        usable(machine),
        count(machine.cores.len(), "core"),
        count(machine.packages.len(), "package"),
        smt(machine),
    );
    text
}

/// Number of the CPUs that are online and allowed, where not all are.
fn usable(machine: &Machine) -> String {
    let (all, online) = (machine.logical_cpus.len(), machine.online().len());
    let allowed = machine.allowed().len();
    let online_part = (online < all).then(|| format!("{online} online"));
    let allowed_part = (allowed < online).then(|| format!("{allowed} allowed"));
    let parts: Vec<String> = online_part.into_iter().chain(allowed_part).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn smt(machine: &Machine) -> String {
    let width = format!("SMT width {}", machine.smt.width);
    let control = machine.smt.control.as_ref().map(|control| format!("control {control}"));
    let active = machine.smt.active.map(|active| if active { "active" } else { "not active" });
    let state: Vec<String> = control.into_iter().chain(active.map(str::to_owned)).collect();
    if state.is_empty() { width } else { format!("{width} ({})", state.join(", ")) }
}

/// Legend of the marks, for those that occur.
pub(super) fn legend(text: &mut String, marks: &[Mark]) {
    let occurring = Mark::ALL.iter().filter(|mark| marks.contains(mark));
    let meanings: Vec<String> =
        occurring.map(|mark| format!("{} {}", mark.sign(), mark.meaning())).collect();
    if !meanings.is_empty() {
        let _ = writeln!(text, "    {}", meanings.join("    "));
    }
}

/// CPUs without a known core, NUMA nodes, caches, clocks, findings.
pub(super) fn tail(text: &mut String, machine: &Machine, width: usize) {
    for (online, word) in [(true, "Online"), (false, "Offline")] {
        let homeless = machine.logical_cpus.iter().filter(|cpu| cpu.core.is_none());
        let homeless: CpuSet =
            homeless.filter(|cpu| cpu.online == online).map(|cpu| cpu.id).collect();
        if !homeless.is_empty() {
            let plural = plural(homeless.len());
            let _ = writeln!(text, "\n{word}, core not known: CPU{plural} {homeless}");
        }
    }
    nodes(text, machine);
    caches(text, machine);
    clocks(text, machine);
    // Cores that are not known have been named above.
    let odd = machine.findings.iter().filter(|one| one.kind != FindingKind::UnknownCore);
    let odd: Vec<&str> = odd.map(|finding| finding.sentence.as_str()).collect();
    if !odd.is_empty() {
        text.push_str("\nOdd:\n");
        odd.into_iter().for_each(|sentence| wrap(text, sentence, width));
    }
}

/// A line for each NUMA node: its memory and its CPUs. One node of which nothing is known says nothing.
fn nodes(text: &mut String, machine: &Machine) {
    if machine.numa_nodes.len() < 2
        && machine.numa_nodes.iter().all(|node| node.memory_bytes.is_none())
    {
        return;
    }
    text.push_str("\nNUMA nodes\n");
    for node in &machine.numa_nodes {
        let cpus = match node.cpus.len() {
            0 => "no CPUs".to_owned(),
            number => format!("CPU{} {}", plural(number), node.cpus),
        };
        let allowed = if node.allowed { "" } else { ", memory not allowed" };
        let _ =
            writeln!(text, "  {:<14} {:>14}  {cpus}{allowed}", node.id, size(node.memory_bytes));
    }
}

/// A line for each clock: its limits and who chooses between them.
fn clocks(text: &mut String, machine: &Machine) {
    if !machine.clocks.is_empty() {
        text.push_str("\nClocks\n");
    }
    for clock in &machine.clocks {
        let Clock { cpus, min_khz, base_khz, max_khz, governor, driver } = clock;
        let ghz = |khz: u32| ghz(u64::from(khz));
        let range = match (min_khz, max_khz) {
            (Some(min), Some(max)) if min == max => Some(ghz(*max)),
            (Some(min), Some(max)) => Some(format!("{} to {}", ghz(*min), ghz(*max))),
            (None, Some(max)) => Some(format!("up to {}", ghz(*max))),
            (Some(min), None) => Some(format!("from {}", ghz(*min))),
            (None, None) => None,
        };
        let base = base_khz.map(|khz| format!("base {}", ghz(khz)));
        let governor = governor.as_ref().map(|governor| format!("governor {governor}"));
        let driver = driver.as_ref().map(|driver| format!("driver {driver}"));
        let details: Vec<String> = [range, base, governor, driver].into_iter().flatten().collect();
        let _ = writeln!(text, "  CPU{} {cpus}: {}", plural(cpus.len()), details.join(", "));
    }
}

/// One line for each kind of cache: how many, and what each is.
fn caches(text: &mut String, machine: &Machine) {
    type Kind = (u32, CacheType, Option<u64>, Option<u32>, Option<u32>, usize);
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    for cache in &machine.caches {
        let cpus = cache.cpus.len();
        let kind =
            (cache.level, cache.cache_type, cache.size_bytes, cache.ways, cache.line_bytes, cpus);
        *kinds.entry(kind).or_default() += 1;
    }
    if !kinds.is_empty() {
        text.push_str("\nCaches\n");
    }
    for ((level, cache_type, bytes, ways, line, cpus), number) in kinds {
        let name = cache_name(level, cache_type);
        let ways = ways.map(|ways| match ways {
            0 => "fully associative".to_owned(),
            _ => format!("{ways} ways"),
        });
        let line = line.map(|line| format!("{line}-byte lines"));
        let sharers = (cpus > 1).then(|| format!("shared by {cpus} CPUs"));
        let details: Vec<String> = [ways, line, sharers].into_iter().flatten().collect();
        let amount = format!("{number} × {}", size(bytes));
        let _ = writeln!(text, "  {name:<14} {amount:>14}  {}", details.join(", "));
    }
}

/// Name of a cache of this level and type.
pub(super) fn cache_name(level: u32, cache_type: CacheType) -> String {
    match cache_type {
        CacheType::Data => format!("L{level} data"),
        CacheType::Instruction => format!("L{level} instruction"),
        CacheType::Unified => format!("L{level}"),
    }
}

/// A number of bytes in the largest binary unit that divides it well.
pub(crate) fn size(bytes: Option<u64>) -> String {
    let Some(bytes) = bytes else { return "of unknown size".to_owned() };
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((unit, factor)) = units.iter().find(|(_, factor)| bytes >= *factor) else {
        return format!("{bytes} B");
    };
    if bytes.is_multiple_of(*factor) {
        format!("{} {unit}", bytes / factor)
    } else {
        format!("{:.1} {unit}", bytes as f64 / *factor as f64)
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", plural(number))
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// Appends a sentence as an item of a list.
fn wrap(text: &mut String, sentence: &str, width: usize) {
    let mut line = String::from("  -");
    for word in sentence.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > width && line.trim().len() > 1 {
            let _ = writeln!(text, "{line}");
            line = "   ".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}
