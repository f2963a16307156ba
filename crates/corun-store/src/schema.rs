//! The tables of a store, and which databases are one.
//!
//! An empty database becomes a store. One of a newer version, and one of another program, is refused and left as
//! it is.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// The tables, as they are made in an empty database.
const TABLES: &str = include_str!("schema.sql");
/// The version of these tables, and the newest that can be read: `PRAGMA user_version`.
const VERSION: i64 = 1;
/// Marks a database of SQLite as a store of corun: `coru`.
const APPLICATION: i64 = 0x636f_7275;

/// Makes the tables where there are none.
///
/// # Errors
/// If the database is of a newer version or of another program, or cannot be read or written.
pub(crate) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    if is_store(connection, path)? {
        return Ok(());
    }
    let failed = |error| StoreError::of(path, &error);
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let change = change.map_err(failed)?;
    // Another process may have been faster.
    if is_store(&change, path)? {
        return Ok(());
    }
    change.execute_batch(TABLES).map_err(failed)?;
    change.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    change.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    change.commit().map_err(failed)
}

/// True if the database is a store of a version that can be read; not if it is empty.
fn is_store(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let number = |sql: &str| {
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .map_err(|error| StoreError::of(path, &error))
    };
    let (application, found) = (number("PRAGMA application_id")?, number("PRAGMA user_version")?);
    let is_empty = number("SELECT count(*) FROM sqlite_schema")? == 0;
    match (application, found) {
        (0, 0) if is_empty => Ok(false),
        (APPLICATION, 1..=VERSION) => Ok(true),
        (APPLICATION, found) if found > VERSION => {
            Err(StoreError::Newer { path: path.to_owned(), newest: VERSION, found })
        }
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}
