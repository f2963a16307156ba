//! `corun models calibrate`: what this host's core does, measured with timed code.

mod blocks;
mod core;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_machine::Affinity;

use crate::options::{CSV, JsonFile, ProgressArguments};
use crate::problem::Problem;
pub(in crate::command) use blocks::read_blocks;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Measure on this logical CPU rather than on the last one allowed
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
    /// Take what cannot be measured from this model rather than from the one that CPUID is nearest to:
    /// a name of `corun models list`, or a model file that ends in .toml
    #[arg(long, value_name = "MODEL", conflicts_with = "block_file")]
    base: Option<String>,
    /// Write the model to this file (.toml) or into this folder, and its timing table beside it
    #[arg(
        long,
        short,
        value_name = "FILE",
        conflicts_with = "block_file",
        default_value = "host.toml"
    )]
    output: PathBuf,
    /// Measure instruction forms alone and write their timing table (.csv) to this file, and no model
    #[arg(long, value_name = "FILE", conflicts_with_all = ["block_file", "output"])]
    forms: Option<PathBuf>,
    /// Take fewer samples: quicker, and less sure
    #[arg(long, conflicts_with = "block_file")]
    quick: bool,
    #[command(flatten)]
    json: JsonFile,
    /// Measure no model but the cycles that an iteration of each block takes: a CSV file with machine
    /// code in hexadecimal in its column `block`, and cycles to compare with in `cycles` if it has them
    #[arg(long, value_name = "FILE")]
    block_file: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = CSV, requires = "block_file")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    progress: ProgressArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let cpu = choose(arguments.cpu)?;
    match (&arguments.block_file, &arguments.forms) {
        (Some(blocks), _) => blocks::run(arguments, blocks, cpu),
        (None, Some(forms)) => core::forms(arguments, forms, cpu),
        (None, None) => core::run(arguments, cpu),
    }
}

/// Samples of each figure.
const SAMPLES: usize = 31;
const QUICK_SAMPLES: usize = 5;

impl Arguments {
    fn samples(&self) -> usize {
        if self.quick { QUICK_SAMPLES } else { SAMPLES }
    }
}

/// The CPU asked for, or the last one allowed: the first ones serve most interrupts.
fn choose(asked: Option<u32>) -> Result<u32, Problem> {
    let allowed = Affinity::of(0).map(|mask| mask.cpus()).unwrap_or_default();
    let found = match asked {
        Some(cpu) => Some(cpu).filter(|&cpu| allowed.contains(cpu)),
        None => allowed.iter().next_back(),
    };
    found.ok_or_else(|| {
        Problem::usage(
            format!("expected a logical CPU that may be used, found {}", asked.unwrap_or(0)),
            format!("Allowed are: {allowed}."),
        )
    })
}
