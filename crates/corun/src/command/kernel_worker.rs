//! `corun kernel-worker`: corun started by itself to run a built-in kernel in a process of its own.

use std::process::ExitCode;

use clap::Args;
use corun_measure::execution::{KernelWorkerOrder, serve_as_kernel_worker};

#[derive(Debug, Args)]
pub struct Arguments {
    #[arg(long)]
    gate: i32,
    #[arg(long)]
    workers: usize,
    #[arg(long)]
    first: usize,
    #[arg(long)]
    threads: usize,
    /// Empty where the kernel of the system places the workers
    #[arg(long)]
    cpus: String,
    #[arg(long)]
    operations: u64,
    #[arg(long)]
    steady: bool,
    workload: String,
    parameters: Vec<String>,
}

pub fn run(arguments: Arguments) -> ExitCode {
    serve_as_kernel_worker(&KernelWorkerOrder {
        gate: arguments.gate,
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
