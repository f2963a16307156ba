//! Destination of an export: opened before the experiment, written after it, whole or not at all.
//!
//! A place that cannot be written is thus found before hours of measuring, an older file survives
//! until the new one is complete, and `-` is standard output.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use corun_files::{Output, is_descriptor};
use corun_record::{Actionable, Exit, on_lines};

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
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "Free some room there, or name another place."
            }
            io::ErrorKind::FileTooLarge => "Allow longer files (ulimit -f), or name another place.",
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
    /// A pipe, a device, or what the shell has opened: written as it is.
    Direct(File),
    /// A regular file: replaced when complete.
    Whole(Output),
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
        } else if is_descriptor(path) || (path.exists() && !path.is_file()) {
            Kind::Direct(as_it_is(path).map_err(failed)?)
        } else {
            Kind::Whole(Output::create(path).map_err(failed)?)
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// True if this is standard output, which then holds nothing else.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.kind, Kind::StandardOutput)
    }

    /// Writes `text` and nothing else there. Whatever it says of names and texts from elsewhere, nothing in it
    /// steers a terminal: what the JSON of [`json_text`](corun_record::json_text) has not escaped is. A reader who has
    /// gone away (`head`) has seen enough.
    ///
    /// # Errors
    /// If the system refuses; an older file is then untouched.
    pub fn write(self, text: &str) -> Result<(), ExportError> {
        let Self { path, kind } = self;
        let text = on_lines(text);
        let has_reader = matches!(kind, Kind::StandardOutput | Kind::Direct(_));
        let written = match kind {
            Kind::StandardOutput => to_standard_output(text.as_bytes()),
            Kind::Direct(mut file) => file.write_all(text.as_bytes()).and_then(|()| file.flush()),
            Kind::Whole(mut file) => file.write_all(text.as_bytes()).and_then(|()| file.finish()),
        };
        match written {
            Err(error) if has_reader && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| ExportError { path, error }),
        }
    }
}

/// Keeps a text that could not be written where it was wanted in a new file of the folder for
/// temporary files, and returns its name.
///
/// # Errors
/// If that folder cannot be written to either.
pub fn rescue(text: &str) -> io::Result<PathBuf> {
    let name = format!("corun-{}-{:08x}.json", std::process::id(), rand_name());
    let path = std::env::temp_dir().join(name);
    let mut file = Output::create(&path)?;
    file.write_all(text.as_bytes())?;
    file.finish()?;
    Ok(path)
}

/// Differs from call to call, for names.
fn rand_name() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u32
}

#[expect(clippy::disallowed_methods, reason = "this is the way to what is open already")]
fn as_it_is(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

#[expect(clippy::disallowed_methods, reason = "the text has passed `on_lines`")]
fn to_standard_output(text: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text).and_then(|()| output.flush())
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
    fn nothing_that_is_written_steers_a_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        Destination::open(&path).unwrap().write("a,\u{1b}]0;x\u{7},\u{202e}b\r\n").unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        assert_eq!(written, "a,\\u{1b}]0;x\\u{7},\\u{202e}b\\r\n");
    }

    #[test]
    fn a_full_disk_is_an_error_with_a_next_step() {
        let full = Destination::open(Path::new("/dev/full")).unwrap();
        let error = full.write("text").unwrap_err();
        assert!(error.next_step().contains("room"), "{error}");
    }
}
