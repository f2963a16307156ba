//! `corun bench list`: the registry, for a person or as JSON for a program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_record::Exit;
use corun_report::Destination;
use serde::Serialize;

use super::selection::{SuiteChoice, TagArguments};
use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    tags: TagArguments,
    /// Write the descriptors that `corun bench show` prints as JSON to FILE (`-`, the default, is
    /// standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

/// A workload in the list.
#[derive(Serialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    descriptor: &'static corun_workload::Descriptor,
    /// Why it cannot run here.
    unavailable: Option<String>,
}

impl Entry {
    pub(super) fn of(workload: &dyn corun_workload::Workload) -> Self {
        Self { descriptor: workload.descriptor(), unavailable: workload.unavailable() }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let workloads = arguments.tags.workloads(SuiteChoice::All)?;
    let destination = arguments.json.as_deref().map(Destination::open).transpose()?;
    match destination {
        Some(destination) => {
            let entries: Vec<Entry> = workloads.into_iter().map(Entry::of).collect();
            destination.write(&corun_record::json_text(&entries))?;
        }
        None => {
            terminal::show(&corun_report::list(workloads.into_iter(), terminal::width()))?;
        }
    }
    Ok(code(Exit::Done))
}
