//! `corun topo`: the machine, drawn for a person or as JSON for a program, and probed for its truth; or whose CPUs
//! some of them are; or captured, to be read elsewhere.

mod capture;
mod sharing;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use corun_machine::probe::{self, Probe, ProbeObserver, Topology};
use corun_machine::{Machine, Names};
use corun_measure::execution::Interrupt;
use corun_measure::machine_summary;
use corun_record::{Document, Ending, Exit, Record, on_lines};
use corun_report::Destination;

use crate::answer::Head;
use crate::options::{JsonFile, SEED, SvgFile};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::{interruption, terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    svg: SvgFile,
    /// Read the machine whose captured /sys and /proc lie below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// Measure what pairs of logical CPUs share, and report where sysfs is wrong
    #[arg(long, conflicts_with = "root")]
    probe: bool,
    /// On machines with many CPUs, add random pairs to the probe for this long
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = values::duration, requires = "probe")]
    max_time: Duration,
    #[arg(long, value_name = "N", requires = "probe", help = SEED)]
    seed: Option<u64>,
    /// Write the files that describe this machine below DIR, a new folder, to be read there with --root
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "svg", "probe", "whose"])]
    capture: Option<PathBuf>,
    /// Leave out of it what may tell of people and places: names of control groups, most of the boot line
    #[arg(long, requires = "capture")]
    anonymous: bool,
    #[command(flatten)]
    sharing: sharing::Arguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if let Some(query) = arguments.sharing.query() {
        let (root, json) = (&arguments.root, &arguments.json);
        return sharing::run(&query, arguments.sharing.watch, root, json);
    }
    if let Some(folder) = &arguments.capture {
        let names = if arguments.anonymous { Names::LeftOut } else { Names::Kept };
        return capture::run(folder, names, &arguments.root);
    }
    let head = Head::now();
    let exports = arguments.exports()?;
    let machine = Machine::read(&arguments.root)?;
    let probe = arguments.probe.then(|| arguments.probe(&machine)).transpose()?;
    let is_partial = probe.as_ref().is_some_and(|probe| probe.interrupted);
    let record = Record {
        machine: Some(machine_summary(&machine, &arguments.root)),
        ending: Ending::of(is_partial),
        ..head.record(Topology { machine, probe })
    };
    if exports.is_empty() {
        terminal::show_coloured(&drawing(&record.body))?;
    }
    for (destination, form) in exports {
        destination.write(&form(&record))?;
    }
    Ok(code(if is_partial { Exit::Interrupted } else { Exit::Done }))
}

/// A way to write a machine as text.
type Form = fn(&Record<Topology>) -> String;

fn drawn(record: &Record<Topology>) -> String {
    corun_machine::draw_svg(&record.body.machine, record.body.probe.as_ref())
}

fn drawing(topology: &Topology) -> String {
    let columns = terminal::columns();
    let mut text = corun_machine::draw(&topology.machine, columns, terminal::has_colour());
    text.extend(
        topology
            .probe
            .as_ref()
            .map(|probe| on_lines(&probe::describe(probe, columns)).into_owned()),
    );
    text
}

impl Arguments {
    /// The files asked for, found writable before anything is measured.
    fn exports(&self) -> Result<Vec<(Destination, Form)>, Problem> {
        let (json, svg) = (self.json.path(), self.svg.path());
        if let (Some(path), true) = (json, json == svg) {
            return Err(Problem::usage(
                format!("expected a place of its own for each export, found {path:?} twice"),
                "Name another file for one of them.",
            ));
        }
        let wanted: [(Option<&Path>, Form); 2] = [(json, Document::to_json), (svg, drawn)];
        let wanted = wanted.into_iter().filter_map(|(path, form)| Some((path?, form)));
        wanted.map(|(path, form)| Ok((Destination::open(path)?, form))).collect()
    }

    fn probe(&self, machine: &Machine) -> Result<Probe, Problem> {
        let seed = self.seed.unwrap_or_else(|| corun_stats::fresh_seed(SystemTime::now()));
        let mut progress = Progress::new(interruption::on_signals()?);
        let probe = probe::probe(machine, seed, self.max_time, &mut progress);
        progress.line.finish();
        Ok(probe?)
    }
}

/// A line on a terminal that says which pair is measured.
struct Progress {
    line: StepProgress,
    interrupt: Interrupt,
}

impl Progress {
    fn new(interrupt: Interrupt) -> Self {
        Self { line: StepProgress::new(false), interrupt }
    }
}

impl ProbeObserver for Progress {
    fn pair_begins(&mut self, [one, other]: [u32; 2], done: usize, planned: usize) {
        let number = done + 1;
        let which = if done < planned {
            format!("pair {number} of {planned}")
        } else {
            format!("random pair {}", number - planned)
        };
        self.line.show(format!("CPUs {one} and {other}, {which}"));
    }

    fn wants_end(&mut self) -> bool {
        self.interrupt.is_raised()
    }
}
