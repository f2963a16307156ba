//! Checks of the front end.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use iced_x86::Mnemonic;

use super::super::CoreModel;
use super::super::front::{BranchPrediction, Constants, Fusion, OpCache};
use super::{Faults, MAX_CYCLES, MAX_ENTRIES, memory};

/// Instructions whose addresses the simulator remembers before they are renamed.
const LONGEST_QUEUE: u32 = 1 << 12;
/// Runs of code that prediction is ahead at most.
const MAX_AHEAD: u32 = 256;
/// Branches back that the longest history of a predictor holds.
const LONGEST_HISTORY: u32 = 1 << 12;
/// Lengths of history that a predictor uses.
const MAX_HISTORIES: usize = 32;
/// Bits of the longest tag.
const LONGEST_TAG: u32 = 16;
/// Entries that a misprediction takes.
const MOST_ALLOCATIONS: u32 = 8;
/// Micro-ops that one instruction can have before it is microcoded.
const MAX_UOPS: u32 = 8;
/// Bytes of the largest fetch, and of the window of an op cache.
const LARGEST_FETCH: u32 = 256;

pub(super) fn check(model: &CoreModel, faults: &mut Faults) {
    let front = &model.front;
    faults.power_of_two("front.fetch.bytes", front.fetch.bytes, LARGEST_FETCH);
    faults.cycles("front.fetch.length_changing_prefix", front.fetch.length_changing_prefix);
    memory::cache("front.l1i", &front.l1i, faults);
    memory::tlb("front.itlb", &front.itlb, faults);
    if let Some(huge) = front.itlb.huge {
        faults.add("front.itlb.huge", "none, as code is in pages of 4 KiB", huge);
    }
    prediction(&front.prediction, faults);
    let decoder = &front.decoder;
    faults.a_cycle("front.decoder.width", decoder.width);
    faults.within("front.decoder.first", decoder.first, 1, MAX_UOPS);
    faults.within("front.decoder.others", decoder.others, 1, decoder.first.max(1));
    faults.within("front.decoder.uops", decoder.uops, decoder.first, super::MAX_PER_CYCLE);
    if let Some(predecoder) = &front.predecoder {
        let path = "front.predecoder";
        faults.a_cycle(&format!("{path}.instructions"), predecoder.instructions);
        faults.resource(path, "queue", predecoder.queue, &predecoder.sharing);
        let least = predecoder.instructions.min(super::MAX_PER_CYCLE);
        faults.within(&format!("{path}.queue"), predecoder.queue, least, MAX_ENTRIES);
        faults.cycles(&format!("{path}.delay"), predecoder.delay);
    }
    subset("front.decoder.alone", &decoder.alone, &decoder.first_only, faults);
    if let Some(cache) = &front.op_cache {
        op_cache(cache, faults);
    }
    if let Some(buffer) = &front.loop_buffer {
        faults.resource("front.loop_buffer", "uops", buffer.uops, &buffer.sharing);
    }
    // An instruction of more micro-ops than a decoder makes must be microcoded.
    faults.within("front.microcode.from", front.microcode.from, 2, decoder.first.saturating_add(1));
    faults.a_cycle("front.microcode.width", front.microcode.width);
    faults.cycles("front.microcode.switch", front.microcode.switch);
    faults.cycles("front.microcode.from_decoders", front.microcode.from_decoders.unwrap_or(0));
    fusion(&front.fusion, faults);
    faults.resource("front.queue", "entries", front.queue.entries, &front.queue.sharing);
    let least = model.back.dispatch.entries.min(super::MAX_PER_CYCLE);
    faults.within("front.queue.entries", front.queue.entries, least, LONGEST_QUEUE);
}

fn prediction(prediction: &BranchPrediction, faults: &mut Faults) {
    let tage = &prediction.direction;
    faults.power_of_two("front.prediction.direction.base", tage.base, MAX_ENTRIES);
    faults.power_of_two("front.prediction.direction.table", tage.table, MAX_ENTRIES);
    faults.within("front.prediction.direction.tag", tage.tag, 1, LONGEST_TAG);
    let allocations = "front.prediction.direction.allocations";
    faults.within(allocations, tage.allocations, 1, MOST_ALLOCATIONS);
    let field = "front.prediction.direction.histories";
    histories(field, &tage.histories, 1..=LONGEST_HISTORY, faults);
    let (targets, taken) = (&prediction.targets, &prediction.taken);
    if targets.is_empty() || !targets.is_sorted_by(|a, b| a < b) {
        let expected = "at least one number, each larger than the one before";
        faults.add("front.prediction.targets", expected, format_args!("{targets:?}"));
    }
    for &entries in targets {
        faults.entries("front.prediction.targets", entries);
    }
    if taken.len() != targets.len() || !taken.is_sorted() {
        let expected = format!("{} numbers, none smaller than the one before", targets.len());
        faults.add("front.prediction.taken", expected, format_args!("{taken:?}"));
    }
    for &cycles in taken {
        faults.cycles("front.prediction.taken", cycles);
    }
    let indirect = &prediction.indirect;
    faults.within("front.prediction.indirect.entries", indirect.entries, 1, MAX_ENTRIES);
    let of_branch = indirect.of_branch.unwrap_or(indirect.entries);
    faults.within("front.prediction.indirect.of_branch", of_branch, 1, indirect.entries);
    faults.cycles("front.prediction.indirect.bubble", indirect.bubble);
    faults.cycles("front.prediction.linking", prediction.linking);
    let field = "front.prediction.indirect.histories";
    histories(field, &indirect.histories, 0..=u64::BITS, faults);
    faults.within("front.prediction.return_stack", prediction.return_stack, 1, LONGEST_HISTORY);
    faults.within("front.prediction.ahead", prediction.ahead, 0, MAX_AHEAD);
    faults.within("front.prediction.mispredict", prediction.mispredict, 1, MAX_CYCLES);
    faults.within("front.prediction.resteer", prediction.resteer, 0, prediction.mispredict);
}

fn histories(field: &str, lengths: &[u32], within: RangeInclusive<u32>, faults: &mut Faults) {
    if !lengths.is_sorted_by(|a, b| a < b) {
        faults.add(field, "lengths that rise", format_args!("{lengths:?}"));
    }
    for &length in lengths {
        faults.within(field, length, *within.start(), *within.end());
    }
    if lengths.len() > MAX_HISTORIES {
        faults.add(field, format_args!("at most {MAX_HISTORIES} lengths"), lengths.len());
    }
}

fn op_cache(cache: &OpCache, faults: &mut Faults) {
    faults.within("front.op_cache.sets", cache.sets, 1, MAX_ENTRIES);
    faults.within("front.op_cache.ways", cache.ways, 1, 256);
    if u64::from(cache.sets) * u64::from(cache.ways) > MAX_ENTRIES.into() {
        let expected = format!("as many sets as hold {MAX_ENTRIES} lines at most");
        faults.add("front.op_cache.sets", expected, cache.sets);
    }
    faults.sets("front.op_cache", "sets", cache.sets, cache.ways, &cache.sharing);
    faults.within("front.op_cache.line", cache.line, 1, 64);
    if let Some(Constants { free, most }) = cache.constants {
        faults.within("front.op_cache.constants.free", free, 0, most);
        // An instruction has at most two, and one of them may be of 64 bits.
        faults.within("front.op_cache.constants.most", most, 3, 64);
    }
    faults.power_of_two("front.op_cache.window", cache.window, LARGEST_FETCH);
    if let Some(lines) = cache.lines_of_window {
        faults.within("front.op_cache.lines_of_window", lines, 1, cache.ways);
    }
    faults.a_cycle("front.op_cache.width", cache.width);
    faults.a_cycle("front.op_cache.lines", cache.lines);
    if let Some(cycles) = cache.further_read {
        faults.within("front.op_cache.further_read", cycles, 2, 16);
        if cache.trace_cache {
            let expected = "none in a trace cache, whose lines no window bounds";
            faults.add("front.op_cache.further_read", expected, cycles);
        }
    }
    faults.cycles("front.op_cache.switch", cache.switch);
}

fn fusion(fusion: &Fusion, faults: &mut Faults) {
    mnemonics("front.fusion.with_branch", &fusion.with_branch, faults);
    mnemonics("front.fusion.with_copy", &fusion.with_copy, faults);
    for (field, list) in
        [("without_sign", &fusion.without_sign), ("without_carry", &fusion.without_carry)]
    {
        subset(&format!("front.fusion.{field}"), list, &fusion.with_branch, faults);
    }
}

/// Names of instructions, as the decoder has them.
pub(super) fn mnemonics(path: &str, found: &[String], faults: &mut Faults) {
    static KNOWN: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| Mnemonic::values().map(|it| format!("{it:?}").to_lowercase()).collect());
    for name in found.iter().filter(|name| !KNOWN.contains(*name)) {
        faults.unknown(path, name, KNOWN.iter().map(String::as_str));
    }
}

/// Names that must be in a longer list too.
pub(super) fn subset(path: &str, found: &[String], of: &[String], faults: &mut Faults) {
    for name in found.iter().filter(|name| !of.contains(name)) {
        faults.unknown(path, name, of.iter().map(String::as_str));
    }
}
