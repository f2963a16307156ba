//! A process that stops after each of its steps; its children run free.
//!
//! See ptrace(2). Only the first thread is followed, which is the one that switches.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::call::Call;
use crate::step;

/// A traced process.
pub(crate) struct Tracee {
    process: Pid,
    /// The system call that the process is in.
    call: Option<Call>,
}

/// Where a process has come to.
pub(crate) enum Stop {
    /// Right after a step, named.
    Step(String),
    /// At its end, described.
    Ended(String),
}

impl Tracee {
    /// Starts a command, stopped at its first instruction.
    pub(crate) fn start(argv: &[OsString]) -> io::Result<Self> {
        let (name, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(name);
        command.args(arguments).stdout(io::stderr());
        // SAFETY: one system call, between fork and exec.
        unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
        let process = Pid::from_raw(command.spawn()?.id().cast_signed());
        waitpid(process, None)?;
        // Without the last, exec would look like a signal.
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_EXITKILL
            | Options::PTRACE_O_TRACEEXEC;
        ptrace::setoptions(process, options)?;
        Ok(Self { process, call: None })
    }

    /// Lets it run up to its next step.
    pub(crate) fn next(&mut self) -> Result<Stop, Errno> {
        let mut signal = None;
        loop {
            ptrace::syscall(self.process, signal.take())?;
            match waitpid(self.process, None)? {
                WaitStatus::PtraceSyscall(_) => {
                    if let Some(step) = self.at_system_call()? {
                        return Ok(Stop::Step(step));
                    }
                }
                WaitStatus::Stopped(_, received) => signal = Some(received),
                WaitStatus::Exited(_, code) => return Ok(Stop::Ended(format!("exit {code}"))),
                WaitStatus::Signaled(_, by, _) => return Ok(Stop::Ended(by.to_string())),
                _ => {}
            }
        }
    }

    /// Kills it, its children first if they are to go too, and waits until it is gone.
    pub(crate) fn kill(&self, children: bool) -> Result<(), Errno> {
        let children = if children { self.children() } else { Vec::new() };
        for process in children.into_iter().chain([self.process]) {
            kill(process, Signal::SIGKILL)?;
        }
        while !matches!(waitpid(self.process, None)?, WaitStatus::Signaled(..)) {}
        Ok(())
    }

    /// The step that has just been taken, if the process is at the end of a call and that was one.
    fn at_system_call(&mut self) -> Result<Option<String>, Errno> {
        let info = ptrace::syscall_info(self.process)?;
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                // SAFETY: the kernel says that this is an entry.
                let entry = unsafe { info.u.entry };
                self.call = Call::of(entry.nr, entry.args);
                Ok(None)
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => {
                // SAFETY: the kernel says that this is an exit.
                let exit = unsafe { info.u.exit };
                let Some(call) = self.call.take().filter(|_| exit.is_error == 0) else {
                    return Ok(None);
                };
                Ok(step::name(&call, exit.sval, self))
            }
            _ => Ok(None),
        }
    }

    fn children(&self) -> Vec<Pid> {
        let process = self.process;
        let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let list = list.unwrap_or_default();
        list.split_whitespace().filter_map(|child| child.parse().ok()).map(Pid::from_raw).collect()
    }
}

impl step::Process for Tracee {
    fn file(&self, descriptor: i64) -> PathBuf {
        let link = format!("/proc/{}/fd/{descriptor}", self.process);
        fs::read_link(link).unwrap_or_default()
    }

    fn memory(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let memory = File::open(format!("/proc/{}/mem", self.process));
        let read = memory.and_then(|memory| memory.read_at(&mut bytes, address));
        bytes.truncate(read.unwrap_or(0));
        bytes
    }
}
