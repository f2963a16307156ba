//! Checks of everything beyond the first level.

use super::super::CoreModel;
use super::super::hierarchy::{Hierarchy, LINE, Prefetch};
use super::Faults;

/// KiB of the largest caches of a core, and of several.
const LARGEST: [u32; 2] = [1 << 16, 1 << 19];
/// Lines of a set, at most.
const MAX_WAYS: u32 = 64;
/// Cores that share memory, at most.
const MAX_CORES: u32 = 64;
/// Cores of a machine, at most.
const MAX_CORES_OF_MACHINE: u32 = 1 << 12;
/// GB a second of cores that are not simulated, at most.
const MAX_BACKGROUND_GB_S: f64 = 1e5;
/// Entries of a prefetcher, at most.
const MAX_PREFETCHES: u32 = 1 << 12;

pub(super) fn check(model: &CoreModel, faults: &mut Faults) {
    let Hierarchy {
        fills,
        l2,
        l3,
        stlb,
        code_stlb,
        walk,
        prefetch,
        main,
        coherence,
        load_of_others,
    } = &model.hierarchy;
    faults.resource("hierarchy.fills", "entries", fills.entries, &fills.sharing);
    faults.cycles("hierarchy.fills.conflict_window", fills.conflict_window);
    faults.cycles("hierarchy.fills.retry_delay", fills.retry_delay);
    size("hierarchy.l2", [l2.kib, l2.ways], LARGEST[0], faults);
    let sets = l2.kib.saturating_mul(1024) / LINE / l2.ways.max(1);
    faults.parts("hierarchy.l2", sets, l2.ways, &l2.sharing);
    faults.cycles("hierarchy.l2.miss", l2.miss);
    amount("hierarchy.l2.interval", l2.interval, 1024.0, faults);
    faults.within("hierarchy.l2.entries", l2.entries, 1, 1 << 12);
    faults.resource("hierarchy.l2", "entries", l2.entries, &l2.sharing);
    if let Some(l3) = l3 {
        size("hierarchy.l3", [l3.kib, l3.ways], LARGEST[1], faults);
        faults.cycles("hierarchy.l3.miss", l3.miss);
        faults.within("hierarchy.l3.cores", l3.cores, 1, MAX_CORES);
        amount("hierarchy.l3.interval", l3.interval, 1024.0, faults);
        if !(0.0..=MAX_BACKGROUND_GB_S).contains(&l3.background_fills) {
            let expected = format_args!("a number from 0 up to {MAX_BACKGROUND_GB_S}").to_string();
            faults.add("hierarchy.l3.background_fills", expected, l3.background_fills);
        }
    }
    for (path, tlb) in [("hierarchy.stlb", stlb), ("hierarchy.code_stlb", code_stlb)] {
        let Some(tlb) = tlb else { continue };
        faults.resource(path, "entries", tlb.entries, &tlb.sharing);
        faults.within(&format!("{path}.ways"), tlb.ways, 1, tlb.entries.max(1));
        faults.multiple(&format!("{path}.entries"), tlb.entries, tlb.ways);
    }
    faults.within("hierarchy.walk.walkers", walk.walkers, 1, 64);
    faults.cycles("hierarchy.walk.cycles", walk.cycles);
    faults.within("hierarchy.walk.nested", walk.nested, 0, 4);
    faults.within("hierarchy.walk.directories", walk.directories, 1, 1 << 12);
    faults.resource("hierarchy.walk", "walkers", walk.walkers, &walk.sharing);
    faults.resource("hierarchy.walk", "directories", walk.directories, &walk.sharing);
    prefetchers(prefetch, faults);
    amount("hierarchy.main.nanoseconds", main.nanoseconds, 1e5, faults);
    amount("hierarchy.main.write_share", main.write_share, 4.0, faults);
    amount("hierarchy.main.gigabytes_a_second", main.gigabytes_a_second, 1e5, faults);
    if let Some(all) = &main.all_cores {
        let path = "hierarchy.main.all_cores";
        amount(&format!("{path}.gigabytes_a_second"), all.gigabytes_a_second, 1e5, faults);
        faults.within(&format!("{path}.cores"), all.cores, 1, MAX_CORES_OF_MACHINE);
    }
    if !(0.0..=1.0).contains(load_of_others) {
        faults.add("hierarchy.load_of_others", "a number from 0 to 1", load_of_others);
    }
    faults.cycles("hierarchy.coherence.transfer", coherence.transfer);
    faults.within("hierarchy.coherence.snoop_delay", coherence.snoop_delay, 0, coherence.transfer);
    faults.cycles("hierarchy.coherence.machine_clear", coherence.machine_clear);
    faults.cycles("hierarchy.coherence.retire_hold", coherence.retire_hold);
    if model.memory.l1d.line != LINE || model.front.l1i.line != LINE {
        faults.add("memory.l1d.line", format_args!("{LINE}, in every cache"), "another length");
    }
}

fn prefetchers(prefetch: &Prefetch, faults: &mut Faults) {
    let counts = [
        ("strides", prefetch.strides),
        ("stride_distance[0]", prefetch.stride_distance[0]),
        ("stride_distance[1]", prefetch.stride_distance[1]),
        ("streams", prefetch.streams),
        ("stream_distance", prefetch.stream_distance),
    ];
    let of_lines = prefetch.lines.iter().flat_map(|lines| {
        [
            ("lines.streams", lines.streams),
            ("lines.distance[0]", lines.distance[0]),
            ("lines.distance[1]", lines.distance[1]),
            ("lines.long", lines.long),
            ("lines.long_distance", lines.long_distance),
        ]
    });
    for (field, count) in counts.into_iter().chain(of_lines) {
        faults.within(&format!("hierarchy.prefetch.{field}"), count, 0, MAX_PREFETCHES);
    }
}

fn size(path: &str, [kib, ways]: [u32; 2], most: u32, faults: &mut Faults) {
    faults.within(&format!("{path}.kib"), kib, 1, most);
    faults.within(&format!("{path}.ways"), ways, 1, MAX_WAYS);
    let (lines, ways) = (u64::from(kib) * 1024 / u64::from(LINE), u64::from(ways.max(1)));
    if !lines.is_multiple_of(ways) {
        let expected = format_args!("whole sets of {} bytes", ways * u64::from(LINE)).to_string();
        faults.add(format!("{path}.kib"), expected, kib);
    }
}

fn amount(path: &str, amount: f64, most: f64, faults: &mut Faults) {
    if !(amount.is_finite() && amount > 0.0 && amount <= most) {
        faults.add(path, format_args!("a number above 0 and up to {most}"), amount);
    }
}
