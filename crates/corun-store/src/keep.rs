//! Keeping an answer: its document, and its figures in tables.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use corun_record::{CheckedJson, ReadError};
use ring::digest::{Context, SHA256};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::Value;

use crate::content::{Content, Part, content};
use crate::error::StoreError;
use crate::names::{check_tags, set_tags};
use crate::store::{Refusal, Store};

/// Origin of a run, as far as its document does not say.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The subcommand, such as `bench run`; empty: the one that writes such documents.
    pub command: String,
    /// All arguments of corun.
    pub line: Vec<OsString>,
    /// The folder in which it was started.
    pub folder: String,
    /// The host, where the document names none.
    pub host: Option<String>,
    /// The start in RFC 3339 and UTC, where the document says none.
    pub started: Option<String>,
    /// The tags that it gets, also where its document is kept already.
    pub tags: Vec<String>,
}

/// An answer of which one is kept for each tag `only`.
#[derive(Debug, Clone)]
pub struct FirstAnswer<'a> {
    /// The tag that no other run has.
    pub only: String,
    /// Origin of the run.
    pub origin: Origin,
    /// Document of the run.
    pub document: &'a str,
}

/// A document in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The id of its run.
    pub id: String,
    /// True if it was not there before.
    pub is_new: bool,
}

impl Store {
    /// Keeps a document with its tags, all of it or nothing. A document that is there already is kept once.
    ///
    /// # Errors
    /// If it is no document of a run, no tag may be called so, or the store cannot be written.
    pub fn add(&mut self, origin: &Origin, document: &str) -> Result<Added, StoreError> {
        self.add_of(origin, document, document)
    }

    /// As [`add`](Self::add), for a document that was made of another one: the same source is kept once.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_of(
        &mut self,
        origin: &Origin,
        document: &str,
        source: &str,
    ) -> Result<Added, StoreError> {
        let document = Incoming::of(origin, document, source)?;
        self.write(|change| document.added(change))
    }

    /// Keeps the documents of answers with their tags in one transaction, each unless a run has its tag `only` already: of
    /// several answers to one question the first is kept, however many processes add them.
    ///
    /// # Errors
    /// As [`add`](Self::add); then none of them is added.
    pub fn add_first(&mut self, answers: &[FirstAnswer<'_>]) -> Result<Vec<Added>, StoreError> {
        let incoming = |answer: &FirstAnswer<'_>| {
            let mut origin = answer.origin.clone();
            origin.tags.push(answer.only.clone());
            origin
        };
        let origins: Vec<Origin> = answers.iter().map(incoming).collect();
        let documents: Vec<(&str, Incoming<'_>)> = answers
            .iter()
            .zip(&origins)
            .map(|(it, origin)| {
                Ok((it.only.as_str(), Incoming::of(origin, it.document, it.document)?))
            })
            .collect::<Result<_, StoreError>>()?;
        self.write(|change| {
            let first_or_added = |(only, document): &(&str, Incoming<'_>)| {
                let first = change
                    .prepare_cached("SELECT id FROM runs JOIN tags ON run = number WHERE tag = ?1")?
                    .query_row([only], |row| row.get(0))
                    .optional()?;
                match first {
                    Some(id) => Ok(Added { id, is_new: false }),
                    None => document.added(change),
                }
            };
            documents.iter().map(first_or_added).collect()
        })
    }

    /// The document of a run as it was written.
    ///
    /// # Errors
    /// If the run has none, or it cannot be read.
    pub fn document(&self, number: i64) -> Result<Option<String>, StoreError> {
        let kept: Option<Vec<u8>> = self.read(|it| {
            it.prepare_cached("SELECT json FROM documents WHERE run = ?1")?
                .query_row([number], |row| row.get(0))
                .optional()
        })?;
        kept.map(|bytes| self.unpacked(&bytes)).transpose()
    }

    /// Compressed JSON as text.
    pub(crate) fn unpacked(&self, bytes: &[u8]) -> Result<String, StoreError> {
        let damaged = |reason: String| StoreError::Damaged { path: self.path().to_owned(), reason };
        let text = zstd::decode_all(bytes).map_err(|error| damaged(error.to_string()))?;
        String::from_utf8(text).map_err(|error| damaged(error.to_string()))
    }
}

/// A document that is to be kept.
struct Incoming<'a> {
    origin: &'a Origin,
    document: &'a str,
    content: Content,
    digest: String,
}

impl<'a> Incoming<'a> {
    fn of(origin: &'a Origin, document: &'a str, source: &str) -> Result<Self, StoreError> {
        check_tags(&origin.tags)?;
        let (mut content, mut digest) = taken_apart(document)?;
        if content.started.is_empty() {
            content.started = origin.started.clone().unwrap_or_default();
        }
        if source != document {
            digest = match CheckedJson::new(source) {
                Ok(json) => digest_of(json),
                Err(_) => text_of(Context::new(&SHA256), source.as_bytes()),
            };
        }
        Ok(Self { origin, document, content, digest })
    }

    fn added(&self, change: &Transaction<'_>) -> Result<Added, Refusal> {
        let known: Option<(i64, String)> = change
            .prepare_cached("SELECT number, id FROM runs WHERE digest = ?1")?
            .query_row([&self.digest], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((number, id)) = known {
            set_tags(change, number, &self.origin.tags)?;
            return Ok(Added { id, is_new: false });
        }
        let (number, id) = insert_run(change, self.origin, &self.content)?;
        answer(change, number, &self.content, self.document, &self.digest)?;
        Ok(Added { id, is_new: true })
    }
}

/// The level of compression: of those that take no time beside a measurement, the smallest result.
const LEVEL: i32 = 3;

pub(crate) fn packed(json: &str) -> Vec<u8> {
    zstd::encode_all(json.as_bytes(), LEVEL).expect("memory takes all")
}

/// Columns of a document, and the SHA-256 of all of it, however it is indented.
///
/// # Errors
/// If it is no document of a run.
pub(crate) fn taken_apart(document: &str) -> Result<(Content, String), StoreError> {
    let json = CheckedJson::new(document).map_err(|error| {
        StoreError::Document(ReadError::Form { expected: "a document", error }.to_string())
    })?;
    Ok((content(json)?, digest_of(json)))
}

/// The digest of a document without indentation, its fields in the order of their names.
fn digest_of(json: CheckedJson<'_>) -> String {
    let mut hash = BufWriter::new(Hash(Context::new(&SHA256)));
    // A number that no type holds was refused before.
    let _ = json.write_sorted(&mut hash);
    match hash.into_inner() {
        Ok(Hash(context)) => text_of(context, &[]),
        Err(_) => String::new(),
    }
}

/// The digest after these last bytes, as hexadecimal digits.
fn text_of(mut context: Context, last: &[u8]) -> String {
    context.update(last);
    context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes what is written into a digest.
struct Hash(Context);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes the row of a run with its tags; gives its number and its new id.
pub(crate) fn insert_run(
    change: &Transaction<'_>,
    origin: &Origin,
    content: &Content,
) -> rusqlite::Result<(i64, String)> {
    let command = match origin.command.is_empty() {
        true => content.command,
        false => &origin.command,
    };
    let id = fresh_id(change)?;
    change
        .prepare_cached(
            "INSERT INTO runs (id, format, version, corun_version, started, elapsed_s, host, command, line, folder,
             workload, answer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, '')",
        )?
        .execute(params![
            id,
            content.format,
            content.version,
            content.corun_version,
            content.started,
            content.elapsed_s,
            content.host.as_ref().or(origin.host.as_ref()),
            command,
            packed_line(&origin.line),
            origin.folder,
            content.workload,
        ])?;
    let number = change.last_insert_rowid();
    set_tags(change, number, &origin.tags)?;
    Ok((number, id))
}

/// Eight hexadecimal digits that no other run has.
fn fresh_id(connection: &Connection) -> rusqlite::Result<String> {
    loop {
        let id = format!("{:08x}", rand::random::<u32>());
        let is_taken =
            connection.prepare_cached("SELECT 1 FROM runs WHERE id = ?1")?.exists([&id])?;
        if !is_taken {
            return Ok(id);
        }
    }
}

/// Puts the answer of a run in place of all that was kept of it before.
pub(crate) fn answer(
    change: &Transaction<'_>,
    number: i64,
    content: &Content,
    document: &str,
    digest: &str,
) -> Result<(), Refusal> {
    for table in ["parts", "arms", "blocks", "cells", "samples", "observations", "documents"] {
        change.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [number])?;
    }
    let ending = serde_json::to_value(content.ending).unwrap_or_default();
    change
        .prepare_cached(
            "UPDATE runs SET started = ?2, elapsed_s = ?3, workload = ?4, answer = ?5, ending = ?6, digest = ?7,
             format = ?8, version = ?9, writer = NULL WHERE number = ?1",
        )?
        .execute(params![
            number,
            content.started,
            content.elapsed_s,
            content.workload,
            content.answer,
            ending.as_str(),
            digest,
            content.format,
            content.version,
        ])?;
    change
        .prepare_cached("INSERT INTO documents (run, json) VALUES (?1, ?2)")?
        .execute(params![number, packed(document)])?;
    for (index, part) in (0..).zip(&content.parts) {
        insert_part(change, number, index, part)?;
    }
    Ok(())
}

fn insert_part(
    change: &Transaction<'_>,
    number: i64,
    index: i64,
    part: &Part,
) -> rusqlite::Result<()> {
    insert_frame(change, number, index, part, None)?;
    insert_samples(change, number, index, &part.samples)?;
    let mut insert = change.prepare_cached(
        "INSERT INTO observations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    for (place, it) in (0_i64..).zip(&part.observations) {
        let name = |value: Result<Value, _>| {
            value.ok().and_then(|it: Value| it.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let it_is = &it.estimate;
        // SQLite has no figure that is none.
        if [it_is.value, it_is.low, it_is.high, it_is.level].iter().any(|it| it.is_nan()) {
            continue;
        }
        insert.execute(params![
            number,
            index,
            place,
            name(serde_json::to_value(it.metric)),
            it.arm,
            it.against,
            it.of,
            it.unit,
            it_is.value,
            it_is.low,
            it_is.high,
            it_is.level,
            it_is.blocks,
            name(serde_json::to_value(it.source)),
        ])?;
    }
    Ok(())
}

/// A part without its figures.
pub(crate) fn insert_frame(
    change: &Transaction<'_>,
    number: i64,
    index: i64,
    part: &Part,
    beginning: Option<Vec<u8>>,
) -> rusqlite::Result<()> {
    change.prepare_cached("INSERT INTO parts VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
        number,
        index,
        part.workload,
        part.operation,
        beginning
    ])?;
    let mut insert = change.prepare_cached("INSERT INTO arms VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for arm in &part.arms {
        let placement = arm.placement.to_string();
        insert.execute(params![number, index, arm.id, placement, arm.workers, arm.twin_of])?;
    }
    Ok(())
}

pub(crate) fn insert_samples(
    change: &Transaction<'_>,
    number: i64,
    index: i64,
    samples: &[corun_record::Sample],
) -> rusqlite::Result<()> {
    let mut insert = change.prepare_cached(
        "INSERT INTO samples VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?;
    for it in samples {
        let evidence = &it.evidence;
        insert.execute(params![
            number,
            index,
            it.block,
            it.position,
            it.arm,
            it.makespan_s,
            it.throughput,
            evidence.aperf_ghz,
            evidence.steal_s,
            evidence.foreign_busy,
            evidence.cpu_wait,
            evidence.migrations.and_then(|it| i64::try_from(it).ok()),
            evidence.user_s,
            evidence.system_s,
            evidence.package_joules,
        ])?;
    }
    Ok(())
}

/// Arguments, each ended by a NUL, which none can hold.
fn packed_line(line: &[OsString]) -> Vec<u8> {
    line.iter().flat_map(|it| it.as_bytes().iter().copied().chain([0])).collect()
}

pub(crate) fn unpacked_line(bytes: &[u8]) -> Vec<OsString> {
    let words = bytes.strip_suffix(&[0]).into_iter().flat_map(|it| it.split(|byte| *byte == 0));
    words.map(|word| OsString::from_vec(word.to_vec())).collect()
}
