//! Memory layout of the child.
//!
//! What belongs to the harness is farther from the code than an address beside an instruction reaches,
//! and far from what a register of [`PATTERN`] points to.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::BlockError;

/// Value that every general-purpose register but the stack pointer, every 8 bytes of a vector register and of memory hold
/// at the start.
pub const PATTERN: u64 = 0x232_4000;
/// Value of the stack pointer at the start: the middle of a page, so that what lies on the stack is
/// not what the other registers point to. The published measurements must have had it so too: blocks
/// that load from the stack what they store through another register at the same distance take no
/// longer there than if the two were apart.
pub const STACK_POINTER: u64 = PATTERN + PAGE / 2;
/// Bytes of a page; all of a block's pages are one physical page.
pub const PAGE: u64 = 4096;
/// Bytes of a line of the first level.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const LINE: u64 = 64;
/// Lines of a page.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const LINES: usize = (PAGE / LINE) as usize;

/// The first copy of the block.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const CODE: u64 = 0x3f00_0000_0000;
/// Address of the code that sets registers and takes the time.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const HARNESS: u64 = 0x3e00_0000_0000;
/// Address of the data that it reads and writes, the page after it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const DATA: u64 = HARNESS + PAGE;
/// The most bytes of unrolled code.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) const MAX_CODE: usize = 1 << 20;

/// Refuses code that does not fit.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) fn check_size(bytes: usize) -> Result<(), BlockError> {
    if bytes > MAX_CODE {
        return Err(BlockError::TooLarge { bytes, limit: MAX_CODE });
    }
    Ok(())
}
