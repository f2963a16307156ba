//! Execution of a block, to learn its accesses.

use std::collections::BTreeSet;

use corun_trace::Block;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use corun_trace::{Direction, accesses};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::layout::{LINE, LINES, PATTERN};

/// A block that was executed so many times, one copy after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The block at the address of its first copy; the others follow directly.
    pub block: Block,
    pub(crate) values: Vec<u64>,
    /// Mnemonics of the instructions that this host lacks and that were stepped over.
    pub(crate) missing: BTreeSet<String>,
    /// End of each iteration's values.
    ends: Vec<usize>,
}

impl Execution {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn new(block: Block) -> Self {
        Self { block, values: Vec::new(), missing: BTreeSet::new(), ends: Vec::new() }
    }

    /// Mnemonics of instructions that this host lacks, which were stepped over.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// Ends the values of an iteration: those that follow are of the next.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn end_iteration(&mut self) {
        self.ends.push(self.values.len());
    }

    /// Nothing of the iteration that came to a fault is kept.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn end_before_fault(&mut self) {
        self.values.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Number of copies that are timed, and as many again, and the source of their instructions: as many as an op cache
    /// holds, but no more than come to no fault. They are more where each touches what the one before touched, since a
    /// time less than a cycle is then measured better.
    pub fn copies(&self, core: Vendor) -> (usize, FrontEnd) {
        let (copies, front_end) = copies_of(&self.block, core);
        if front_end == FrontEnd::OpCache && self.ends.len() >= 2 * COPIES && self.is_still() {
            return (copies.max(held(&self.block).min(MOST_OF_STILL)), front_end);
        }
        (copies.min(self.ends.len() / 2).max(1), front_end)
    }

    /// True if every iteration touches the same addresses, but for the first, which may set registers for the others.
    fn is_still(&self) -> bool {
        let mut later = self.iterations().skip(1);
        let second = later.next();
        later.all(|values| Some(values) == second)
    }

    /// For each line of the one page the address by which the first so many iterations reached it last; that in the page of
    /// [`PATTERN`] where none did.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn last_addresses(&self, iterations: usize) -> [u64; LINES] {
        let mut last = std::array::from_fn(|line| PATTERN + line as u64 * LINE);
        let executed = self.block.instructions.len() as u32;
        for values in self.iterations().take(iterations) {
            // What is prefetched may be no address of memory.
            let touched = accesses(&self.block, executed, values)
                .filter(|access| access.direction != Direction::Prefetch);
            for access in touched {
                let end = access.address.saturating_add(u64::from(access.size.max(1)) - 1);
                for line in access.address / LINE..=end / LINE {
                    last[(line % LINES as u64) as usize] = line * LINE;
                }
            }
        }
        last
    }

    /// The values of the operands of each iteration, as [`Event::Block`](corun_trace::Event::Block)
    /// holds them. Addresses are virtual; the physical one is the remainder by [`PAGE`](crate::PAGE).
    pub fn iterations(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        (0..self.ends.len()).map(|index| {
            let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.values[begin..self.ends[index]]
        })
    }
}

/// The most copies of a block; twice as many are timed too.
pub const COPIES: usize = 100;
/// The most copies of a block that touches the same addresses in each.
const MOST_OF_STILL: usize = 400;
/// Instructions and bytes of twice the copies that every op cache holds, with what stands around them.
const HELD_INSTRUCTIONS: usize = 1024;
const HELD_BYTES: usize = 8192;
/// Instructions of 64 bytes of code that an op cache holds. Intel: three lines of 6 for 32 bytes (Intel 248966, 2.4.2.2).
/// Elsewhere what a Zen 5 was found to hold, timed with blocks of NOPs: 60 instructions took 7.6 cycles, 64 took 15.9.
const HELD_DENSITY_INTEL: usize = 36;
const HELD_DENSITY: usize = 60;
/// The fewest copies from which a difference can be measured.
const FEWEST_COPIES: usize = 4;

/// The fewest iterations of a block that comes to a fault later.
pub(crate) const FEWEST_ITERATIONS: usize = 2 * (FEWEST_COPIES + 1);

/// Source of the instructions of the copies of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// Few copies, which the op cache holds as it holds a loop of the block.
    OpCache,
    /// More code than is sure to be held, or denser code: decoders may take a part in it.
    Decoders,
}

/// Whose rules of the op cache and of the first level hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// Published measurements are of 100 copies.
    Intel,
    /// Half as many, so that few blocks come back to a line of their one page by another address, which costs cycles on these
    /// cores.
    Other,
}

impl Vendor {
    /// Of this host.
    pub fn of_host() -> Self {
        if is_intel() { Self::Intel } else { Self::Other }
    }
}

/// Number of copies of a block that are timed, and the source of their instructions. There are no more than an op
/// cache holds, so that a block takes what it takes in a loop. Copies that follow each other may be denser than an op
/// cache holds, where a loop of the block is not.
fn copies_of(block: &Block, core: Vendor) -> (usize, FrontEnd) {
    let (density, most) = match core {
        Vendor::Intel => (HELD_DENSITY_INTEL, COPIES),
        Vendor::Other => (HELD_DENSITY, COPIES / 2),
    };
    let (copies, front_end) = copies_held(block, density);
    (copies.min(most), front_end)
}

/// Half of the copies that every op cache has places for.
fn held(block: &Block) -> usize {
    let bytes = (block.end() - block.address).max(1) as usize;
    let instructions = block.instructions.len().max(1);
    (HELD_INSTRUCTIONS / instructions).min(HELD_BYTES / bytes) / 2
}

fn copies_held(block: &Block, density: usize) -> (usize, FrontEnd) {
    let bytes = (block.end() - block.address).max(1) as usize;
    let instructions = block.instructions.len().max(1);
    let held = held(block);
    let is_held = held >= FEWEST_COPIES && 64 * instructions <= density * bytes;
    let front_end = if is_held { FrontEnd::OpCache } else { FrontEnd::Decoders };
    (held.clamp(FEWEST_COPIES, COPIES), front_end)
}

#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    // "Genu", the first part of "GenuineIntel".
    std::arch::x86_64::__cpuid(0).ebx.to_le_bytes() == *b"Genu"
}

#[cfg(not(target_arch = "x86_64"))]
fn is_intel() -> bool {
    false
}

/// Cycles of one iteration of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycles {
    /// The median over groups of samples.
    pub median: f64,
    /// A tenth of the groups is below.
    pub p10: f64,
    /// A tenth of the groups is above.
    pub p90: f64,
    /// Groups that counted: those in which the core was not shared, or else least.
    pub groups: usize,
    /// Of these, the ones in which it was not shared.
    pub alone: usize,
    /// Source of the instructions.
    pub front_end: FrontEnd,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 copies of 32 instructions are more than any op cache has places for.
    #[test]
    fn copies_are_as_many_as_an_op_cache_holds() {
        let of = |code: &[u8]| copies_held(&corun_trace::decode(0, code).unwrap(), HELD_DENSITY);
        assert_eq!(of(&[0x66, 0x90]), (COPIES, FrontEnd::OpCache));
        let additions = [0x49, 0x83, 0xc0, 1, 0x90, 0x90, 0x90].repeat(8);
        assert_eq!(of(&additions), (16, FrontEnd::OpCache));
        assert_eq!(of(&[0x90; 200]), (FEWEST_COPIES, FrontEnd::Decoders));
    }

    /// A window of 64 bytes full of one-byte instructions has more lines than an op cache gives to it.
    #[test]
    fn copies_that_lie_too_dense_are_decoded() {
        let of =
            |code: &[u8], density| copies_held(&corun_trace::decode(0, code).unwrap(), density);
        assert_eq!(of(&[0x90; 8], HELD_DENSITY), (64, FrontEnd::Decoders));
        let additions = [0x49, 0x83, 0xc0, 1, 0x90, 0x90, 0x90];
        assert_eq!(of(&additions, HELD_DENSITY), (COPIES, FrontEnd::OpCache));
        assert_eq!(of(&additions, HELD_DENSITY_INTEL), (COPIES, FrontEnd::Decoders));
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn copies_are_more_where_each_touches_the_same() {
        let of = |code: &[u8]| crate::execute(code, 2 * COPIES).unwrap().copies(Vendor::Other).0;
        // mov rax, [rbx]; nop of five bytes; the same with push rax for the load
        assert_eq!(of(&[0x48, 0x8b, 0x03, 0x0f, 0x1f, 0x44, 0, 0]), 256);
        assert_eq!(of(&[0x50, 0x0f, 0x1f, 0x44, 0, 0]), COPIES / 2);
        // mov rbx, [rbx+8], which holds what rbx held: the first iteration is like the others.
        assert_eq!(of(&[0x48, 0x8b, 0x5b, 0x08]), MOST_OF_STILL);
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn each_line_is_left_to_its_last_address() {
        // push rax: 200 of them stay in the page of the stack pointer.
        let pushes = crate::execute(&[0x50], 2 * COPIES).unwrap();
        let last = pushes.last_addresses(2 * COPIES);
        for (line, address) in (0..).zip(last) {
            assert_eq!(address, PATTERN + line * LINE, "nothing leaves the page");
        }
        // mov rax, [rbx+rcx-0x2324000+0x1040]; add rcx, 64: a line farther each time, in the page after.
        let code = [0x48, 0x8b, 0x84, 0x0b, 0x40, 0xd0, 0xcd, 0xfd, 0x48, 0x83, 0xc1, 0x40];
        let walk = crate::execute(&code, 2 * COPIES).unwrap();
        let last = walk.last_addresses(3);
        let expected = |line: u64| match line {
            1..=3 => PATTERN + 0x1000 + line * LINE,
            _ => PATTERN + line * LINE,
        };
        assert_eq!(last, std::array::from_fn(|line| expected(line as u64)));
        // lea rax, [rbx-0x2324000]; prefetcht0 [rax+0x40]: nothing can be loaded there.
        let prefetch = [0x48, 0x8d, 0x83, 0x00, 0xc0, 0xcd, 0xfd, 0x0f, 0x18, 0x48, 0x40];
        let last = crate::execute(&prefetch, 2 * COPIES).unwrap().last_addresses(3);
        assert_eq!(last, std::array::from_fn(|line| PATTERN + line as u64 * LINE));
    }
}
