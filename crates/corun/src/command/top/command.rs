//! `corun top -- COMMAND`: what the command and each of its processes took, and on which CPUs they ran.

use std::ffi::OsString;
use std::process::ExitCode;

use corun_monitor::CommandWatch;
use corun_record::{Document, Record, shown};
use corun_report::{Destination, times_to_terminal};

use crate::answer::{Head, this_machine};
use crate::command::program;
use crate::foreground::{Ended, Foreground, Signals};
use crate::options::JsonFile;
use crate::problem::{Problem, say};
use crate::terminal;

pub(super) fn run(command: &[OsString], json: &JsonFile) -> Result<ExitCode, Problem> {
    let command = &program::resolve(command)?[..];
    let head = Head::now();
    let destination = json.path().map(Destination::open).transpose()?;
    let signals = Signals::catch()?;
    let mut watch = CommandWatch::begin();
    let running = Foreground::start(command, &signals)?;
    if let Err(error) = watch.follow(running.group()) {
        say(&format!("corun: only the total is known: {}", shown(error.to_string())));
    }
    let ended = running.see_through(signals);
    let words = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let times = watch.end(words, ended.as_ref().ok().and_then(Ended::status));
    let ended = ended?;
    let record = Record { machine: this_machine().ok(), ..head.record(times) };
    match destination {
        Some(destination) => destination.write(&record.to_json())?,
        // The command may have written a result to standard output.
        None => say(times_to_terminal(&record.body, terminal::width()).trim_end()),
    }
    Ok(ended.exit_code())
}
