//! Plain text of study files, which ends up on terminals and in tables: none of it may steer a
//! terminal or break a line.

use corun_record::on_one_line;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ValidationError;

/// Refuses control characters in any text of a TOML document, names included. A text that is no TOML
/// is left to the reader.
pub(crate) fn check(text: &str) -> Result<(), ValidationError> {
    DeTable::parse(text).map_or(Ok(()), |table| of_table("", table.as_ref()))
}

fn of_table(path: &str, table: &DeTable<'_>) -> Result<(), ValidationError> {
    for (name, value) in table {
        let field = match path {
            "" => on_one_line(name.as_ref()),
            path => format!("{path}.{}", on_one_line(name.as_ref())),
        };
        plain(&field, name.as_ref(), name.span().start)?;
        of_value(&field, value)?;
    }
    Ok(())
}

fn of_value(field: &str, value: &Spanned<DeValue<'_>>) -> Result<(), ValidationError> {
    match value.as_ref() {
        DeValue::String(text) => plain(field, text, value.span().start),
        DeValue::Array(values) => values.iter().try_for_each(|value| of_value(field, value)),
        DeValue::Table(table) => of_table(field, table),
        _ => Ok(()),
    }
}

fn plain(field: &str, text: &str, place: usize) -> Result<(), ValidationError> {
    match text.contains(char::is_control) {
        true => Err((
            place,
            format!(
                "`{field}`: expected one line without control characters, found \"{}\"",
                on_one_line(text)
            ),
        )),
        false => Ok(()),
    }
}
