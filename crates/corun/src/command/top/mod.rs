//! `corun top`: what siblings do now, on a screen, as text or as JSON; or what a command and its processes took.

mod command;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corun_machine::Machine;
use corun_measure::machine_summary;
use corun_monitor::screen::{Colours, Grouping, Input, Order, Selection, SortBy, View, live, text};
use corun_monitor::{
    MonitorError, Options, Playback, Recorded, Recorder, Replay, Source, System, Tasks,
};
use corun_record::{Exit, Record};

use crate::answer::Answer;
use crate::options::JsonFile;
use crate::problem::{Problem, code, say};
use crate::yields::Yields;
use crate::{terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The time from one reading to the next
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    interval: Duration,
    /// Print plain text each interval instead of drawing a screen, as where standard output is no terminal
    #[arg(long, short)]
    batch: bool,
    /// Print so many intervals and end
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print one interval and end
    #[arg(long, conflicts_with = "count")]
    once: bool,
    #[command(flatten)]
    json: JsonFile,
    /// The SMT yields that are possible here, for a narrower range of capacity; "measured" takes them of the newest
    /// `corun capacity` of this host [default: 1 to the SMT width]
    #[arg(long = "yield", value_name = "LO..HI", value_parser = Yields::parse)]
    yields: Option<Yields>,
    /// Sample which siblings are busy together, even where every switch of a task could be seen
    #[arg(long)]
    sampled: bool,
    /// Read the machine whose captured /sys and /proc lie below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Write what is shown to FILE, an interval a line, for --replay (compressed if FILE ends in .zst)
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    record: Option<PathBuf>,
    /// Show what --record wrote, in place of this machine
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "root", "yields", "sampled", "interval"])]
    replay: Option<PathBuf>,
    /// Replay so many times as fast; 0 does not wait
    #[arg(long, value_name = "FACTOR", requires = "replay", default_value_t = 1.0)]
    speed: f64,
    /// What the tasks are sorted by
    #[arg(long, value_name = "COLUMN", value_enum, default_value = "used")]
    sort: Sort,
    /// Show only tasks whose name or control group contains TEXT, or whose number it is
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    filter: String,
    /// Show tasks as a tree
    #[arg(long, value_name = "BY", value_enum)]
    tree: Option<Tree>,
    /// Show processes, not their threads
    #[arg(long)]
    processes: bool,
    /// Run COMMAND, and print at its end what it and each of its processes took, and on which CPUs
    #[arg(last = true, value_name = "COMMAND")]
    #[arg(conflicts_with_all = ["batch", "count", "once", "yields", "sampled", "root"])]
    #[arg(conflicts_with_all = ["sort", "filter", "tree", "processes", "interval", "record", "replay"])]
    command: Vec<OsString>,
}

/// A column to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Processor time
    Used,
    /// Number of the thread or process
    Number,
    /// Last logical CPU
    Cpu,
    /// Changes of the logical CPU
    Migrations,
    /// Processor time beside a busy sibling
    Beside,
    /// Name
    Name,
}

/// Relation that a tree is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tree {
    /// Processes below those that started them
    Process,
    /// Processes below their control groups
    Cgroup,
}

/// The shortest interval: reading a large machine takes some milliseconds.
const SHORTEST: Duration = Duration::from_millis(50);
/// Nobody waits longer for a screen.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if !arguments.command.is_empty() {
        return command::run(&arguments.command, &arguments.json);
    }
    if std::env::args_os().next_back().is_some_and(|it| it == "--") {
        return Err(Problem::usage(
            "expected a command after `--`, found none",
            "Name it, such as corun top -- make -j 8, or leave `--` out for the live view.",
        ));
    }
    if !(SHORTEST..=LONGEST).contains(&arguments.interval) {
        return Err(Problem::usage(
            format!(
                "expected an interval from 50ms to 1d, found {}",
                humantime::format_duration(arguments.interval)
            ),
            "Give another one with --interval, such as 500ms.",
        ));
    }
    if !(0.0..=1e6).contains(&arguments.speed) {
        return Err(Problem::usage(
            format!("expected a speed from 0 to 1000000, found {}", arguments.speed),
            "Give another one with --speed: 1 is as fast as it was, 0 does not wait.",
        ));
    }
    if arguments.json.path().is_some() && !arguments.once {
        return Err(Problem::usage(
            "expected --once or a command with --json, found neither",
            "Add --once: the document of one interval is written.",
        ));
    }
    if arguments.once {
        return arguments.once();
    }
    let is_batch = arguments.batch || arguments.count.is_some();
    let Opened { source, playback, .. } = arguments.open(!is_batch && is_terminal())?;
    if is_batch || !is_terminal() {
        return arguments.print(source, arguments.count.unwrap_or(u64::MAX));
    }
    let colours = if terminal::has_colour() { Colours::On } else { Colours::Off };
    live(source, arguments.interval, arguments.view(), colours, playback)?;
    Ok(code(Exit::Done))
}

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Opened source: the machine, and what it does.
struct Opened {
    machine: Machine,
    /// Control of a recording.
    playback: Option<Playback>,
    source: Box<dyn Source + Send>,
}

impl Arguments {
    /// This machine or a captured one, recorded where that is asked for, or a recording.
    fn open(&self, has_keys: bool) -> Result<Opened, Problem> {
        if let Some(file) = &self.replay {
            let mut replay = Replay::open(file, Some(self.speed))?;
            let playback = has_keys.then(|| replay.playback());
            let machine = replay.machine().clone();
            return Ok(Opened { machine, playback, source: Box::new(replay) });
        }
        let system = System::open(Options {
            root: self.root.clone(),
            tasks: if self.processes { Tasks::Processes } else { Tasks::Threads },
            exact: !self.sampled,
            yields: self.yields.map(Yields::range).transpose()?,
            ..Options::default()
        })?;
        let machine = system.machine().clone();
        let source: Box<dyn Source + Send> = match &self.record {
            Some(file) => {
                let recorder = Recorder::create(file, &machine)?;
                Box::new(Recorded::new(system, recorder))
            }
            None => Box::new(system),
        };
        Ok(Opened { machine, playback: None, source })
    }

    fn view(&self) -> View {
        let by = match self.sort {
            Sort::Used => SortBy::Used,
            Sort::Number => SortBy::Number,
            Sort::Cpu => SortBy::Cpu,
            Sort::Migrations => SortBy::Migrations,
            Sort::Beside => SortBy::Beside,
            Sort::Name => SortBy::Name,
        };
        View::new(Selection {
            threads: !self.processes,
            grouping: match self.tree {
                None => Grouping::Flat,
                Some(Tree::Process) => Grouping::Processes,
                Some(Tree::Cgroup) => Grouping::ControlGroups,
            },
            filter: self.filter.clone(),
            order: Order { by, reversed: false },
        })
    }

    /// One interval, as text or as a document.
    fn once(&self) -> Result<ExitCode, Problem> {
        let answer = Answer::open(&self.json)?;
        let Opened { machine, mut source, .. } = self.open(false)?;
        let activity = source.next(self.interval)?;
        let moment = source.moment();
        let origin = self.replay.as_ref().unwrap_or(&self.root);
        let machine = Some(machine_summary(&machine, origin));
        let record = Record { machine, ..answer.record(activity) };
        answer.write(&record, |record, columns| {
            let mut view = self.view();
            if let Some(moment) = moment {
                view.handle(Input::Moment(moment));
            }
            view.handle(Input::Activity(Box::new(record.body.clone())));
            text(&view, columns)
        })?;
        Ok(code(Exit::Done))
    }

    /// So many intervals as text, or as many as there are, while somebody reads them.
    fn print(&self, mut source: impl Source, count: u64) -> Result<ExitCode, Problem> {
        let mut view = self.view();
        for number in 0..count {
            let activity = match source.next(self.interval) {
                Err(MonitorError::Ended) if number > 0 => break,
                activity => activity?,
            };
            if let Some(moment) = source.moment() {
                view.handle(Input::Moment(moment));
            }
            view.handle(Input::Activity(Box::new(activity)));
            let between = if number == 0 { "" } else { "\n" };
            let lines = text(&view, terminal::width());
            if !terminal::show_to_reader(&format!("{between}{lines}"))? {
                break;
            }
        }
        if let Some(caveat) = source.caveat() {
            say(&format!("corun: {caveat}"));
        }
        Ok(code(Exit::Done))
    }
}
