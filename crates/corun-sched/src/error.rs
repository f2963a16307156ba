//! Why something cannot be scheduled.

use corun_record::{Actionable, Exit};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A text that is no topology.
    #[error("expected a topology {why}, found \"{found}\"")]
    Topology {
        /// Text found.
        found: String,
        /// Expectation.
        why: String,
    },
    /// A file of pairs that is none.
    #[error("expected a JSON file of slowdowns by pairs: {why}")]
    Pairs {
        /// Reason.
        why: String,
    },
    /// A name that no policy has.
    #[error("expected a policy ({}), found \"{found}\"", known.join(", "))]
    Policy {
        /// Text found.
        found: String,
        /// The names, the nearest first.
        known: Vec<&'static str>,
    },
    /// A load that cannot be made.
    #[error("load \"{load}\": {why}")]
    Load {
        /// Name of the load.
        load: String,
        /// Reason.
        why: String,
    },
    /// A load's file that cannot be read, or is none.
    #[error("load \"{load}\": {why}")]
    LoadFile {
        /// Name of the load.
        load: String,
        /// Reason.
        why: String,
    },
    /// A line of a file of tasks, or of a recording.
    #[error("line {line}: {why}")]
    File {
        /// The line, from 1.
        line: usize,
        /// Reason.
        why: String,
    },
    /// A task that no CPU may run.
    #[error(
        "load \"{load}\": a task may run on CPUs {affinity} only, and none of them is there with {policy}"
    )]
    Affinity {
        /// The load.
        load: String,
        /// The CPUs.
        affinity: String,
        /// The policy.
        policy: String,
    },
}

impl Actionable for ScheduleError {
    fn exit(&self) -> Exit {
        match self {
            Self::Pairs { .. } | Self::LoadFile { .. } | Self::File { .. } => Exit::Failed,
            Self::Topology { .. }
            | Self::Policy { .. }
            | Self::Load { .. }
            | Self::Affinity { .. } => Exit::Usage,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Topology { .. } => {
                "Write 2x4x2 for two packages of four cores of two siblings.".to_owned()
            }
            Self::Pairs { .. } => "See docs/scheduling.md for the form of the file.".to_owned(),
            Self::Policy { known, .. } => match known.first() {
                Some(nearest) => {
                    format!("Did you mean `{nearest}`? `corun schedule list` says what each does.")
                }
                None => "`corun schedule list` lists all.".to_owned(),
            },
            Self::Load { .. } | Self::LoadFile { .. } | Self::File { .. } => {
                "`corun schedule list` lists the loads with their parameters.".to_owned()
            }
            Self::Affinity { .. } => {
                "Choose another topology, or a policy that uses all siblings.".to_owned()
            }
        }
    }
}
