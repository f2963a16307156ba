//! Latency, throughput and slots of each form of instruction that the host may execute.
//!
//! Everything is measured twice, a pass over all forms after the other, and counts if both times agree: what
//! disturbs a figure for a moment does not come again at the same place. What differs is measured again.

use std::collections::BTreeMap;

use corun_model::timing::TimingTable;
use corun_record::{Progress, Stage};

use crate::assembly::{encode, encode_all};
use crate::code::nop;
use crate::figure::FormFigure;
use crate::forms::{Form, all};
use crate::{CalibrateError, Routine, RoutineTimer, Spread};

/// Instructions of a chain, and of a stream (a multiple of the registers that it writes in turn).
const LINKS: usize = 60;
const STREAM: usize = 72;
/// Instructions with NOPs between, and the most NOPs between two.
const FILLED: usize = 24;
const MAX_FILLERS: usize = 64;
/// By how much two figures of one thing may differ: a share, and cycles.
const SHARE: f64 = 0.04;
const CYCLES: f64 = 0.02;
/// By how much a stream must be slower than what chains it anyway.
const CHAINED: f64 = 1.15;
/// Passes over the forms of which the earlier passes do not agree.
const REPEATED_PASSES: usize = 2;
/// Slots a cycle are asked of the bench by a routine of this many NOPs.
const NOPS: usize = 240;

/// References that all forms are measured against.
struct References {
    /// Cycles of a NOP.
    nop: f64,
    /// Cycles of an x87 stack operation.
    stack: f64,
    /// Cycles of an addition to one place in memory of so many bits, which takes one cycle after its load.
    updates: BTreeMap<u32, f64>,
    /// Latency of each move that brings a number back to the bank of registers that it came from.
    back: BTreeMap<&'static str, f64>,
}

/// Round trips: the second move keeps the base's latency, the first has the rest of the measured time.
const THERE_AND_BACK: [(&str, &str); 4] = [
    ("movq x r64", "movq r64 x"),
    ("kmovq k r64", "kmovq r64 k"),
    ("vpmovq2m k x", "vpmovm2q x k"),
    ("movq mm r64", "movq r64 mm"),
];

/// Every form that the core has. `base` gives how long moves from vector, mask and MMX registers take one way: only there and
/// back can be measured.
pub(crate) fn forms(
    bench: &mut dyn RoutineTimer,
    base: &TimingTable,
    progress: &dyn Progress,
) -> Result<Vec<FormFigure>, CalibrateError> {
    let known = all().filter(|form| bench.knows(&form.sample())).collect::<Vec<_>>();
    progress.begin(Stage::new("timing instructions", "forms", 2 * known.len() as u64));
    let mut passes: Vec<Vec<FormFigure>> = vec![Vec::new(); known.len()];
    let mut pass = |passes: &mut [Vec<FormFigure>], places: &[usize]| {
        let references = References::of(bench, &known, base)?;
        for &place in places {
            progress.advance(1);
            passes[place].extend(measure(bench, &known[place], &references)?);
        }
        Ok::<_, CalibrateError>(())
    };
    let mut places: Vec<usize> = (0..known.len()).collect();
    for _ in 0..2 {
        pass(&mut passes, &places)?;
    }
    for _ in 0..REPEATED_PASSES {
        places.retain(|&place| !is_agreed(&passes[place]));
        if places.is_empty() {
            break;
        }
        progress.begin(Stage::new("timing again", "forms", places.len() as u64));
        pass(&mut passes, &places)?;
    }
    Ok(passes.iter().filter_map(|passes| agreed(passes)).collect())
}

/// The figures of a form.
const FIGURES: [fn(&FormFigure) -> Option<Spread>; 3] =
    [|form| form.latency, |form| form.cycles, |form| form.slots];

/// True if each figure that any pass has is agreed upon.
fn is_agreed(passes: &[FormFigure]) -> bool {
    FIGURES.iter().all(|figure| {
        passes.iter().all(|pass| figure(pass).is_none()) || lowest_agreed(passes, *figure).is_some()
    })
}

/// The figures that two passes have.
fn agreed(passes: &[FormFigure]) -> Option<FormFigure> {
    let [latency, cycles, slots] = FIGURES.map(|figure| lowest_agreed(passes, figure));
    let figure = FormFigure { latency, cycles, slots, ..passes.first()?.clone() };
    (latency.is_some() || cycles.is_some()).then_some(figure)
}

/// The lowest of a figure that another pass has too: disturbance only makes it higher.
fn lowest_agreed(
    passes: &[FormFigure],
    figure: impl Fn(&FormFigure) -> Option<Spread>,
) -> Option<Spread> {
    let mut found: Vec<Spread> = passes.iter().filter_map(figure).collect();
    found.sort_by(|one, other| one.median.total_cmp(&other.median));
    let is_same =
        |pair: &&[Spread]| pair[1].median - pair[0].median <= SHARE * pair[0].median.abs() + CYCLES;
    found.windows(2).find(is_same).map(|pair| pair[0])
}

impl References {
    fn of(
        bench: &mut dyn RoutineTimer,
        known: &[Form],
        base: &TimingTable,
    ) -> Result<Self, CalibrateError> {
        let nops = Routine::new("cycles nop", nop(1).repeat(NOPS), NOPS);
        let nop = bench.time(&nops)?.median;
        // fld st0, fstp st0
        let mut pairs = Routine::new(
            "cycles of stack operations",
            [0xd9, 0xc0, 0xdd, 0xd8].repeat(LINKS),
            2 * LINKS,
        );
        pairs.setup = [0xdb, 0xe3, 0xd9, 0xe8].to_vec();
        let stack = bench.time(&pairs)?.median;
        let mut updates = BTreeMap::new();
        for width in [8, 16, 32, 64] {
            let name = format!("add m{width} r{width}");
            let Some(form) = known.iter().find(|form| form.name == name) else { continue };
            if let Some(found) = update(bench, form)? {
                updates.insert(width, found.median);
            }
        }
        let mut back = BTreeMap::new();
        for (there, kept) in THERE_AND_BACK {
            let form = known.iter().find(|form| form.name == there);
            let both = form.and_then(Form::round_trip);
            let (Some(form), Some((both, _)), Some(row)) = (form, both, base.row(kept)) else {
                continue;
            };
            let code = encode_all(&both).repeat(LINKS);
            let routine = routine(format!("round trip {there}"), form, code, LINKS);
            if let Some(all) = bench.time_apart(&routine)? {
                let kept_cycles = f64::from(row.latency);
                back.insert(kept, kept_cycles);
                back.insert(there, (all.median - kept_cycles).max(0.0));
            }
        }
        Ok(Self { nop, stack, updates, back })
    }
}

fn measure(
    bench: &mut dyn RoutineTimer,
    form: &Form,
    references: &References,
) -> Result<Option<FormFigure>, CalibrateError> {
    let latency = latency(bench, form, references)?;
    let Some(stream) = form.stream(STREAM) else { return Ok(None) };
    let routine = routine(format!("cycles {}", form.name), form, stream.code.clone(), STREAM);
    let Some(all) = bench.time_apart(&routine)? else { return Ok(None) };
    let beside = f64::from(form.stack_operations()) * references.stack;
    let cycles = all.map(|cycles| (cycles - beside).max(0.0));
    // What waits in turns, or goes with what ends its chains, may take less alone.
    let turn = match (latency, stream.turns) {
        (Some(latency), Some(turns)) => latency.median / turns as f64,
        _ => 0.0,
    };
    let slots = match form.stack_operations() {
        0 => slots(bench, form, all.median, stream.breakers, references)?,
        _ => None,
    };
    let taken = slots.map_or(1.0, |slots| slots.median) + stream.breakers as f64;
    let breakers = if stream.breakers > 0 { taken * references.nop } else { 0.0 };
    let is_resolved = cycles.median > CHAINED * turn && cycles.median > CHAINED * breakers;
    Ok(Some(FormFigure {
        form: form.name.to_owned(),
        latency,
        cycles: Some(cycles).filter(|_| is_resolved),
        slots,
        sample: Some(form.sample()),
    }))
}

fn routine(name: String, form: &Form, body: Vec<u8>, count: usize) -> Routine {
    let mut routine = Routine::new(name, body, count);
    routine.vector = form.vector();
    routine.setup = form.setup();
    routine
}

fn latency(
    bench: &mut dyn RoutineTimer,
    form: &Form,
    references: &References,
) -> Result<Option<Spread>, CalibrateError> {
    if form.is_update() {
        // Through memory; what that takes besides is that of an addition.
        let is_atomic = form.name.starts_with("lock ") || form.mnemonic() == "xchg";
        let addition = form.width().and_then(|width| references.updates.get(&width));
        let Some(addition) = addition.filter(|_| !is_atomic) else { return Ok(None) };
        let found = update(bench, form)?;
        return Ok(found.map(|found| found.map(|cycles| 1.0 + cycles - addition)));
    }
    let name = format!("latency {}", form.name);
    let (link, partner) = match (form.link(), form.round_trip()) {
        (Some(link), _) => (encode(&link), 0.0),
        (None, Some((both, back))) => {
            let Some(&partner) = references.back.get(back) else { return Ok(None) };
            (encode_all(&both), partner)
        }
        (None, None) => return Ok(None),
    };
    let routine = routine(name, form, link.repeat(LINKS), LINKS);
    let latency = bench.time_apart(&routine)?;
    Ok(latency.map(|latency| latency.map(|cycles| (cycles - partner).max(0.0))))
}

fn update(bench: &mut dyn RoutineTimer, form: &Form) -> Result<Option<Spread>, CalibrateError> {
    let Some(one) = form.update() else { return Ok(None) };
    bench.time_apart(&routine(format!("update {}", form.name), form, one.repeat(LINKS), LINKS))
}

/// Rename slots: so many NOPs stand beside each instruction that these alone decide how long
/// it takes.
fn slots(
    bench: &mut dyn RoutineTimer,
    form: &Form,
    cycles: f64,
    breakers: usize,
    references: &References,
) -> Result<Option<Spread>, CalibrateError> {
    let fillers = 8 + (1.4 * cycles / references.nop).ceil() as usize;
    if fillers > MAX_FILLERS {
        return Ok(None);
    }
    let Some(all) = spread_out(form, fillers) else { return Ok(None) };
    let routine = routine(format!("slots {}", form.name), form, all, FILLED);
    let found = bench.time_apart(&routine)?;
    let count = |cycles: f64| cycles / references.nop - (fillers + breakers) as f64;
    Ok(found.map(|found| found.map(count)).filter(|found| found.median > 0.3))
}

fn spread_out(form: &Form, fillers: usize) -> Option<Vec<u8>> {
    let mut code = Vec::new();
    for one in form.pieces(FILLED)? {
        code.extend(one);
        code.extend(nop(1).repeat(fillers));
    }
    Some(code)
}

#[cfg(test)]
mod tests {
    use corun_record::Unwatched;

    use super::*;

    /// A core whose moves from a vector to a general-purpose register and back take nine cycles together, `pextrq` and
    /// back eleven, and everything else one.
    struct Mover;

    impl RoutineTimer for Mover {
        fn time(&mut self, routine: &Routine) -> Result<Spread, CalibrateError> {
            let is_trip = ["latency", "round trip"].iter().any(|it| routine.name.starts_with(it));
            let cycles = match is_trip {
                true if routine.name.ends_with("pextrq r64 x i8") => 11.0,
                true => 9.0,
                false => 1.0,
            };
            Ok(Spread::exact(cycles))
        }

        fn knows(&self, instruction: &iced_x86::Instruction) -> bool {
            let form = corun_model::timing::form(instruction);
            ["movq x r64", "movq r64 x", "pextrq r64 x i8"].contains(&form.as_str())
        }
    }

    #[test]
    fn the_lowest_figure_that_two_passes_have_counts() {
        let passes = |cycles: &[f64]| -> Vec<FormFigure> {
            let form = |&cycles: &f64| FormFigure {
                form: "add r64 r64".to_owned(),
                latency: Some(Spread::exact(1.0)),
                cycles: Some(Spread::exact(cycles)),
                slots: None,
                sample: None,
            };
            cycles.iter().map(form).collect()
        };
        let found = |cycles: &[f64]| {
            let passes = passes(cycles);
            (is_agreed(&passes), agreed(&passes).and_then(|form| form.cycles).map(|it| it.median))
        };
        assert_eq!(found(&[0.26, 0.25]), (true, Some(0.25)));
        assert_eq!(found(&[0.25, 0.5]), (false, None));
        assert_eq!(found(&[0.25, 0.5, 0.26]), (true, Some(0.25)));
        assert_eq!(found(&[0.25]), (false, None));
        assert!(agreed(&[]).is_none());
    }

    #[test]
    fn latencies_there_and_back_add_up_to_what_both_take() {
        let model = corun_model::find("zen4").unwrap();
        let base = TimingTable::of(&model).unwrap();
        let kept = f64::from(base.row("movq r64 x").unwrap().latency);
        let found = forms(&mut Mover, &base, &Unwatched).unwrap();
        let latency = |form: &str| {
            let figure = found.iter().find(|figure| figure.form == form).unwrap();
            figure.latency.unwrap().median
        };
        assert_eq!(latency("movq r64 x"), kept);
        assert_eq!(latency("movq x r64"), 9.0 - kept);
        assert_eq!(latency("pextrq r64 x i8"), kept + 2.0);
    }
}
