//! Names of a run: its id, the beginning of it, a tag, `last`, `last~1`.

use corun_record::{Body, Document, PredictionSweep, Run, may_mean, nearest_first, steers};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::error::StoreError;
use crate::run_id::RunId;
use crate::store::Store;

/// Runs that `last` counts; a run that is named otherwise may be any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Those with an answer.
    Finished,
    /// Those of `corun measure` that ended early, and can be resumed.
    EndedEarly,
    /// Sweeps of `corun predict`, with an answer or without.
    Sweep,
}

/// The fewest digits of an id that name a run: one letter or two are a slip, such as a file that is not there.
const SHORTEST_ID: usize = 4;

impl Store {
    /// The number of the run that is called so. A tag that several have means the newest of them.
    ///
    /// # Errors
    /// If there is none, or several could be meant.
    pub fn find(&self, name: &str, kind: RunKind) -> Result<i64, StoreError> {
        if let Some(before) = before_last(name) {
            return self.before_last(before, kind)?.ok_or_else(|| self.none(name));
        }
        let named = self.read(|it| {
            it.query_row(
                "SELECT number FROM runs LEFT JOIN tags ON run = number WHERE id = ?1 OR tag = ?1
                 ORDER BY id = ?1 DESC, started DESC, number DESC LIMIT 1",
                [name],
                |row| row.get(0),
            )
            .optional()
        })?;
        if let Some(number) = named {
            return Ok(number);
        }
        if name.len() < SHORTEST_ID || !name.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Err(self.none(name));
        }
        let beginning: Vec<(i64, String)> = self.read(|it| {
            let mut found = it.prepare(
                "SELECT number, id FROM runs WHERE id LIKE ?1 || '%' ORDER BY id LIMIT 6",
            )?;
            found.query_map([name], |row| Ok((row.get(0)?, row.get::<_, RunId>(1)?.0)))?.collect()
        })?;
        match &beginning[..] {
            [] => Err(self.none(name)),
            [(number, _)] => Ok(*number),
            several => Err(StoreError::Ambiguous {
                name: name.to_owned(),
                ids: several.iter().map(|(_, id)| id.clone()).collect(),
            }),
        }
    }

    /// Error that no run has the name, and which tag may have been meant.
    fn none(&self, name: &str) -> StoreError {
        let tags: Vec<String> = self
            .read(|it| {
                let mut all = it.prepare("SELECT DISTINCT tag FROM tags")?;
                all.query_map([], |row| row.get(0))?.collect()
            })
            .unwrap_or_default();
        let nearest = nearest_first(name, tags).into_iter().next().filter(|it| may_mean(name, it));
        StoreError::NoRun { path: self.path().to_owned(), name: name.to_owned(), nearest }
    }

    fn before_last(&self, before: u32, kind: RunKind) -> Result<Option<i64>, StoreError> {
        let which = match kind {
            RunKind::Finished => "ending IS NOT NULL",
            RunKind::EndedEarly => {
                "format = 'corun-run' AND (ending IS NULL OR ending IN ('interrupted', 'failed'))"
            }
            RunKind::Sweep => "format = 'corun-sweep'",
        };
        let query = format!(
            "SELECT number, CASE WHEN ending IS NULL THEN writer END FROM runs WHERE {which}
             ORDER BY started DESC, number DESC"
        );
        self.read(|it| {
            let mut all = it.prepare(&query)?;
            let mut rows = all.query([])?;
            let mut left = before;
            while let Some(row) = rows.next()? {
                let writer: Option<String> = row.get(1)?;
                if writer.is_some_and(|it| crate::process::is_running(&it)) {
                    continue;
                }
                if left == 0 {
                    return row.get(0).map(Some);
                }
                left -= 1;
            }
            Ok(None)
        })
    }

    /// The document of the run that is called so.
    ///
    /// # Errors
    /// If there is none, or it has no answer yet.
    pub fn document_of(&self, name: &str) -> Result<String, StoreError> {
        let number = self.find(name, RunKind::Finished)?;
        match self.document(number)? {
            Some(document) => Ok(document),
            None => Err(self.unfinished(number)?),
        }
    }

    pub(crate) fn unfinished(&self, number: i64) -> Result<StoreError, StoreError> {
        let (id, format, writer): (String, String, Option<String>) = self.read(|it| {
            let query = "SELECT id, format, writer FROM runs WHERE number = ?1";
            it.query_row(query, [number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        })?;
        let is_running = writer.is_some_and(|it| crate::process::is_running(&it));
        let command = match format.as_str() {
            Run::FORMAT => Some("measure"),
            <PredictionSweep as Body>::FORMAT => Some("predict"),
            _ => None,
        };
        Ok(StoreError::Unfinished { id, is_running, command })
    }

    /// Gives a run tags, or takes them away.
    ///
    /// # Errors
    /// If no tag may be called so, or the store cannot be written.
    pub fn tag(&mut self, number: i64, tags: &[String], is_set: bool) -> Result<(), StoreError> {
        check_tags(tags)?;
        self.write(|it| {
            if is_set {
                return Ok(set_tags(it, number, tags)?);
            }
            for tag in tags {
                it.execute("DELETE FROM tags WHERE run = ?1 AND tag = ?2", params![number, tag])?;
            }
            Ok(())
        })
    }

    /// Writes something beside a run.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn note(&mut self, number: i64, note: &str) -> Result<(), StoreError> {
        let change = "UPDATE runs SET note = ?2 WHERE number = ?1";
        self.write(|it| Ok(it.execute(change, params![number, note]).map(|_| ())?))
    }

    /// Deletes runs with all that is kept of them.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn delete(&mut self, numbers: &[i64]) -> Result<(), StoreError> {
        self.write(|it| {
            let mut delete = it.prepare_cached("DELETE FROM runs WHERE number = ?1")?;
            for number in numbers {
                delete.execute([number])?;
            }
            Ok(())
        })
    }
}

/// Gives a run these tags.
pub(crate) fn set_tags(
    change: &Transaction<'_>,
    number: i64,
    tags: &[String],
) -> rusqlite::Result<()> {
    let mut insert = change.prepare_cached("INSERT OR IGNORE INTO tags VALUES (?1, ?2)")?;
    for tag in tags {
        insert.execute(params![number, tag])?;
    }
    Ok(())
}

/// Checks the names of tags.
///
/// # Errors
/// The first that may not.
pub fn check_tags(tags: &[String]) -> Result<(), StoreError> {
    match tags.iter().find(|tag| !may_be_tag(tag)) {
        Some(tag) => Err(StoreError::Tag { tag: tag.clone() }),
        None => Ok(()),
    }
}

/// The most bytes of a tag.
const MAX_TAG: usize = 100;

/// True if a tag may be called so: nothing that a command line, a list or another name of a run would break.
fn may_be_tag(tag: &str) -> bool {
    let is_foreign = |it: char| it.is_whitespace() || steers(it) || "/~,*?[#".contains(it);
    (1..=MAX_TAG).contains(&tag.len())
        && !tag.starts_with('-')
        && !tag.ends_with(".json")
        && !tag.contains(is_foreign)
        && before_last(tag).is_none()
}

/// Number of runs between the newest and the named one: 0 for `last`, 1 for `last~1`.
fn before_last(name: &str) -> Option<u32> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}
