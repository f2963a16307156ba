//! Cycles of one more copy of a block: the time of 2k copies minus that of k, over k, as the
//! published measurements do it (BHive, Chen et al. 2019).

use corun_trace::Block;

use crate::core::{CycleStack, Deadlock, InstructionSource, Next, Step};
use crate::error::SimulationError;
use crate::machine::Machine;
use crate::memory::Pages;
use crate::plausible;
use crate::uops::{DecodedBlock, Lowering};
use corun_model::CoreModel;

/// A block, and what each of its copies touches.
#[derive(Debug, Clone, Copy)]
pub struct Copies<'b> {
    /// Code of the loop.
    pub block: &'b Block,
    /// For each copy the values of its memory operands, as a trace holds them. The last ones are
    /// repeated if there are more copies.
    pub values: &'b [Vec<u64>],
}

/// Core cycles of one copy in steady state, and where they go. `k` copies, at least 2, are compared with
/// 2k; one fewer and one more too, and the mean of the three is taken, so that whole cycles do not show. The result is rounded
/// to a thousandth, as measured cycles are: further digits depend on the number of copies, and would order blocks that take
/// the same time.
///
/// # Errors
/// If the simulated core makes no progress, or its cycles cannot be.
pub fn steady_state(
    model: &CoreModel,
    lowering: &mut Lowering<'_>,
    copies: Copies<'_>,
    k: u32,
) -> Result<(f64, CycleStack), SimulationError> {
    let mut model = model.clone();
    model.front.op_cache = model.front.op_cache.filter(|cache| cache.unrolled);
    // Each copy is code of its own: together they have more loads than are remembered.
    model.memory.forwarding.predictive_forwarding = 0;
    let model = &model;
    // Fewer copies than the queue before renaming holds are fetched while the fence before them is executed.
    let instructions = copies.block.instructions.len().max(1) as u32;
    let k = k.max((2 * model.front.queue.entries).div_ceil(instructions));
    let mut sum = 0.0;
    for k in k - 1..=k + 1 {
        let (less, _) = run(model, lowering, copies, k)?;
        let (more, _) = run(model, lowering, copies, 2 * k)?;
        sum += (more as f64 - less as f64) / f64::from(k);
    }
    let (cycles, stack) = (sum / 3.0, run(model, lowering, copies, 2 * k)?.1);
    // As many copies as take whole cycles.
    let all = |of_one: f64| of_one * f64::from(k.max(1000));
    plausible::of_rate(all(copies.block.instructions.len() as f64), all(cycles), model)?;
    Ok(((cycles * 1000.0).round() / 1000.0, stack))
}

/// Cycles of `count` copies between two fences, the second time that they are executed, when what they
/// stored the first time has reached the cache.
fn run(
    model: &CoreModel,
    lowering: &mut Lowering<'_>,
    copies: Copies<'_>,
    count: u32,
) -> Result<(u64, CycleStack), Box<Deadlock>> {
    // lfence; mfence
    let fences = corun_trace::decode(0, &[0x0f, 0xae, 0xe8, 0x0f, 0xae, 0xf0]);
    let fences = fences.map(|fences| shortened(lowering.lower(&fences)));
    let code = lowering.lower(copies.block);
    lowering.count(&code, code.instructions.len());
    let instructions = code.instructions.len() as u64;
    let source = Unrolled {
        length: copies.block.end() - copies.block.address,
        values: copies.values.to_vec(),
        code: Some([code, fences.unwrap_or_default()]),
        block: 0,
        at: copies.block.address,
        executed: instructions as u32,
        count,
        next: 0,
        rounds: 2,
    };
    let mut machine = Machine::new(model, vec![(lowering.stack_update(), vec![source])]);
    let first = copies.values.first().map_or(&[][..], Vec::as_slice);
    let copies = instructions * u64::from(count);
    machine.run(&[vec![copies + 2]])?;
    // The published measurements find those of the first copy, and of no further one.
    if model.memory.dtlb.repeats {
        machine.forget_translations(first);
    }
    let begin = machine.state(0, 0);
    machine.run(&[vec![copies + 2 + copies + 1]])?;
    let measured = machine.state(0, 0).since(&begin);
    Ok((measured.cycles, measured.stack))
}

/// The last fence only separates the rounds: its own time would let the front end run ahead of the first
/// copies of the next one.
fn shortened(mut fences: DecodedBlock) -> DecodedBlock {
    if let Some(last) = fences.instructions.last_mut() {
        (last.slots, last.renamed, last.is_microcode) = (1, 1, false);
        last.uops.truncate(1);
        for uop in &mut last.uops {
            (uop.slot, uop.busy, uop.latency) = (0, 1, 1);
        }
    }
    DecodedBlock::new(fences.instructions)
}

/// Copies of a block one after the other, then fences; and all of that again.
struct Unrolled {
    length: u64,
    values: Vec<Vec<u64>>,
    code: Option<[DecodedBlock; 2]>,
    block: u32,
    at: u64,
    executed: u32,
    count: u32,
    next: u32,
    rounds: u32,
}

impl InstructionSource for Unrolled {
    fn next(&mut self, _: u64, code: &mut Vec<DecodedBlock>, values: &mut Vec<u64>) -> Next {
        if let Some(new) = self.code.take() {
            self.block = code.len() as u32;
            code.extend(new);
        }
        if self.rounds == 0 {
            return Next::End;
        }
        let address = self.at + u64::from(self.next) * self.length;
        if self.next == self.count {
            self.next = 0;
            self.rounds -= 1;
            return Next::Step(Step { block: self.block + 1, address, executed: 2 });
        }
        let own = self.values.get(self.next as usize).or(self.values.last());
        values.extend(own.into_iter().flatten());
        self.next += 1;
        Next::Step(Step { block: self.block, address, executed: self.executed })
    }

    fn pages(&self) -> Pages {
        Pages::one()
    }
}
