//! The runs that a store has, the newest first.

use std::ops::ControlFlow;

use corun_record::{EndReason, KeptRun, Tree};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Row, params_from_iter};

use crate::error::StoreError;
use crate::keep::unpacked_line;
use crate::process;
use crate::run_id::RunId;
use crate::store::Store;

/// Which runs are meant; of texts, `*` and `?` mean any characters and any character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The host.
    pub host: Option<String>,
    /// The work.
    pub workload: Option<String>,
    /// The subcommand, or its first word.
    pub command: Option<String>,
    /// A tag.
    pub tag: Option<String>,
    /// Started at this time or later, in RFC 3339, UTC.
    pub since: Option<String>,
    /// Started before this time.
    pub until: Option<String>,
    /// So many of the newest.
    pub limit: Option<u32>,
}

impl Filter {
    /// The runs of a workload whose name is this text, or begins with its words.
    pub fn of_workload(name: &str) -> Self {
        let mut pattern = String::new();
        for character in name.chars() {
            match character {
                '*' | '?' | '[' => pattern.extend(['[', character, ']']),
                other => pattern.push(other),
            }
        }
        Self { workload: Some(pattern), ..Self::default() }
    }

    /// True if every run is meant.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// The conditions in SQL, with the values of their parameters.
    fn conditions(&self) -> (String, Vec<&str>) {
        let conditions = [
            ("host GLOB #", &self.host),
            // What was run, or its first words.
            (
                "((workload || ' ') GLOB (# || ' *') OR EXISTS (SELECT 1 FROM parts WHERE run = number
                  AND (parts.workload || ' ') GLOB (# || ' *')))",
                &self.workload,
            ),
            ("(command || ' ') GLOB (# || ' *')", &self.command),
            ("EXISTS (SELECT 1 FROM tags WHERE run = number AND tag GLOB #)", &self.tag),
            ("started >= #", &self.since),
            ("started < #", &self.until),
        ];
        let (mut sql, mut values) = (vec!["1".to_owned()], Vec::new());
        for (condition, value) in conditions {
            if let Some(value) = value {
                values.push(value.as_str());
                sql.push(condition.replace('#', &format!("?{}", values.len())));
            }
        }
        (sql.join(" AND "), values)
    }
}

/// The columns of a row of the list.
const COLUMNS: &str = "number, id, format, started, elapsed_s, host, command, line, workload, answer, ending, writer, note,
    (SELECT group_concat(tag, ' ') FROM tags WHERE run = number),
    CASE WHEN ending IS NULL THEN (SELECT count(DISTINCT part || ' ' || block) FROM samples WHERE run = number)
        + (SELECT count(*) FROM cells WHERE run = number) END";

impl Store {
    /// The runs that a filter means, the newest first, each with its number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<(i64, KeptRun)>, StoreError> {
        let mut all = Vec::new();
        self.visit(filter, |number, run| {
            all.push((number, run));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// Gives the runs that a filter means to `visit`, the newest first, until it has enough of them.
    ///
    /// # Errors
    /// If the store cannot be read, or `visit` fails.
    pub fn visit(
        &self,
        filter: &Filter,
        mut visit: impl FnMut(i64, KeptRun) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let (conditions, values) = filter.conditions();
        let limit = filter.limit.map_or(-1, i64::from);
        let query = format!(
            "SELECT {COLUMNS} FROM runs WHERE {conditions} ORDER BY started DESC, number DESC LIMIT {limit}"
        );
        let mut visited = Ok(ControlFlow::Continue(()));
        self.read(|it| {
            let mut found = it.prepare(&query)?;
            let mut rows = found.query(params_from_iter(values))?;
            while matches!(visited, Ok(ControlFlow::Continue(())))
                && let Some(row) = rows.next()?
            {
                let (number, run) = kept(row)?;
                visited = visit(number, run);
            }
            Ok(())
        })?;
        visited.map(drop)
    }

    /// Number of runs that a filter matches, whatever its limit.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let (conditions, values) = filter.conditions();
        let query = format!("SELECT count(*) FROM runs WHERE {conditions}");
        let count: i64 =
            self.read(|it| it.query_row(&query, params_from_iter(values), |row| row.get(0)))?;
        Ok(count.unsigned_abs())
    }

    /// One run of the list.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn listed(&self, number: i64) -> Result<KeptRun, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM runs WHERE number = ?1");
        self.read(|it| it.query_row(&query, [number], kept)).map(|(_, run)| run)
    }

    /// The numbers of the runs that have a tag.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn tagged(&self, tag: &str) -> Result<Vec<i64>, StoreError> {
        self.read(|it| {
            let mut all = it.prepare("SELECT run FROM tags WHERE tag = ?1")?;
            all.query_map([tag], |row| row.get(0))?.collect()
        })
    }
}

fn kept(row: &Row<'_>) -> rusqlite::Result<(i64, KeptRun)> {
    let line: Vec<u8> = row.get(7)?;
    let tags: Option<String> = row.get(13)?;
    let writer: Option<String> = row.get(11)?;
    let run = KeptRun {
        id: row.get::<_, RunId>(1)?.0,
        document: row.get(2)?,
        started: row.get(3)?,
        elapsed_s: row.get(4)?,
        host: row.get(5)?,
        command: row.get(6)?,
        line: unpacked_line(&line).iter().map(|it| it.to_string_lossy().into_owned()).collect(),
        workload: row.get(8)?,
        answer: row.get(9)?,
        ending: row.get::<_, Option<End>>(10)?.map(|End(reason)| reason),
        is_running: writer.is_some_and(|it| process::is_running(&it)),
        note: row.get(12)?,
        tags: tags.iter().flat_map(|it| it.split(' ')).map(str::to_owned).collect(),
        blocks: row.get(14)?,
    };
    Ok((row.get(0)?, run))
}

/// A reason to end, by its name in documents.
struct End(EndReason);

impl FromSql for End {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let name = Tree::Text(value.as_str()?.to_owned());
        name.read().map(Self).map_err(|error| FromSqlError::Other(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_values_are_as_many() {
        assert_eq!(Filter::default().conditions(), ("1".to_owned(), Vec::new()));
        let filter = Filter {
            host: Some("a".to_owned()),
            until: Some("b".to_owned()),
            limit: Some(3),
            ..Filter::default()
        };
        let (sql, values) = filter.conditions();
        assert_eq!((sql.as_str(), values), ("1 AND host GLOB ?1 AND started < ?2", vec!["a", "b"]));
    }
}
