//! A command's document: written as JSON to the file asked for, or shown.

use std::path::Path;
use std::time::{Instant, SystemTime};

use corun_machine::Machine;
use corun_measure::machine_summary;
use corun_record::{Body, Document, MachineSummary, Record};
use corun_report::Destination;

use crate::options::JsonFile;
use crate::problem::Problem;
use crate::{pager, terminal};

/// The machine that this command runs on.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn this_machine() -> Result<MachineSummary, Problem> {
    let root = Path::new("/");
    Ok(machine_summary(&Machine::read(root)?, root))
}

/// Destination of a document, found writable before anything is done, and when the command began.
pub(crate) struct Answer {
    head: Head,
    json: Option<Destination>,
}

/// When a command began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    started: SystemTime,
    since: Instant,
}

impl Head {
    /// Of a command that begins now.
    pub(crate) fn now() -> Self {
        Self { started: SystemTime::now(), since: Instant::now() }
    }

    /// The document of a command that ends now, and did all that it was asked for.
    pub(crate) fn record<B: Body>(self, body: B) -> Record<B> {
        let started = humantime::format_rfc3339_seconds(self.started).to_string();
        Record::new(started, self.since.elapsed().as_secs_f64(), body)
    }
}

impl Answer {
    /// To this file as JSON, or for the terminal where none is given.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn open(json: &JsonFile) -> Result<Self, Problem> {
        Ok(Self { head: Head::now(), json: json.path().map(Destination::open).transpose()? })
    }

    /// Writes a document without caveats that depends on no machine.
    ///
    /// # Errors
    /// If the file or the terminal cannot be written.
    pub(crate) fn give<B: Body>(
        self,
        body: B,
        shown: impl FnOnce(&B, u16) -> String,
    ) -> Result<(), Problem> {
        let record = self.record(body);
        self.write_long(&record, |record, columns| shown(&record.body, columns))
    }

    /// The document, for callers that change its head.
    pub(crate) fn record<B: Body>(&self, body: B) -> Record<B> {
        self.head.record(body)
    }

    /// Writes a document.
    ///
    /// # Errors
    /// If the file or the terminal cannot be written.
    pub(crate) fn write<B: Body>(
        self,
        record: &Record<B>,
        shown: impl FnOnce(&Record<B>, u16) -> String,
    ) -> Result<(), Problem> {
        match self.json {
            Some(destination) => Ok(destination.write(&record.to_json())?),
            None => Ok(terminal::show(&shown(record, terminal::width()))?),
        }
    }

    /// Writes a document to be read at leisure: by a pager where it is longer than the terminal.
    ///
    /// # Errors
    /// If the file or the terminal cannot be written.
    pub(crate) fn write_long<B: Body>(
        self,
        record: &Record<B>,
        shown: impl FnOnce(&Record<B>, u16) -> String,
    ) -> Result<(), Problem> {
        match self.json {
            Some(destination) => Ok(destination.write(&record.to_json())?),
            None => Ok(pager::show(&shown(record, terminal::width()), terminal::show)?),
        }
    }

    /// Writes a document that is shown in corun's own colours.
    ///
    /// # Errors
    /// If the file or the terminal cannot be written.
    pub(crate) fn write_coloured<B: Body>(
        self,
        record: &Record<B>,
        shown: impl FnOnce(&B) -> String,
    ) -> Result<(), Problem> {
        match self.json {
            Some(destination) => Ok(destination.write(&record.to_json())?),
            None => Ok(terminal::show_coloured(&shown(&record.body))?),
        }
    }
}
