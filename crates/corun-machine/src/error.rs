//! The errors of reading a machine that a user can act on.

use std::path::PathBuf;

use corun_record::{Actionable, Exit};

/// Why there is no machine to speak of.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The root is not a directory that can be opened.
    #[error("expected a directory that can be read at {}, found: {source}", root.display())]
    Root {
        /// The root that was asked for.
        root: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The tree has no CPU.
    #[error(
        "no CPUs found below {}: expected folders cpu0, cpu1, ... or a list in `present`",
        root.join("sys/devices/system/cpu").display()
    )]
    NoCpus {
        /// The root that was asked for.
        root: PathBuf,
    },
}

impl Actionable for MachineError {
    fn exit(&self) -> Exit {
        match self {
            Self::Root { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                Exit::NotPermitted
            }
            Self::Root { .. } => Exit::Failed,
            Self::NoCpus { .. } => Exit::NotPossible,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Root { .. } => "Name a directory that holds a captured /sys and /proc, or leave \
                                  the root out to read this machine."
                .to_owned(),
            Self::NoCpus { .. } => "Mount sysfs at /sys below that root, or name the directory \
                                    that holds the captured /sys."
                .to_owned(),
        }
    }
}
