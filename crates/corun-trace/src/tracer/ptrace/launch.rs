//! Starting a program under ptrace from its first instruction on, and ending it when asked to.
//!
//! The child is seized between fork and exec: unlike one that asks to be traced, it can be stopped and
//! continued by signals as if it were not traced.

use std::io::{self, Read, Write, pipe};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use corun_machine::descendants::{Mark, Orphans};
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;

use super::failed;
use crate::process::{Process, silence};
use crate::{Target, TraceError, TracePlan};

/// A traced program.
#[derive(Debug)]
pub(super) struct Launched {
    /// First thread.
    pub leader: Pid,
    pub process: Process,
    /// Mark of the processes that it leaves running.
    pub mark: Mark,
}

/// Outcome for a traced child: it becomes the program or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Execute = 1,
    GiveUp = 0,
}

/// Starts a program; its first stop is at its first instruction.
pub(super) fn launch(target: &Target, plan: &TracePlan) -> Result<Launched, TraceError> {
    let unrunnable = |source| TraceError::Program { program: target.program.clone(), source };
    let mut command = Command::new(&target.program);
    command.args(&target.arguments);
    if plan.is_silent() {
        silence(&mut command);
    }
    target.context.apply(&mut command).map_err(unrunnable)?;
    seize(command, Then::Execute).map_err(|error| match error {
        LaunchError::Program(source) => unrunnable(source),
        LaunchError::Ptrace(error) => failed("the program cannot be traced", error),
    })
}

/// Traces a child that does nothing.
pub(super) fn attempt() -> io::Result<()> {
    match seize(Command::new("/"), Then::GiveUp) {
        // The child gave up, as it was instructed to.
        Ok(_) | Err(LaunchError::Program(_)) => Ok(()),
        Err(LaunchError::Ptrace(error)) => Err(error),
    }
}

enum LaunchError {
    Program(io::Error),
    Ptrace(io::Error),
}

fn seize(mut command: Command, then: Then) -> Result<Launched, LaunchError> {
    let (mut identity, send_identity) = pipe().map_err(LaunchError::Ptrace)?;
    let (go, mut send_go) = pipe().map_err(LaunchError::Ptrace)?;
    let mark = Mark::prepare(Orphans::Left);
    let wait_to_be_seized = move || {
        mark.apply();
        (&send_identity).write_all(&std::process::id().to_ne_bytes())?;
        let mut then = [0];
        (&go).read_exact(&mut then)?;
        if then == [Then::Execute as u8] { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    };
    // SAFETY: after the fork, the child reads, writes and asks for its process id, nothing else.
    unsafe { command.pre_exec(wait_to_be_seized) };
    // Another thread starts it, since that returns with the exec only; the one that seizes is the one
    // that traces.
    let starter =
        thread::Builder::new().spawn(move || command.spawn()).map_err(LaunchError::Ptrace)?;
    let mut id = [0; 4];
    let seized = identity.read_exact(&mut id).and_then(|()| {
        let leader = Pid::from_raw(i32::from_ne_bytes(id));
        let options = Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_EXITKILL;
        let child = rustix::process::Pid::from_raw(leader.as_raw()).expect("a child has a number");
        let process = Process::of(child)?;
        ptrace::seize(leader, options)?;
        Ok(Launched { leader, process, mark })
    });
    let then = if seized.is_ok() { then } else { Then::GiveUp };
    // If the pipe has no reader, nothing was started, and the starter knows why.
    let _ = send_go.write_all(&[then as u8]);
    let started = starter.join().expect("starting a program does not panic");
    match (seized, started) {
        (Err(error), Err(_)) if error.kind() != io::ErrorKind::UnexpectedEof => {
            Err(LaunchError::Ptrace(error))
        }
        (_, Err(error)) => Err(LaunchError::Program(error)),
        (seized, Ok(_)) => seized.map_err(LaunchError::Ptrace),
    }
}
