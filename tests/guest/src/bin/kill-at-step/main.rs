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

use std::collections::HashMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use nix::errno::Errno;

use tracee::{Stop, Tracee};

/// What to do, once a run.
#[derive(Debug, Parser)]
enum Arguments {
    /// List every step of a command, and how it ended
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
    /// Send SIGKILL to a command right after its first step that was not tried yet: it may come in
    /// another order each time
    New {
        /// The steps that were tried: lines that begin as what this prints
        tried: PathBuf,
        /// Only these steps, each as often as it is listed here
        #[arg(long)]
        among: Option<PathBuf>,
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
        Arguments::Kill { number, children, command } => {
            let mut passed = 0;
            kill(&command, children, |_| {
                passed += 1;
                passed == number
            })
        }
        Arguments::New { tried, among, children, command } => {
            kill_at_new(&command, children, &tried, among.as_deref())
        }
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

/// Prints each step, and how the command ended.
fn list(command: &Command) -> Result<(), Box<dyn Error>> {
    let mut steps = Steps::of(command)?;
    loop {
        match steps.next()? {
            Stop::Step(step) => println!("{step}"),
            Stop::Ended(how) => {
                println!("ended\t{how}");
                return Ok(());
            }
        }
    }
}

/// Prints `killed` and the first step that is the one, or `ended` and how the command did.
fn kill(
    command: &Command,
    children: bool,
    mut is_the_one: impl FnMut(&str) -> bool,
) -> Result<(), Box<dyn Error>> {
    let mut steps = Steps::of(command)?;
    loop {
        match steps.next()? {
            Stop::Step(step) if is_the_one(&step) => {
                steps.tracee.kill(children)?;
                println!("killed\t{step}");
                return Ok(());
            }
            Stop::Step(_) => {}
            Stop::Ended(how) => {
                println!("ended\t{how}");
                return Ok(());
            }
        }
    }
}

/// As [`kill`], at the first step that comes more often than it was tried.
fn kill_at_new(
    command: &Command,
    children: bool,
    tried: &Path,
    among: Option<&Path>,
) -> Result<(), Box<dyn Error>> {
    let tried = match tried.exists() {
        true => counts(tried, |line| line.strip_prefix("killed\t")?.split('\t').next())?,
        false => HashMap::new(),
    };
    let among = among.map(|list| counts(list, |line| Some(line))).transpose()?;
    let mut passed: HashMap<String, usize> = HashMap::new();
    kill(command, children, |step| {
        let times = passed.entry(step.to_owned()).or_default();
        *times += 1;
        let is_wanted =
            among.as_ref().is_none_or(|among| among.get(step).is_some_and(|most| *times <= *most));
        is_wanted && *times > tried.get(step).copied().unwrap_or_default()
    })
}

/// How often each step is named by the lines of a file.
fn counts(file: &Path, step: impl Fn(&str) -> Option<&str>) -> io::Result<HashMap<String, usize>> {
    let mut counts = HashMap::new();
    for step in fs::read_to_string(file)?.lines().filter_map(step) {
        *counts.entry(step.to_owned()).or_default() += 1;
    }
    Ok(counts)
}

fn wait_until_unlocked(file: &Path) -> Result<(), Box<dyn Error>> {
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
