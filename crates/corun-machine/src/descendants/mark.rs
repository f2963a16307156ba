//! A mark that a command's descendants inherit: the soft limit on the CPU time of real-time tasks
//! (`RLIMIT_RTTIME`, in microseconds), at a value of more than a hundred thousand years.
//!
//! fork and exec keep limits, and leaving a session, closing descriptors and clearing the
//! environment do not change them. One system call reads the mark of a process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::group::Group;

/// Marks are above this value, which no limit that means anything reaches.
const BASE: u64 = 1 << 62;
/// The bits that distinguish the commands of one corun.
const COMMAND_BITS: u32 = 32;

/// A mark of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    number: u64,
    /// The control group that the command runs in as well, where there can be one.
    group: Option<Group>,
}

/// The kernel's `struct rlimit64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Limit {
    soft: u64,
    hard: u64,
}

static COMMANDS: AtomicU32 = AtomicU32::new(1);

impl Mark {
    pub(super) fn next() -> Self {
        let command = COMMANDS.fetch_add(1, Ordering::Relaxed);
        Self { number: (session() << COMMAND_BITS) | u64::from(command), group: None }
    }

    /// The mark, with a control group of its own if one can be made.
    pub(super) fn with_group(self) -> Self {
        Self { group: Group::make(self.number), ..self }
    }

    pub(super) fn group(self) -> Option<Group> {
        self.group
    }

    /// Puts the mark on the calling process, which also enters the mark's control group. Usable between
    /// fork and exec.
    ///
    /// A lower hard limit stays as it is, without a mark.
    pub fn apply(self) {
        self.limit();
        self.group.map(Group::enter);
    }

    /// Puts the limit on the calling process, without the control group.
    pub(super) fn limit(self) {
        set_soft_limit(self.number);
    }

    /// True if a process has the mark.
    pub(super) fn is_on(self, process: i32) -> bool {
        soft_limit(process) == Some(self.number)
    }
}

/// Session number in the upper bits of all marks of this corun: chosen at random, so that two
/// coruns do not end each other's commands.
pub(super) fn session() -> u64 {
    static SESSION: OnceLock<u64> = OnceLock::new();
    *SESSION.get_or_init(|| (BASE >> COMMAND_BITS) | u64::from(rand::random::<u32>() >> 2))
}

/// True if a process has a mark of this session. Usable between fork and exec.
pub(super) fn is_of_session(process: i32, session: u64) -> bool {
    soft_limit(process).is_some_and(|soft| soft >> COMMAND_BITS == session)
}

/// The soft limit of a process; 0 is the calling one.
pub(super) fn soft_limit(process: i32) -> Option<u64> {
    let mut limit = Limit { soft: 0, hard: 0 };
    let unchanged = std::ptr::null::<Limit>();
    // SAFETY: the kernel writes one `rlimit64` into a live one.
    let result = unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            process,
            libc::RLIMIT_RTTIME,
            unchanged,
            std::ptr::from_mut(&mut limit),
        )
    };
    (result == 0).then_some(limit.soft)
}

/// Sets the calling process's soft limit, where its hard limit allows it.
pub(super) fn set_soft_limit(soft: u64) {
    let mut limit = Limit { soft: 0, hard: 0 };
    let nothing = std::ptr::null_mut::<Limit>();
    // SAFETY: the kernel reads and writes live `rlimit64`s.
    unsafe {
        let read = libc::syscall(
            libc::SYS_prlimit64,
            0,
            libc::RLIMIT_RTTIME,
            nothing.cast_const(),
            std::ptr::from_mut(&mut limit),
        );
        if read == 0 && limit.hard >= soft {
            limit.soft = soft;
            libc::syscall(
                libc::SYS_prlimit64,
                0,
                libc::RLIMIT_RTTIME,
                std::ptr::from_ref(&limit),
                nothing,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_and_share_their_session() {
        let (one, other) = (Mark::next(), Mark::next());
        assert_ne!(one, other);
        assert_eq!(one.number >> COMMAND_BITS, session());
        assert_eq!(other.number >> COMMAND_BITS, session());
        assert!(one.number >= BASE && one.number < 2 * BASE);
    }

    #[test]
    fn a_process_without_a_mark_has_none() {
        assert!(!Mark::next().is_on(std::process::id().cast_signed()));
    }
}
