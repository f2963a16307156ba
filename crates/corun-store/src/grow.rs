//! A run that is kept block by block while it goes on, so that whatever ends corun, its finished blocks are there.
//!
//! Each finished block is a transaction. The answer takes the place of the blocks; a run without one can be gone on
//! with where its command can, from the run as it was before its first block.

use std::ffi::OsString;

use corun_record::{Arm, Document, EndReason, Run, Sample, Workload};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::content::{Content, Part, content, title};
use crate::error::StoreError;
use crate::keep::{
    Origin, answer, insert_frame, insert_run, insert_samples, packed, unpacked_line,
};
use crate::process;
use crate::store::Store;

/// A run on its way into a store. It is there from its first finished block on.
#[derive(Debug)]
pub struct Growing {
    origin: Origin,
    format: &'static str,
    version: u32,
    number: Option<i64>,
    /// The part that blocks belong to, by number.
    index: i64,
    /// What is said of the part with its first block.
    unsaid: Option<Frame>,
    /// Whether it was begun by another process, which has said all that is to be said before the first block.
    goes_on: bool,
}

/// A part before its first block.
#[derive(Debug)]
struct Frame {
    started: String,
    host: Option<String>,
    part: Part,
    beginning: Option<String>,
}

impl Growing {
    /// A run whose answer will have this format.
    pub fn new(origin: Origin, format: &'static str, version: u32) -> Self {
        Self { origin, format, version, number: None, index: -1, unsaid: None, goes_on: false }
    }

    /// A run of the store that goes on.
    pub fn going_on(number: i64) -> Self {
        let new = Self::new(Origin::default(), Run::FORMAT, Run::VERSION);
        Self { number: Some(number), index: 0, goes_on: true, ..new }
    }

    /// The next blocks are of this experiment; it is as complete as it can be without a block.
    pub fn begin(&mut self, run: &Run) {
        if self.goes_on {
            return;
        }
        self.begin_part(&run.started, &run.workload, &run.arms);
        if let Some(unsaid) = &mut self.unsaid {
            unsaid.beginning = Some(run.to_json());
            unsaid.host = run.machine.host.clone();
        }
    }

    /// The next blocks are of this workload.
    pub fn begin_part(&mut self, started: &str, workload: &Workload, arms: &[Arm]) {
        self.index += 1;
        let part = Part {
            workload: title(workload),
            operation: workload.operation.clone(),
            arms: arms.to_vec(),
            ..Part::default()
        };
        let (started, host) = (started.to_owned(), None);
        self.unsaid = Some(Frame { started, host, part, beginning: None });
    }

    fn content(&self, frame: &Frame, elapsed_s: f64) -> Content {
        Content {
            format: self.format.to_owned(),
            version: self.version.into(),
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            started: frame.started.clone(),
            elapsed_s,
            host: frame.host.clone(),
            workload: frame.part.workload.clone(),
            answer: String::new(),
            ending: EndReason::Interrupted,
            command: "",
            parts: Vec::new(),
        }
    }
}

/// A run that ended early, to go on with.
#[derive(Debug)]
pub struct Unfinished {
    /// Its number.
    pub number: i64,
    /// Its id.
    pub id: String,
    /// The arguments that it was started with.
    pub line: Vec<OsString>,
    /// The folder that it was started in.
    pub folder: String,
    /// The run with the samples of its finished blocks, and nothing that follows from them.
    pub run: Run,
    /// How long it has taken so far, in seconds.
    pub elapsed_s: f64,
}

impl Store {
    /// Keeps a finished block.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_block(
        &mut self,
        growing: &mut Growing,
        elapsed_s: f64,
        samples: &[Sample],
    ) -> Result<(), StoreError> {
        let Some(block) = samples.first().map(|it| it.block) else { return Ok(()) };
        let json = serde_json::to_string(samples).unwrap_or_default();
        let number = self.write(|change| {
            let number = match (growing.number, &growing.unsaid) {
                (Some(number), _) => {
                    if growing.goes_on {
                        take_answer_back(change, number)?;
                    }
                    number
                }
                (None, Some(frame)) => {
                    insert_run(change, &growing.origin, &growing.content(frame, elapsed_s))?.0
                }
                (None, None) => return Ok(None),
            };
            if let Some(Frame { part, beginning, .. }) = &growing.unsaid {
                let beginning = beginning.as_deref().map(packed);
                insert_frame(change, number, growing.index, part, beginning)?;
            }
            change
                .prepare_cached(
                    "UPDATE runs SET elapsed_s = ?2, writer = ?3, ending = NULL WHERE number = ?1",
                )?
                .execute(params![number, elapsed_s, process::own()])?;
            change
                .prepare_cached("INSERT INTO blocks VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![number, growing.index, block, elapsed_s, packed(&json)])?;
            insert_samples(change, number, growing.index, samples)?;
            Ok(Some(number))
        })?;
        growing.number = number;
        growing.unsaid = None;
        Ok(())
    }

    /// Keeps the answer of a run, in the place of its blocks.
    ///
    /// # Errors
    /// If it is no document of a run, or the store cannot be written.
    pub fn finish(&mut self, growing: &Growing, document: &str) -> Result<(), StoreError> {
        let Some(number) = growing.number else {
            return self.add(&growing.origin, document).map(|_| ());
        };
        let content = content(document)?;
        let digest = crate::keep::digest(document);
        self.write(|change| answer(change, number, &content, document, &digest))
    }

    /// A run of `corun measure` that ended early, claimed by this process so that no other goes on with it.
    ///
    /// # Errors
    /// If there is none of this name, it is being measured, or it has ended as planned.
    pub fn resume(&mut self, name: &str) -> Result<Unfinished, StoreError> {
        let number = self.find(name, crate::Wanted::EndedEarly)?;
        let row = self.read(|it| {
            it.query_row(
                "SELECT id, format, line, folder, elapsed_s, ending, writer FROM runs WHERE number = ?1",
                [number],
                |row| {
                    Ok(Row {
                        id: row.get(0)?,
                        format: row.get(1)?,
                        line: row.get(2)?,
                        folder: row.get(3)?,
                        elapsed_s: row.get(4)?,
                        ending: row.get(5)?,
                        writer: row.get(6)?,
                    })
                },
            )
        })?;
        let not_resumable = |reason: &str| {
            Err(StoreError::NotResumable { id: row.id.clone(), reason: reason.to_owned() })
        };
        if row.format != Run::FORMAT {
            return not_resumable("it is of another command");
        }
        if row.line.is_empty() {
            return not_resumable("it was imported, so that its command line is unknown");
        }
        match row.ending.as_deref() {
            None | Some("interrupted" | "failed") => {}
            Some(_) => return not_resumable("it ended as planned"),
        }
        self.claim(number, &row)?;
        let run = self.so_far(number, &row.id)?;
        Ok(Unfinished {
            number,
            line: unpacked_line(&row.line),
            folder: row.folder,
            run,
            elapsed_s: row.elapsed_s,
            id: row.id,
        })
    }

    fn claim(&mut self, number: i64, row: &Row) -> Result<(), StoreError> {
        self.write(|change| {
            let writer: Option<String> =
                change.query_row("SELECT writer FROM runs WHERE number = ?1", [number], |row| {
                    row.get(0)
                })?;
            if writer.is_some_and(|it| process::is_running(&it)) || row.is_running() {
                let id = row.id.clone();
                let error = StoreError::Unfinished { id, is_running: true, is_resumable: true };
                return Err(error.into());
            }
            change.execute(
                "UPDATE runs SET writer = ?2 WHERE number = ?1",
                params![number, process::own()],
            )?;
            Ok(())
        })
    }

    /// The run with the samples of its document, if it has one, and of the blocks after that.
    fn so_far(&self, number: i64, id: &str) -> Result<Run, StoreError> {
        let beginning: Option<Vec<u8>> = self.read(|it| {
            it.query_row(
                "SELECT beginning FROM parts WHERE run = ?1 AND part = 0 AND beginning IS NOT NULL",
                [number],
                |row| row.get(0),
            )
            .optional()
        })?;
        let text = match (self.document(number)?, beginning) {
            (Some(document), _) => document,
            (None, Some(beginning)) => self.unpacked(&beginning)?,
            (None, None) => {
                let reason = "what it was before its first block is not kept".to_owned();
                return Err(StoreError::NotResumable { id: id.to_owned(), reason });
            }
        };
        let mut run =
            Run::from_json(&text).map_err(|error| StoreError::Document(error.to_string()))?;
        let blocks: Vec<Vec<u8>> = self.read(|it| {
            let mut all = it
                .prepare("SELECT samples FROM blocks WHERE run = ?1 AND part = 0 ORDER BY block")?;
            all.query_map([number], |row| row.get(0))?.collect()
        })?;
        for block in blocks {
            let samples: Vec<Sample> = serde_json::from_str(&self.unpacked(&block)?)
                .map_err(|error| StoreError::Document(error.to_string()))?;
            run.samples.extend(samples);
        }
        run.design.blocks = run.samples.last().map_or(0, |it| it.block.saturating_add(1));
        Ok(run)
    }
}

/// Makes a run that was answered, and goes on, one of blocks without an answer again: otherwise its document would know
/// fewer blocks than its tables. The answer becomes what the blocks follow.
fn take_answer_back(change: &Transaction<'_>, number: i64) -> rusqlite::Result<()> {
    let moved = change
        .prepare_cached(
            "UPDATE parts SET beginning = json FROM documents
             WHERE documents.run = parts.run AND parts.run = ?1 AND part = 0",
        )?
        .execute([number])?;
    if moved > 0 {
        change.execute("DELETE FROM documents WHERE run = ?1", [number])?;
        change.execute("DELETE FROM observations WHERE run = ?1", [number])?;
        change.execute("UPDATE runs SET answer = '', digest = NULL WHERE number = ?1", [number])?;
    }
    Ok(())
}

/// What is kept of an unfinished run beside its blocks.
struct Row {
    id: String,
    format: String,
    line: Vec<u8>,
    folder: String,
    elapsed_s: f64,
    ending: Option<String>,
    writer: Option<String>,
}

impl Row {
    fn is_running(&self) -> bool {
        self.writer.as_deref().is_some_and(process::is_running)
    }
}
