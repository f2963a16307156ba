//! Sizes of what holds instructions in flight (Wong, "Measuring Reorder Buffer Capacity", 2013).
//!
//! Two loads that miss, with n instructions of a kind between: while both fit, they take the time of
//! one; beyond that the second waits for the first to leave.

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use iced_x86::Code::{Lea_r64_m, Movq_xmm_rm64, Paddd_xmm_xmmm128};
use iced_x86::Register::{self, R8, R14, RAX, RBP, RBX, RCX, RDX, RSI, XMM1, XMM2};

use crate::assembly::encode;
use crate::code::{copy, load, load_as, nop, store, two};
use crate::curve::{Step, find_step};
use crate::figure::Figure;
use crate::memory::LINE;
use crate::{CalibrateError, Memory, Routine, RoutineTimer, Spread};

const ENTRIES: &str = "entries";
/// The two loads themselves.
const ENDS: f64 = 2.0;
/// General-purpose and vector registers that a program sees, which keep a register each.
const GENERAL: f64 = 16.0;
const VECTOR: f64 = 16.0;
/// Memory of each ring: far more than caches that a core has for its own.
const BYTES: usize = 1 << 26;
/// Pairs of loads in a body.
const PAIRS: usize = 2;

/// The most instructions of a kind between two loads that still overlap; none if any number does. `first`
/// follows each load, and `one` makes an instruction of its number and the register that is loaded.
fn most(
    bench: &mut dyn RoutineTimer,
    kind: &str,
    expected: u32,
    first: impl Fn(Register) -> Vec<u8>,
    one: impl Fn(u32, Register) -> Vec<u8>,
) -> Result<Option<Spread>, CalibrateError> {
    let limit = (2 * expected).clamp(64, 1024);
    let places: Vec<u32> = (1..=16).map(|place| place * limit / 16).collect();
    let ring = Memory::Ring { places: BYTES / LINE, apart: LINE, rings: 2, on_small_pages: false };
    let pair = [encode(&load(RAX, RAX, 0)), encode(&load(RCX, RCX, 0))].concat().repeat(PAIRS);
    let reference = Routine::new("two loads that miss", pair, PAIRS).with_memory(ring);
    let found = find_step(&places, 1, 1.3, |count| {
        let half = |register| {
            let filler = (0..count).flat_map(|index| one(index, register));
            let load = encode(&load(register, register, 0));
            [load, first(register), filler.collect()].concat()
        };
        let body = [half(RAX), half(RCX)].concat().repeat(PAIRS);
        let name = format!("{count} {kind} between two loads that miss");
        let time = bench.time(&Routine::new(name, body, PAIRS).with_memory(ring))?;
        // Memory is slower at some times than at others, and faster at none.
        let near = bench.time(&reference)?;
        Ok::<_, CalibrateError>(time.p10 / near.p10)
    })?;
    Ok(found.map(Step::place))
}

/// The buffers of the core; `base` gives what sizes to expect, and between which schedulers what was found
/// is divided.
pub(crate) fn buffers(
    bench: &mut dyn RoutineTimer,
    base: &CoreModel,
    timings: &TimingTable,
) -> Result<Vec<Figure>, CalibrateError> {
    let mut figures = Vec::new();
    let targets = [RBX, RDX, RBP, RSI];
    let target = |index: u32| targets[index as usize % targets.len()];
    let vector = |index: u32| XMM2 + index % 8;
    let nothing = |_: Register| Vec::new();
    let back = &base.back;

    // Copies that are eliminated take no register, and are fused with nothing.
    let eliminated = |index: u32, _: Register| encode(&copy(target(index), R8));
    let plain = |_: u32, _: Register| nop(1);
    let rob = match back.elimination.integer_moves {
        true => most(bench, "copies", back.rob.entries, nothing, eliminated)?,
        false => most(bench, "NOPs", back.rob.entries, nothing, plain)?,
    };
    let rob = rob.map(|it| it.map(|it| even(it + ENDS)));
    let limit = rob.map_or(f64::INFINITY, |it| it.median);
    if let Some(rob) = rob {
        figures.push(Figure::field("back.rob.entries", ENTRIES, rob));
    }
    // What is as large as the reorder buffer was not found: that was full first.
    let mut push = |field: &str, found: Option<Spread>, more: f64| {
        if let Some(found) = found.filter(|it| it.median + ENDS < 0.97 * limit) {
            figures.push(Figure::field(field, ENTRIES, found.map(|it| even(it + more))));
        }
    };

    let computed = |index: u32, _: Register| encode(&load_as(Lea_r64_m, target(index), R8, 8));
    let found = most(bench, "sums", back.registers.integer, nothing, computed)?;
    push("back.registers.integer", found, ENDS + GENERAL);

    let added = |index: u32, _: Register| encode(&two(Paddd_xmm_xmmm128, vector(index), XMM1));
    let found = most(bench, "vector sums", back.registers.vector, nothing, added)?;
    push("back.registers.vector", found, VECTOR);

    let loaded =
        |index: u32, _: Register| encode(&load(target(index), R14, i64::from(index % 16) * 8));
    let found = most(bench, "loads", base.memory.loads.entries, nothing, loaded)?;
    push("memory.loads.entries", found, ENDS);

    let stored = |index: u32, _: Register| encode(&store(R14, i64::from(index % 8) * 8, R8));
    let found = most(bench, "stores", base.memory.stores.entries, nothing, stored)?;
    push("memory.stores.entries", found, 0.0);

    // Instructions that wait for the first load keep the second from being issued.
    let waiting =
        |index: u32, loaded: Register| encode(&load_as(Lea_r64_m, target(index), loaded, 8));
    let schedulers = schedulers_of(base, timings, "add r64 r64");
    let all: u32 = schedulers.iter().map(|&index| back.schedulers[index].entries).sum();
    let found = most(bench, "sums that wait", all, nothing, waiting)?;
    for index in schedulers {
        let share = f64::from(back.schedulers[index].entries) / f64::from(all.max(1));
        let found = found.map(|it| it.map(|it| it * share));
        push(&format!("back.schedulers.{index}.entries"), found, 0.0);
    }
    let moved = |loaded: Register| encode(&two(Movq_xmm_rm64, XMM1, loaded));
    let found = most(bench, "vector sums that wait", back.registers.vector, moved, added)?;
    if let Some(found) = found.filter(|it| it.median + ENDS < 0.97 * limit) {
        figures.push(Figure::beside("waiting vector micro-ops", ENTRIES, found));
    }
    Ok(figures)
}

/// The nearest even number: siblings may have to get half of it each.
fn even(entries: f64) -> f64 {
    2.0 * (entries / 2.0).round()
}

/// The schedulers that the form's micro-ops wait in.
fn schedulers_of(base: &CoreModel, timings: &TimingTable, form: &str) -> Vec<usize> {
    let uops = timings.row(form).map(|row| row.uops.as_slice()).unwrap_or_default();
    let takes =
        |ports: &[String]| uops.iter().any(|uop| uop.ports.iter().any(|it| ports.contains(it)));
    let schedulers = base.back.schedulers.iter().enumerate();
    schedulers.filter(|(_, it)| takes(&it.ports)).map(|(index, _)| index).collect()
}
