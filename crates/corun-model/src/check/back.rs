//! Checks of the back end.

use std::collections::BTreeSet;

use super::super::back::{BackEnd, Elimination, PortAssignment};
use super::front::{mnemonics, subset};
use super::{Faults, MAX_ENTRIES};
use crate::{MAX_IN_FLIGHT, MAX_PORTS};

/// Names of a thread's registers of one kind, which never are free.
const ARCHITECTURAL: u32 = 8;
/// Cycles from renaming to the first start, and until a free place for a copy is known.
const LONGEST_ISSUE: u32 = 64;
const LONGEST_COPY: u32 = 7;

pub(super) fn check(back: &BackEnd, faults: &mut Faults) {
    faults.a_cycle("back.dispatch.entries", back.dispatch.entries);
    faults.a_cycle("back.retire.entries", back.retire.entries);
    faults.within("back.rob.entries", back.rob.entries, 1, MAX_IN_FLIGHT);
    faults.resource("back.rob", "entries", back.rob.entries, &back.rob.sharing);
    let registers = &back.registers;
    let least = ARCHITECTURAL * faults.smt_width + 1;
    let kinds = [
        ("integer", Some(registers.integer)),
        ("vector", Some(registers.vector)),
        ("mask", registers.mask),
    ];
    for (kind, count) in kinds {
        if let Some(count) = count {
            let path = format!("back.registers.{kind}");
            faults.within(&path, count, least, MAX_ENTRIES);
            faults.resource("back.registers", kind, count, &registers.sharing);
        }
    }
    if let Some(delay) = back.issue_delay {
        faults.within("back.issue_delay", delay, 1, LONGEST_ISSUE);
    }
    schedulers(back, faults);
    elimination(&back.elimination, faults);
    for (index, one) in back.divisions.iter().enumerate() {
        let path = format!("back.divisions.{index}");
        mnemonics(&format!("{path}.mnemonics"), &one.mnemonics, faults);
        faults.within(&format!("{path}.width"), one.width, 8, 64);
        faults.cycles(&format!("{path}.latency"), one.latency);
        faults.within(&format!("{path}.free"), one.free, 0, one.width.clamp(8, 64));
        if let Some(each) = one.bits_a_cycle {
            faults.within(&format!("{path}.bits_a_cycle"), each, 1, 64);
        }
        faults.within(&format!("{path}.assumed_bits"), one.assumed_bits, 0, one.width.clamp(8, 64));
        for (place, [from, cycles]) in one.busy.iter().enumerate() {
            let least = if place == 0 { 0 } else { one.busy[place - 1][0].saturating_add(1) };
            faults.within(&format!("{path}.busy.{place}.0"), *from, least, least.max(64));
            faults.cycles(&format!("{path}.busy.{place}.1"), *cycles);
        }
    }
    for (index, one) in back.repetitions.iter().enumerate() {
        let path = format!("back.repetitions.{index}");
        mnemonics(&format!("{path}.mnemonics"), &one.mnemonics, faults);
        faults.cycles(&format!("{path}.begin"), one.begin);
        faults.cycles(&format!("{path}.element"), one.element);
        if let Some(bulk) = one.bulk {
            faults.within(&format!("{path}.bulk.from"), bulk.from, 0, MAX_ENTRIES);
            faults.cycles(&format!("{path}.bulk.begin"), bulk.begin);
            faults.a_cycle(&format!("{path}.bulk.bytes"), bulk.bytes);
        }
    }
}

fn schedulers(back: &BackEnd, faults: &mut Faults) {
    if back.schedulers.is_empty() {
        faults.add("back.schedulers", "at least one", "none");
    }
    let (mut names, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for (index, scheduler) in back.schedulers.iter().enumerate() {
        let path = format!("back.schedulers.{index}");
        faults.text(&format!("{path}.name"), &scheduler.name);
        faults.text(&format!("{path}.group"), &scheduler.group);
        if !names.insert(&scheduler.name) {
            let found = format!("\"{}\" twice", scheduler.name);
            faults.add(format!("{path}.name"), "a name for each scheduler", found);
        }
        faults.resource(&path, "entries", scheduler.entries, &scheduler.sharing);
        if scheduler.ports.is_empty() {
            faults.add(format!("{path}.ports"), "at least one", "none");
        }
        if scheduler.binds_late && back.port_assignment != PortAssignment::Fewest {
            let expected = "false, where the renamer's own counts assign ports";
            faults.add(format!("{path}.binds_late"), expected, "true");
        }
        for port in &scheduler.ports {
            let is_name = |it: char| it.is_ascii_alphanumeric();
            if port.is_empty() || !port.chars().all(is_name) {
                let found = format!("\"{port}\"");
                faults.add(format!("{path}.ports"), "names of letters and digits", found);
            }
            if !ports.insert(port) {
                let found = format!("\"{port}\" twice");
                faults.add(format!("{path}.ports"), "each port in one scheduler", found);
            }
        }
    }
    for unit in &back.units {
        if !ports.insert(unit) {
            faults.add("back.units", "names that no port has", format_args!("\"{unit}\""));
        }
    }
    if ports.len() > MAX_PORTS as usize {
        let expected = format!("at most {MAX_PORTS} ports");
        faults.add("back.schedulers", expected, ports.len());
    }
    for (index, queue) in back.non_scheduling_queues.iter().enumerate() {
        let path = format!("back.non_scheduling_queues.{index}");
        faults.resource(&path, "entries", queue.entries, &queue.sharing);
        if queue.schedulers.is_empty() {
            faults.add(format!("{path}.schedulers"), "at least one", "none");
        }
        for name in queue.schedulers.iter().filter(|name| !names.contains(name)) {
            let known = names.iter().map(|name| name.as_str());
            faults.unknown(&format!("{path}.schedulers"), name, known);
        }
    }
}

fn elimination(elimination: &Elimination, faults: &mut Faults) {
    if let Some(slots) = &elimination.move_slots {
        let path = "back.elimination.move_slots";
        faults.within(&format!("{path}.cycles"), slots.cycles, 1, LONGEST_COPY);
        for (file, places) in [("integer", slots.integer), ("vector", slots.vector)] {
            faults.within(&format!("{path}.{file}"), places, 0, MAX_ENTRIES);
        }
    }
    mnemonics("back.elimination.zero_idioms", &elimination.zero_idioms, faults);
    mnemonics("back.elimination.ones_idioms", &elimination.ones_idioms, faults);
    mnemonics("back.elimination.carry_idioms", &elimination.carry_idioms, faults);
    mnemonics("back.elimination.unmerged", &elimination.unmerged, faults);
    let without_port = "back.elimination.without_port";
    subset(without_port, &elimination.without_port, &elimination.zero_idioms, faults);
    if let Some(moves) = elimination.moves_a_cycle {
        faults.a_cycle("back.elimination.moves_a_cycle", moves);
        if !elimination.integer_moves && !elimination.vector_moves {
            let path = "back.elimination.moves_a_cycle";
            faults.add(path, "none where no move is eliminated", moves);
        }
    }
}
