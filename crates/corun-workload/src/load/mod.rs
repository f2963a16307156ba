//! A load: what a client of a file server asks for, one request a line, as dbench (Tridgell 1999) has
//! recorded it; it is replayed on files by the workload `dbench` and over TCP by `tbench`.

mod action;
mod files;
mod outcome;
mod parse;
mod rehearsal;
mod replay;

use std::path::Path;
use std::sync::Arc;

use corun_files::InputKind;
use corun_record::{on_one_line, shown};

use crate::{Descriptor, Domain, LoadMismatch, Parameter, Parameters, Tag, Tally, WorkloadError};
pub(crate) use action::{Action, Disposition, Handle, Kind, PathId};
pub(crate) use outcome::{Answer, Failure};
pub(crate) use rehearsal::Rehearsal;
pub(crate) use replay::{Client, Replay};

/// The load file that a workload replays.
const LOAD: Parameter = Parameter {
    name: "load",
    summary: "the requests, one a line, in the syntax of dbench 4",
    default: "own",
    domain: Domain::File,
};

/// Descriptor of the workloads that replay a load: a process for each client, no files unless said.
pub(crate) const fn descriptor(
    name: &'static str,
    summary: &'static str,
    tags: &'static [Tag],
) -> Descriptor {
    Descriptor {
        name,
        summary,
        tags,
        parameters: &[LOAD],
        operation: "a request",
        counted: "requests",
        least_operations: 1000,
        tallies: &[Tally { counted: "bytes" }],
        ..Descriptor::PLAIN
    }
}

/// The load that comes with corun; `examples/office_load.rs` made it.
const OWN: &str = include_str!("../../loads/office.txt");

/// The requests of one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Load {
    /// Source they are read from, for messages.
    pub(crate) name: String,
    /// Every path they name, once, with `/` between its parts and before the first.
    pub(crate) paths: Vec<String>,
    /// At least one.
    pub(crate) lines: Vec<Line>,
}

/// A request and what it is expected to end in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// Line in the file, from 1.
    pub(crate) number: u32,
    /// True if it is expected to succeed.
    pub(crate) succeeds: bool,
    pub(crate) action: Action,
}

impl Load {
    /// The load that the parameter [`LOAD`] of `workload` names.
    ///
    /// # Errors
    /// [`WorkloadError::UnreadableLoad`] or [`WorkloadError::BrokenLoad`].
    pub(crate) fn of(
        workload: &'static str,
        parameters: &Parameters,
    ) -> Result<Arc<Self>, WorkloadError> {
        let Some(path) = parameters.file(&LOAD)? else {
            return Ok(Arc::new(Self::own()));
        };
        let text = corun_files::bytes(path, InputKind::REQUESTS).map_err(|source| {
            WorkloadError::UnreadableLoad { workload, path: path.to_owned(), source }
        })?;
        Self::parse(&name(path), &String::from_utf8_lossy(&text)).map(Arc::new).map_err(|broken| {
            WorkloadError::BrokenLoad {
                workload,
                path: path.to_owned(),
                line: broken.line,
                expected: broken.expected,
                found: on_one_line(&broken.found),
            }
        })
    }

    /// The load that comes with corun.
    pub(crate) fn own() -> Self {
        Self::parse(LOAD.default, OWN).expect("a test reads it")
    }

    /// The longest block that is read or written, in bytes.
    pub(crate) fn longest_block(&self) -> u32 {
        let blocks = self.lines.iter().map(|line| match line.action {
            Action::Read { bytes, expected, .. } => bytes.max(expected),
            Action::Write { bytes, .. } => bytes,
            _ => 0,
        });
        blocks.max().unwrap_or(0)
    }

    /// The paths as client `client` uses them, below `folder`: the recorded client's name is replaced
    /// wherever it stands.
    pub(crate) fn paths_of(&self, client: usize, folder: &str) -> Vec<String> {
        let own = format!("client{client}");
        self.paths.iter().map(|path| format!("{folder}{path}").replace("client1", &own)).collect()
    }
}

fn name(path: &Path) -> String {
    shown(path)
}
