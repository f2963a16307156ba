//! A source read at a fixed interval, and what it said as metrics.

use std::path::Path;
use std::time::{Duration, SystemTime};

use corun_machine::RootFiles;

use super::{Exposition, ProcessUse, SmtReading, Totals};
use crate::{MonitorError, Source};

/// Reads a source and adds up what it says.
#[derive(Debug)]
pub struct Sampler<S> {
    source: S,
    files: Option<RootFiles>,
    totals: Totals,
    sampled_at: Option<SystemTime>,
    version: String,
}

impl<S: Source> Sampler<S> {
    /// Of a source, with the SMT switch of the machine below a root and at most so many control groups.
    pub fn new(source: S, root: &Path, cgroups: usize, version: &str) -> Self {
        Self {
            source,
            files: RootFiles::open(root).ok(),
            totals: Totals::new(cgroups),
            sampled_at: None,
            version: version.to_owned(),
        }
    }

    /// Waits for an interval and adds it; one that cannot be read is counted as such.
    ///
    /// # Errors
    /// If there will be no further interval, or this one could not be read: the counters stand.
    pub fn sample(&mut self, interval: Duration) -> Result<(), MonitorError> {
        match self.source.next(interval) {
            Ok(activity) => {
                self.totals.add(&activity);
                self.sampled_at = Some(SystemTime::now());
                Ok(())
            }
            Err(error) => {
                self.totals.add_failure();
                Err(error)
            }
        }
    }

    /// The metrics as they are now.
    pub fn exposition(&mut self) -> Exposition {
        let smt = self.files.as_mut().map(|files| SmtReading::read(files)).unwrap_or_default();
        Exposition {
            totals: self.totals.clone(),
            smt,
            process: ProcessUse::now(),
            sampled_at: self.sampled_at,
            version: self.version.clone(),
        }
    }
}
