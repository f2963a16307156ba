//! SIGTRAP for a thread that is stepped by means of it.
//!
//! Where a step ends while SIGTRAP is blocked, the kernel forgets the program's handler (`force_sig_info_to_task` in
//! kernel/signal.c of Linux). So it is never blocked while the program's own instructions are stepped: what the
//! program blocks is noted here, and holds in the kernel during system calls only, which are not stepped then.

use std::io::{IoSlice, IoSliceMut};

use libc::c_int;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use super::kernel::{self, TRAP};

/// Those that change or replace the mask of signals (arch/x86/entry/syscalls/syscall_64.tbl of Linux).
const MASKING: [i64; 7] = [
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_pselect6,
    libc::SYS_ppoll,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
];
/// Results of a call that a signal interrupts: EINTR, and what the kernel does not show (include/linux/errno.h).
const INTERRUPTED: [i64; 5] = [-4, -512, -513, -514, -516];
/// Offset in a handler's frame of the mask that its end restores: after the return address, and in `struct
/// ucontext` after flags, link, stack and registers (arch/x86/include/asm/sigframe.h,
/// include/uapi/asm-generic/ucontext.h).
const MASK_IN_FRAME: u64 = 8 + 8 + 8 + 24 + 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    None,
    /// The thread is about to do it.
    Ahead,
    /// The kernel does it.
    Inside,
}

/// State of a thread's mask for SIGTRAP.
#[derive(Debug)]
pub(super) struct Traps {
    /// For the program, SIGTRAP is blocked.
    are_blocked: bool,
    /// One that was sent meanwhile.
    is_pending: bool,
    /// A system call that is not stepped.
    call: Call,
}

impl Traps {
    /// Of a thread that begins.
    pub(super) fn of(tid: Pid) -> nix::Result<Self> {
        let are_blocked = unblock(tid)?;
        Ok(Self { are_blocked, is_pending: false, call: Call::None })
    }

    pub(super) fn is_in_call(&self) -> bool {
        self.call == Call::Inside
    }

    /// Lets the thread do a system call of this number, unless it can be stepped as everything else.
    pub(super) fn begin_call(&mut self, tid: Pid, number: u64) -> nix::Result<bool> {
        if !self.are_blocked && !MASKING.contains(&number.cast_signed()) {
            return Ok(false);
        }
        if self.are_blocked {
            kernel::set_mask(tid, kernel::mask(tid)? | TRAP)?;
        }
        if std::mem::take(&mut self.is_pending) {
            kernel::send_trap(tid)?;
        }
        self.call = Call::Ahead;
        kernel::to_call(tid)?;
        Ok(true)
    }

    /// A stop at a system call: whether at its begin.
    pub(super) fn enter_call(&mut self) -> bool {
        let begins = self.call == Call::Ahead;
        self.call = if begins { Call::Inside } else { Call::None };
        begins
    }

    /// The system call is done, with this result.
    pub(super) fn end_call(&mut self, tid: Pid, result: u64) -> nix::Result<()> {
        self.call = Call::None;
        // A signal comes next. If the call has replaced the mask until then, to set it would keep the signal away.
        if self.are_blocked && INTERRUPTED.contains(&result.cast_signed()) {
            return Ok(());
        }
        self.are_blocked = unblock(tid)?;
        Ok(())
    }

    /// A handler begins, with this stack pointer.
    pub(super) fn enter_handler(&mut self, tid: Pid, process: Pid, stack: u64) -> nix::Result<()> {
        if self.are_blocked {
            block_after(process, stack + MASK_IN_FRAME)?;
        }
        self.are_blocked |= unblock(tid)?;
        Ok(())
    }

    /// This signal comes, perhaps before a system call begins: whether it is to wait.
    pub(super) fn put_off(&mut self, tid: Pid, signal: c_int) -> nix::Result<bool> {
        if std::mem::replace(&mut self.call, Call::None) == Call::Ahead {
            unblock(tid)?;
        }
        let waits = signal == libc::SIGTRAP && self.are_blocked;
        self.is_pending |= waits;
        Ok(waits)
    }
}

/// Takes SIGTRAP out of what a thread blocks; whether it was there.
fn unblock(tid: Pid) -> nix::Result<bool> {
    let mask = kernel::mask(tid)?;
    let was_blocked = mask & TRAP != 0;
    if was_blocked {
        kernel::set_mask(tid, mask & !TRAP)?;
    }
    Ok(was_blocked)
}

/// Puts SIGTRAP into a mask in memory.
fn block_after(process: Pid, address: u64) -> nix::Result<()> {
    let place = [RemoteIoVec { base: address as usize, len: size_of::<u64>() }];
    let mut mask = [0; size_of::<u64>()];
    process_vm_readv(process, &mut [IoSliceMut::new(&mut mask)], &place)?;
    let mask = (u64::from_ne_bytes(mask) | TRAP).to_ne_bytes();
    process_vm_writev(process, &[IoSlice::new(&mask)], &place).map(drop)
}
