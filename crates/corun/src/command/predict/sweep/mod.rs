//! Sweeps of `corun predict`: several programs, models or values of fields, each program recorded once and each cell predicted
//! by itself, here or as a job array.

mod earlier;
mod here;
mod slurm;

use std::process::ExitCode;

use clap::Args;
use corun_predict::{Measuring, PredictRequest, SweepRequest, SweptProgram, core_variants};
use corun_record::{Document, Ending, Exit, PredictionSweep, Record};

use super::Arguments;
use crate::answer::Head;
use crate::command::traced::NamedProgram;
use crate::exports::{Exports, Form};
use crate::options::CsvFile;
use crate::problem::{Problem, code};
use crate::terminal;
use crate::values::{self, Words};

use earlier::Beginning;

/// Arguments of several predictions at once.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several predictions")]
pub(super) struct SweepArguments {
    /// Predict this program, too; quoted as one argument; can be given several times
    #[arg(long, value_name = "COMMAND", value_parser = values::words)]
    pub(super) program: Vec<Words>,
    /// Predict N cells at a time [default: as many as this process may use CPUs]
    #[arg(long, value_name = "N", conflicts_with = "slurm")]
    jobs: Option<std::num::NonZeroUsize>,
    /// Take the cells over that an earlier run of the same line has, also of one that was killed: a file that it wrote with
    /// --json, or a kept run such as `last`, the newest of several predictions
    #[arg(long, value_name = "RUN", conflicts_with = "slurm")]
    resume: Option<String>,
    /// Resume the newest sweep of the store if it has one: a task on a cluster may run again
    #[arg(long, hide = true, conflicts_with_all = ["slurm", "resume"])]
    resume_any: bool,
    #[command(flatten)]
    csv: CsvFile,
    #[command(flatten)]
    slurm: slurm::SlurmArguments,
}

impl SweepArguments {
    /// True if there is anything that a single prediction has no use for.
    pub(super) fn is_asked_for(&self) -> bool {
        let is_resumed = self.resume.is_some() || self.resume_any;
        let is_large = self.jobs.is_some() || self.slurm.directory().is_some();
        !self.program.is_empty() || self.csv.path().is_some() || is_resumed || is_large
    }
}

/// A sweep as it was typed.
struct TypedSweep<'a> {
    arguments: &'a Arguments,
    programs: Vec<NamedProgram>,
    request: SweepRequest,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let head = Head::now();
    let typed = TypedSweep::of(arguments)?;
    let own = &arguments.sweep;
    let exports: Exports<Record<PredictionSweep>> = Exports::open([
        (arguments.json.path(), Record::to_json as Form<Record<PredictionSweep>>),
        (own.csv.path(), corun_report::sweep_to_csv),
    ])?;
    let (sweep, exports) = match own.slurm.directory() {
        Some(directory) => (slurm::run(&typed, directory)?, exports),
        None => {
            let Beginning { sweep, keeper } = Beginning::of(&typed)?;
            let (sweep, keeper) = here::run(&typed, head.record(sweep), keeper)?;
            (sweep, exports.kept_by(keeper))
        }
    };
    let is_whole = sweep.open().next().is_none();
    let all_failed = sweep.predictions().next().is_none() && is_whole;
    let has_failed = sweep.failed().next().is_some();
    let mut record = head.record(sweep);
    record.ending = Ending::of(!is_whole && own.slurm.directory().is_none());
    if all_failed || is_whole || record.body.predictions().next().is_some() {
        exports.write(&record, |record| shown(record, arguments), Record::to_json)?;
    }
    Ok(code(match (record.ending.is_interrupted(), has_failed) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Done,
    }))
}

fn shown(record: &Record<PredictionSweep>, arguments: &Arguments) -> String {
    match (arguments.view.brief, arguments.detail.verbose) {
        (true, _) => corun_report::sweep_in_brief(record, terminal::width()),
        (false, true) => corun_report::sweep_to_terminal(record, terminal::width()),
        (false, false) => corun_report::sweep_on_screen(record, &terminal::view()),
    }
}

impl<'a> TypedSweep<'a> {
    /// The sweep that the arguments ask for; starts nothing.
    fn of(arguments: &'a Arguments) -> Result<Self, Problem> {
        let programs = arguments.traced.programs(&arguments.sweep.program)?;
        let measuring = match arguments.measuring() {
            Measuring::Alone => Measuring::Nothing,
            other => other,
        };
        let (varied, settings) = arguments.settings();
        let usual = arguments.request(programs[0].request.clone(), settings)?;
        let swept =
            |it: &NamedProgram| SweptProgram { name: it.name.clone(), program: it.request.clone() };
        let jobs = || std::thread::available_parallelism().map_or(1, usize::from);
        let request = SweepRequest {
            shared: PredictRequest { models: Vec::new(), measuring, ..usual },
            options: arguments.shared_options(),
            programs: programs.iter().map(swept).collect(),
            cores: core_variants(&arguments.model, &varied)?,
            jobs: arguments.sweep.jobs.map_or_else(jobs, std::num::NonZeroUsize::get),
        };
        request.check()?;
        Ok(Self { arguments, programs, request })
    }
}
