//! The ways to wait for a word in memory, from the one that takes most from a sibling to the ones
//! that take nothing.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Acquire;

use rustix::thread::futex;

#[cfg(target_arch = "x86_64")]
use super::monitor;
use crate::{Choice, Domain, Parameter};

/// The choice of a way.
pub(super) const WAIT: Parameter = Parameter {
    name: "wait",
    summary: "how the others wait until the work is done",
    default: "pause",
    domain: Domain::Choice(&[
        Choice { value: "nothing", summary: "a bare loop that loads and compares" },
        Choice { value: "pause", summary: "the loop with PAUSE, or the core's like of it" },
        Choice { value: "yield", summary: "the loop with the system call sched_yield" },
        Choice { value: "futex", summary: "asleep in the kernel until woken" },
        Choice { value: "umwait", summary: "UMONITOR and UMWAIT, which Intel cores may have" },
        Choice { value: "mwaitx", summary: "MONITORX and MWAITX, which AMD cores may have" },
    ]),
};

/// One way, known to work on this CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    Pause,
    Yield,
    Futex,
    #[cfg(target_arch = "x86_64")]
    Umwait,
    #[cfg(target_arch = "x86_64")]
    Mwaitx,
}

impl Wait {
    /// The way that `value` of [`WAIT`] stands for, or why this CPU has it not.
    pub(super) fn named(value: &str) -> Result<Self, String> {
        match value {
            "nothing" => Ok(Self::Nothing),
            "yield" => Ok(Self::Yield),
            "futex" => Ok(Self::Futex),
            #[cfg(target_arch = "x86_64")]
            "umwait" if monitor::has_waitpkg() => Ok(Self::Umwait),
            #[cfg(target_arch = "x86_64")]
            "mwaitx" if monitor::has_monitorx() => Ok(Self::Mwaitx),
            "umwait" => Err("this CPU has no UMWAIT (the flag `waitpkg`)".into()),
            "mwaitx" => Err("this CPU has no MWAITX (the flag `mwaitx`)".into()),
            _ => Ok(Self::Pause),
        }
    }

    /// Waits until `word` has come to `count`, which it passes by less than 2^31.
    pub(super) fn until(self, word: &AtomicU32, count: u32) {
        match self {
            Self::Nothing => until(word, count, |_| {}),
            Self::Pause => until(word, count, |_| std::hint::spin_loop()),
            Self::Yield => until(word, count, |_| std::thread::yield_now()),
            // Not asleep, or woken for nothing: the loop polls again.
            Self::Futex => until(word, count, |seen| {
                let _ = futex::wait(word, futex::Flags::PRIVATE, seen, None);
            }),
            #[cfg(target_arch = "x86_64")]
            Self::Umwait => until(word, count, |seen| monitor::umwait_while(word, seen)),
            #[cfg(target_arch = "x86_64")]
            Self::Mwaitx => until(word, count, |seen| monitor::mwaitx_while(word, seen)),
        }
    }

    /// Wakes those who wait for `word`, which has changed, and do not see it by themselves.
    pub(super) fn wake(self, word: &AtomicU32) {
        if self == Self::Futex {
            // It fails for an address outside the process only.
            let _ = futex::wake(word, futex::Flags::PRIVATE, i32::MAX as u32);
        }
    }
}

/// Calls `pause` with what the word held, until it has come to `count`.
#[inline(always)]
fn until(word: &AtomicU32, count: u32, pause: impl Fn(u32)) {
    loop {
        let seen = word.load(Acquire);
        if seen.wrapping_sub(count) < 1 << 31 {
            return;
        }
        pause(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_were_passed_are_not_waited_for_even_when_they_wrap() {
        for wait in [Wait::Nothing, Wait::Pause, Wait::Yield, Wait::Futex] {
            for (word, count) in [(1, 1), (5, 3), (0, u32::MAX), (7, u32::MAX - 7)] {
                wait.until(&AtomicU32::new(word), count);
            }
        }
    }
}
