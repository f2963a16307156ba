//! `corun bench memory-hierarchy`: two workloads at many sizes, from the first-level cache to memory.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use corun_measure::suite::{self, Item};
use corun_report::HierarchySweep;

use super::design::DesignArguments;
use crate::options::{BlockCount, SAMPLE_TIME, SvgFile};
use crate::problem::Problem;
use crate::{terminal, values};

/// The workloads that the sweep is made of.
pub(in crate::command) const SWEEP: HierarchySweep = HierarchySweep {
    latency: "chase",
    bandwidth: "stream",
    kernels: &[("read", 1), ("write", 1), ("copy", 2)],
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The smallest size
    #[arg(long, value_name = "SIZE", default_value = "8KiB", value_parser = values::size)]
    from: u64,
    /// The largest size, in bytes or in caches
    #[arg(long, value_name = "SIZE", default_value = "8xL3", value_parser = values::size)]
    to: u64,
    /// Distances between the loads of the latency
    #[arg(long, value_name = "LIST", default_value = "64,512,4096", value_delimiter = ',')]
    #[arg(value_parser = values::size)]
    stride: Vec<u64>,
    #[command(flatten)]
    blocks: BlockCount<3>,
    #[arg(long, value_name = "TIME", default_value = "20ms", help = SAMPLE_TIME)]
    #[arg(value_parser = values::duration)]
    sample_time: Duration,
    #[command(flatten)]
    svg: SvgFile,
    #[command(flatten)]
    design: DesignArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let sizes: Vec<u64> = std::iter::successors(Some(arguments.from), |size| size.checked_mul(2))
        .take_while(|&size| size <= arguments.to)
        .collect();
    if sizes.is_empty() {
        return Err(Problem::usage(
            format!(
                "expected --from no larger than --to, found {} and {}",
                arguments.from, arguments.to
            ),
            "Exchange them, or leave one out.",
        ));
    }
    let mut items = Vec::new();
    for &stride in &arguments.stride {
        for size in sizes.iter().filter(|&&size| size >= 2 * stride) {
            items.extend(item(SWEEP.latency, &[("size", *size), ("stride", stride)], &[])?);
        }
    }
    for &(kernel, arrays) in SWEEP.kernels {
        for size in &sizes {
            items.extend(item(SWEEP.bandwidth, &[("size", size / arrays)], &[("kernel", kernel)])?);
        }
    }
    let svg = arguments.svg.path();
    arguments.design.run(&items, arguments.blocks.blocks, arguments.sample_time, svg, |bench| {
        corun_report::memory_hierarchy(bench, &SWEEP, terminal::width())
    })
}

fn item(
    name: &str,
    numbers: &[(&str, u64)],
    choices: &[(&str, &str)],
) -> Result<Vec<Item>, Problem> {
    let workload = corun_workload::find(name)?;
    let numbers = numbers.iter().map(|(name, value)| format!("{name}={value}"));
    let choices = choices.iter().map(|(name, value)| format!("{name}={value}"));
    Ok(suite::items([workload], &numbers.chain(choices).collect::<Vec<_>>())?)
}
