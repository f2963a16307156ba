//! Widths, the op cache, and branches.

use corun_model::CoreModel;
use iced_x86::Code;
use iced_x86::Code::{Shl_rm64_imm8, Shr_rm64_imm8, Test_rm8_imm8, Xor_r64_rm64};
use iced_x86::Register::{AL, RAX, RCX};

use crate::assembly::{encode, encode_all};
use crate::code::{constant, copy, nop, two};
use crate::curve::{Step, edge, find_step, median};
use crate::figure::Figure;
use crate::{CalibrateError, Routine, RoutineTimer, Spread};

const RATE: &str = "a cycle";
const CYCLES: &str = "cycles";

/// Rates from fetch to renaming, and what branches cost.
pub(crate) fn front(
    bench: &mut dyn RoutineTimer,
    base: &CoreModel,
) -> Result<Vec<Figure>, CalibrateError> {
    let mut figures = widths(bench, base)?;
    figures.extend(mispredict(bench)?);
    figures.extend(targets(bench, base)?);
    figures.extend(return_stack(bench, base)?);
    Ok(figures)
}

/// NOPs of so many bytes each, so many of them: how many a cycle.
fn nops(
    bench: &mut dyn RoutineTimer,
    count: usize,
    bytes: usize,
) -> Result<Spread, CalibrateError> {
    let name = format!("{count} NOPs of {bytes} bytes");
    let spread = bench.time(&Routine::new(name, nop(bytes).repeat(count), count))?;
    Ok(spread.map(|cycles| 1.0 / cycles))
}

fn widths(bench: &mut dyn RoutineTimer, base: &CoreModel) -> Result<Vec<Figure>, CalibrateError> {
    let near = nops(bench, 480, 4)?;
    let mut figures = vec![Figure::field("back.dispatch.entries", RATE, near)];
    let Some(cache) = &base.front.op_cache else { return Ok(figures) };
    let line = cache.ways * cache.line;
    let expected = cache.sets * line;
    let places: Vec<u32> = (1..=16).map(|place| place * expected / 8).collect();
    let found = find_step(&places, expected / 64, 1.15, |count| {
        Ok::<_, CalibrateError>(1.0 / nops(bench, count as usize, 4)?.median)
    })?;
    if let Some(found) = found {
        figures.push(Figure::beside("micro-ops that the op cache holds", "entries", found.place()));
        // Sets are a power of two.
        let sets = f64::from(found.last) / f64::from(line);
        let sets = 2f64.powf(sets.log2().round());
        figures.push(Figure::field("front.op_cache.sets", "entries", Spread::exact(sets)));
        // Beyond it the decoder decides, as long as the code is in the first-level cache.
        let bytes = base.front.l1i.kib as usize * 1024;
        let far = nops(bench, bytes * 7 / 8 / 4, 4)?;
        if far.median < 0.9 * near.median {
            figures.push(Figure::field("front.decoder.width", RATE, far));
        }
    }
    let lines: Vec<u32> = (1..=16).map(|place| place * 8).collect();
    let found = find_step(&lines, 2, 1.15, |kib| {
        Ok::<_, CalibrateError>(1.0 / nops(bench, kib as usize * 1024 / 8, 8)?.median)
    })?;
    if let Some(found) = found {
        let spread = Spread {
            median: (f64::from(found.last) / 8.0).round() * 8.0,
            p10: found.last.into(),
            p90: found.first.into(),
            samples: 1,
        };
        figures.push(Figure::beside("code after which NOPs get slower", "KiB", spread));
    }
    Ok(figures)
}

/// Branches on random bits against branches on none: half of the first are mispredicted. The bits come from registers
/// alone (xorshift, Marsaglia 2003), since loads would wait for memory where a misprediction keeps them late.
fn mispredict(bench: &mut dyn RoutineTimer) -> Result<Vec<Figure>, CalibrateError> {
    const BRANCHES: usize = 32;
    /// Behind fetch, to be renamed, to start and to be executed: a cycle each.
    const AROUND: f64 = 4.0;
    let step = |shift: Code, places: i32| {
        [copy(RCX, RAX), constant(shift, RCX, places), two(Xor_r64_rm64, RAX, RCX)]
    };
    let next = [step(Shl_rm64_imm8, 13), step(Shr_rm64_imm8, 7), step(Shl_rm64_imm8, 17)].concat();
    // test al, bits; jz over a NOP
    let branch = |bits: i32| {
        let test = encode(&constant(Test_rm8_imm8, AL, bits));
        [encode_all(&next), test, vec![0x74, 1], nop(1)].concat()
    };
    let mut time = |name: &str, bits: i32| {
        bench.time(&Routine::new(name, branch(bits).repeat(BRANCHES), BRANCHES))
    };
    let unknown = time("branches on random bits", 1)?;
    let known = time("branches on no bits", 0)?;
    let whole = unknown.map(|it| 2.0 * (it - known.median));
    Ok(vec![
        Figure::beside("from a mispredicted branch to the next branch", CYCLES, whole),
        Figure::field("front.prediction.mispredict", CYCLES, whole.map(|it| it - AROUND)),
    ])
}

/// A ring of jumps, each to the next, so many bytes apart: cycles of one.
fn jumps(bench: &mut dyn RoutineTimer, count: u32, apart: usize) -> Result<Spread, CalibrateError> {
    // jmp over what is left up to the next one
    let mut jump = vec![0xeb, (apart - 2) as u8];
    jump.resize(apart, 0x90);
    let name = format!("{count} jumps {apart} bytes apart");
    bench.time(&Routine::new(name, jump.repeat(count as usize), count as usize))
}

fn targets(bench: &mut dyn RoutineTimer, base: &CoreModel) -> Result<Vec<Figure>, CalibrateError> {
    const APART: usize = 16;
    let near = jumps(bench, 64, APART)?;
    let mut figures =
        vec![Figure::field("front.prediction.taken.0", CYCLES, near.map(|it| it - 1.0))];
    let Some(&expected) = base.front.prediction.targets.first() else { return Ok(figures) };
    let places: Vec<u32> = (1..=16).map(|place| place * expected / 8).collect();
    let found = find_step(&places, expected / 64, 1.2, |count| {
        Ok::<_, CalibrateError>(jumps(bench, count, APART)?.median)
    })?;
    if let Some(found) = found {
        // Tables of targets have a power of two of them, or not that many.
        let power = 2f64.powf(f64::from(found.last).log2().round());
        let is_power = (f64::from(found.last) / power - 1.0).abs() < 0.1;
        let entries = found.place().map(|it| if is_power { power } else { it });
        figures.push(Figure::field("front.prediction.targets.0", "entries", entries));
        figures.push(Figure::beside(
            "a jump that only the second level of targets holds",
            CYCLES,
            Spread::exact(found.high),
        ));
    }
    Ok(figures)
}

/// Calls so many deep, and back: cycles of one. Each function is called from one place, so that what
/// goes beyond the stack of return addresses is predicted as any other indirect jump, or not at all.
fn calls(bench: &mut dyn RoutineTimer, depth: usize) -> Result<Spread, CalibrateError> {
    // call the first function; jmp past them; functions: call the next; ret
    let mut body = vec![0xe8];
    body.extend(5i32.to_le_bytes());
    let functions = 6 * (depth - 1) + 1;
    body.push(0xe9);
    body.extend((functions as i32).to_le_bytes());
    for _ in 1..depth {
        body.push(0xe8);
        body.extend(1i32.to_le_bytes());
        body.push(0xc3);
    }
    body.push(0xc3);
    bench.time(&Routine::new(format!("calls {depth} deep"), body, depth))
}

fn return_stack(
    bench: &mut dyn RoutineTimer,
    base: &CoreModel,
) -> Result<Vec<Figure>, CalibrateError> {
    let expected = base.front.prediction.return_stack.max(8);
    let mut points = Vec::new();
    for depth in (2..=2 * expected).step_by(2) {
        points.push((depth, calls(bench, depth as usize)?.median));
    }
    // The deeper, the more returns are wrong: the curve has no upper level, but a first rise.
    let shallow: Vec<f64> = points.iter().take(4).map(|point| point.1).collect();
    let low = median(&shallow);
    let Some((last, first)) = edge(&points, 1.2 * low) else { return Ok(Vec::new()) };
    let found = Step { last, first, low, high: low };
    Ok(vec![Figure::field("front.prediction.return_stack", "entries", found.place())])
}
