//! Kills a program at each step by which it changes something, one run after the other.
//!
//! What survives SIGKILL has to be tried with the program as users have it, without any hook: its
//! system calls show what it has done, and a tracer can end it right after any of them.
//!
//! A stop that goes from one emulated CPU to another takes milliseconds, and there are thousands:
//! start this program bound to one CPU where the command may be bound too.

mod call;
mod step;
mod tracee;

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use nix::errno::Errno;

use tracee::{Stop, Tracee};

/// What to do, once a run.
#[derive(Debug, Parser)]
enum Arguments {
    /// List every step of a command, numbered from 1, and how it ended
    List {
        #[command(flatten)]
        command: Command,
    },
    /// Send SIGKILL to a command right after its step of this number
    Kill {
        number: usize,
        /// Kill the command's children first
        #[arg(long)]
        children: bool,
        #[command(flatten)]
        command: Command,
    },
    /// Wait until nobody holds the lock of a file, if there is such a file
    Unlocked { file: PathBuf },
}

#[derive(Debug, clap::Args)]
struct Command {
    /// Count from the first step in whose name this appears
    #[arg(long, value_name = "TEXT", default_value = "")]
    from: String,
    /// The command; what it prints goes to standard error
    #[arg(last = true, required = true)]
    argv: Vec<OsString>,
}

fn main() -> ExitCode {
    let done = match Arguments::parse() {
        Arguments::List { command } => list(&command),
        Arguments::Kill { number, children, command } => kill(number, children, &command),
        Arguments::Unlocked { file } => wait_until_unlocked(&file),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kill-at-step: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints `NUMBER step` for each step, and how the command ended.
fn list(command: &Command) -> Result<(), Box<dyn Error>> {
    let mut steps = Steps::of(command)?;
    let mut number = 0;
    loop {
        match steps.next()? {
            Stop::Step(step) => {
                number += 1;
                println!("{number}\t{step}");
            }
            Stop::Ended(how) => {
                println!("ended\t{how}");
                return Ok(());
            }
        }
    }
}

/// Prints `killed` and the step, or `ended` and how the command did.
fn kill(number: usize, children: bool, command: &Command) -> Result<(), Box<dyn Error>> {
    let mut steps = Steps::of(command)?;
    for at in 1.. {
        match steps.next()? {
            Stop::Step(step) if at == number => {
                steps.tracee.kill(children)?;
                println!("killed\t{step}");
                break;
            }
            Stop::Step(_) => {}
            Stop::Ended(how) => {
                println!("ended\t{how}");
                break;
            }
        }
    }
    Ok(())
}

fn wait_until_unlocked(file: &std::path::Path) -> Result<(), Box<dyn Error>> {
    match File::open(file) {
        Ok(file) => Ok(file.lock()?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The steps that count.
struct Steps<'a> {
    tracee: Tracee,
    /// Steps before the first in whose name this appears do not count.
    from: Option<&'a str>,
}

impl<'a> Steps<'a> {
    fn of(command: &'a Command) -> io::Result<Self> {
        Ok(Self { tracee: Tracee::start(&command.argv)?, from: Some(&command.from) })
    }

    fn next(&mut self) -> Result<Stop, Errno> {
        loop {
            let stop = self.tracee.next()?;
            if let (Stop::Step(step), Some(from)) = (&stop, self.from) {
                if !step.contains(from) {
                    continue;
                }
                self.from = None;
            }
            return Ok(stop);
        }
    }
}
