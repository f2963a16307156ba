//! The inside of a load's process: corun started by itself, in a session of its own.
//!
//! It prepares, waits for the common start, runs its tasks and reports what they recorded. Should the
//! corun that started it die, its input ends; then it undoes what it changed and ends too.
#![expect(clippy::disallowed_methods, reason = "another corun reads it")]

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::groups::Membership;
use super::script::{ScriptRunner, keep_to};
use crate::load::Process;
use crate::timeline::TaskLog;

/// The hidden subcommand that a load's process runs.
pub const SUBCOMMAND: &str = "audit-load";

/// Answer of a load's process, a line each.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It has done what comes before the common start.
    Ready,
    /// Logs of its tasks.
    Logs(Vec<TaskLog>),
    /// Refusal of the system.
    Refused(String),
}

/// Runs as a load's process: does what standard input says; the exit code is whether it could.
pub fn serve_as_load() -> ExitCode {
    let membership = Arc::default();
    let answer = match serve(&membership) {
        Ok(logs) => Answer::Logs(logs),
        Err(refusal) => Answer::Refused(refusal),
    };
    leave(&membership);
    send(&answer);
    match answer {
        Answer::Refused(_) => ExitCode::FAILURE,
        Answer::Ready | Answer::Logs(_) => ExitCode::SUCCESS,
    }
}

/// The control group that this process is in, if it is in one.
type InGroup = Arc<Mutex<Option<Membership>>>;

fn serve(membership: &InGroup) -> Result<Vec<TaskLog>, String> {
    let process: Process = serde_json::from_str(&line()?).map_err(|_| not_for_people())?;
    if let Some(cpus) = &process.cpus {
        keep_to(cpus)?;
    }
    if let Some(group) = &process.group {
        let entered = Membership::enter(group)?;
        *membership.lock().unwrap_or_else(PoisonError::into_inner) = Some(entered);
    }
    send(&Answer::Ready);
    let start_ns: u64 = line()?.trim().parse().map_err(|_| not_for_people())?;
    end_with_the_input(Arc::clone(membership))?;
    ScriptRunner::new(&process, start_ns).perform()
}

/// Ends the process, its group left, when the corun that started it is gone.
fn end_with_the_input(membership: InGroup) -> Result<(), String> {
    let wait = move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        leave(&membership);
        std::process::exit(1);
    };
    let watching = std::thread::Builder::new().spawn(wait);
    watching.map(drop).map_err(|error| format!("the system refuses another thread: {error}"))
}

fn leave(membership: &InGroup) {
    membership.lock().unwrap_or_else(PoisonError::into_inner).take();
}

fn line() -> Result<String, String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(1..) => Ok(line),
        _ => Err(not_for_people()),
    }
}

fn send(answer: &Answer) {
    let mut text = serde_json::to_string(answer).unwrap_or_default();
    text.push('\n');
    let mut output = io::stdout().lock();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

fn not_for_people() -> String {
    "this command is for internal use; corun starts it itself".to_owned()
}
