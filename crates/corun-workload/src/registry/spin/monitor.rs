//! The instructions with which a program without privileges lets its logical CPU rest until a cache
//! line is written to: UMWAIT (Intel SDM, volume 2) and MWAITX (AMD64 manual, volume 3).
//!
//! Both end early without harm, by an interrupt among other things. A store between the arming of
//! the monitor and the rest ends the rest at once; one before the arming is seen by reading again.

use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _rdtsc, CpuidResult};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Acquire;

/// The longest rest, in cycles of the time-stamp counter, should the store be missed; as long
/// as Linux lets UMWAIT rest by default (`umwait_control/max_time`).
const LONGEST: u32 = 100_000;

/// True if the CPU has UMWAIT.
pub(super) fn has_waitpkg() -> bool {
    leaf(0, 0).eax >= 7 && leaf(7, 0).ecx & 1 << 5 != 0
}

/// True if the CPU has MWAITX.
pub(super) fn has_monitorx() -> bool {
    leaf(0x8000_0000, 0).eax >= 0x8000_0001 && leaf(0x8000_0001, 0).ecx & 1 << 29 != 0
}

#[allow(unused_unsafe, reason = "safe in newer versions of the standard library")]
fn leaf(leaf: u32, subleaf: u32) -> CpuidResult {
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe { __cpuid_count(leaf, subleaf) }
}

/// Rests while the word is `seen`, for [`LONGEST`] at most; only where there is UMWAIT.
pub(super) fn umwait_while(word: &AtomicU32, seen: u32) {
    // SAFETY: the caller knows that the CPU has the instruction; it writes nothing.
    unsafe { asm!("umonitor {}", in(reg) word.as_ptr(), options(nostack, preserves_flags)) };
    if word.load(Acquire) != seen {
        return;
    }
    // SAFETY: reads the time-stamp counter.
    let deadline = unsafe { _rdtsc() } + u64::from(LONGEST);
    // SAFETY: as above; it sets the carry flag where the system's own limit ended the rest.
    unsafe {
        asm!(
            "umwait {state:e}",
            state = in(reg) 0, // C0.2, the state that leaves most to the sibling
            in("eax") deadline as u32,
            in("edx") (deadline >> 32) as u32,
            options(nostack),
        );
    }
}

/// Rests while the word is `seen`, for [`LONGEST`] at most; only where there is MWAITX.
pub(super) fn mwaitx_while(word: &AtomicU32, seen: u32) {
    // SAFETY: the caller knows that the CPU has the instruction; it writes nothing.
    unsafe {
        asm!(
            "monitorx",
            in("rax") word.as_ptr(),
            in("ecx") 0,
            in("edx") 0,
            options(nostack, preserves_flags),
        );
    }
    if word.load(Acquire) != seen {
        return;
    }
    // SAFETY: as above. The limit is passed in `ebx`, which the compiler keeps to itself, so it is
    // put there for the one instruction and brought back.
    unsafe {
        asm!(
            "xchg {limit}, rbx",
            "mwaitx",
            "xchg {limit}, rbx",
            limit = inout(reg) u64::from(LONGEST) => _,
            in("eax") 0xf0, // stay in C0, as Linux does when it waits with this instruction
            in("ecx") 2,    // heed the limit
            options(nostack, preserves_flags),
        );
    }
}
