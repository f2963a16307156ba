//! `corun sweep`: predictions of programs on core models with settings, each program recorded once.

mod cells;
mod earlier;
mod here;
mod slurm;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::{Document, Ending, Exit, PredictionSweep, Record};

use crate::answer::Head;
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code};
use crate::terminal;
use crate::values::{self, Words};

use earlier::Beginning;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The core models, names of `corun models list` or files that end in .toml; `all` for all that there are
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    model: Vec<String>,
    /// Predict with each of these values of a field, for instance rob.entries=224,512; of several fields every combination
    #[arg(long, value_name = "FIELD=VALUES", value_parser = values::assignment)]
    vary: Vec<(String, String)>,
    /// A program to predict; quoted as one argument; can be given several times
    #[arg(long, value_name = "COMMAND", value_parser = values::words)]
    program: Vec<Words>,
    /// A built-in workload to predict, perhaps with parameters: "chase size=64M"; can be given several times
    #[arg(long, value_name = "WORKLOAD", value_parser = values::words)]
    workload: Vec<Words>,
    #[command(flatten)]
    shared: SharedArguments,
    /// Simulate N cells at a time [default: as many as this process may use CPUs]
    #[arg(long, value_name = "N", conflicts_with = "slurm")]
    jobs: Option<std::num::NonZeroUsize>,
    /// Take the cells over that an earlier sweep has, also of one that was killed: a file that it wrote with --json, or a
    /// kept run such as `last`, the newest sweep
    #[arg(long, value_name = "RUN", conflicts_with = "slurm")]
    resume: Option<String>,
    /// Resume the newest sweep of the store if it has one: a task on a cluster may run again
    #[arg(long, hide = true, conflicts_with_all = ["slurm", "resume"])]
    resume_any: bool,
    #[command(flatten)]
    slurm: slurm::SlurmArguments,
    #[command(flatten)]
    output: OutputArguments,
    /// Another program to predict, and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What is the same for all cells.
#[derive(Debug, Args)]
struct SharedArguments {
    /// What is compared, as `corun predict --placement` has it
    #[arg(long, value_name = "LIST", default_value = "spread,full")]
    placement: String,
    /// Override a field of all models, for instance main.nanoseconds=120; can be given several times
    #[arg(long, value_name = "FIELD=VALUE", value_parser = values::assignment)]
    set: Vec<(String, String)>,
    /// About how long one cell may take on two CPUs
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::duration)]
    max_time: std::time::Duration,
    /// Choose where the windows of a long run lie, how far apart copies run, and where pages lie, by this seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Simulate the first N instructions of each program
    #[arg(long, value_name = "N")]
    length: Option<String>,
    /// Use this tracer: dynamorio, qemu or ptrace (default: the first of them that works)
    #[arg(long, value_name = "NAME")]
    tracer: Option<String>,
}

/// The outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    /// Write the sweep as JSON to FILE (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the predicted figures of each cell as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print nothing but the result and errors
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let head = Head::now();
    let plan = cells::Plan::of(arguments)?;
    let exports: Exports<Record<PredictionSweep>> = Exports::open([
        (arguments.output.json.as_deref(), Record::to_json as Form<Record<PredictionSweep>>),
        (arguments.output.csv.as_deref(), corun_report::sweep_to_csv),
    ])?;
    let (sweep, exports) = match arguments.slurm.directory() {
        Some(directory) => (slurm::run(arguments, &plan, directory)?, exports),
        None => {
            let Beginning { sweep, keeper } = Beginning::of(arguments, &plan)?;
            let (sweep, keeper) = here::run(arguments, &plan, head.record(sweep), keeper)?;
            (sweep, exports.kept_by(keeper))
        }
    };
    let is_whole = sweep.open().next().is_none();
    let all_failed = sweep.predictions().next().is_none() && is_whole;
    let has_failed = sweep.failed().next().is_some();
    let mut record = head.record(sweep);
    record.ending = Ending::of(!is_whole && arguments.slurm.directory().is_none());
    if all_failed || is_whole || record.body.predictions().next().is_some() {
        exports.write(
            &record,
            |record| corun_report::sweep_to_terminal(record, terminal::width()),
            Record::to_json,
        )?;
    }
    Ok(code(match (record.ending.is_interrupted(), has_failed) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Done,
    }))
}
