//! `corun kernel-worker`: corun started by itself to run a built-in kernel in a process of its own.

use std::process::ExitCode;

use clap::Args;
use corun_measure::execution::{KernelWorkerOrder, serve_as_kernel_worker};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Without it the workers begin at once, and print what they check
    #[arg(long)]
    barrier: Option<i32>,
    #[arg(long, default_value_t = 1)]
    workers: usize,
    #[arg(long, default_value_t = 0)]
    first: usize,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Empty where the kernel of the system places the workers
    #[arg(long, default_value = "")]
    cpus: String,
    #[arg(long)]
    operations: u64,
    #[arg(long)]
    steady: bool,
    workload: String,
    parameters: Vec<String>,
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    serve_as_kernel_worker(&KernelWorkerOrder {
        barrier: arguments.barrier,
        workers: arguments.workers,
        first: arguments.first,
        threads: arguments.threads,
        cpus: arguments.cpus.split(',').filter_map(|cpu| cpu.parse().ok()).collect(),
        workload: arguments.workload,
        parameters: arguments.parameters,
        operations: arguments.operations,
        steady: arguments.steady,
    })
}
