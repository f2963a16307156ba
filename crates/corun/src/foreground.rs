//! A command that runs in corun's place for a while: in a process group of its own, which has the
//! terminal, gets the signals meant for corun, and is waited for to its end.
//!
//! The dance with the terminal is that of a shell with job control (glibc manual, "Implementing a
//! Shell"): the group is stopped and continued as corun is.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corun_files::signals_to_handle;
use corun_machine::descendants::Mark;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals as Caught;

use crate::problem::Problem;

/// Time that a command has to end by itself once corun is asked to end.
const GRACE: Duration = Duration::from_millis(1500);

/// Signals that are passed on instead of ending corun, and the mark by which a command's processes are known where it is
/// killed.
pub(crate) struct Signals {
    caught: Caught,
    mark: Mark,
}

impl Signals {
    /// Catches them from now on, but for those that corun was started with ignored: so is the command. The watchdog of
    /// the mark is there then, so that nobody takes it for a process of the command.
    ///
    /// # Errors
    /// If the system refuses the handlers.
    pub(crate) fn catch() -> Result<Self, Problem> {
        let signals = signals_to_handle(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT]);
        let caught = Caught::new(signals).map_err(not_watched)?;
        Ok(Self { caught, mark: Mark::for_user() })
    }
}

/// A running command.
pub(crate) struct Foreground {
    process: libc::pid_t,
    has_terminal: bool,
}

/// End of a command.
pub(crate) struct Ended(ExitStatus);

impl Foreground {
    /// Starts the command in a group of its own, with the terminal if corun has it.
    ///
    /// # Errors
    /// If there is no such program, or it may not be executed.
    pub(crate) fn start(argv: &[OsString], signals: &Signals) -> Result<Self, Problem> {
        let Some((name, arguments)) = argv.split_first() else {
            return Err(not_watched(io::ErrorKind::InvalidInput.into()));
        };
        let has_terminal = has_terminal();
        let corun = std::process::id().cast_signed();
        let mark = signals.mark;
        let mut command = Command::new(name);
        command.args(arguments).process_group(0);
        // SAFETY: only async-signal-safe calls between fork and exec.
        unsafe {
            command.pre_exec(move || {
                mark.apply();
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != corun {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                if has_terminal {
                    give_terminal(libc::getpid());
                }
                Ok(())
            });
        }
        let child = command.spawn().map_err(|error| {
            let next_step = "Name a program on the PATH, or by its path.";
            Problem::unreadable(&error, next_step).in_file(Path::new(name))
        })?;
        Ok(Self { process: child.id().cast_signed(), has_terminal })
    }

    /// Process group.
    pub(crate) fn group(&self) -> u32 {
        self.process.cast_unsigned()
    }

    /// Waits for its end, passing `signals` on; children that it leaves behind are the user's. Where corun was asked to
    /// end, or is killed, all of it is ended, after [`GRACE`] what has not ended by itself.
    ///
    /// Signals stay caught afterwards: what follows is not interrupted.
    ///
    /// # Errors
    /// If the system does not let it be waited for.
    pub(crate) fn see_through(self, signals: Signals) -> Result<Ended, Problem> {
        let group = self.process;
        let Signals { mut caught, mark } = signals;
        let handle = caught.handle();
        let was_asked = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&was_asked);
        let has_ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&has_ended);
        let forward = std::thread::Builder::new().spawn(move || {
            for signal in caught.forever() {
                send(group, signal);
                if !asked.swap(true, Ordering::SeqCst) {
                    // If the system refuses the thread, a command that ignores the signal goes on.
                    let is_over = Arc::clone(&is_over);
                    let _ = std::thread::Builder::new().spawn(move || {
                        std::thread::sleep(GRACE);
                        if !is_over.load(Ordering::SeqCst) {
                            send(group, libc::SIGKILL);
                        }
                    });
                }
            }
        });
        let forward = forward.map_err(|error| {
            send(group, libc::SIGKILL);
            let _ = self.wait();
            Problem::failed(
                format!("could not start a thread that passes signals on: {error}"),
                "Allow more threads (ulimit -u, pids.max).",
            )
        })?;
        let ended = self.wait();
        has_ended.store(true, Ordering::SeqCst);
        if was_asked.load(Ordering::SeqCst) {
            drop(mark.end_all());
        }
        mark.release();
        if self.has_terminal {
            // SAFETY: asks for this process's own group.
            give_terminal(unsafe { libc::getpgrp() });
        }
        handle.close();
        let _ = forward.join();
        ended
    }

    /// Waits for the end; when the command is stopped, so is corun, as a shell expects of a job.
    fn wait(&self) -> Result<Ended, Problem> {
        // Without a terminal there is no shell that would continue corun.
        let options = if self.has_terminal { libc::WUNTRACED } else { 0 };
        loop {
            let mut status = 0;
            // SAFETY: waits for a child that has not been collected.
            if unsafe { libc::waitpid(self.process, &raw mut status, options) } < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(not_watched(error));
            }
            if !libc::WIFSTOPPED(status) {
                return Ok(Ended(ExitStatus::from_raw(status)));
            }
            self.be_stopped();
        }
    }

    fn be_stopped(&self) {
        if self.has_terminal {
            // SAFETY: asks for this process's own group.
            give_terminal(unsafe { libc::getpgrp() });
        }
        // SAFETY: stops this process until it is continued.
        unsafe { libc::raise(libc::SIGSTOP) };
        if self.has_terminal && has_terminal() {
            give_terminal(self.process);
        }
        send(self.process, libc::SIGCONT);
    }
}

impl Ended {
    /// The command's exit status; `None` if a signal ended it.
    pub(crate) fn status(&self) -> Option<i32> {
        self.0.code()
    }

    /// The command's exit status; 128 and the signal's number if a signal ended it, as shells say.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let status = self.0.code().unwrap_or_else(|| 128 + self.0.signal().unwrap_or(0));
        ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX))
    }
}

fn not_watched(error: io::Error) -> Problem {
    Problem::failed(
        format!("could not watch the command: {error}"),
        "See what limits this process (a sandbox, descriptors).",
    )
}

/// True if corun's group has the terminal, so that it can be handed on.
fn has_terminal() -> bool {
    // SAFETY: asks about descriptor 0 and this process.
    io::stdin().is_terminal() && unsafe { libc::tcgetpgrp(0) == libc::getpgrp() }
}

/// Makes `group` the terminal's foreground group. Safe between fork and exec.
fn give_terminal(group: libc::pid_t) {
    // SAFETY: plain calls; a group in the background that changes this would be stopped by SIGTTOU.
    unsafe {
        let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        libc::tcsetpgrp(0, group);
        libc::signal(libc::SIGTTOU, before);
    }
}

fn send(group: libc::pid_t, signal: i32) {
    // SAFETY: signals the group that this process made.
    unsafe { libc::kill(-group, signal) };
}
