//! A run that is kept step by step, so that whatever ends corun, its finished steps are there: the blocks of a
//! measurement, the cells of a sweep of predictions.
//!
//! Each finished step is a transaction. The answer takes the place of the steps. A run without an answer can be resumed
//! where its command can do so, from the run as it was before its first step.

use std::ffi::OsString;

use corun_record::{
    Arm, Body, Document, EndReason, PredictionSweep, Record, Run, Sample, SweepCell, Workload,
    read_json,
};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::content::{Content, Part};
use crate::error::StoreError;
use crate::keep::{
    Origin, answer, insert_frame, insert_run, insert_samples, packed, taken_apart, unpacked_line,
};
use crate::names::RunKind;
use crate::process;
use crate::run_id::RunId;
use crate::store::Store;

/// A run on its way into a store. It is there from its first finished step on.
#[derive(Debug)]
pub struct Growing {
    origin: Origin,
    format: &'static str,
    version: u32,
    number: Option<i64>,
    /// The part that steps belong to, by number.
    index: i64,
    /// The part that is written with its first step.
    unsaid: Option<Frame>,
    /// True if it was begun by another process, which has written all that precedes the first step.
    goes_on: bool,
}

/// A part before its first step.
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

    /// A run of the store that is resumed.
    pub fn going_on(number: i64) -> Self {
        let new = Self::new(Origin::default(), Run::FORMAT, Run::VERSION);
        Self { number: Some(number), index: 0, goes_on: true, ..new }
    }

    /// The next cells are of this sweep, which has the predictions that are known before the first of them.
    pub fn begin_sweep(&mut self, sweep: &Record<PredictionSweep>) {
        if self.goes_on {
            return;
        }
        self.index += 1;
        let first = sweep.body.cells.first().map(|it| it.program.clone());
        self.unsaid = Some(Frame {
            started: sweep.started.clone(),
            host: None,
            part: Part { workload: first.unwrap_or_default(), ..Part::default() },
            beginning: Some(sweep.to_json()),
        });
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
            workload: workload.label(),
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

/// A sweep that is resumed.
#[derive(Debug)]
pub struct UnfinishedSweep {
    /// Number of the run.
    pub number: i64,
    /// Id of the run.
    pub id: String,
    /// The sweep with the cells that were finished.
    pub sweep: PredictionSweep,
}

/// A run that ended early, and is resumed.
#[derive(Debug)]
pub struct Unfinished {
    /// Number of the run.
    pub number: i64,
    /// Id of the run.
    pub id: String,
    /// The arguments that it was started with.
    pub line: Vec<OsString>,
    /// The folder that it was started in.
    pub folder: String,
    /// The run with the samples of its finished blocks, and nothing that follows from them.
    pub run: Run,
    /// Time it has taken so far, in seconds.
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
        let json = packed(&serde_json::to_string(samples).unwrap_or_default());
        self.add_step(growing, elapsed_s, |change, number, index| {
            change
                .prepare_cached("INSERT INTO blocks VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![number, index, block, elapsed_s, json])?;
            insert_samples(change, number, index, samples)
        })
    }

    /// Keeps a predicted cell of a sweep.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_cell(
        &mut self,
        growing: &mut Growing,
        elapsed_s: f64,
        cell: &SweepCell,
    ) -> Result<(), StoreError> {
        let json = packed(&serde_json::to_string(cell).unwrap_or_default());
        self.add_step(growing, elapsed_s, |change, number, _| {
            let insert = "INSERT INTO cells SELECT ?1, count(*), ?2, ?3 FROM cells WHERE run = ?1";
            change.prepare_cached(insert)?.execute(params![number, elapsed_s, json])?;
            Ok(())
        })
    }

    /// Keeps a step, with all that precedes the first one; `insert` is given the numbers of the run and of its part.
    fn add_step(
        &mut self,
        growing: &mut Growing,
        elapsed_s: f64,
        insert: impl FnOnce(&Transaction<'_>, i64, i64) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
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
            insert(change, number, growing.index)?;
            Ok(Some(number))
        })?;
        growing.number = number;
        growing.unsaid = None;
        Ok(())
    }

    /// Keeps the answer of a run, in place of its blocks.
    ///
    /// # Errors
    /// If it is no document of a run, or the store cannot be written.
    pub fn finish(&mut self, growing: &Growing, document: &str) -> Result<(), StoreError> {
        let Some(number) = growing.number else {
            return self.add(&growing.origin, document).map(|_| ());
        };
        let (content, digest) = taken_apart(document)?;
        self.write(|change| answer(change, number, &content, document, &digest))
    }

    /// A run of `corun measure` that ended early, claimed by this process so that no other resumes it.
    ///
    /// # Errors
    /// If there is none of this name, it is being measured, or it has ended as planned.
    pub fn resume(&mut self, name: &str) -> Result<Unfinished, StoreError> {
        let number = self.find(name, RunKind::EndedEarly)?;
        let row = self.row(number)?;
        if row.format != Run::FORMAT {
            return Err(row.not_resumable("it is of another command than `corun measure`"));
        }
        if row.line.is_empty() {
            return Err(row.not_resumable("it was imported, so that its command line is unknown"));
        }
        match row.ending.as_deref() {
            None | Some("interrupted" | "failed") => {}
            Some(_) => return Err(row.not_resumable("it ended as planned")),
        }
        self.claim(number, &row)?;
        let run = self.so_far(number, &row)?;
        Ok(Unfinished {
            number,
            line: unpacked_line(&row.line),
            folder: row.folder,
            run,
            elapsed_s: row.elapsed_s,
            id: row.id,
        })
    }

    /// A sweep of `corun predict`, claimed by this process so that no other resumes it.
    ///
    /// # Errors
    /// If there is none of this name, or a process is adding cells to it.
    pub fn resume_sweep(&mut self, name: &str) -> Result<UnfinishedSweep, StoreError> {
        let number = self.find(name, RunKind::Sweep)?;
        let row = self.row(number)?;
        if row.format != PredictionSweep::FORMAT {
            return Err(row.not_resumable("it is no sweep of `corun predict`"));
        }
        self.claim(number, &row)?;
        let text = self.beginning(number, &row)?;
        let read = Record::<PredictionSweep>::from_json(&text);
        let mut sweep = read.map_err(|error| StoreError::Document(error.to_string()))?.body;
        let cells = self.steps("SELECT json FROM cells WHERE run = ?1 ORDER BY cell", number)?;
        for json in cells {
            let cell: SweepCell =
                read_json(&json).map_err(|error| StoreError::Document(error.to_string()))?;
            match sweep.cells.iter_mut().find(|it| it.is_same(&cell)) {
                Some(known) => *known = cell,
                None => sweep.cells.push(cell),
            }
        }
        Ok(UnfinishedSweep { number, id: row.id, sweep })
    }

    fn row(&self, number: i64) -> Result<Row, StoreError> {
        self.read(|it| {
            it.query_row(
                "SELECT id, format, line, folder, elapsed_s, ending, writer FROM runs WHERE number = ?1",
                [number],
                |row| {
                    Ok(Row {
                        id: row.get::<_, RunId>(0)?.0,
                        format: row.get(1)?,
                        line: row.get(2)?,
                        folder: row.get(3)?,
                        elapsed_s: row.get(4)?,
                        ending: row.get(5)?,
                        writer: row.get(6)?,
                    })
                },
            )
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
                let error = StoreError::Unfinished { id, is_running: true, command: None };
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
    fn so_far(&self, number: i64, row: &Row) -> Result<Run, StoreError> {
        let text = self.beginning(number, row)?;
        let mut run =
            Run::from_json(&text).map_err(|error| StoreError::Document(error.to_string()))?;
        let query = "SELECT samples FROM blocks WHERE run = ?1 AND part = 0 ORDER BY block";
        for json in self.steps(query, number)? {
            let samples: Vec<Sample> =
                read_json(&json).map_err(|error| StoreError::Document(error.to_string()))?;
            run.samples.extend(samples);
        }
        run.design.blocks = run.samples.last().map_or(0, |it| it.block.saturating_add(1));
        Ok(run)
    }

    /// The document of a run, else what it was before its first step.
    fn beginning(&self, number: i64, row: &Row) -> Result<String, StoreError> {
        if let Some(document) = self.document(number)? {
            return Ok(document);
        }
        let beginning: Option<Vec<u8>> = self.read(|it| {
            it.query_row(
                "SELECT beginning FROM parts WHERE run = ?1 AND part = 0 AND beginning IS NOT NULL",
                [number],
                |row| row.get(0),
            )
            .optional()
        })?;
        let beginning = beginning.ok_or_else(|| {
            row.not_resumable("the run as it was before its first block is not in the store")
        })?;
        self.unpacked(&beginning)
    }

    /// The JSON of each finished step that a query finds.
    fn steps(&self, query: &str, number: i64) -> Result<Vec<String>, StoreError> {
        let packed: Vec<Vec<u8>> =
            self.read(|it| it.prepare(query)?.query_map([number], |row| row.get(0))?.collect())?;
        packed.iter().map(|bytes| self.unpacked(bytes)).collect()
    }
}

/// Makes an answered run that is resumed one without an answer: otherwise its document would have fewer steps than its
/// tables. The answer becomes the beginning that the steps follow.
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

/// Row of a run, without its steps.
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
    fn not_resumable(&self, reason: &str) -> StoreError {
        StoreError::NotResumable { id: self.id.clone(), reason: reason.to_owned() }
    }

    fn is_running(&self) -> bool {
        self.writer.as_deref().is_some_and(process::is_running)
    }
}
