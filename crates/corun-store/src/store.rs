//! A store that is open.
//!
//! A new store gets its name when it is complete, so that of several processes that need one at once each finds a
//! whole one. It is in WAL mode: readers do not wait for writers, and a committed block is on the disk.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use crate::error::StoreError;
use crate::schema::prepare;

/// Time that a writer waits for others: each holds the lock for one block or one answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Database of corun's answers.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store in this file, and makes it, with its folder, where there is none.
    ///
    /// # Errors
    /// If it cannot be made or read, is damaged, or was written by a newer corun.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            make(path)?;
        }
        Self::open_made(path)
    }

    /// As [`open`](Self::open), but makes none.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_existing(path: &Path) -> Result<Option<Self>, StoreError> {
        match path.try_exists() {
            Ok(true) => Self::open_made(path).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(StoreError::system(path, &error)),
        }
    }

    fn open_made(path: &Path) -> Result<Self, StoreError> {
        ensure_file(path)?;
        let mut connection = connected(path)?;
        prepare(&mut connection, path)?;
        write_ahead(&connection);
        Ok(Self { connection, path: path.to_owned() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        read(&self.connection).map_err(|error| StoreError::of(&self.path, &error))
    }

    /// Writes all of it or nothing; other writers wait.
    pub(crate) fn write<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, Refusal>,
    ) -> Result<T, StoreError> {
        let Self { connection, path } = self;
        let failed = |error: rusqlite::Error| StoreError::of(path, &error);
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let change = change.map_err(failed)?;
        let written = write(&change).map_err(|refusal| match refusal {
            Refusal::Database(error) => StoreError::of(path, &error),
            Refusal::Store(error) => error,
        })?;
        change.commit().map_err(failed)?;
        Ok(written)
    }
}

/// Why nothing is written.
#[derive(Debug)]
pub(crate) enum Refusal {
    Database(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// SQLite would make a journal beside a device, and say of it that the disk fails.
fn ensure_file(path: &Path) -> Result<(), StoreError> {
    let kind = path.metadata().map_err(|error| StoreError::system(path, &error))?.file_type();
    let found = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        kind if kind.is_fifo() => "a pipe",
        _ => "a socket",
    };
    Err(StoreError::NoFile { path: path.to_owned(), found })
}

/// A connection to a file that is there. Where it may not be written, it is read.
fn connected(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::of(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    let is_read_only = connection.is_readonly("main").map_err(failed)?;
    let connection = match is_read_only && !beside(path, "-wal").exists() {
        // Without its log nothing is left to be found; SQLite would want to make one.
        true => unchanging(path).map_err(failed)?,
        false => connection,
    };
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    Ok(connection)
}

/// Writes changes into a log beside the file first. The mode stays with the file; where it may not be changed, or the
/// file system has no shared memory, SQLite keeps to its older one, which is as safe.
fn write_ahead(connection: &Connection) {
    let _ = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
}

fn unchanging(path: &Path) -> rusqlite::Result<Connection> {
    let escaped: String = path
        .to_string_lossy()
        .chars()
        .map(|it| match it {
            '%' | '?' | '#' => format!("%{:02x}", it as u32),
            other => other.to_string(),
        })
        .collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Renames the logs of a store that was moved away or removed: SQLite would write what they hold into the new one.
fn set_old_logs_aside(path: &Path) -> std::io::Result<()> {
    for ending in ["-wal", "-shm", "-journal"] {
        let log = beside(path, ending);
        match std::fs::rename(&log, beside(&log, ".old")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Makes an empty store under a temporary name, and gives it its own if no other process was faster.
fn make(path: &Path) -> Result<(), StoreError> {
    let system = |error: std::io::Error| StoreError::system(path, &error);
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(system)?;
    // Until the folder's lock is released nobody else makes a store here. A file system without locks has none.
    let locked = rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
    let _ = locked.as_ref().map(|it| flock(it, FlockOperation::LockExclusive));
    if path.exists() {
        return Ok(());
    }
    set_old_logs_aside(path).map_err(system)?;
    let scratch = tempfile::Builder::new().prefix(".corun-").tempdir_in(folder).map_err(system)?;
    let new = scratch.path().join("corun.db");
    let failed = |error: rusqlite::Error| StoreError::of(path, &error);
    let mut connection = Connection::open(&new).map_err(failed)?;
    write_ahead(&connection);
    prepare(&mut connection, path)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    match std::fs::hard_link(&new, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        // A file system without links.
        Err(_) => match renameat_with(CWD, &new, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(system(error.into())),
        },
    }
}
