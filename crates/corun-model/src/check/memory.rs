//! Checks of loads, stores, and every cache.

use super::super::CoreModel;
use super::super::hierarchy::LINE;
use super::super::memory::{Cache, Forwarding, Loads, Stores, Tlb};
use super::Faults;

/// Bytes of the widest access.
const WIDEST_ACCESS: u32 = 64;
/// KiB of the largest first-level cache.
const LARGEST_CACHE: u32 = 1 << 14;

/// Bits of a linear address that a first level compares to distinguish lines, at most.
const MAX_ALIAS_BITS: u32 = 24;
/// Lines stored to last that are remembered.
const MAX_STORED_LINES: u32 = 64;
/// Loads that remember their stores.
const MAX_FORWARDING_PAIRS: u32 = 256;

pub(super) fn check(model: &CoreModel, faults: &mut Faults) {
    let memory = &model.memory;
    loads(&memory.loads, faults);
    stores(&memory.stores, faults);
    forwarding(&memory.forwarding, faults);
    if let Some(tags) = &memory.microtags {
        faults.cycles("memory.microtags.latency", tags.latency);
        faults.cycles("memory.microtags.interval", tags.interval);
        faults.within("memory.microtags.conflict_accesses", tags.conflict_accesses, 0, 16);
        faults.within("memory.microtags.retag_accesses", tags.retag_accesses, 0, 16);
    }
    if let Some(alias) = &memory.line_alias {
        faults.within(
            "memory.line_alias.bits",
            alias.bits,
            LINE.trailing_zeros() + 1,
            MAX_ALIAS_BITS,
        );
    }
    cache("memory.l1d", &memory.l1d, faults);
    tlb("memory.dtlb", &memory.dtlb, faults);
    if let Some(huge) = memory.dtlb.huge {
        tlb_entries("memory.dtlb", "huge", huge, &memory.dtlb, faults);
    }
    let all: Vec<&str> =
        model.back.schedulers.iter().flat_map(|it| &it.ports).map(String::as_str).collect();
    let lists = [
        ("memory.loads.ports", &memory.loads.ports),
        ("memory.stores.address_ports", &memory.stores.address_ports),
        ("memory.loads.vector_ports", &memory.loads.vector_ports),
        ("memory.stores.simple_address_ports", &memory.stores.simple_address_ports),
        ("memory.stores.data_ports", &memory.stores.data_ports),
        ("memory.stores.vector_data_ports", &memory.stores.vector_data_ports),
        ("front.fusion.ports", &model.front.fusion.ports),
    ];
    for (path, ports) in lists {
        for port in ports.iter().filter(|port| !all.contains(&port.as_str())) {
            faults.unknown(path, port, all.iter().copied());
        }
    }
    for (path, ports) in &lists[..2] {
        if ports.is_empty() {
            faults.add(*path, "at least one", "none");
        }
    }
}

fn loads(loads: &Loads, faults: &mut Faults) {
    faults.resource("memory.loads", "entries", loads.entries, &loads.sharing);
    faults.a_cycle("memory.loads.rate", loads.rate);
    faults.a_cycle("memory.loads.vector_rate", loads.vector_rate);
    faults.power_of_two("memory.loads.width", loads.width, WIDEST_ACCESS);
    for (field, cycles) in [("latency", loads.latency), ("vector_latency", loads.vector_latency)] {
        faults.within(&format!("memory.loads.{field}"), cycles, 1, super::MAX_CYCLES);
    }
    faults.cycles("memory.loads.complex_address", loads.complex_address);
    faults.cycles("memory.loads.split", loads.split);
    if let Some(count) = loads.wide_issue_slots
        && !(1.0..=f64::from(super::MAX_CYCLES)).contains(&count)
    {
        let expected = format!("1 to {}", super::MAX_CYCLES);
        faults.add("memory.loads.wide_issue_slots", expected, count);
    }
    if let Some(banks) = loads.banks {
        faults.power_of_two("memory.loads.banks", banks, LINE);
    }
}

fn stores(stores: &Stores, faults: &mut Faults) {
    faults.resource("memory.stores", "entries", stores.entries, &stores.sharing);
    faults.a_cycle("memory.stores.rate", stores.rate);
    faults.a_cycle("memory.stores.vector_rate", stores.vector_rate);
    faults.power_of_two("memory.stores.width", stores.width, WIDEST_ACCESS);
    faults.a_cycle("memory.stores.commit", stores.commit);
    let least = stores.commit.min(super::MAX_PER_CYCLE);
    let same_line = stores.commit_same_line;
    faults.within("memory.stores.commit_same_line", same_line, least, super::MAX_PER_CYCLE);
    faults.within("memory.stores.commit_lines", stores.commit_lines, 0, MAX_STORED_LINES);
    faults.cycles("memory.stores.split", stores.split);
}

fn forwarding(forwarding: &Forwarding, faults: &mut Faults) {
    faults.cycles("memory.forwarding.latency", forwarding.latency);
    faults.cycles("memory.forwarding.vector_latency", forwarding.vector_latency);
    faults.within(
        "memory.forwarding.predictive_forwarding",
        forwarding.predictive_forwarding,
        0,
        MAX_FORWARDING_PAIRS,
    );
    faults.cycles("memory.forwarding.failure", forwarding.failure);
    faults.cycles("memory.forwarding.alias", forwarding.alias);
}

pub(super) fn cache(path: &str, cache: &Cache, faults: &mut Faults) {
    let field = |name: &str| format!("{path}.{name}");
    faults.within(&field("kib"), cache.kib, 1, LARGEST_CACHE);
    faults.power_of_two(&field("line"), cache.line, 1024);
    faults.within(&field("ways"), cache.ways, 1, 1024);
    faults.cycles(&field("miss"), cache.miss);
    if cache.kib <= LARGEST_CACHE && cache.ways <= 1024 && cache.line <= 1024 {
        let (bytes, set) = (cache.kib * 1024, cache.ways * cache.line);
        match bytes.checked_rem(set) {
            Some(0) => faults.sets(path, "kib", bytes / set, cache.ways, &cache.sharing),
            Some(_) => faults.add(field("kib"), format_args!("whole sets of {set} bytes"), bytes),
            // No ways or no line: reported already.
            None => {}
        }
    }
}

pub(super) fn tlb(path: &str, tlb: &Tlb, faults: &mut Faults) {
    faults.within(&format!("{path}.ways"), tlb.ways, 1, tlb.entries.max(1));
    faults.cycles(&format!("{path}.miss"), tlb.miss);
    tlb_entries(path, "entries", tlb.entries, tlb, faults);
}

/// Of pages of one size.
fn tlb_entries(path: &str, field: &str, entries: u32, tlb: &Tlb, faults: &mut Faults) {
    faults.resource(path, field, entries, &tlb.sharing);
    faults.multiple(&format!("{path}.{field}"), entries, tlb.ways);
    if tlb.ways > 0 && entries.is_multiple_of(tlb.ways) {
        faults.sets(path, field, entries / tlb.ways, tlb.ways, &tlb.sharing);
    }
}
