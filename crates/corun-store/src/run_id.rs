//! The ids of runs, as a store has them. A store that somebody else wrote may hold anything there, and an id becomes the
//! name of a file.

use corun_record::excerpt;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

/// An id: hexadecimal digits.
pub(crate) struct RunId(pub(crate) String);

impl FromSql for RunId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let id = value.as_str()?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if id.is_empty() || !id.bytes().all(is_digit) {
            let found = format!("expected an id of hexadecimal digits, found {}", excerpt(id));
            return Err(FromSqlError::Other(found.into()));
        }
        Ok(Self(id.to_owned()))
    }
}
