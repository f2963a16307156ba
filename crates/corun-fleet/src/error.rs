//! Errors of a campaign, and advice.

use std::io;
use std::path::{Path, PathBuf};

use corun_machine::MachineError;
use corun_record::{Actionable, Exit, excerpt, shown};
use corun_store::StoreError;

/// Why a campaign is not planned, submitted, seen, collected or cancelled.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A campaign file has a mistake.
    #[error("{file}: line {line}: {sentence}")]
    Campaign {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The expected and the found value.
        sentence: String,
    },
    /// The campaign is not valid as a whole.
    #[error("{0}")]
    Plan(String),
    /// It could cost more than the budget allows.
    #[error(
        "expected at most {allowed} node hours (`node-hours`), found a campaign that may take {most:.2}"
    )]
    Budget {
        /// The budget.
        allowed: f64,
        /// Node-hours it may take.
        most: f64,
    },
    /// A file or folder.
    #[error("{}: {source}", shown(path))]
    File {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A file of the campaign that corun did not write so.
    #[error("{}: expected a file that corun wrote, found another: {reason}", shown(path))]
    Form {
        /// Which.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The directory has another campaign.
    #[error(
        "expected an empty directory or this campaign's, found \"{}\" in {}",
        excerpt(name),
        shown(path)
    )]
    OtherCampaign {
        /// The directory.
        path: PathBuf,
        /// The campaign that it has.
        name: String,
    },
    /// A command of Slurm cannot be started.
    #[error("expected Slurm's command {program}, found that it cannot be started: {source}")]
    NoCommand {
        /// Name of the program.
        program: String,
        /// The system's words.
        source: io::Error,
    },
    /// A command of Slurm failed.
    #[error("{program} failed: {}", excerpt(reason))]
    Slurm {
        /// Name of the program.
        program: String,
        /// Output of the program, or its end.
        reason: String,
    },
    /// A pilot run failed.
    #[error("the pilot run of \"{}\" failed: {reason}", excerpt(name))]
    Pilot {
        /// The program.
        name: String,
        /// Why.
        reason: String,
    },
    /// A task cannot be run here.
    #[error("{0}")]
    Task(String),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine cannot be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl FleetError {
    /// The error of an operation on this file, for `map_err`.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

impl Actionable for FleetError {
    fn exit(&self) -> Exit {
        match self {
            Self::OtherCampaign { .. } => Exit::Usage,
            Self::NoCommand { .. } => Exit::NotPossible,
            Self::Campaign { .. }
            | Self::Plan(_)
            | Self::Budget { .. }
            | Self::Form { .. }
            | Self::File { .. }
            | Self::Slurm { .. }
            | Self::Pilot { .. }
            | Self::Task(_) => Exit::Failed,
            Self::Store(error) => error.exit(),
            Self::Machine(error) => error.exit(),
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Campaign { .. } | Self::Plan(_) => {
                "docs/fleet.md has an example of a campaign file.".to_owned()
            }
            Self::Budget { .. } => {
                "Raise `node-hours`, or take fewer repeats, nodes or programs, or a shorter `time`."
                    .to_owned()
            }
            Self::File { .. } => {
                "See whether the directory exists, may be written, and has space left.".to_owned()
            }
            Self::Form { .. } => "Name the directory of a campaign that was submitted.".to_owned(),
            Self::OtherCampaign { .. } => {
                "Give each campaign a directory of its own: --directory DIR.".to_owned()
            }
            Self::NoCommand { .. } => {
                "Run it where Slurm's commands are, or on this machine with --engine local."
                    .to_owned()
            }
            Self::Slurm { .. } => {
                "Try again when Slurm answers (`scontrol ping`); nothing is submitted twice."
                    .to_owned()
            }
            Self::Pilot { .. } => {
                "Run the command by hand, or set `time-limit` in [budget] and leave out --pilot."
                    .to_owned()
            }
            Self::Task(_) => "See plan.json in the campaign's directory.".to_owned(),
            Self::Store(error) => error.next_step(),
            Self::Machine(error) => error.next_step(),
        }
    }
}
