//! Blocks for x86-64 (Intel, Software Developer's Manual, volume 2): additions of constants of four
//! bytes, as long as instructions of real programs are, or a little longer.

use std::arch::asm;

use super::code::{BLOCK, Link};

pub(super) const IS_KNOWN: bool = true;

/// Instructions of a block that add its number.
pub(super) const ADDITIONS: usize = 10;

/// To five registers in turn, so that few additions of a block wait for others: ADD r32, imm32, and
/// last its form for EAX alone. The five bytes that remain lead on.
pub(super) fn block(number: u32, link: Link) -> [u8; BLOCK] {
    const EAX: u8 = 0;
    const ECX: u8 = 1;
    const EDX: u8 = 2;
    const ESI: u8 = 6;
    const EDI: u8 = 7;
    const REGISTERS: [u8; ADDITIONS - 1] = [ECX, EDX, ESI, EDI, EAX, ECX, EDX, ESI, EDI];
    const END: usize = 6 * REGISTERS.len();
    let mut bytes = [0; BLOCK];
    for (bytes, register) in bytes.chunks_exact_mut(6).zip(REGISTERS) {
        bytes[..2].copy_from_slice(&[0x81, 0xc0 | register]);
        bytes[2..].copy_from_slice(&number.to_le_bytes());
    }
    bytes[END] = 0x05;
    bytes[END + 1..END + 5].copy_from_slice(&number.to_le_bytes());
    bytes[END + 5..].copy_from_slice(&match link {
        // NOP of five bytes; JMP rel32, which counts from its own end; RET.
        Link::Onward => [0x0f, 0x1f, 0x44, 0x00, 0x00],
        Link::Jump(distance) => {
            let [a, b, c, d] = (distance - BLOCK as i32).to_le_bytes();
            [0xe9, a, b, c, d]
        }
        Link::Return => [0xc3, 0x90, 0x90, 0x90, 0x90],
    });
    bytes
}

/// Nothing to do: a core sees its own stores when it fetches instructions.
pub(super) fn make_visible(_code: &[u8]) {}

/// Runs the chain from `entry` on and returns the sum of what it has added to its registers.
///
/// # Safety
/// `entry` is the first byte of a [`block`] in executable memory, linked to others up to a return.
#[inline]
pub(super) unsafe fn call(entry: &u8) -> u32 {
    let mut sums = [0_u32; 5];
    // SAFETY: the blocks change these registers and the flags, and return.
    unsafe {
        asm!(
            "call {entry}",
            entry = in(reg) entry,
            inout("eax") sums[0],
            inout("ecx") sums[1],
            inout("edx") sums[2],
            inout("esi") sums[3],
            inout("edi") sums[4],
        );
    }
    sums.into_iter().fold(0, u32::wrapping_add)
}
