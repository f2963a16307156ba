//! Blocks of machine code, linked into one chain that returns at its end. A caller that enters it n
//! blocks before the end runs exactly n blocks, without a counter in the code.

use std::io;

use memmap2::{Mmap, MmapMut};

use super::architecture;

/// Bytes of a block: a cache line, of every machine there is code for.
pub(super) const BLOCK: usize = 64;

/// End of a block.
#[derive(Clone, Copy)]
pub(super) enum Link {
    /// It falls through to the next block.
    Onward,
    /// It jumps to the block that begins so many bytes after its own beginning.
    Jump(i32),
    /// It returns to the caller of the chain.
    Return,
}

/// A chain of blocks, executable and no longer writable.
pub(super) struct Code {
    memory: Mmap,
    order: Vec<u32>,
}

impl Code {
    /// Fills `memory` with one block for each place in `order`, which is in order of execution.
    /// Block number n of the chain, from 1, adds n to a register
    /// [`ADDITIONS`](architecture::ADDITIONS) times.
    ///
    /// # Errors
    /// If the system refuses to make the memory executable.
    pub(super) fn write(mut memory: MmapMut, order: Vec<u32>) -> io::Result<Self> {
        let next = order.iter().skip(1).map(Some).chain([None]);
        for ((number, &place), next) in (1..).zip(&order).zip(next) {
            let link = match next {
                None => Link::Return,
                Some(&next) if next == place + 1 => Link::Onward,
                Some(&next) => Link::Jump((next as i32 - place as i32) * BLOCK as i32),
            };
            memory[place as usize * BLOCK..][..BLOCK]
                .copy_from_slice(&architecture::block(number, link));
        }
        let memory = memory.make_exec()?;
        architecture::make_visible(&memory);
        Ok(Self { memory, order })
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.order.len() as u64
    }

    /// Runs the last so many blocks and returns the sum of what they have added, modulo 2^32.
    #[inline]
    pub(super) fn run_last(&self, blocks: u64) -> u32 {
        let first = (self.blocks() - blocks) as usize;
        let Some(&place) = self.order.get(first) else { return 0 };
        // SAFETY: every place is the start of a block that `write` put there.
        unsafe { architecture::call(&self.memory[place as usize * BLOCK]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn a_chain_runs_from_any_block_to_its_end() {
        let memory = MmapMut::map_anon(4 * BLOCK).unwrap();
        let code = Code::write(memory, vec![2, 3, 0, 1]).unwrap();
        let sums = [0, 4, 7, 9, 10].map(|sum| sum * architecture::ADDITIONS as u32);
        assert_eq!([0, 1, 2, 3, 4].map(|blocks| code.run_last(blocks)), sums);
    }
}
