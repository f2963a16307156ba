//! Runs as tidy tables: a row a sample, a row an observation, a row a run, each of which says all that it is about.

use corun_record::CsvText;
use rusqlite::types::ValueRef;

use crate::error::StoreError;
use crate::store::Store;

/// A table that programs for data read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TidyTable {
    /// A row a run.
    Runs,
    /// A row a sample.
    Samples,
    /// A row an observation.
    Observations,
}

impl TidyTable {
    /// The rows of one run.
    fn query(self) -> &'static str {
        match self {
            Self::Runs => {
                "SELECT id AS run, started, elapsed_s, host, command, workload, ending, answer,
                 (SELECT group_concat(tag, ' ') FROM tags WHERE tags.run = number) AS tags, note, format, version,
                 corun_version
                 FROM runs WHERE number = ?1"
            }
            Self::Samples => {
                "SELECT * FROM every_sample WHERE run = (SELECT id FROM runs WHERE number = ?1)
                 ORDER BY part, block, position"
            }
            Self::Observations => {
                "SELECT * FROM every_observation WHERE run = (SELECT id FROM runs WHERE number = ?1) ORDER BY part"
            }
        }
    }
}

impl Store {
    /// A table of these runs as CSV (RFC 4180), with a header.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn table(&self, table: TidyTable, numbers: &[i64]) -> Result<String, StoreError> {
        self.read(|it| {
            let mut rows = it.prepare(table.query())?;
            let header: Vec<String> = rows.column_names().map(str::to_owned).collect();
            let mut written = CsvText::with_header(&header);
            for number in numbers {
                let mut found = rows.query([number])?;
                while let Some(row) = found.next()? {
                    let fields: Vec<String> = (0..header.len())
                        .map(|column| Ok(text(row.get_ref(column)?)))
                        .collect::<rusqlite::Result<_>>()?;
                    written.row(fields);
                }
            }
            Ok(written.finish())
        })
    }
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned(),
    }
}
