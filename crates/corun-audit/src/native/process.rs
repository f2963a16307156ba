//! A process of a load, seen from the corun that started it.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use corun_measure::execution::Interrupt;

use super::groups;
use super::server::{Answer, SUBCOMMAND};
use crate::audit::ObserveError;
use crate::load::Process;
use crate::timeline::TaskLog;

/// Time that a process may take beyond its load: on a busy or emulated machine it waits.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit to end on request.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A running process; dropped, it ends and leaves nothing behind.
pub(super) struct RunningProcess<'a> {
    plan: &'a Process,
    interrupt: &'a Interrupt,
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl<'a> RunningProcess<'a> {
    /// Starts it and sends it what to prepare.
    pub(super) fn start(plan: &'a Process, interrupt: &'a Interrupt) -> Result<Self, ObserveError> {
        let refused =
            |error| ObserveError::Refused(format!("corun could not start itself: {error}"));
        let mut command = Command::new("/proc/self/exe");
        command.arg0("corun").arg(SUBCOMMAND).stdin(Stdio::piped()).stdout(Stdio::piped());
        // SAFETY: only an async-signal-safe call between fork and exec: a session of its own, which
        // the terminal's signals do not reach.
        unsafe {
            command.pre_exec(|| match libc::setsid() {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        let mut child = command.spawn().map_err(refused)?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(refused(io::ErrorKind::BrokenPipe.into()));
        };
        let answers = BufReader::new(answers);
        let mut process = Self { plan, interrupt, child, orders: Some(orders), answers };
        process.order(&serde_json::to_string(plan).unwrap_or_default())?;
        Ok(process)
    }

    /// Process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it is ready for the common start.
    pub(super) fn until_ready(&mut self) -> Result<(), ObserveError> {
        match self.answer(TIMEOUT)? {
            Answer::Ready => Ok(()),
            other => Err(unexpected(other)),
        }
    }

    /// Sends it the common start.
    pub(super) fn go(&mut self, start_ns: u64) -> Result<(), ObserveError> {
        self.order(&start_ns.to_string())
    }

    /// Logs of its tasks, at the end of a load of this length.
    pub(super) fn logs(&mut self, length: Duration) -> Result<Vec<TaskLog>, ObserveError> {
        match self.answer(length + TIMEOUT)? {
            Answer::Logs(logs) => Ok(logs),
            other => Err(unexpected(other)),
        }
    }

    fn order(&mut self, line: &str) -> Result<(), ObserveError> {
        // A process that is gone says why on its other end, or nothing at all.
        if let Some(orders) = &mut self.orders {
            let _ = orders.write_all(format!("{line}\n").as_bytes());
        }
        Ok(())
    }

    fn answer(&mut self, timeout: Duration) -> Result<Answer, ObserveError> {
        let deadline = Instant::now() + timeout;
        let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        loop {
            let mut polled = [
                entry(self.interrupt.as_fd().as_raw_fd()),
                entry(self.answers.get_ref().as_raw_fd()),
            ];
            let left = deadline.saturating_duration_since(Instant::now()).as_millis();
            // SAFETY: a valid array of descriptors.
            unsafe { libc::poll(polled.as_mut_ptr(), 2, i32::try_from(left).unwrap_or(i32::MAX)) };
            if polled[0].revents != 0 {
                return Err(ObserveError::Interrupted);
            }
            if polled[1].revents != 0 {
                break;
            }
            if left == 0 {
                return Err(ObserveError::Refused("a load did not end in time".to_owned()));
            }
        }
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.ok()
            .and_then(|_| serde_json::from_str(&line).ok())
            .ok_or_else(|| ObserveError::Refused(self.early_end()))
    }

    /// Description of the end of a process that does not answer any more.
    fn early_end(&mut self) -> String {
        let begun = Instant::now();
        while begun.elapsed() < EXIT_TIMEOUT {
            match self.child.try_wait() {
                Ok(Some(status)) => return ended_early(status),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
        }
        "a load's process does not answer any more".to_owned()
    }
}

fn ended_early(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => match corun_machine::memory_death(signal) {
            Some(why) => format!("a load's process ended early, by signal {signal} ({why})"),
            None => format!("a load's process ended early, by signal {signal}"),
        },
        (code, None) => {
            format!("a load's process ended early, with exit status {}", code.unwrap_or_default())
        }
    }
}

fn unexpected(answer: Answer) -> ObserveError {
    ObserveError::Refused(match answer {
        Answer::Refused(why) => why,
        Answer::Ready | Answer::Logs(_) => "a load's process answered out of turn".to_owned(),
    })
}

impl Drop for RunningProcess<'_> {
    fn drop(&mut self) {
        // The end of its input is its order to leave.
        self.orders.take();
        let begun = Instant::now();
        while begun.elapsed() < EXIT_TIMEOUT && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(group) = &self.plan.group {
            groups::remove(Path::new(&group.folder));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_end_says_how() {
        let said = |status| ended_early(ExitStatus::from_raw(status));
        assert_eq!(said(9), "a load's process ended early, by signal 9");
        assert_eq!(said(1 << 8), "a load's process ended early, with exit status 1");
    }
}
