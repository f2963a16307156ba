//! Caches and translations: how long a load takes when so much memory is walked through in random order,
//! and the sizes at which that goes up.

use corun_model::CoreModel;
use iced_x86::Register::RAX;

use crate::assembly::encode;
use crate::code::load;
use crate::curve::find_step;
use crate::figure::Figure;
use crate::memory::{LINE, PAGE};
use crate::{CalibrateError, Memory, Routine, RoutineTimer, Spread};

/// Loads in a body.
const LOADS: usize = 32;
const KIB: usize = 1024;
const CYCLES: &str = "cycles";

/// Latencies and sizes of what lies between the core and memory.
pub(crate) fn caches(
    bench: &mut dyn RoutineTimer,
    base: &CoreModel,
) -> Result<Vec<Figure>, CalibrateError> {
    let mut figures = levels(bench, base)?;
    figures.extend(translations(bench, base)?);
    Ok(figures)
}

/// Cycles of a load in a ring through this memory.
fn walk(
    bench: &mut dyn RoutineTimer,
    places: usize,
    apart: usize,
    small: bool,
) -> Result<Spread, CalibrateError> {
    let memory = Memory::Ring { places, apart, rings: 1, on_small_pages: small };
    let name = format!("a ring of {places} places {apart} bytes apart");
    let body = encode(&load(RAX, RAX, 0)).repeat(LOADS);
    bench.time(&Routine::new(name, body, LOADS).with_memory(memory))
}

fn levels(bench: &mut dyn RoutineTimer, base: &CoreModel) -> Result<Vec<Figure>, CalibrateError> {
    let mut of_kib = |kib: usize| walk(bench, kib * KIB / LINE, LINE, false);
    let first = of_kib(8)?;
    let second = of_kib(160)?;
    let third = of_kib(4 * KIB)?;
    let memory = of_kib(192 * KIB)?;
    let mut figures = vec![
        Figure::field("memory.l1d.miss", CYCLES, second.map(|it| it - first.median)),
        Figure::beside("latency of the second-level cache", CYCLES, second),
        Figure::beside("latency of the third-level cache (4 MiB)", CYCLES, third),
        Figure::beside("latency of memory (192 MiB)", CYCLES, memory),
    ];
    if let Some(last) = &base.hierarchy.l3 {
        let miss = third.map(|it| it - second.median);
        figures.push(Figure::field("hierarchy.l2.miss", CYCLES, miss));
        // By the base's clock, so that the model's memory takes as many cycles as this one.
        let beyond = memory.map(|it| it - third.median - f64::from(last.miss));
        let nanoseconds = beyond.map(|it| it / base.gigahertz);
        figures.push(Figure::field("hierarchy.main.nanoseconds", "ns", nanoseconds));
    }
    let mut size = |places: &[u32], resolution: u32| {
        find_step(places, resolution, 1.3, |kib| Ok(of_kib(kib as usize)?.median))
    };
    if let Some(found) = size(&every(8, 128, 8), 2)? {
        let kib = found.place().map(power_or_half_more);
        figures.push(Figure::field("memory.l1d.kib", "KiB", kib));
    }
    if let Some(found) = size(&[128, 192, 256, 384, 448, 512, 640, 768, 1024, 1536, 2048], 32)? {
        let kib = size_between(found.last, found.first, 64.0);
        figures.push(Figure::beside("size of the second-level cache", "KiB", kib));
    }
    Ok(figures)
}

fn translations(
    bench: &mut dyn RoutineTimer,
    base: &CoreModel,
) -> Result<Vec<Figure>, CalibrateError> {
    // A line of each page against as many lines of few pages: what the caches take is in both.
    let mut more = |pages: usize| {
        let apart = walk(bench, pages, PAGE, true)?;
        let dense = walk(bench, pages, LINE, true)?;
        Ok::<_, CalibrateError>(apart.map(|it| it - dense.median))
    };
    let mut figures = Vec::new();
    let mut step = |places: &[u32], resolution: u32| {
        find_step(places, resolution, 1.2, |pages| {
            let more = more(pages as usize)?;
            // Above nothing, so that levels can be compared.
            Ok::<_, CalibrateError>(more.median + 4.0)
        })
    };
    if let Some(found) = step(&every(16, 256, 16), 2)? {
        let entries = size_between(found.last, found.first, 8.0);
        figures.push(Figure::field("memory.dtlb.entries", "entries", entries));
        if base.memory.dtlb.ways == base.memory.dtlb.entries {
            // Any page may lie anywhere.
            figures.push(Figure::field("memory.dtlb.ways", "entries", entries));
        }
    }
    let second = step(&[256, 512, 1024, 1536, 2048, 2560, 3072, 4096, 6144, 8192], 128)?;
    if let Some(found) = second {
        let entries = size_between(found.last, found.first, 256.0);
        figures.push(Figure::beside("second-level translations of data", "entries", entries));
    }
    figures.push(Figure::field("memory.dtlb.miss", CYCLES, more(256)?));
    let walk = more(12_288)?;
    figures.push(Figure::beside("walking the page tables", CYCLES, walk));
    // The last table's lines are in the second-level cache then, and reading them is simulated.
    let read = f64::from(base.memory.loads.latency + base.memory.l1d.miss);
    figures.push(Figure::field("hierarchy.walk.cycles", CYCLES, walk.map(|it| it - read)));
    Ok(figures)
}

/// The nearest of 2, 3, 4, 6, 8, 12 and so on: what caches have as sizes.
fn power_or_half_more(size: f64) -> f64 {
    let below = 2f64.powf(size.log2().floor());
    let near = |one: &f64| (one / size).ln().abs();
    [below, 1.5 * below, 2.0 * below]
        .into_iter()
        .min_by(|one, other| near(one).total_cmp(&near(other)))
        .unwrap_or(size)
}

fn every(first: u32, last: u32, stride: u32) -> Vec<u32> {
    (first..=last).step_by(stride as usize).collect()
}

/// A size between two that were measured, as a multiple of what such sizes come in.
fn size_between(last: u32, first: u32, unit: f64) -> Spread {
    let size = (f64::from(last) / unit).round() * unit;
    Spread { median: size, p10: last.into(), p90: first.into(), samples: 1 }
}
