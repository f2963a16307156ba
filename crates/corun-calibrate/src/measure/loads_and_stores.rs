//! Loads, stores, and the way from a store to a load of the same bytes.

use corun_model::timing::TimingTable;
use iced_x86::Code::{
    Add_r64_rm64, And_r64_rm64, Lea_r64_m, Mov_r64_rm64, Mov_rm32_r32, Movaps_xmm_xmmm128,
    Movaps_xmmm128_xmm, Movq_rm64_xmm,
};
use iced_x86::Instruction;
use iced_x86::Register::{self, EAX, R8, R14, RAX, RBP, RBX, RCX, RDX, RSI, RSP, XMM0, XMM2};

use crate::assembly::{encode, encode_all};
use crate::code::{load, load_as, load_indexed, store, store_as, two};
use crate::figure::Figure;
use crate::memory::LINE;
use crate::{CalibrateError, Routine, RoutineTimer, Spread};

/// Copies of what is measured in a body.
const COPIES: usize = 48;
/// Registers that are loaded in turn.
const TARGETS: [Register; 4] = [RBX, RDX, RBP, RSI];
const CYCLES: &str = "cycles";
const RATE: &str = "a cycle";

/// Latencies and rates of loads and stores that the first-level cache serves, and forwarding.
pub(crate) fn loads_and_stores(
    bench: &mut dyn RoutineTimer,
    base: &TimingTable,
) -> Result<Vec<Figure>, CalibrateError> {
    let mut figures = loads(bench, base)?;
    figures.extend(rates(bench)?);
    figures.extend(forwarding(bench)?);
    Ok(figures)
}

/// Cycles of one of many copies of these instructions, one after the other.
fn chain(
    bench: &mut dyn RoutineTimer,
    name: &str,
    link: &[Instruction],
) -> Result<Spread, CalibrateError> {
    bench.time(&Routine::new(name, encode_all(link).repeat(COPIES), COPIES))
}

fn loads(bench: &mut dyn RoutineTimer, base: &TimingTable) -> Result<Vec<Figure>, CalibrateError> {
    let plain = chain(bench, "load", &[load(RAX, RAX, 0)])?;
    // r8 is 0, and stays so.
    let indexed = chain(bench, "load, index", &[load_indexed(RAX, RAX, R8, 1)])?;
    let scaled = chain(bench, "load, scaled index", &[load_indexed(RAX, RAX, R8, 8)])?;
    // Only the way there and back can be measured; the base gives how long the way back is.
    let back = base.row("movq r64 x").map_or(0.0, |row| f64::from(row.latency));
    let to_vector = [load_as(Movaps_xmm_xmmm128, XMM0, RAX, 0), two(Movq_rm64_xmm, RAX, XMM0)];
    let vector = chain(bench, "load, vector", &to_vector)?;
    // What is loaded is made 0 and added to the address, so that only its place matters.
    let masked = |displacement: i64| {
        [load(RBX, RAX, displacement), two(And_r64_rm64, RBX, R8), two(Add_r64_rm64, RAX, RBX)]
    };
    let line = LINE as i64;
    let inside = chain(bench, "load, in a line", &masked(line))?;
    let across = chain(bench, "load, across lines", &masked(line - 4))?;
    Ok(vec![
        Figure::field("memory.loads.latency", CYCLES, plain),
        Figure::field("memory.loads.complex_address", CYCLES, scaled.map(|it| it - plain.median)),
        Figure::beside("the same, index not scaled", CYCLES, indexed.map(|it| it - plain.median)),
        Figure::field("memory.loads.vector_latency", CYCLES, vector.map(|it| it - back)),
        Figure::field("memory.loads.split", CYCLES, across.map(|it| it - inside.median)),
    ])
}

fn rates(bench: &mut dyn RoutineTimer) -> Result<Vec<Figure>, CalibrateError> {
    let mut rate = |name: &str, one: &dyn Fn(usize) -> Instruction| {
        let body: Vec<Instruction> = (0..2 * COPIES).map(one).collect();
        let spread = bench.time(&Routine::new(name, encode_all(&body), 2 * COPIES))?;
        // A sibling that takes ports makes it less: the best tenth is the core's own.
        let rate = spread.map(|cycles| 1.0 / cycles);
        Ok::<_, CalibrateError>(Spread { median: rate.p90, ..rate })
    };
    let place = |index: usize| (index % 8 * 8) as i64;
    let line = |index: usize| (index % 8 * LINE) as i64;
    let vector = |index: usize| (index % 4 * 16) as i64;
    let target = |index: usize| TARGETS[index % TARGETS.len()];
    let loads = rate("loads", &|it| load(target(it), R14, line(it)))?;
    let vector_loads = rate("loads, vector", &|it| {
        load_as(Movaps_xmm_xmmm128, XMM2 + it as u32 % 8, R14, line(it))
    })?;
    let stores = rate("stores, one line", &|it| store(R14, place(it), RCX))?;
    let apart = rate("stores, lines in turn", &|it| store(R14, line(it), RCX))?;
    let vectors =
        rate("stores, vector", &|it| store_as(Movaps_xmmm128_xmm, R14, vector(it), XMM2))?;
    Ok(vec![
        Figure::field("memory.loads.rate", RATE, loads),
        Figure::field("memory.loads.vector_rate", RATE, vector_loads),
        Figure::field("memory.stores.rate", RATE, stores),
        Figure::field("memory.stores.vector_rate", RATE, vectors),
        Figure::field("memory.stores.commit", RATE, apart),
        Figure::field("memory.stores.commit_same_line", RATE, stores),
    ])
}

fn forwarding(bench: &mut dyn RoutineTimer) -> Result<Vec<Figure>, CalibrateError> {
    // rbx holds the address that the store computes in another way.
    let begin = encode(&load_as(Lea_r64_m, RBX, R14, 64));
    let mut through = |name: &str, link: &[Instruction]| {
        let body = [begin.clone(), encode_all(link).repeat(COPIES)].concat();
        bench.time(&Routine::new(name, body, COPIES))
    };
    let other = through("forwarding", &[store(R14, 64, RAX), load(RAX, RBX, 0)])?;
    let same = through("forwarding, same base", &[store(R14, 64, RAX), load(RAX, R14, 64)])?;
    // Memory below the stack pointer is unused.
    let stack = through("forwarding, stack", &[store(RSP, -8, RAX), load(RAX, RSP, -8)])?;
    let vector = through(
        "forwarding, vector",
        &[store_as(Movaps_xmmm128_xmm, R14, 64, XMM2), load_as(Movaps_xmm_xmmm128, XMM2, RBX, 0)],
    )?;
    let part = through(
        "forwarding, in part",
        &[
            store_as(Mov_rm32_r32, R14, 64, EAX),
            load_as(Mov_r64_rm64, RAX, RBX, 0),
            // The address stays one that can be loaded from.
            two(And_r64_rm64, RAX, R8),
        ],
    )?;
    let mut figures = vec![
        Figure::field("memory.forwarding.latency", CYCLES, other),
        Figure::field("memory.forwarding.vector_latency", CYCLES, vector),
        Figure::beside("forwarding to the same base and displacement", CYCLES, same),
        Figure::beside("forwarding by the stack pointer", CYCLES, stack),
        Figure::beside(
            "from a store to a load that it covers in part",
            CYCLES,
            part.map(|it| it - 1.0),
        ),
    ];
    // The store reaches the cache about when it could have been forwarded.
    figures.push(Figure::field(
        "memory.forwarding.failure",
        CYCLES,
        part.map(|it| it - 1.0 - other.median),
    ));
    Ok(figures)
}
