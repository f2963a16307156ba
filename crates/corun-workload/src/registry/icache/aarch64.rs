//! Blocks for aarch64 (Arm, Architecture Reference Manual for A-profile, chapter C6): sixteen
//! instructions of four bytes.

use std::arch::asm;

use super::code::{BLOCK, Link};

pub(super) const IS_KNOWN: bool = true;

/// Pairs of instructions of a block that add its number, 12 bits each.
pub(super) const ADDITIONS: usize = 7;

/// ADD (immediate) to w0 to w6 in turn, so that few additions of a block wait for others, a NOP, and
/// the instruction that leads on.
pub(super) fn block(number: u32, link: Link) -> [u8; BLOCK] {
    const NOP: u32 = 0xd503_201f;
    let add = |part: u32, register: u32| {
        let (shifted, immediate) = (part, number >> (12 * part) & 0xfff);
        0x1100_0000 | shifted << 22 | immediate << 10 | register << 5 | register
    };
    let mut instructions = [NOP; BLOCK / 4];
    for (index, instruction) in instructions[..2 * ADDITIONS].iter_mut().enumerate() {
        *instruction = add((index / ADDITIONS) as u32, (index % ADDITIONS) as u32);
    }
    instructions[BLOCK / 4 - 1] = match link {
        Link::Onward => NOP,
        // B, which counts instructions from itself, the last of its block.
        Link::Jump(distance) => {
            0x1400_0000 | ((distance - (BLOCK as i32 - 4)) / 4) as u32 & 0x03ff_ffff
        }
        Link::Return => 0xd65f_03c0,
    };
    let mut bytes = [0; BLOCK];
    for (bytes, instruction) in bytes.chunks_exact_mut(4).zip(instructions) {
        bytes.copy_from_slice(&instruction.to_le_bytes());
    }
    bytes
}

/// Cleans the data caches and invalidates the instruction caches, line by line (section B2.7.4.2 of
/// the manual): stores are not seen by instruction fetches otherwise.
pub(super) fn make_visible(code: &[u8]) {
    // Lines are never shorter, and a line that is done twice is right, too.
    for line in code.chunks(16) {
        // SAFETY: the address belongs to `code`.
        unsafe { asm!("dc cvau, {line}", line = in(reg) line.as_ptr()) };
    }
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish") };
    for line in code.chunks(16) {
        // SAFETY: the address belongs to `code`.
        unsafe { asm!("ic ivau, {line}", line = in(reg) line.as_ptr()) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb") };
}

/// Runs the chain from `entry` on and returns the sum of what it has added to its registers.
///
/// # Safety
/// `entry` is the first byte of a [`block`] in executable memory, linked to others up to a return.
#[inline]
pub(super) unsafe fn call(entry: &u8) -> u32 {
    let mut sums = [0_u32; ADDITIONS];
    // SAFETY: the blocks change these registers, and return to what the link register says.
    unsafe {
        asm!(
            "blr {entry}",
            entry = in(reg) entry,
            inout("w0") sums[0],
            inout("w1") sums[1],
            inout("w2") sums[2],
            inout("w3") sums[3],
            inout("w4") sums[4],
            inout("w5") sums[5],
            inout("w6") sums[6],
            out("lr") _,
        );
    }
    sums.into_iter().fold(0, u32::wrapping_add)
}
