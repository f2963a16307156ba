//! The subcommands, a file each.

mod audit;
mod audit_load;
mod bench;
mod calibrate;
mod capacity;
mod compare;
mod completions;
mod doctor;
mod exporter;
mod fleet;
mod kernel_worker;
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
mod smt_watchdog;
mod study;
mod threads;
mod top;
mod topo;
mod trace;
mod traced;
mod trend;
mod work;

use std::process::ExitCode;

use clap::Subcommand;
use corun_machine::switch::{LeftBecause, left_by_corun};

use crate::problem::{Problem, say};

/// What corun can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find how many threads to use, and on which CPUs, with the lines that do it
    Threads(Box<threads::Arguments>),
    /// Measure what each placement does to a program, with intervals and a verdict
    Measure(Box<measure::Arguments>),
    /// Measure how much of this machine is really used at each utilisation that the kernel reports
    Capacity(Box<capacity::Arguments>),
    /// Compare runs: better, worse or unchanged, beyond the random differences of equal runs
    Compare(compare::Arguments),
    /// Show a workload's figures over its runs, with the places where their level changed
    Trend(trend::Arguments),
    /// List, describe and run the built-in workloads, and measure the memory hierarchy
    #[command(subcommand)]
    Bench(bench::Action),
    /// List, describe and rerun published experiments, and check their conclusions
    #[command(subcommand)]
    Study(study::Action),
    /// Show results as a page with pictures, or draw their pictures as files
    Report(report::Arguments),
    /// List, describe, check and compare the core models that predictions are made with
    #[command(subcommand)]
    Models(models::Action),
    /// Simulate a recorded program, or a block of code, on another core
    Simulate(simulate::Arguments),
    /// Predict what a busy sibling does to a program on a core model, why, and what the program takes there alone
    Predict(Box<predict::Arguments>),
    /// List, show, tag, export and import the runs that are kept
    #[command(subcommand)]
    Runs(runs::Action),
    /// Watch which siblings are busy together, and how much capacity is left; or time a command and its processes
    Top(Box<top::Arguments>),
    /// Simulate loads under scheduling policies on a machine with SMT
    Schedule(Box<schedule::Arguments>),
    /// Show the machine: cores side by side with their siblings, caches, what may be used
    Topo(topo::Arguments),
    /// Record the executed instructions of a program, and inspect recordings
    Trace(Box<trace::Arguments>),
    /// Build a core model of this host from timed code
    Calibrate(calibrate::Arguments),
    /// Test what the kernel's scheduler does with controlled loads, property by property
    Audit(audit::Arguments),
    /// Check this machine for what distorts measurements, with evidence and advice
    Doctor(doctor::Arguments),
    /// Measure on many nodes through Slurm: plan, submit, watch and collect a campaign
    #[command(subcommand)]
    Fleet(fleet::Action),
    /// Serve how much of the machine is used as metrics for Prometheus
    Exporter(exporter::Arguments),
    /// Show and switch SMT, and restore it
    #[command(subcommand)]
    Smt(smt::Action),
    /// Print the JSON Schema of a document, or list the documents that have one
    Schema(schema::Arguments),
    /// Print completions for a shell
    Completions(completions::Arguments),
    /// Write manual pages, one a subcommand
    Man(man::Arguments),
    /// Run a load for the corun that audits the scheduler (not for people)
    #[command(hide = true)]
    AuditLoad,
    /// Run a built-in workload's kernel for another corun (not for people)
    #[command(hide = true)]
    KernelWorker(kernel_worker::Arguments),
    /// Restore SMT should the corun that started this die (not for people)
    #[command(hide = true)]
    SmtWatchdog(smt_watchdog::Arguments),
}

impl Command {
    /// Whether its answer is kept in the store.
    pub(crate) fn is_kept(&self) -> bool {
        match self {
            Self::Threads(_)
            | Self::Measure(_)
            | Self::Capacity(_)
            | Self::Predict(_)
            | Self::Simulate(_)
            | Self::Schedule(_)
            | Self::Audit(_) => true,
            Self::Bench(action) => action.is_kept(),
            Self::Study(action) => action.is_kept(),
            _ => false,
        }
    }

    /// Runs the command.
    ///
    /// # Errors
    /// What is reported to the user.
    pub(crate) fn run(self) -> Result<ExitCode, Problem> {
        if !matches!(
            self,
            Self::Smt(_)
                | Self::Compare(_)
                | Self::Trend(_)
                | Self::Runs(_)
                | Self::Schema(_)
                | Self::Completions(_)
                | Self::Man(_)
                | Self::Fleet(_)
                | Self::AuditLoad
                | Self::KernelWorker(_)
                | Self::SmtWatchdog(_)
        ) {
            report_what_is_left();
        }
        match self {
            Self::Threads(arguments) => threads::run(&arguments),
            Self::Measure(arguments) => measure::run(&arguments),
            Self::Capacity(arguments) => capacity::run(&arguments),
            Self::Compare(arguments) => compare::run(&arguments),
            Self::Trend(arguments) => trend::run(&arguments),
            Self::Bench(action) => bench::run(&action),
            Self::Study(action) => study::run(&action),
            Self::Report(arguments) => report::run(&arguments),
            Self::Models(action) => models::run(&action),
            Self::Simulate(arguments) => simulate::run(&arguments),
            Self::Predict(arguments) => predict::run(&arguments),
            Self::Runs(action) => runs::run(&action),
            Self::Schedule(arguments) => schedule::run(&arguments),
            Self::Top(arguments) => top::run(&arguments),
            Self::Topo(arguments) => topo::run(&arguments),
            Self::Trace(arguments) => trace::run(&arguments),
            Self::Calibrate(arguments) => calibrate::run(&arguments),
            Self::Audit(arguments) => audit::run(&arguments),
            Self::AuditLoad => Ok(audit_load::run()),
            Self::Doctor(arguments) => doctor::run(&arguments),
            Self::Exporter(arguments) => exporter::run(&arguments),
            Self::Fleet(action) => fleet::run(&action),
            Self::Smt(action) => smt::run(action),
            Self::Schema(arguments) => schema::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Man(arguments) => man::run(&arguments),
            Self::SmtWatchdog(arguments) => Ok(smt_watchdog::run(&arguments)),
            Self::KernelWorker(arguments) => Ok(kernel_worker::run(arguments)),
        }
    }
}

/// SMT that a corun has left switched, or is switching, disturbs whatever comes next.
fn report_what_is_left() {
    if let Some(left) = left_by_corun().filter(|left| left.why != LeftBecause::AskedFor) {
        say(&format!("corun: {}", left.sentence()));
    }
}
