//! `corun bench run`: some workloads, or all, one after another.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use corun_measure::suite;

use super::design::DesignArguments;
use super::selection::TagArguments;
use crate::options::{BlockCount, SAMPLE_TIME};
use crate::problem::Problem;
use crate::{terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The workloads to run; by default all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    tags: TagArguments,
    /// Set a parameter of the workloads (repeatable); several values, separated by commas, are run
    /// one after another
    #[arg(long = "param", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    #[command(flatten)]
    blocks: BlockCount<5>,
    #[arg(long, value_name = "TIME", default_value = "100ms", help = SAMPLE_TIME)]
    #[arg(value_parser = values::duration)]
    sample_time: Duration,
    #[command(flatten)]
    design: DesignArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let workloads = arguments.tags.workloads_and(&arguments.names)?;
    let items = suite::items(workloads, &arguments.parameters)?;
    arguments.design.run(&items, arguments.blocks.blocks, arguments.sample_time, None, |bench| {
        corun_report::bench_to_terminal(bench, terminal::width())
    })
}
