//! The instructions and functions that a cause comes from, with their source lines.

use std::collections::BTreeMap;

use corun_record::{AttributedCode, Cause, Effect};
use corun_sim::{AttributedInstruction, SimulatedWindows};
use corun_trace::format::Trace;
use corun_trace::{BlockId, SourcePlace, disassemble, source_places};

use crate::extrapolation::Sample;

/// An instruction or a function with less than this share of a cause is not named: no code stands out.
const MIN_SHARE: f64 = 0.25;
/// Instructions whose function is looked up, those that cost most.
const MOST_LOOKED_UP: usize = 64;

/// An instruction, by its block and its number there, with its cycles.
type Costly = (BlockId, u32, f64);

/// Names the code that each of these causes comes from, where some stands out. Returns the files with more debug information than
/// is read.
pub(crate) fn name(
    causes: &mut [Cause],
    trace: &Trace,
    (alone, beside): (&SimulatedWindows, &SimulatedWindows),
) -> Vec<String> {
    let costly: Vec<_> = causes.iter().map(|it| costly(it, trace, alone, beside)).collect();
    let of_all = costly.iter().flatten().flat_map(|(_, costly)| costly);
    let wanted: Vec<_> = of_all.map(|it| (it.0, it.1)).collect();
    // The debug information of a file is read once.
    let places = source_places(trace, &wanted);
    let (mut wanted, mut rest) = (&wanted[..], &places[..]);
    for (cause, costly) in causes.iter_mut().zip(costly) {
        let Some((all, costly)) = costly else { continue };
        let (own, of_own);
        (own, wanted) = wanted.split_at(costly.len());
        (of_own, rest) = rest.split_at(costly.len());
        let known: Vec<_> = costly.iter().map(|it| it.2 / all).zip(of_own).collect();
        cause.code = instruction(trace, own, &known).or_else(|| function(&known));
    }
    let is_too_large = places.into_iter().filter(|it| it.is_too_large);
    let mut too_large: Vec<String> = is_too_large.filter_map(|it| it.module).collect();
    too_large.sort();
    too_large.dedup();
    too_large
}

/// The instruction that costs most, if it stands out.
fn instruction(
    trace: &Trace,
    wanted: &[(BlockId, u32)],
    known: &[(f64, &SourcePlace)],
) -> Option<AttributedCode> {
    let (&(block, number), &(share, place)) = wanted.iter().zip(known).next()?;
    let (_, text) = disassemble(trace.block(block)).into_iter().nth(number as usize)?;
    let words = text.split(' ').take_while(|it| it.bytes().all(|it| it.is_ascii_alphanumeric()));
    // A prefix belongs to the mnemonic, an operand does not.
    let is_prefix =
        |it: &str| it == "lock" || it.starts_with("rep") || it == "bnd" || it == "notrack";
    let mut before = true;
    let words: Vec<&str> =
        words.take_while(|it| std::mem::replace(&mut before, is_prefix(it))).collect();
    let code = AttributedCode { instruction: Some(words.join(" ")), ..code(share, place) };
    (share >= MIN_SHARE).then_some(code)
}

/// The function whose instructions cost most, if it stands out.
fn function(known: &[(f64, &SourcePlace)]) -> Option<AttributedCode> {
    let mut functions: BTreeMap<_, (f64, &SourcePlace)> = BTreeMap::new();
    for (share, place) in known.iter().filter(|(_, place)| place.function.is_some()) {
        functions.entry((&place.module, &place.function)).or_insert((0.0, place)).0 += share;
    }
    let (share, place) = functions.into_values().max_by(|one, other| one.0.total_cmp(&other.0))?;
    // The lines are of its instructions.
    let code = AttributedCode { line: None, address: None, ..code(share, place) };
    (share >= MIN_SHARE).then_some(code)
}

fn code(share: f64, place: &SourcePlace) -> AttributedCode {
    let SourcePlace { module, address, function, line, .. } = place.clone();
    let (file, line) = line.unzip();
    AttributedCode {
        share: share.min(1.0),
        instruction: None,
        function,
        file,
        line,
        module,
        address,
    }
}

/// The cycles of a cause for an instruction of the run, and the instructions that it comes from, the most costly first; of
/// windows of which both are known.
fn costly(
    cause: &Cause,
    trace: &Trace,
    alone: &SimulatedWindows,
    beside: &SimulatedWindows,
) -> Option<(f64, Vec<Costly>)> {
    if alone.windows.len() != beside.windows.len() {
        return None;
    }
    let both = alone.attributed.iter().zip(&beside.attributed);
    let is_known: Vec<bool> = both.map(|it| !it.0.is_empty() && !it.1.is_empty()).collect();
    let sums: &[(&SimulatedWindows, f64)] = match cause.effect {
        Effect::Fills => &[(alone, 1.0)],
        Effect::Costs => &[(beside, 1.0), (alone, -1.0)],
    };
    let (mut all, mut costly) = (0.0, BTreeMap::<u64, Costly>::new());
    for (of, sign) in sums {
        let weights = Sample::of(&of.windows, 0)?.times();
        for (at, weight) in weights.into_iter().enumerate().filter(|(at, _)| is_known[*at]) {
            let mut parts = of.stacks[at].cycles().filter(|(name, _)| *name == cause.component);
            all += sign * weight * parts.next().map_or(0.0, |(_, cycles)| cycles);
            for it in of.attributed[at].iter().filter(|it| it.component == cause.component) {
                let AttributedInstruction { block, instruction, cycles, .. } = *it;
                let address = trace.block(block).addresses().nth(instruction as usize)?;
                let sum = costly.entry(address).or_insert((block, instruction, 0.0));
                sum.2 += sign * weight * cycles;
            }
        }
    }
    let mut costly: Vec<Costly> = costly.into_values().filter(|it| it.2 > 0.0).collect();
    costly.sort_by(|one, other| other.2.total_cmp(&one.2));
    costly.truncate(MOST_LOOKED_UP);
    (all > 0.0 && !costly.is_empty()).then_some((all, costly))
}
