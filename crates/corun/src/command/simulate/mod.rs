//! `corun simulate`: what a recorded program, or single blocks of code, would take on another core.

mod blocks;
mod program;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_sim::model::{self, CoreModel};
use corun_sim::timing::TimingTable;

use crate::problem::Problem;

#[derive(Debug, Args)]
pub struct Arguments {
    /// The core: a name of `corun models list`, or a model file that ends in .toml
    #[arg(long, value_name = "MODEL")]
    model: String,
    /// What a program executed, recorded by `corun trace`
    #[arg(value_name = "TRACE", required_unless_present = "blocks")]
    trace: Option<PathBuf>,
    /// Do not count the first N instructions: they fill predictors and caches
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "blocks")]
    warmup: u64,
    /// Count N instructions behind these [default: all there are]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(conflicts_with = "blocks")]
    length: Option<u64>,
    /// Simulate this thread of the trace, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "blocks")]
    thread: u32,
    /// Tell the cycles of each block of a table (column `block`, hexadecimal; `cycles`, if measured)
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    blocks: Option<PathBuf>,
    /// With --blocks: write block and predicted cycles to FILE (`-` is standard output)
    #[arg(long, value_name = "FILE", requires = "blocks")]
    csv: Option<PathBuf>,
    /// Write the result as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let model = model::find(&arguments.model)?;
    let timings = timings(&model)?;
    match (&arguments.blocks, &arguments.trace) {
        (Some(file), _) => blocks::run(arguments, &model, &timings, file),
        (None, Some(trace)) => program::run(arguments, &model, &timings, trace),
        (None, None) => Err(Problem::usage(
            "expected a trace or --blocks, found neither",
            "For instance: corun trace -o gzip.trace -- gzip -kc FILE, then corun simulate --model \
             zen4 gzip.trace",
        )),
    }
}

/// The timing of a model's instructions.
pub(super) fn timings(model: &CoreModel) -> Result<TimingTable, Problem> {
    TimingTable::of(model).map_err(|error| {
        Problem::failed(
            error.to_string(),
            "Name a table that comes with corun in the model's `timing` and `overlays`.",
        )
    })
}

/// What every answer says of a model that nobody compared with its machine.
pub(super) fn warning(model: &CoreModel) -> Result<Option<String>, Problem> {
    let compared = super::models::compared(model)?;
    let said = corun_report::validation(model, &compared);
    Ok(said.starts_with("unvalidated").then_some(said))
}
