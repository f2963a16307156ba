//! `corun bench`: the built-in workloads, a file each for what can be asked of them.

mod design;
mod list;
mod memory_hierarchy;
mod run;
mod selection;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

pub(super) use memory_hierarchy::SWEEP;

use crate::problem::Problem;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List the built-in workloads: what each does and what it exercises
    List(list::Arguments),
    /// Describe a workload: its operation, its parameters and their defaults
    Show(show::Arguments),
    /// Run workloads and show how fast each is, and what sharing a core does to it
    Run(run::Arguments),
    /// Measure latency and bandwidth by size, from the L1D to memory
    MemoryHierarchy(memory_hierarchy::Arguments),
}

impl Action {
    /// Whether its answer is kept in the store.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Run(_) | Self::MemoryHierarchy(_))
    }
}

pub(super) fn run(action: &Action) -> Result<ExitCode, Problem> {
    match action {
        Action::List(arguments) => list::run(arguments),
        Action::Show(arguments) => show::run(arguments),
        Action::Run(arguments) => run::run(arguments),
        Action::MemoryHierarchy(arguments) => memory_hierarchy::run(arguments),
    }
}
