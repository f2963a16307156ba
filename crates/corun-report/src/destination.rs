//! Where an export goes: opened before the experiment, written after it, whole or not at all.
//!
//! A place that cannot be written is thus found before hours of measuring, an older file survives
//! until the new one is complete, and `-` is standard output.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use corun_record::{Actionable, Exit};
use tempfile::NamedTempFile;

/// An export that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("could not write {path:?}: {error}")]
pub struct ExportError {
    /// The place asked for.
    pub path: PathBuf,
    /// The system's answer.
    pub error: io::Error,
}

impl Actionable for ExportError {
    fn exit(&self) -> Exit {
        match self.error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Exit::NotPermitted
            }
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self.error.kind() {
            io::ErrorKind::StorageFull => "Free some room there, or name another place.",
            io::ErrorKind::NotFound => "Make the folder first, or name another place.",
            _ => "Name a file in a folder that you may write to, or `-` for standard output.",
        }
        .to_owned()
    }
}

/// A place that has been found writable.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    StandardOutput,
    /// A pipe, a device: written as it is.
    Direct(File),
    /// A regular file: replaced when complete.
    Replace(NamedTempFile),
}

impl Destination {
    /// Opens the place that `path` names.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn open(path: &Path) -> Result<Self, ExportError> {
        let failed = |error| ExportError { path: path.to_owned(), error };
        let kind = if path == Path::new("-") {
            Kind::StandardOutput
        } else if path.exists() && !path.is_file() {
            Kind::Direct(OpenOptions::new().write(true).open(path).map_err(failed)?)
        } else {
            if path.exists() {
                OpenOptions::new().append(true).open(path).map_err(failed)?;
            }
            let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let folder = match target.parent() {
                Some(folder) if folder != Path::new("") => folder,
                _ => Path::new("."),
            };
            let mut builder = tempfile::Builder::new();
            builder.prefix(".corun-").permissions(world_readable());
            Kind::Replace(
                builder.tempfile_in(folder).map_err(|error| failed(of_folder(folder, error)))?,
            )
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// Whether this is standard output, which then holds nothing else.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.kind, Kind::StandardOutput)
    }

    /// Writes `text` and nothing else there.
    ///
    /// # Errors
    /// If the system refuses; an older file is then untouched.
    pub fn write(self, text: &str) -> Result<(), ExportError> {
        let Self { path, kind } = self;
        let written = match kind {
            Kind::StandardOutput => {
                let mut output = io::stdout().lock();
                output.write_all(text.as_bytes()).and_then(|()| output.flush())
            }
            Kind::Direct(mut file) => file.write_all(text.as_bytes()).and_then(|()| file.flush()),
            Kind::Replace(mut file) => {
                let target = path.canonicalize().unwrap_or_else(|_| path.clone());
                file.write_all(text.as_bytes())
                    .and_then(|()| file.as_file().sync_all())
                    .and_then(|()| file.persist(target).map(drop).map_err(|error| error.error))
            }
        };
        written.map_err(|error| ExportError { path, error })
    }
}

/// Keeps a text that could not be written where it was wanted in a new file of the folder for
/// temporary files, and tells its name.
///
/// # Errors
/// If that folder cannot be written to either.
pub fn rescue(text: &str) -> io::Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix("corun-").suffix(".json").tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file.keep().map_err(|error| error.error)?.1)
}

/// What the system says of the folder itself, where that is why no file can be made there: of a temporary
/// file the user knows nothing.
fn of_folder(folder: &Path, error: io::Error) -> io::Error {
    match std::fs::metadata(folder) {
        Err(error) => error,
        Ok(_) if error.kind() == io::ErrorKind::PermissionDenied => error.kind().into(),
        Ok(_) => error,
    }
}

/// As any program's new file, before the process's mask takes its share.
fn world_readable() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_file_stays_until_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::fs::write(&path, "old").unwrap();
        let destination = Destination::open(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        destination.write("new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_left_of_an_export_that_never_came() {
        let folder = tempfile::tempdir().unwrap();
        drop(Destination::open(&folder.path().join("run.json")).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_folder_is_found_before_the_experiment() {
        let error = Destination::open(Path::new("/nowhere/run.json")).unwrap_err();
        assert_eq!(error.error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains(".corun-"), "{error}");
        assert_eq!(error.exit(), Exit::Failed);
    }

    #[test]
    fn a_full_disk_is_an_error_with_a_next_step() {
        let full = Destination::open(Path::new("/dev/full")).unwrap();
        let error = full.write("text").unwrap_err();
        assert!(error.next_step().contains("room"), "{error}");
    }
}
