//! A load generator made ready once for all samples: found, and given the arguments that its report
//! needs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Service;
use super::generators::recognised;
use crate::execution::error::ExecutionError;
use crate::execution::work::Command;

/// A program with its command.
pub(in crate::execution) struct Program {
    pub command: Command,
    pub path: PathBuf,
}

impl Program {
    fn find(command: Command) -> Result<Self, ExecutionError> {
        Ok(Self { path: command.program()?, command })
    }
}

/// The load of a service.
pub(in crate::execution) struct PreparedLoad {
    pub load: Program,
    pub warmup: Option<Program>,
    /// Folder in which the load writes what corun asked it for.
    scratch: TempDir,
}

impl PreparedLoad {
    pub(in crate::execution) fn new(service: &Service) -> Result<Self, ExecutionError> {
        let refused = |error| ExecutionError::System("make a folder for the load's files", error);
        let scratch = tempfile::Builder::new().prefix("corun-load-").tempdir().map_err(refused)?;
        // The load may run as another user.
        std::fs::set_permissions(scratch.path(), Permissions::from_mode(0o1777))
            .map_err(refused)?;
        let mut load = service.load.clone();
        if let Some((generator, position)) = recognised(&load.argv) {
            let given = load.argv.split_off(position + 1);
            load.argv.extend(generator.more_arguments(&given, scratch.path()));
            load.argv.extend(given);
        }
        let warmup = service.warmup.clone().map(Program::find).transpose()?;
        Ok(Self { load: Program::find(load)?, warmup, scratch })
    }

    /// Folder in which the load writes what corun asked it for.
    pub(super) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Removes what the last run wrote.
    pub(super) fn clear(&self) {
        let files = std::fs::read_dir(self.scratch()).into_iter().flatten().flatten();
        files.for_each(|file| drop(std::fs::remove_file(file.path())));
    }
}
