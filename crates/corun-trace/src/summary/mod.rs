//! Summary of a trace, in figures: the mix of its instructions, its footprint, its hottest blocks.

mod footprint;
mod listing;

use corun_record::{
    Counter, Progress, TraceFootprint as Footprint, TracedBranches as Branches,
    TracedMemory as Memory,
};

use crate::flow::Exit;
use crate::format::{FormatError, Trace};
use crate::{Block, BlockId, BranchKind, Direction, Event, Form, Marker, MemoryOperand, ThreadId};
use footprint::Touched;
pub use listing::disassemble;

/// A trace in figures; warm-up intervals count like all others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Recorded instructions.
    pub instructions: u64,
    /// Executed blocks.
    pub executions: u64,
    /// Blocks of the dictionary that were executed.
    pub blocks: u64,
    /// Instructions that branch.
    pub branches: Branches,
    /// Accesses to memory.
    pub memory: Memory,
    /// The code that was executed.
    pub code: Footprint,
    /// The memory that was accessed.
    pub data: Footprint,
    /// Those that executed most instructions, hottest first.
    pub hottest: Vec<HotBlock>,
}

/// A block that is executed often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HotBlock {
    /// Identity of the block.
    pub block: BlockId,
    /// Address of the block.
    pub address: u64,
    /// Number of its executions.
    pub executions: u64,
    /// Share of all instructions.
    pub share: f64,
}

/// Sums a whole trace up, with so many of its hottest blocks; `progress` hears of its instructions. Of a thread whose events are
/// damaged, those before are summed up; the first damage is returned, too.
pub fn summary(
    trace: &Trace,
    hottest: usize,
    progress: &dyn Progress,
) -> (Summary, Option<FormatError>) {
    progress.begin(trace.stage("reading the trace", None));
    let mut read = Counter::new(progress);
    let mut tally = Tally::new(trace.blocks());
    let damaged = trace.threads().iter().map(|it| tally.thread(trace, it.id, &mut read));
    let damage = damaged.filter_map(Result::err).fold(None, |first, error| first.or(Some(error)));
    (tally.summary(hottest), damage)
}

struct Tally<'a> {
    blocks: &'a [Block],
    exits: Vec<Exit>,
    counts: Vec<Count>,
    data: Touched,
    memory: Memory,
    taken: u64,
}

/// Counts of a block.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    executions: u64,
    /// Executions to the end.
    whole: u64,
    instructions: u64,
}

impl<'a> Tally<'a> {
    fn new(blocks: &'a [Block]) -> Self {
        Self {
            blocks,
            exits: blocks.iter().map(Exit::of).collect(),
            counts: vec![Count::default(); blocks.len()],
            data: Touched::default(),
            memory: Memory::default(),
            taken: 0,
        }
    }

    /// Adds a thread up to its end, or to where it is damaged.
    fn thread(
        &mut self,
        trace: &Trace,
        thread: ThreadId,
        read: &mut Counter<'_>,
    ) -> Result<(), FormatError> {
        let mut events = trace.events(thread)?;
        let mut last = None;
        while let Some(event) = events.next_event()? {
            match event {
                Event::Block { block, executed, values } => {
                    read.add(u64::from(executed));
                    self.execute(block, executed, values);
                    self.follow(last, block);
                    let is_whole = executed as usize == trace.block(block).instructions.len();
                    last = is_whole.then_some(block);
                }
                Event::Marker(marker) => match marker.marker {
                    Marker::Switch | Marker::Atomic => {}
                    _ => last = None,
                },
            }
        }
        Ok(())
    }

    fn execute(&mut self, id: BlockId, executed: u32, values: &[u64]) {
        let block = &self.blocks[id.0 as usize];
        let count = &mut self.counts[id.0 as usize];
        let is_whole = executed as usize == block.instructions.len();
        count.executions += 1;
        count.whole += u64::from(is_whole);
        count.instructions += u64::from(executed);
        let operands =
            if is_whole { &block.operands } else { block.operands_of(executed as usize) };
        let mut values = values.iter().copied();
        let mut next = || values.next().expect("the format checked their number");
        for operand in operands {
            let size = u64::from(operand.size);
            match operand.form {
                Form::Single => {
                    self.data.touch(next(), size);
                    add_accesses(&mut self.memory, operand, 1);
                }
                Form::Lanes => {
                    let lanes = next();
                    (0..lanes).for_each(|_| self.data.touch(next(), size));
                    add_accesses(&mut self.memory, operand, lanes);
                }
                Form::Repeated => {
                    let (count, first) = (next(), next());
                    let (count, falls) = (count >> 1, count & 1 == 1);
                    let length = count.saturating_mul(size);
                    let back = if falls { length.saturating_sub(size) } else { 0 };
                    self.data.touch(first.wrapping_sub(back), length);
                    add_accesses(&mut self.memory, operand, count);
                }
            }
        }
    }

    fn follow(&mut self, last: Option<BlockId>, next: BlockId) {
        let Some(exit) = last.map(|last| self.exits[last.0 as usize]) else { return };
        let is_taken = exit.next != self.blocks[next.0 as usize].address;
        self.taken += u64::from(is_taken && exit.branch == Some(BranchKind::Conditional));
    }

    fn summary(self, hottest: usize) -> Summary {
        let instructions = self.counts.iter().map(|count| count.instructions).sum();
        let mut branches = Branches { taken: self.taken, ..Branches::default() };
        let mut code = Touched::default();
        for ((block, exit), count) in self.blocks.iter().zip(&self.exits).zip(&self.counts) {
            add_branches(&mut branches, exit.branch, count.whole);
            if count.executions > 0 {
                code.touch(block.address, block.end().wrapping_sub(block.address));
            }
        }
        Summary {
            instructions,
            executions: self.counts.iter().map(|count| count.executions).sum(),
            blocks: self.counts.iter().filter(|count| count.executions > 0).count() as u64,
            branches,
            memory: self.memory,
            code: code.footprint(),
            data: self.data.footprint(),
            hottest: hot_blocks(self.blocks, &self.counts, instructions, hottest),
        }
    }
}

fn hot_blocks(blocks: &[Block], counts: &[Count], total: u64, hottest: usize) -> Vec<HotBlock> {
    let mut order: Vec<usize> =
        (0..blocks.len()).filter(|&index| counts[index].executions > 0).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(counts[index].instructions));
    let hot = |index: usize| HotBlock {
        block: BlockId(index as u32),
        address: blocks[index].address,
        executions: counts[index].executions,
        share: counts[index].instructions as f64 / total as f64,
    };
    order.into_iter().take(hottest).map(hot).collect()
}

fn add_branches(branches: &mut Branches, kind: Option<BranchKind>, count: u64) {
    *match kind {
        Some(BranchKind::Conditional) => &mut branches.conditional,
        Some(BranchKind::Jump) => &mut branches.jumps,
        Some(BranchKind::IndirectJump) => &mut branches.indirect_jumps,
        Some(BranchKind::Call) => &mut branches.calls,
        Some(BranchKind::IndirectCall) => &mut branches.indirect_calls,
        Some(BranchKind::Return) => &mut branches.returns,
        Some(BranchKind::Other) | None => return,
    } += count;
}

fn add_accesses(memory: &mut Memory, operand: &MemoryOperand, count: u64) {
    let mut accesses = 0_u64;
    let mut add = |kind: &mut u64| {
        *kind = kind.saturating_add(count);
        accesses = accesses.saturating_add(count);
    };
    match operand.direction {
        Direction::Read => add(&mut memory.loads),
        Direction::Write => add(&mut memory.stores),
        Direction::ReadWrite => {
            add(&mut memory.loads);
            add(&mut memory.stores);
        }
        Direction::Prefetch => {
            memory.prefetches = memory.prefetches.saturating_add(count);
            return;
        }
    }
    let size = memory.sizes.entry(operand.size).or_default();
    *size = size.saturating_add(accesses);
}

#[cfg(test)]
mod tests;
