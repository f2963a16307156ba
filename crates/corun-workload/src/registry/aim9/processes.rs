//! New processes, new programs and signals: what the kernel does for a shell all day.
//!
//! The original waits until it has no children left, hence twice for each; here the one child is
//! waited for, since other threads of the process may have children too.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_int};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt;
use std::ptr;

use super::{child, descriptor};
use crate::workload::{Workload, anywhere};
use crate::{Job, Kernel, Parameters, Tag, WorkloadError};

/// A child that exits at once. It exits with a number that its parent adds up.
pub(super) static FORK: Workload = Workload {
    descriptor: &descriptor(
        "aim9/fork_test",
        "fork, exit of the child, wait",
        &[Tag::SystemCalls, Tag::ContextSwitch],
        ["a child process", "children"],
        1.0,
        "tasks/s",
    ),
    unavailable: anywhere,
    prepare: |_, workers| Ok(Job::of((0..workers.get()).map(|_| Fork { exits: 0 }))),
};

/// A child that becomes another program: the original brings one of its own that does nothing, here
/// it is the system's `true`.
pub(super) static EXEC: Workload = Workload {
    descriptor: &descriptor(
        "aim9/exec_test",
        "fork, exec of the program `true` by the child, wait",
        &[Tag::SystemCalls, Tag::ContextSwitch],
        ["a program", "programs"],
        1.0,
        "loads/s",
    ),
    unavailable: || program().err(),
    prepare: |_, workers| {
        let program = program().map_err(|reason| WorkloadError::Unavailable {
            workload: EXEC.descriptor.name,
            reason,
        })?;
        Ok(Job::of((0..workers.get()).map(|_| Exec { program: program.clone(), successes: 0 })))
    },
};

/// A signal to itself, whose handler installs itself again. It goes to the one thread (`tgkill`
/// instead of `kill`), since any thread of a process may take what is sent to the process.
pub(super) static SIGNAL: Workload = Workload {
    descriptor: &descriptor(
        "aim9/signal_test",
        "SIGUSR2 to itself; the handler installs itself again",
        &[Tag::SystemCalls],
        ["a signal", "signals"],
        1.0,
        "signals/s",
    ),
    unavailable: anywhere,
    prepare: signals,
};

struct Fork {
    exits: u64,
}

impl Kernel for Fork {
    fn reset(&mut self) {
        self.exits = 0;
    }

    /// # Panics
    /// If the system starts no process, as all that need one do.
    fn run(&mut self, operations: u64) {
        for operation in 0..operations {
            let status = child::run(|| (operation % 128) as c_int);
            self.exits += child::exit_status(status).expect("the child exits");
        }
    }

    /// The sum of what the children exited with.
    fn check(&self) -> u64 {
        self.exits
    }
}

/// The `true` that `PATH` leads to, or why there is none.
fn program() -> Result<CString, String> {
    let found = which::which("true").map_err(|_| "there is no `true` on PATH")?;
    CString::new(found.into_os_string().into_vec()).map_err(|_| "PATH holds a zero byte".into())
}

struct Exec {
    program: CString,
    successes: u64,
}

impl Kernel for Exec {
    fn reset(&mut self) {
        self.successes = 0;
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            let status = child::run(|| become_program(&self.program));
            self.successes += u64::from(child::exit_status(status) == Some(0));
        }
    }

    /// The programs that ended with success.
    fn check(&self) -> u64 {
        self.successes
    }
}

/// Returns if the system cannot start it only, with what a shell would exit with.
fn become_program(path: &CStr) -> c_int {
    let arguments = [path.as_ptr(), ptr::null()];
    // SAFETY: strings and a list of them, ended as it has to be.
    unsafe { libc::execv(path.as_ptr(), arguments.as_ptr()) };
    127
}

fn signals(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    Ok(Job::of((0..workers.get()).map(|_| Signals { taken: 0 })))
}

struct Signals {
    taken: u64,
}

thread_local! {
    /// The signals that this thread has taken. It needs no initialisation and has no drop, so that a
    /// handler may touch it.
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

impl Kernel for Signals {
    fn reset(&mut self) {
        self.taken = 0;
        install();
    }

    fn run(&mut self, operations: u64) {
        let process = rustix::process::getpid().as_raw_nonzero().get();
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let before = TAKEN.get();
        let last = before + operations;
        while TAKEN.get() < last {
            // SAFETY: takes numbers; the handler is installed.
            let answer = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR2) };
            assert_eq!(answer, 0, "the system delivers no signal to this thread");
        }
        self.taken = TAKEN.get() - before;
    }

    /// The signals taken.
    fn check(&self) -> u64 {
        self.taken
    }
}

fn install() {
    let handler: extern "C" fn(c_int) = take;
    // SAFETY: the handler does nothing that a handler may not do.
    unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
}

extern "C" fn take(_: c_int) {
    install();
    TAKEN.set(TAKEN.get() + 1);
}
