//! A traced program while it runs: what its client says, until both are done.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corun_machine::descendants::{Mark, Orphans};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, set_parent_process_death_signal};

use super::channel::{Channel, Code, Message};
use super::entries::EntryError;
use super::image::{self, CommandLine};
use crate::process::silence;
use crate::{Ending, Sink, Target, TraceError, TracePlan, Traced};

/// Interval at which a request to stop is polled while the program reports nothing.
const PATIENCE: Duration = Duration::from_millis(100);
/// A client says that the first thread begins before the program does anything; a tracer that has not come so far
/// in this time hangs.
const LONGEST_START: Duration = Duration::from_secs(30);

/// Understands the buffers of one kind of client.
pub(super) trait Interpreter {
    /// The tracer's name.
    const TRACER: &'static str;
    /// State of a thread.
    type Thread;

    /// Plan of what the client is to record, in words of its own.
    fn words(&self) -> Vec<u64>;

    /// A thread begins, by its number in the kernel.
    fn begin_thread(&mut self, tid: u32, sink: &mut dyn Sink) -> Result<Self::Thread, EntryError>;

    /// Passes to the sink what the first entries of a thread's words hold, one at least, and returns how many words these
    /// have. `code` has the blocks not described before.
    fn emit(
        &mut self,
        thread: &mut Self::Thread,
        words: &[u64],
        code: &mut Code,
        sink: &mut dyn Sink,
    ) -> Result<usize, EntryError>;

    /// True if the client has not said that a thread ended.
    fn is_open(thread: &Self::Thread) -> bool;

    /// Nothing more comes of a thread: reports what was still open.
    fn end_thread(&mut self, thread: Self::Thread, sink: &mut dyn Sink) -> Result<(), EntryError>;

    /// Instructions of the threads that ended, recorded or not.
    fn instructions(&self) -> u64;

    /// Remarks for the reader on how the program was seen, a sentence each.
    fn remarks(&self) -> Vec<String>;
}

/// Runs the program by a command that is made of its command line and the channel's name, and takes what
/// its client says until the program has ended; once `stop` is set, it is killed.
///
/// # Errors
/// If the program cannot be started, the output of the client is not valid, or the sink fails.
pub(super) fn trace<I: Interpreter>(
    interpreter: I,
    command: impl FnOnce(&CommandLine, &str) -> Command,
    target: &Target,
    plan: &TracePlan,
    sink: &mut dyn Sink,
    stop: &AtomicBool,
) -> Result<Traced, TraceError> {
    let unrunnable = |source| TraceError::Program { program: target.program.clone(), source };
    let line = image::resolve(target).map_err(unrunnable)?;
    let mut channel = Channel::new().map_err(failed::<I>)?;
    channel.leave(&interpreter.words()).map_err(failed::<I>)?;
    let mut command = command(&line, &channel.name()?);
    if plan.is_silent() {
        silence(&mut command);
    }
    target.context.apply(&mut command).map_err(unrunnable)?;
    let mark = Mark::prepare(Orphans::Left);
    // SAFETY: the calls are system calls, which may be made between fork and exec.
    unsafe {
        command.pre_exec(move || {
            mark.apply();
            Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
        });
    }
    let process = Running(command.spawn().map_err(unrunnable)?, mark);
    let threads = HashMap::new();
    let taken = Vec::new();
    let mut session = Session {
        process,
        channel,
        interpreter,
        threads,
        sink,
        taken,
        has_reported: false,
        is_replaced: false,
        replacing: None,
    };
    let was_stopped = session.serve(stop)?;
    session.emit_unfinished()?;
    let is_left_open = !session.is_replaced && session.threads.values().any(I::is_open);
    session.end_threads().map_err(broken::<I>)?;
    let status = session.process.0.wait().map_err(failed::<I>)?;
    let ending = match ending(status) {
        _ if was_stopped => Ending::Interrupted,
        // Its client is notified when a program exits, but not when the tracer gives up.
        Ending::Exited(code) if session.has_reported && is_left_open => {
            return Err(failed::<I>(io::Error::other(format!(
                "it gave up in the middle of the program, with exit code {code}"
            ))));
        }
        ending if session.has_reported => ending,
        ending => {
            return Err(failed::<I>(io::Error::other(format!(
                "it ended with {ending} before it reported anything; it cannot run this program"
            ))));
        }
    };
    let interpreter = session.interpreter;
    let (instructions, remarks) = (interpreter.instructions(), interpreter.remarks());
    let becomes_another = session.replacing.is_some();
    Ok(Traced { ending, instructions, becomes_another, remarks })
}

struct Session<'a, I: Interpreter> {
    process: Running,
    channel: Channel,
    interpreter: I,
    /// By their number in the kernel.
    threads: HashMap<u32, I::Thread>,
    sink: &'a mut dyn Sink,
    /// The threads that fill a buffer, and which; the older ones first.
    taken: Vec<(u32, u32)>,
    has_reported: bool,
    /// The process has tried to become another program, at least.
    is_replaced: bool,
    /// The thread that did so, until it reports something else: then the kernel has refused.
    replacing: Option<u32>,
}

/// Ends the program and what it left running when it is dropped, whatever the reason.
struct Running(Child, Mark);

impl Running {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        self.1.end_all();
    }
}

impl<I: Interpreter> Session<'_, I> {
    /// True if the program was stopped. It may have ended by itself: Ctrl-C is a signal to it, too.
    fn serve(&mut self, stop: &AtomicBool) -> Result<bool, TraceError> {
        let handle = self.process.handle().map_err(failed::<I>)?;
        let begun = Instant::now();
        let mut is_killed = false;
        let mut has_begun = false;
        loop {
            let has_ended = self.process.0.try_wait().map_err(failed::<I>)?.is_some();
            let slow_run = if has_ended { Duration::ZERO } else { PATIENCE };
            if self.channel.wait(&handle, slow_run).map_err(failed::<I>)? {
                has_begun = true;
                for message in self.channel.receive().map_err(failed::<I>)? {
                    self.take(message)?;
                }
            } else if has_ended {
                return Ok(stop.load(Ordering::Relaxed));
            }
            if !has_begun && !has_ended && begun.elapsed() > LONGEST_START {
                return Err(failed::<I>(io::Error::other(format!(
                    "it did not begin to run the program in {} s",
                    LONGEST_START.as_secs()
                ))));
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
            Message::Replaced(thread) => {
                self.is_replaced = true;
                self.replacing = Some(thread);
            }
            Message::Thread(tid) => {
                // It waits for its first buffer: until then its process lives, and can be looked at.
                self.begin_thread(tid).map_err(broken::<I>)?;
                self.channel.add_thread().map_err(failed::<I>)?;
            }
            Message::Taken { thread, buffer } => self.taken.push((thread, buffer)),
            Message::Full { thread, buffer, bytes } => {
                self.has_reported = true;
                self.replacing.take_if(|it| *it == thread);
                self.taken.retain(|&(_, taken)| taken != buffer);
                let Some((words, code)) = self.channel.open(buffer, bytes) else {
                    return Err(failed::<I>(io::Error::other(format!(
                        "expected the number of a buffer, found {buffer} with {bytes} bytes"
                    ))));
                };
                let thread = self.threads.get_mut(&thread).ok_or(unknown(thread));
                thread
                    .and_then(|thread| emit(&mut self.interpreter, thread, words, code, self.sink))
                    .map_err(broken::<I>)?;
                self.channel.release(buffer).map_err(failed::<I>)?;
            }
        }
        Ok(())
    }

    /// The kernel gives the number of a thread that has ended to another.
    fn begin_thread(&mut self, tid: u32) -> Result<(), EntryError> {
        if let Some(before) = self.threads.remove(&tid) {
            self.interpreter.end_thread(before, self.sink)?;
        }
        let thread = self.interpreter.begin_thread(tid, self.sink)?;
        self.threads.insert(tid, thread);
        Ok(())
    }

    fn end_threads(&mut self) -> Result<(), EntryError> {
        let threads = std::mem::take(&mut self.threads).into_values();
        threads.into_iter().try_for_each(|thread| self.interpreter.end_thread(thread, self.sink))
    }

    /// Reports what is in the buffers of threads that were killed before they handed them over.
    fn emit_unfinished(&mut self) -> Result<(), TraceError> {
        for (thread, buffer) in std::mem::take(&mut self.taken) {
            let Some(thread) = self.threads.get_mut(&thread) else { continue };
            let Some((words, code)) = self.channel.open_unfinished(buffer) else { continue };
            self.has_reported = true;
            match emit(&mut self.interpreter, thread, words, code, self.sink) {
                // The last entry may not be whole, or its block not described.
                Ok(()) | Err(EntryError::Unexpected { .. } | EntryError::Description(_)) => {}
                Err(error) => return Err(broken::<I>(error)),
            }
        }
        Ok(())
    }
}

fn emit<I: Interpreter>(
    interpreter: &mut I,
    thread: &mut I::Thread,
    mut words: &[u64],
    code: &mut Code,
    sink: &mut dyn Sink,
) -> Result<(), EntryError> {
    while !words.is_empty() {
        let length = interpreter.emit(thread, words, code, sink)?;
        words = &words[length..];
    }
    Ok(())
}

fn unknown(tid: u32) -> EntryError {
    EntryError::Unexpected { expected: "a thread that has begun", found: tid.into() }
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
