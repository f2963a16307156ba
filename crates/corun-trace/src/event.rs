//! Events of a thread, in its order.

use crate::{Block, BlockId, Direction, Form, MemoryOperand};

/// One step of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A block was executed from its start.
    Block {
        /// Which.
        block: BlockId,
        /// Number of its instructions that were executed; fewer than it has if a signal or a fault came in between.
        executed: u32,
        /// The values of the executed instructions' operands, as [`Form`] says.
        values: &'a [u64],
    },
    /// Something else than code.
    Marker(OrderedMarker),
}

/// A marker with its place among those of all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderedMarker {
    /// Grows from marker to marker over all threads, by 1 or more.
    pub order: u64,
    /// The marker.
    pub marker: Marker,
}

/// Marker between two blocks of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// The thread asks the kernel; the call's number follows the architecture.
    SystemCall(u64),
    /// A signal is delivered: its number.
    Signal(u32),
    /// The next block has an [atomic](crate::is_atomic) instruction: of all threads that has its place here. Given only
    /// while there are several.
    Atomic,
    /// The tracer saw the thread go on after another one.
    Switch,
    /// The process has a new child: its process id.
    Forked(u32),
    /// The process becomes another program.
    Replaced,
    /// A interval begins after this many instructions of the thread that were not recorded.
    Begin {
        /// Phase of the interval.
        phase: Phase,
        /// Instructions left out since the last recorded one.
        skipped: u64,
    },
    /// The thread has ended.
    Ended,
}

/// Phase of a recorded interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Fills caches and predictors before what counts.
    WarmUp,
    /// Counts.
    Counted,
}

/// One access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// Index of the instruction in its block.
    pub instruction: u32,
    /// The first byte; 0 if the tracer does not know it.
    pub address: u64,
    /// Bytes; 0 where the operand does not say.
    pub size: u16,
    /// Direction of the access.
    pub direction: Direction,
}

/// The accesses that the values of an execution stand for, in the order of instructions; those of a
/// `rep` instruction iteration by iteration.
///
/// They are as many as the values say, which may be 2^63 in a trace that no tracer recorded:
/// [`access_count`] gives beforehand.
///
/// # Panics
/// If `values` are not those of the block's first `executed` instructions.
pub fn accesses<'a>(
    block: &'a Block,
    executed: u32,
    values: &'a [u64],
) -> impl Iterator<Item = Access> + 'a {
    by_instruction(block, executed, values).flat_map(|(instruction, own)| Accesses {
        round: own.clone(),
        own,
        iteration: 0,
        is_last: true,
        instruction,
    })
}

/// The first access that each operand makes, of those that make any: no more than there are operands.
///
/// # Panics
/// As [`accesses`].
pub fn first_accesses<'a>(
    block: &'a Block,
    executed: u32,
    values: &'a [u64],
) -> impl Iterator<Item = Access> + 'a {
    by_instruction(block, executed, values).flat_map(|(instruction, own)| {
        own.filter_map(move |(&MemoryOperand { size, direction, .. }, run)| {
            Some(Access { instruction, address: run.get(0)?, size, direction })
        })
    })
}

/// Number of accesses that the values of an execution represent; 2^64 - 1 if they are more.
///
/// # Panics
/// As [`accesses`].
pub fn access_count(block: &Block, executed: u32, values: &[u64]) -> u64 {
    let runs = Runs { operands: block.operands_of(executed as usize), values };
    runs.fold(0, |sum, (_, run)| sum.saturating_add(run.count()))
}

/// The operands of each executed instruction, by its index.
fn by_instruction<'a>(
    block: &'a Block,
    executed: u32,
    values: &'a [u64],
) -> impl Iterator<Item = (u32, Runs<'a>)> {
    let instructions = block.instructions.iter().take(executed as usize).zip(0..);
    let mut rest = Runs { operands: &block.operands, values };
    instructions.map(move |(own, index)| (index, rest.split_off(own.operands.into())))
}

/// The accesses of one instruction.
struct Accesses<'a> {
    own: Runs<'a>,
    /// Rest of the iteration.
    round: Runs<'a>,
    iteration: u64,
    /// True if no operand had an access in this iteration.
    is_last: bool,
    instruction: u32,
}

impl Iterator for Accesses<'_> {
    type Item = Access;

    fn next(&mut self) -> Option<Access> {
        loop {
            for (&MemoryOperand { size, direction, .. }, run) in self.round.by_ref() {
                if let Some(address) = run.get(self.iteration) {
                    self.is_last = false;
                    let instruction = self.instruction;
                    return Some(Access { instruction, address, size, direction });
                }
            }
            if std::mem::replace(&mut self.is_last, true) {
                return None;
            }
            self.iteration += 1;
            self.round = self.own.clone();
        }
    }
}

/// Operands, each with its addresses, which are taken off the values in their order.
#[derive(Debug, Clone)]
struct Runs<'a> {
    operands: &'a [MemoryOperand],
    values: &'a [u64],
}

impl Runs<'_> {
    /// Takes so many operands off the front.
    fn split_off(&mut self, operands: usize) -> Self {
        let (own, rest) = self.operands.split_at(operands);
        let own = Self { operands: own, values: self.values };
        let mut passed = own.clone();
        passed.by_ref().for_each(drop);
        *self = Self { operands: rest, values: passed.values };
        own
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = (&'a MemoryOperand, Run<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let operand;
        (operand, self.operands) = self.operands.split_first()?;
        let run;
        (run, self.values) = Run::split(operand.form, operand.size, self.values);
        Some((operand, run))
    }
}

/// The addresses of one operand.
#[derive(Debug, Clone, Copy)]
enum Run<'a> {
    Listed(&'a [u64]),
    Strided { count: u64, first: u64, stride: u64 },
}

impl<'a> Run<'a> {
    /// Takes the values of one operand off the front.
    fn split(form: Form, size: u16, values: &'a [u64]) -> (Self, &'a [u64]) {
        match form {
            Form::Single => (Self::Listed(&values[..1]), &values[1..]),
            Form::Lanes => {
                let (listed, rest) = values[1..].split_at(values[0] as usize);
                (Self::Listed(listed), rest)
            }
            Form::Repeated => {
                let size = u64::from(size);
                let stride = if values[0] & 1 == 1 { size.wrapping_neg() } else { size };
                (Self::Strided { count: values[0] >> 1, first: values[1], stride }, &values[2..])
            }
        }
    }

    fn count(&self) -> u64 {
        match self {
            Self::Listed(addresses) => addresses.len() as u64,
            Self::Strided { count, .. } => *count,
        }
    }

    fn get(&self, iteration: u64) -> Option<u64> {
        match *self {
            Self::Listed(addresses) => addresses.get(iteration as usize).copied(),
            Self::Strided { count, first, stride } => {
                (iteration < count).then(|| first.wrapping_add(iteration.wrapping_mul(stride)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    fn listed(code: &[u8], values: &[u64]) -> Vec<(u64, Direction)> {
        let block = decode(0x1000, code).unwrap();
        let executed = block.instructions.len() as u32;
        accesses(&block, executed, values)
            .map(|access| (access.address, access.direction))
            .collect()
    }

    #[test]
    fn a_repeated_copy_reads_and_writes_in_turn() {
        // rep movsd, twice, downwards
        let accesses = listed(&[0xf3, 0xa5], &[5, 0x104, 5, 0x204]);
        let expected = [
            (0x104, Direction::Read),
            (0x204, Direction::Write),
            (0x100, Direction::Read),
            (0x200, Direction::Write),
        ];
        assert_eq!(accesses, expected);
    }

    #[test]
    fn a_masked_gather_has_the_lanes_that_it_loads() {
        // vpgatherdd xmm0, [rax + xmm1*4], xmm2; then mov rax, [rsp]
        let code = [0xc4, 0xe2, 0x69, 0x90, 0x04, 0x88, 0x48, 0x8b, 0x04, 0x24];
        let accesses = listed(&code, &[2, 0x10, 0x30, 0x7000]);
        assert_eq!(
            accesses,
            [(0x10, Direction::Read), (0x30, Direction::Read), (0x7000, Direction::Read)]
        );
    }

    #[test]
    fn accesses_without_end_are_counted_and_come_one_by_one() {
        // rep movsb; rep stosb; mov rax, [rsp]
        let block = decode(0x1000, &[0xf3, 0xa4, 0xf3, 0xaa, 0x48, 0x8b, 0x04, 0x24]).unwrap();
        let values = [u64::MAX, 0x100, u64::MAX, 0x200, 0, 0, 0x7000];
        assert_eq!(access_count(&block, 3, &values), u64::MAX);
        let first: Vec<_> = accesses(&block, 3, &values).take(3).map(|one| one.address).collect();
        assert_eq!(first, [0x100, 0x200, 0xff]);
        let firsts: Vec<_> = first_accesses(&block, 3, &values).map(|one| one.address).collect();
        assert_eq!(firsts, [0x100, 0x200, 0x7000]);
        let values = [4, 0x100, 6, 0x200, 0, 0, 0x7000];
        assert_eq!(access_count(&block, 3, &values), 6);
        let all: Vec<_> = accesses(&block, 3, &values).map(|one| one.address).collect();
        assert_eq!(all, [0x100, 0x200, 0x101, 0x201, 0x202, 0x7000]);
    }

    #[test]
    fn a_block_cut_short_has_the_accesses_of_what_was_executed() {
        // push rax; push rcx
        let block = decode(0x1000, &[0x50, 0x51]).unwrap();
        assert_eq!(accesses(&block, 1, &[0x7ff8]).count(), 1);
    }
}
