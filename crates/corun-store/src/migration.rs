//! The schema by version, and how an older store becomes one of today.
//!
//! Each version is a file of SQL that changes the one before. Before a store is changed, a copy of it is made
//! beside it, so that the corun that wrote it can go on.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use crate::error::StoreError;

/// What leads from each version to the next; the first from nothing.
pub(crate) const MIGRATIONS: &[&str] =
    &[include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// Marks a database of SQLite as a store of corun: `coru`.
const APPLICATION: i64 = 0x636f_7275;

/// Brings a database to the newest of these versions.
pub(crate) fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
) -> Result<(), StoreError> {
    let newest = migrations.len() as i64;
    let found = checked_version(connection, path, newest)?;
    if found == newest {
        return Ok(());
    }
    if found > 0 {
        back_up(connection, path, found)?;
    }
    let failed = |error| StoreError::of(path, &error);
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let change = change.map_err(failed)?;
    // Another process may have been faster.
    let found = checked_version(&change, path, newest)?;
    for migration in &migrations[usize::try_from(found).unwrap_or(0)..] {
        change.execute_batch(migration).map_err(failed)?;
    }
    change.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    change.pragma_update(None, "user_version", newest).map_err(failed)?;
    change.commit().map_err(failed)
}

/// The version of a store, 0 of an empty file.
fn checked_version(connection: &Connection, path: &Path, newest: i64) -> Result<i64, StoreError> {
    let number = |sql: &str| {
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .map_err(|error| StoreError::of(path, &error))
    };
    let (application, found) = (number("PRAGMA application_id")?, number("PRAGMA user_version")?);
    let is_empty = number("SELECT count(*) FROM sqlite_schema")? == 0;
    match (application, found) {
        (0, 0) if is_empty => Ok(0),
        (APPLICATION, found) if (1..=newest).contains(&found) => Ok(found),
        (APPLICATION, found) if found > newest => {
            Err(StoreError::Newer { path: path.to_owned(), newest, found })
        }
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}

/// Where the copy of a store of this version is.
pub(crate) fn backup_path(path: &Path, version: i64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".version-{version}"));
    name.into()
}

/// Copies the store. No copy that is there already is replaced: a name with a number is taken instead.
fn back_up(connection: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let target = backup_path(path, version);
    let system = |error: std::io::Error| StoreError::system(&target, &error);
    let folder = tempfile::Builder::new()
        .prefix(".corun-")
        .tempdir_in(path.parent().unwrap_or(Path::new("/")))
        .map_err(system)?;
    let copy = folder.path().join("copy");
    let copied = connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]);
    let failed = |error| StoreError::of(path, &error);
    copied.map_err(failed)?;
    let of_copy = Connection::open(&copy).map_err(failed)?;
    let copied: i64 =
        of_copy.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    of_copy.close().map_err(|(_, error)| failed(error))?;
    if copied != version {
        // Another process was faster, and has made its copy.
        return Ok(());
    }
    for number in 1.. {
        let mut place = target.clone().into_os_string();
        if number > 1 {
            place.push(format!("-{number}"));
        }
        match rustix::fs::renameat_with(CWD, &copy, CWD, &place, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(system(error.into())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: &str = "ALTER TABLE runs ADD COLUMN colour TEXT;";

    fn version(path: &Path) -> i64 {
        let connection = Connection::open(path).unwrap();
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_older_store_is_copied_before_it_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corun.db");
        let mut connection = Connection::open(&path).unwrap();
        migrate(&mut connection, &path, MIGRATIONS).unwrap();
        connection
            .execute_batch(
                "INSERT INTO runs VALUES (1, 'abc', 'corun-run', 2, '', '', 0, NULL, '', x'', '', '', '', NULL, NULL, NULL, '')",
            )
            .unwrap();
        let newer = [MIGRATIONS, &[SECOND]].concat();
        migrate(&mut connection, &path, &newer).unwrap();
        assert_eq!(version(&path), newer.len() as i64);
        let copy = Connection::open(backup_path(&path, MIGRATIONS.len() as i64)).unwrap();
        let count = |connection: &Connection, sql: &str| {
            connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(-1)
        };
        assert_eq!(count(&copy, "SELECT count(*) FROM runs"), 1);
        assert_eq!(count(&copy, "SELECT count(colour) FROM runs"), -1);
        assert_eq!(count(&connection, "SELECT count(*) FROM runs WHERE colour IS NULL"), 1);
        // What is newest already is left as it is.
        migrate(&mut connection, &path, &newer).unwrap();
        assert!(matches!(
            migrate(&mut connection, &path, MIGRATIONS),
            Err(StoreError::Newer { .. })
        ));
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corun.db");
        let mut connection = Connection::open(&path).unwrap();
        migrate(&mut connection, &path, MIGRATIONS).unwrap();
        let broken = [MIGRATIONS, &["ALTER TABLE runs ADD COLUMN colour TEXT; nonsense;"]].concat();
        assert!(migrate(&mut connection, &path, &broken).is_err());
        assert_eq!(version(&path), MIGRATIONS.len() as i64);
        migrate(&mut connection, &path, MIGRATIONS).unwrap();
    }
}
