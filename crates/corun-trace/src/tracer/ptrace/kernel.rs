//! ptrace(2) and waitpid(2) as this tracer uses them.
//!
//! `nix` has most of it, but knows no real-time signals, which every program with threads may get.

use std::io;

use libc::{c_int, c_void, user_regs_struct};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::unistd::Pid;

/// The note that holds the extended state (include/uapi/linux/elf.h of Linux).
const NT_X86_XSTATE: usize = 0x202;

/// Bit that PTRACE_O_TRACESYSGOOD adds to the signal.
const CALL: c_int = 0x80;

/// The bit of SIGTRAP in a mask of signals.
pub(super) const TRAP: u64 = 1 << (libc::SIGTRAP - 1);
/// Length of such a mask.
const MASK: usize = size_of::<u64>();

/// The debug register that says which of the others hold.
const CONTROL: usize = 7;
/// The first one does, for execution (Intel, Software Developer's Manual, volume 3, section 19.2.4).
const FIRST_EXECUTES: u64 = 1;

/// Why a thread stopped, or that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It went one instruction further, or one iteration of a repeated one.
    Stepped,
    /// It comes back from a system call, or begins.
    Returned,
    /// It is at the begin or at the end of a system call that [`to_call`] lets it do.
    Call,
    /// A signal's handler is about to run.
    HandlerEntered,
    /// This signal is about to be delivered.
    Signal(c_int),
    /// It is stopped, together with its process, until the process is continued.
    WithGroup,
    /// It has made a thread or a process.
    Cloned,
    /// The process has become another program.
    Replaced,
    /// First stop, or the end of a group's stop.
    Begun,
    /// It has ended with this exit code.
    Exited(c_int),
    /// It was ended by this signal.
    Killed(c_int),
}

impl Stop {
    /// Signal to be delivered, 0 if nothing is.
    pub(super) fn signal(self) -> c_int {
        if let Self::Signal(signal) = self { signal } else { 0 }
    }
}

/// The next stop of any thread that the calling one traces; `None` if there is no such thread.
pub(super) fn wait() -> io::Result<Option<(Pid, Stop)>> {
    loop {
        let mut status = 0;
        // SAFETY: writes the status only.
        let tid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        match Errno::result(tid) {
            Ok(tid) => {
                let tid = Pid::from_raw(tid);
                match stop(tid, status) {
                    // It was killed since, and is waited for again.
                    Err(Errno::ESRCH) => {}
                    stop => return Ok(Some((tid, stop?))),
                }
            }
            Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

fn stop(tid: Pid, status: c_int) -> nix::Result<Stop> {
    if libc::WIFEXITED(status) {
        return Ok(Stop::Exited(libc::WEXITSTATUS(status)));
    }
    if libc::WIFSIGNALED(status) {
        return Ok(Stop::Killed(libc::WTERMSIG(status)));
    }
    let signal = libc::WSTOPSIG(status);
    if signal == libc::SIGTRAP | CALL {
        return Ok(Stop::Call);
    }
    Ok(match status >> 16 {
        0 if signal == libc::SIGTRAP => trap(ptrace::getsiginfo(tid)?.si_code),
        0 => Stop::Signal(signal),
        libc::PTRACE_EVENT_EXEC => Stop::Replaced,
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Stop::Begun,
        libc::PTRACE_EVENT_STOP => Stop::WithGroup,
        _ => Stop::Cloned,
    })
}

/// Meaning of a SIGTRAP: arch/x86/kernel/{traps,ptrace}.c and kernel/signal.c of Linux.
fn trap(si_code: c_int) -> Stop {
    match si_code {
        libc::TRAP_TRACE | libc::TRAP_HWBKPT => Stop::Stepped,
        libc::TRAP_BRKPT => Stop::Returned,
        libc::SIGTRAP => Stop::HandlerEntered,
        _ => Stop::Signal(libc::SIGTRAP),
    }
}

/// Lets a stopped thread do one instruction, after delivering this signal, if it is not 0.
pub(super) fn step(tid: Pid, signal: c_int) -> nix::Result<()> {
    // SAFETY: no memory is touched.
    unsafe { request(libc::PTRACE_SINGLESTEP, tid, 0, signal as usize as *mut c_void) }
}

/// Lets a stopped thread do the system call that it is at, up to its begin, and then up to its end. No trap is forced
/// on it there, as it is after a call that is stepped.
pub(super) fn to_call(tid: Pid) -> nix::Result<()> {
    // SAFETY: no memory is touched.
    unsafe { request(libc::PTRACE_SYSCALL, tid, 0, std::ptr::null_mut()) }
}

/// The signals that a stopped thread blocks.
pub(super) fn mask(tid: Pid) -> nix::Result<u64> {
    let mut mask = 0_u64;
    // SAFETY: the kernel writes the mask, of this length.
    unsafe { request(libc::PTRACE_GETSIGMASK, tid, MASK, (&raw mut mask).cast())? };
    Ok(mask)
}

/// Sets the signals that a stopped thread blocks.
pub(super) fn set_mask(tid: Pid, mut mask: u64) -> nix::Result<()> {
    // SAFETY: the kernel reads the mask, of this length.
    unsafe { request(libc::PTRACE_SETSIGMASK, tid, MASK, (&raw mut mask).cast()) }
}

/// Sends SIGTRAP to a thread.
pub(super) fn send_trap(tid: Pid) -> nix::Result<()> {
    // SAFETY: no memory is touched.
    let result = unsafe { libc::syscall(libc::SYS_tkill, tid.as_raw(), libc::SIGTRAP) };
    Errno::result(result).map(drop)
}

/// Lets a stopped thread run freely, after delivering this signal, if it is not 0.
pub(super) fn go_on(tid: Pid, signal: c_int) -> nix::Result<()> {
    // SAFETY: no memory is touched.
    unsafe { request(libc::PTRACE_CONT, tid, 0, signal as usize as *mut c_void) }
}

/// Lets a stopped thread run until it would execute the instruction at this address.
pub(super) fn run_to(tid: Pid, address: u64) -> nix::Result<()> {
    set_debug_register(tid, 0, address)?;
    set_debug_register(tid, CONTROL, FIRST_EXECUTES)?;
    go_on(tid, 0)
}

/// Takes back what [`run_to`] set.
pub(super) fn forget_run_to(tid: Pid) -> nix::Result<()> {
    set_debug_register(tid, CONTROL, 0)
}

fn set_debug_register(tid: Pid, register: usize, value: u64) -> nix::Result<()> {
    let place = std::mem::offset_of!(libc::user, u_debugreg) + 8 * register;
    ptrace::write_user(tid, place as *mut c_void, value.cast_signed())
}

/// True if a process has a thread of this number; there need be no `/proc` for that.
pub(super) fn is_thread(process: Pid, tid: Pid) -> bool {
    // SAFETY: signal 0 is none, so that nothing is sent.
    unsafe { libc::syscall(libc::SYS_tgkill, process.as_raw(), tid.as_raw(), 0) == 0 }
}

/// Leaves a thread in its group's stop.
pub(super) fn leave_stopped(tid: Pid) -> nix::Result<()> {
    // SAFETY: no memory is touched.
    unsafe { request(libc::PTRACE_LISTEN, tid, 0, std::ptr::null_mut()) }
}

/// The general registers of a stopped thread.
pub(super) fn registers(tid: Pid) -> nix::Result<user_regs_struct> {
    ptrace::getregs(tid)
}

/// Fills the buffer with the extended state of a stopped thread in its uncompacted form, and says how
/// long it is.
pub(super) fn extended_state(tid: Pid, buffer: &mut [u8]) -> nix::Result<usize> {
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let vector_pointer = (&raw mut vector).cast();
    // SAFETY: the kernel writes into the buffer, up to its length.
    unsafe {
        request(libc::PTRACE_GETREGSET, tid, NT_X86_XSTATE, vector_pointer)?;
    }
    Ok(vector.iov_len)
}

/// # Safety
/// As the request says.
unsafe fn request(
    request: libc::c_uint,
    tid: Pid,
    address: usize,
    data: *mut c_void,
) -> nix::Result<()> {
    // SAFETY: the caller's.
    let result = unsafe { libc::ptrace(request, tid.as_raw(), address, data) };
    Errno::result(result).map(drop)
}
