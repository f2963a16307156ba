//! A traced program while it runs: what its client says, until both are done.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, set_parent_process_death_signal};

use super::channel::{Channel, Code, Message};
use super::entries::EntryError;
use crate::{Ending, Sink, TraceError};

/// How often a request to stop is looked at while the program says nothing.
const PATIENCE: Duration = Duration::from_millis(100);

/// Understands the buffers of one kind of client.
pub(super) trait Interpreter {
    /// The tracer's name.
    const TRACER: &'static str;

    /// A thread begins, by its number in the kernel.
    fn begin_thread(&mut self, tid: u32, sink: &mut dyn Sink) -> Result<(), EntryError>;

    /// Tells the sink what a buffer of a thread holds; `code` has the blocks not described before.
    fn tell(
        &mut self,
        tid: u32,
        words: &[u64],
        code: &mut Code,
        sink: &mut dyn Sink,
    ) -> Result<(), EntryError>;

    /// The program has ended: tells what was still open.
    fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), EntryError>;
}

/// Starts the command and takes what its client says until the program has ended; once `stop` is set,
/// it is killed.
///
/// # Errors
/// If the command cannot be started, the client says what makes no sense, or the sink fails.
pub(super) fn run<I: Interpreter>(
    command: &mut Command,
    channel: &mut Channel,
    interpreter: &mut I,
    sink: &mut dyn Sink,
    stop: &AtomicBool,
) -> Result<Ending, TraceError> {
    let program = command.get_program().into();
    // SAFETY: the call is one system call, which may be made between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    let child = command.spawn().map_err(|source| TraceError::Program { program, source })?;
    let mut session = Session {
        process: Running(child),
        channel,
        interpreter,
        sink,
        taken: Vec::new(),
        has_told: false,
    };
    let was_stopped = session.serve(stop)?;
    session.tell_unfinished()?;
    session.interpreter.finish(session.sink).map_err(broken::<I>)?;
    let status = session.process.0.wait().map_err(failed::<I>)?;
    match ending(status) {
        _ if was_stopped => Ok(Ending::Interrupted),
        ending if session.has_told => Ok(ending),
        ending => Err(failed::<I>(io::Error::other(format!(
            "it ended with {ending} before it told anything; it does not bear this program"
        )))),
    }
}

struct Session<'a, I> {
    process: Running,
    channel: &'a mut Channel,
    interpreter: &'a mut I,
    sink: &'a mut dyn Sink,
    /// The threads that fill a buffer, and which; the older ones first.
    taken: Vec<(u32, u32)>,
    has_told: bool,
}

/// Ends the program when it is dropped, whatever the reason.
struct Running(Child);

impl Running {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl<I: Interpreter> Session<'_, I> {
    /// True if the program was stopped. It may have ended by itself: Ctrl-C is a signal to it, too.
    fn serve(&mut self, stop: &AtomicBool) -> Result<bool, TraceError> {
        let handle = self.process.handle().map_err(failed::<I>)?;
        let mut is_killed = false;
        loop {
            let has_ended = self.process.0.try_wait().map_err(failed::<I>)?.is_some();
            let patience = if has_ended { Duration::ZERO } else { PATIENCE };
            if self.channel.wait(&handle, patience).map_err(failed::<I>)? {
                for message in self.channel.receive().map_err(failed::<I>)? {
                    self.take(message)?;
                }
            } else if has_ended {
                return Ok(stop.load(Ordering::Relaxed));
            }
            if !is_killed && stop.load(Ordering::Relaxed) {
                is_killed = true;
                self.process.0.kill().map_err(failed::<I>)?;
            }
        }
    }

    fn take(&mut self, message: Message) -> Result<(), TraceError> {
        match message {
            // Only the first program of a process is traced.
            Message::Image(_) => {}
            Message::Thread(tid) => {
                self.channel.add_thread().map_err(failed::<I>)?;
                self.interpreter.begin_thread(tid, self.sink).map_err(broken::<I>)?;
            }
            Message::Taken { thread, buffer } => self.taken.push((thread, buffer)),
            Message::Full { thread, buffer, bytes } => {
                self.has_told = true;
                self.taken.retain(|&(_, taken)| taken != buffer);
                let Some((words, code)) = self.channel.open(buffer, bytes) else {
                    return Err(failed::<I>(io::Error::other(format!(
                        "expected the number of a buffer, found {buffer} with {bytes} bytes"
                    ))));
                };
                self.interpreter.tell(thread, words, code, self.sink).map_err(broken::<I>)?;
                self.channel.release(buffer).map_err(failed::<I>)?;
            }
        }
        Ok(())
    }

    /// Tells what is in the buffers of threads that were killed before they handed them over.
    fn tell_unfinished(&mut self) -> Result<(), TraceError> {
        for (thread, buffer) in std::mem::take(&mut self.taken) {
            let Some((words, code)) = self.channel.open_unfinished(buffer) else { continue };
            self.has_told = true;
            match self.interpreter.tell(thread, words, code, self.sink) {
                // The last entry may not be whole, or its block not described.
                Ok(()) | Err(EntryError::Unexpected { .. } | EntryError::Description(_)) => {}
                Err(error) => return Err(broken::<I>(error)),
            }
        }
        Ok(())
    }
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Killed(signal.unwrap_or_default()),
    }
}

fn failed<I: Interpreter>(error: io::Error) -> TraceError {
    TraceError::Failed { tracer: I::TRACER, reason: error.to_string() }
}

fn broken<I: Interpreter>(error: EntryError) -> TraceError {
    match error {
        EntryError::Sink(error) => TraceError::Sink(error),
        other => TraceError::Failed { tracer: I::TRACER, reason: other.to_string() },
    }
}
