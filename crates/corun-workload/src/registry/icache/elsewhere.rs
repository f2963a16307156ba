//! Architectures that corun makes no machine code for; the workload says so before it comes here.

use super::code::{BLOCK, Link};

pub(super) const IS_KNOWN: bool = false;
#[allow(dead_code)]
pub(super) const ADDITIONS: usize = 0;

pub(super) fn block(_number: u32, _link: Link) -> [u8; BLOCK] {
    [0; BLOCK]
}

pub(super) fn make_visible(_code: &[u8]) {}

/// # Safety
/// Never called.
pub(super) unsafe fn call(_entry: &u8) -> u32 {
    0
}
