//! Errors of a store, and advice.

use std::path::{Path, PathBuf};

use corun_record::{Actionable, Exit, excerpt, shown};
use rusqlite::ErrorCode;

/// Why something is not kept, or not found.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No folder of the user is known.
    #[error("expected a folder for the store, found neither XDG_DATA_HOME nor HOME")]
    NoPlace,
    /// The home is another user's, as under some kinds of `sudo`.
    #[error("expected a HOME of the user who runs corun, found {} of another user", shown(home))]
    HomeOfAnother {
        /// The relative home.
        home: PathBuf,
    },
    /// A newer corun has written it.
    #[error("{}: expected a store of version {newest} at most, found version {found}", shown(path))]
    Newer {
        /// The file.
        path: PathBuf,
        /// The newest version that can be read.
        newest: i64,
        /// The version found.
        found: i64,
    },
    /// A database, but not of corun.
    #[error("{}: expected a store of corun, found a database of another program", shown(path))]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A folder, a device or a pipe.
    #[error("{}: expected a file for the store, found {found}", shown(path))]
    NoFile {
        /// The path.
        path: PathBuf,
        /// Kind of file that is there.
        found: &'static str,
    },
    /// Not a database any more, or never one.
    #[error(
        "{}: expected a store of corun, found a damaged file or none of it: {reason}",
        shown(path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        reason: String,
    },
    /// SQLite or the system refuses.
    #[error("{}: {reason}", shown(path))]
    Refused {
        /// The file.
        path: PathBuf,
        /// Their words.
        reason: String,
        /// Their kind, where it is known.
        code: Option<ErrorCode>,
    },
    /// No run has this name.
    #[error("expected a run in {}, found none called \"{}\"", shown(path), excerpt(name))]
    NoRun {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// A tag that may have been meant.
        nearest: Option<String>,
    },
    /// Several runs have ids that begin so.
    #[error("expected one run, found several whose id begins with \"{name}\": {}", ids.join(", "))]
    Ambiguous {
        /// The beginning.
        name: String,
        /// Their ids.
        ids: Vec<String>,
    },
    /// It has finished blocks or cells, and no answer yet.
    #[error("expected a finished run, found {id} with no answer yet")]
    Unfinished {
        /// The run.
        id: String,
        /// True if it is still being measured.
        is_running: bool,
        /// The subcommand that resumes it, if one does.
        command: Option<&'static str>,
    },
    /// It cannot be resumed.
    #[error("expected a run that can be resumed, found {id}: {reason}")]
    NotResumable {
        /// The run.
        id: String,
        /// Why not.
        reason: String,
    },
    /// A name that no tag may have.
    #[error(
        "expected a tag without spaces and slashes that is not `last`, found \"{}\"",
        excerpt(tag)
    )]
    Tag {
        /// The name.
        tag: String,
    },
    /// A text that is no document of a run.
    #[error("{0}")]
    Document(String),
}

impl StoreError {
    /// Error of SQLite for this file.
    pub(crate) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let (path, reason) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::Damaged { path, reason }
            }
            code => Self::Refused { path, reason, code },
        }
    }

    /// Error of the system for this file.
    pub(crate) fn system(path: &Path, error: &std::io::Error) -> Self {
        let code = match error.kind() {
            std::io::ErrorKind::PermissionDenied => Some(ErrorCode::PermissionDenied),
            std::io::ErrorKind::ReadOnlyFilesystem => Some(ErrorCode::ReadOnly),
            std::io::ErrorKind::StorageFull => Some(ErrorCode::DiskFull),
            _ => None,
        };
        Self::Refused { path: path.to_owned(), reason: error.to_string(), code }
    }
}

impl Actionable for StoreError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoRun { .. }
            | Self::Ambiguous { .. }
            | Self::Tag { .. }
            | Self::Unfinished { .. }
            | Self::NotResumable { .. } => Exit::Usage,
            Self::Refused {
                code: Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly), ..
            } => Exit::NotPermitted,
            _ => Exit::Failed,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::NoPlace | Self::HomeOfAnother { .. } | Self::NoFile { .. } => {
                "Name a file with --store or CORUN_STORE, or keep nothing with --no-store.".to_owned()
            }
            Self::Newer { .. } => {
                "Use the corun that wrote it or a newer one, or another file with --store.".to_owned()
            }
            Self::Foreign { .. } => "Name another file with --store or CORUN_STORE.".to_owned(),
            Self::Damaged { path, .. } => {
                let path = shown(path);
                format!(
                    "It is left as it is. `sqlite3 {path} .recover` shows what can still be read. For a new store move it \
                     away, with the files {path}-wal and {path}-shm where they are."
                )
            }
            Self::Refused { code: Some(ErrorCode::DiskFull), .. } => {
                "Free some room there, or name another file with --store.".to_owned()
            }
            Self::Refused { code: Some(ErrorCode::SystemIoFailure), .. } => {
                "See whether that disk or its quota is full or broken (df, quota, dmesg), or name another file with \
                 --store."
                    .to_owned()
            }
            Self::Refused { code: Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), .. } => {
                "Another process keeps it locked: try again when that has ended.".to_owned()
            }
            Self::Refused { .. } => {
                "Name a file in a folder that you may write to with --store or CORUN_STORE.".to_owned()
            }
            Self::NoRun { nearest: Some(nearest), .. } => format!("Did you mean `{nearest}`?"),
            Self::NoRun { .. } => {
                "Name an id of `corun runs list`, the beginning of one, a tag, `last` or `last~1`.".to_owned()
            }
            Self::Ambiguous { .. } => "Give more characters of the id.".to_owned(),
            Self::Unfinished { is_running: true, .. } => "Wait until it has ended.".to_owned(),
            Self::Unfinished { id, command: Some("predict"), .. } => {
                format!("Resume it with the options that it was begun with, and --resume {id}")
            }
            Self::Unfinished { id, command: Some(command), .. } => {
                format!("Resume it: corun {command} --resume {id}")
            }
            Self::Unfinished { id, .. } => format!(
                "Run it again; what was measured of it is in: corun runs export {id} --csv FILE"
            ),
            Self::NotResumable { .. } => "Run the command again without --resume.".to_owned(),
            Self::Tag { .. } => "For instance: corun runs tag last before-upgrade".to_owned(),
            Self::Document(_) => {
                "Name a file that corun wrote with --json FILE, or hyperfine with --export-json FILE.".to_owned()
            }
        }
    }
}
