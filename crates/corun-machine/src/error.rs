//! The errors of reading a machine that a user can act on.

use std::path::{Path, PathBuf};

use corun_record::{Actionable, Exit};
use rustix::process::{Resource, getrlimit};

/// Why there is no machine to speak of.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The root is not a directory that can be opened.
    #[error(
        "expected a directory that can be read at {}, found: {source}",
        corun_record::shown(root)
    )]
    Root {
        /// The root that was asked for.
        root: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The tree has no CPU.
    #[error(
        "no CPUs found below {}: expected folders cpu0, cpu1, ... or a list in `present`",
        corun_record::shown(root.join("sys/devices/system/cpu"))
    )]
    NoCpus {
        /// The root that was asked for.
        root: PathBuf,
    },
    /// This process may open too few files to read the machine.
    #[error("expected a limit of at least {MIN_FILES} open files, found {limit}")]
    NoDescriptors {
        /// The limit.
        limit: u64,
    },
}

/// Folders and files that are open at once while a tree is read, with some to spare.
const MIN_FILES: u64 = 32;

impl MachineError {
    /// Why no CPU is found below a root.
    pub fn none_below(root: &Path) -> Self {
        match getrlimit(Resource::Nofile).current {
            Some(limit) if limit < MIN_FILES => Self::NoDescriptors { limit },
            _ => Self::NoCpus { root: root.to_owned() },
        }
    }
}

impl Actionable for MachineError {
    fn exit(&self) -> Exit {
        match self {
            Self::Root { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                Exit::NotPermitted
            }
            Self::Root { .. } => Exit::Failed,
            Self::NoCpus { .. } => Exit::NotPossible,
            Self::NoDescriptors { .. } => Exit::NotPermitted,
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
            Self::NoDescriptors { .. } => "Raise the limit (ulimit -n).".to_owned(),
        }
    }
}
