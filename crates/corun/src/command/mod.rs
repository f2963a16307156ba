//! The subcommands, a file each.

mod audit;
mod bench;
mod capacity;
mod compare;
mod completions;
mod doctor;
mod exporter;
mod fleet;
mod man;
mod measure;
mod models;
mod named_runs;
mod predict;
mod program;
mod report;
mod resume;
mod runs;
mod schedule;
mod schema;
mod service;
mod simulate;
mod smt;
mod study;
mod threads;
mod top;
mod topo;
mod trace;
mod traced;
mod work;

use std::process::ExitCode;

use clap::Subcommand;
use corun_machine::switch::{LeftBecause, left_by_corun};

pub(crate) use self::program::is_program;
use crate::problem::{Problem, say};

/// Subcommands of corun.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find how many threads to use, and on which CPUs
    Threads(Box<threads::Arguments>),
    /// Measure what each placement does to a program, with a verdict
    Measure(Box<measure::Arguments>),
    /// Measure how much of this machine is used at each utilisation
    Capacity(Box<capacity::Arguments>),
    /// Compare runs beyond random differences, or a workload's over time
    Compare(compare::Arguments),
    /// List, describe and run built-in workloads, and the memory hierarchy
    Bench(bench::Arguments),
    /// List, describe and rerun published experiments
    Study(study::Arguments),
    /// Show results as a page with pictures, or draw them as files
    Report(report::Arguments),
    /// List, describe, check, compare and measure core models
    Models(models::Arguments),
    /// Simulate a recorded program, or a block of code, on another core
    Simulate(simulate::Arguments),
    /// Predict what a busy sibling does to a program on a core, and why
    Predict(Box<predict::Arguments>),
    /// List, show, tag, export and import the runs that are kept
    Runs(runs::Arguments),
    /// Watch siblings and the capacity that is left, or time a command
    Top(Box<top::Arguments>),
    /// Simulate loads under scheduling policies on a machine with SMT
    Schedule(Box<schedule::Arguments>),
    /// Show the machine: cores with their siblings, caches, allowed CPUs
    Topo(topo::Arguments),
    /// Record the executed instructions of a program, inspect recordings
    Trace(Box<trace::Arguments>),
    /// Test what the kernel's scheduler does with controlled loads
    Audit(audit::Arguments),
    /// Check this machine for what distorts measurements, with advice
    Doctor(doctor::Arguments),
    /// Measure on many nodes through Slurm: plan, submit, watch, collect
    #[command(subcommand)]
    Fleet(fleet::Action),
    /// Serve how much of the machine is used as metrics for Prometheus
    Exporter(exporter::Arguments),
    /// Show and switch SMT, and restore it
    Smt(smt::Arguments),
    /// Print the JSON Schema of a document, or list those that have one
    Schema(schema::Arguments),
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(completions::Arguments),
    /// Write manual pages, one a subcommand
    #[command(hide = true)]
    Man(man::Arguments),
}

impl Command {
    /// True if its answer is kept in the store.
    pub(crate) fn is_kept(&self) -> bool {
        match self {
            Self::Threads(_)
            | Self::Measure(_)
            | Self::Capacity(_)
            | Self::Predict(_)
            | Self::Simulate(_)
            | Self::Schedule(_)
            | Self::Audit(_) => true,
            Self::Bench(arguments) => arguments.is_kept(),
            Self::Study(arguments) => arguments.is_kept(),
            Self::Compare(_)
            | Self::Report(_)
            | Self::Models(_)
            | Self::Runs(_)
            | Self::Top(_)
            | Self::Topo(_)
            | Self::Trace(_)
            | Self::Doctor(_)
            | Self::Fleet(_)
            | Self::Exporter(_)
            | Self::Smt(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_) => false,
        }
    }

    /// True if SMT that another corun has left switched is reported first: it disturbs whatever comes next. What switches SMT
    /// says so itself, and what reads documents or starts work elsewhere does not depend on it.
    fn reports_what_is_left(&self) -> bool {
        match self {
            Self::Threads(_)
            | Self::Measure(_)
            | Self::Capacity(_)
            | Self::Bench(_)
            | Self::Study(_)
            | Self::Report(_)
            | Self::Models(_)
            | Self::Simulate(_)
            | Self::Predict(_)
            | Self::Top(_)
            | Self::Schedule(_)
            | Self::Topo(_)
            | Self::Trace(_)
            | Self::Audit(_)
            | Self::Doctor(_)
            | Self::Exporter(_) => true,
            Self::Smt(_)
            | Self::Compare(_)
            | Self::Runs(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Fleet(_) => false,
        }
    }

    /// Runs the command.
    ///
    /// # Errors
    /// A problem that is reported to the user.
    pub(crate) fn run(self) -> Result<ExitCode, Problem> {
        if self.reports_what_is_left() {
            report_what_is_left();
        }
        match self {
            Self::Threads(arguments) => threads::run(&arguments),
            Self::Measure(arguments) => measure::run(&arguments),
            Self::Capacity(arguments) => capacity::run(&arguments),
            Self::Compare(arguments) => compare::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments),
            Self::Study(arguments) => study::run(&arguments),
            Self::Report(arguments) => report::run(&arguments),
            Self::Models(arguments) => models::run(&arguments),
            Self::Simulate(arguments) => simulate::run(&arguments),
            Self::Predict(arguments) => predict::run(&arguments),
            Self::Runs(arguments) => runs::run(&arguments),
            Self::Schedule(arguments) => schedule::run(&arguments),
            Self::Top(arguments) => top::run(&arguments),
            Self::Topo(arguments) => topo::run(&arguments),
            Self::Trace(arguments) => trace::run(&arguments),
            Self::Audit(arguments) => audit::run(&arguments),
            Self::Doctor(arguments) => doctor::run(&arguments),
            Self::Exporter(arguments) => exporter::run(&arguments),
            Self::Fleet(action) => fleet::run(&action),
            Self::Smt(arguments) => smt::run(&arguments),
            Self::Schema(arguments) => schema::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Man(arguments) => man::run(&arguments),
        }
    }
}

/// SMT that a corun has left switched, or is switching, disturbs whatever comes next.
fn report_what_is_left() {
    if let Some(left) = left_by_corun().filter(|left| left.why != LeftBecause::AskedFor) {
        say(&format!("corun: {}", left.sentence()));
    }
}
