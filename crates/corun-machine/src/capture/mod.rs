//! A machine written to a folder, so that it can be read there as if it were this one.
//!
//! The readers themselves say which files those are: they run once on files that note what was asked for. What is
//! noted is then cut down to what they use, so that no captured machine carries serial numbers or the names of tasks.

mod anonymous;
mod essential;
mod recorder;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use corun_record::{Actionable, Exit, shown};

use crate::doctor::Report;
use crate::{Machine, RootFiles};
use recorder::Recorder;

/// Treatment of names that may tell of people and places in a captured machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// It stays.
    Kept,
    /// It is left out or replaced.
    LeftOut,
}

/// The files of a machine, by their paths below the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capture {
    files: BTreeMap<String, String>,
    /// Folders of which only the names count.
    folders: BTreeSet<String>,
}

/// Why a machine could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// Something is there already.
    #[error("expected no folder at {}, or an empty one; found something in it", shown(.0))]
    Occupied(PathBuf),
    /// The system does not write it.
    #[error("expected to write the folder {}, found: {source}", shown(folder))]
    Write {
        /// The folder.
        folder: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl Actionable for CaptureError {
    fn exit(&self) -> Exit {
        match self {
            Self::Write { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Exit::NotPermitted
            }
            Self::Occupied(_) | Self::Write { .. } => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Occupied(_) => "Name another folder, which corun makes.",
            Self::Write { .. } => "Name a folder in a place that may be written to and has room.",
        }
        .to_owned()
    }
}

impl Capture {
    /// Takes all that is read to describe and to examine the machine below `files`; `None` if there is no CPU.
    pub fn take(files: &mut RootFiles, names: Names) -> Option<Self> {
        let mut recorder = Recorder::new(files);
        Machine::from_files(&mut recorder)?;
        Report::from_files(&mut recorder, None)?;
        let mut capture = essential::of(recorder.into_capture());
        if names == Names::LeftOut {
            capture = anonymous::of(capture);
        }
        Some(capture)
    }

    /// The files: path below the root, and text.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Writes the files below `folder`, which is there whole afterwards, or not at all.
    ///
    /// # Errors
    /// If something is there already, or it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), CaptureError> {
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(CaptureError::Occupied(folder.to_owned()));
        }
        let failed = |source| CaptureError::Write { folder: folder.to_owned(), source };
        let mut name = folder
            .file_name()
            .ok_or(io::ErrorKind::InvalidInput)
            .map_err(|kind| failed(kind.into()))?
            .to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let partial = folder.with_file_name(name);
        let written = self.write_below(&partial).and_then(|()| fs::rename(&partial, folder));
        if written.is_err() {
            // Whatever stopped it may stop this, too.
            let _ = fs::remove_dir_all(&partial);
        }
        written.map_err(failed)
    }

    #[expect(clippy::disallowed_methods, reason = "the folder is new, and is whole or not there")]
    fn write_below(&self, root: &Path) -> io::Result<()> {
        fs::create_dir(root)?;
        for folder in &self.folders {
            fs::create_dir_all(root.join(folder))?;
        }
        for (path, text) in &self.files {
            let path = root.join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, format!("{text}\n"))?;
        }
        Ok(())
    }
}
