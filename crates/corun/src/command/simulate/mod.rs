//! `corun simulate`: what a recorded program, or single blocks of code, would take on another core.

mod blocks;
mod caveats;
mod document;
mod placements;
mod program;
mod resources;
mod together;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::Placement;
use corun_trace::format::Trace;

use crate::options::{CSV, FIXED_SEED, JsonFile, ProgressArguments};
use crate::problem::{Problem, say};
use crate::values::{self, assignment, load_of_others, simulated_time};

/// The most cores that share a simulated memory.
const MAX_CORES: i64 = 64;
/// Offsets of the programs: each is a simulation.
const MAX_PHASES: i64 = 1000;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The core: a name of `corun models list`, or a model file that ends in .toml
    #[arg(long, value_name = "MODEL")]
    model: String,
    /// What programs executed, recorded by `corun trace`; several need a --placement
    #[arg(value_name = "TRACE", required_unless_present = "block_file")]
    traces: Vec<PathBuf>,
    /// Do not count the first N instructions: they fill predictors and caches
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "block_file")]
    #[arg(value_parser = values::count_or_zero)]
    warmup: u64,
    /// Count N instructions (500k, 10M, ...) after these [default: all there are]
    #[arg(long, value_name = "N", value_parser = values::count)]
    #[arg(conflicts_with = "block_file")]
    length: Option<u64>,
    /// Simulate this thread of the trace, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["block_file", "placement"])]
    thread: u32,
    /// Simulate workers together: single, spread, full, full@K, packed, stacked or free@N, or several of
    /// these with commas between them, which are then compared
    #[arg(long, value_name = "PLACEMENT", value_delimiter = ',', conflicts_with = "block_file")]
    placement: Vec<Placement>,
    /// Report the SMT yield under each other sharing policy of each resource of the core;
    /// needs the placements spread and full
    #[arg(long, requires = "placement")]
    resources: bool,
    /// Simulate N cores [default: as few as hold every worker]
    #[arg(long, value_name = "N", requires = "placement")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_CORES))]
    cores: Option<u32>,
    /// Begin at N different offsets of the programs, and report the mean and the range
    #[arg(long, value_name = "N", default_value_t = 8, requires = "placement")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_PHASES))]
    phases: u32,
    #[arg(long, value_name = "N", default_value_t = 0, requires = "placement", help = FIXED_SEED)]
    seed: u64,
    /// The time slice of workers that share a logical CPU, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 3.0, requires = "placement")]
    #[arg(value_parser = simulated_time)]
    slice: f64,
    /// The cost of a context switch, in microseconds
    #[arg(long, value_name = "US", default_value_t = 2.0, requires = "placement")]
    #[arg(value_parser = simulated_time)]
    switch: f64,
    /// Run N simulations at a time [default: one for each CPU]
    #[arg(long, value_name = "N", requires = "placement")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// The page size of the programs' data; their code lies in small pages
    #[arg(
        long,
        value_name = "SIZE",
        value_enum,
        default_value = "small",
        conflicts_with = "block_file"
    )]
    pages: values::Pages,
    #[command(flatten)]
    progress: ProgressArguments,
    /// Override a field of the model, for instance rob.policy=shared; can be given several times
    #[arg(long, value_name = "FIELD=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// How busy the cores are that are not simulated: from 0, idle, to 1, each with as much of the last-level cache and
    /// of the memory bandwidth as a simulated one
    #[arg(long, value_name = "SHARE", value_parser = values::load)]
    load_of_others: Option<f64>,
    /// Simulate each block of a table (column `block`, hexadecimal; `cycles`, if measured)
    #[arg(long, value_name = "FILE", conflicts_with = "traces")]
    block_file: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = CSV, requires = "block_file")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    json: JsonFile,
}

impl Arguments {
    /// Settings that change the model.
    fn settings(&self) -> Vec<(String, String)> {
        self.set.iter().cloned().chain(self.load_of_others.map(load_of_others)).collect()
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let original = corun_model::find(&arguments.model)?;
    let model = original.clone().with(&arguments.settings())?;
    warn_of_ineffective_settings(&original, &model);
    let timings = TimingTable::of(&model)?;
    match (&arguments.block_file, arguments.traces.as_slice()) {
        (Some(file), _) => blocks::run(arguments, &model, &timings, file),
        (None, traces @ [_, ..]) if !arguments.placement.is_empty() => {
            together::run(arguments, &model, &timings, traces)
        }
        (None, [trace]) => program::run(arguments, &model, &timings, trace),
        (None, [_, ..]) => Err(Problem::usage(
            "expected one trace, or a --placement for several, found neither",
            "For instance: corun simulate --model zen4 --placement spread,full one.trace other.trace",
        )),
        (None, []) => Err(Problem::usage(
            "expected a trace or --block-file, found neither",
            "For instance: corun trace -o gzip.trace -- gzip -kc FILE, then corun simulate --model \
             zen4 gzip.trace",
        )),
    }
}

/// Opens a trace, and refuses one without the code of its blocks.
fn opened(file: &Path) -> Result<Trace, Problem> {
    let trace = Trace::open(file).map_err(|error| Problem::from(error).in_file(file))?;
    trace.require_code().map_err(|error| Problem::from(error).in_file(file))?;
    Ok(trace)
}

/// Says on standard error which policies were set that the simulated core makes no difference for.
fn warn_of_ineffective_settings(original: &CoreModel, set: &CoreModel) {
    for resource in set.resources() {
        let policy = resource.policy;
        if let Some(why) = original.makes_no_difference(&resource.name, policy) {
            let name = policy.name();
            say(&format!("corun: {}.policy={name} changes nothing: {why}", resource.name));
        }
    }
}
