//! Measure: native runs of the program on this host, with memory probes between them.

use std::sync::atomic::{AtomicBool, Ordering};

use corun_calibrate::{InterferenceReading, ProbeRings};
use corun_record::{Caveat, MeasuredRuns, Progress, Stage};

use super::{MemoryProbe, RecordedRun};
use crate::limit::until;
use crate::native::{Subject, measure};
use crate::{Job, PredictError};

/// The native runs, and the readings of the memory probe.
pub(crate) struct MeasuredProgram {
    /// The runs that count; none if the program was not measured.
    pub(super) runs: Option<MeasuredRuns>,
    /// The rings and their readings; none without a probe.
    pub(super) readings: Option<(ProbeRings, Vec<InterferenceReading>)>,
    /// The caveats about the host, and the reason why nothing was measured.
    pub(super) caveats: Vec<Caveat>,
}

impl MeasuredProgram {
    /// Runs the program natively, if there is a time budget for it.
    pub(crate) fn of(
        job: &Job<'_>,
        recorded: &RecordedRun,
        probe: MemoryProbe,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        let Some(budget) = job.measure_for else {
            return Ok(Self { runs: None, readings: None, caveats: Vec::new() });
        };
        let mut caveats = corun_measure::InitialState::observe().caveats();
        if recorded.cut.is_some() {
            let sentence = "It was not measured, since only the beginning of its run is predicted.";
            caveats.push(Caveat::new("not-measured", sentence));
            return Ok(Self { runs: None, readings: None, caveats });
        }
        let subject = Subject {
            target: &job.target,
            from: job.from,
            thread: recorded.thread.0 as usize,
            ending: recorded.ending,
        };
        let rings = probe.rings();
        caveats.extend(probe.caveat);
        let mut known = None;
        let on_run = |run: usize, runs: usize| {
            if known.replace(runs) == Some(runs) {
                progress.advance(1);
            } else {
                progress.begin(Stage::new("measuring the program", "runs", runs as u64));
                progress.advance(run as u64);
            }
        };
        let ends = job.limit.measuring_ends();
        match until(ends, stop, |stop| measure(subject, budget, probe.probe, on_run, stop)) {
            Ok(Some(measured)) => {
                let readings = rings.map(|rings| (rings, measured.readings));
                Ok(Self { runs: Some(measured.runs), readings, caveats })
            }
            Ok(None) => {
                let sentence = format!("It was not measured: {}.", why_not(stop));
                caveats.push(Caveat::new("not-measured", sentence));
                Ok(Self { runs: None, readings: None, caveats })
            }
            Err(error) => {
                let sentence = format!("It was not measured: {error}.");
                caveats.push(Caveat::new("not-measured", sentence));
                Ok(Self { runs: None, readings: None, caveats })
            }
        }
    }
}

/// The reason why no run was measured.
fn why_not(stop: &AtomicBool) -> &'static str {
    match stop.load(Ordering::Relaxed) {
        true => "it was ended by the user before a run was over",
        false => "its first run was longer than there was time for",
    }
}

/// The other program: its trace, and how much of its time is the kernel's.
pub(crate) struct MeasuredOther {
    /// Trace of the program.
    pub(crate) run: RecordedRun,
    /// The runs; none if it was not measured.
    pub(super) runs: Option<MeasuredRuns>,
    /// The reason why it was not measured.
    pub(super) caveat: Option<Caveat>,
}

/// The part of the time for measuring that the other program gets: its kernel share is all that is asked for.
const PART_OF_OTHER: u32 = 4;

impl MeasuredOther {
    /// Runs it natively, if there is a time budget for measuring.
    pub(crate) fn of(
        job: &Job<'_>,
        run: RecordedRun,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        let (Some(budget), Some(target)) = (job.measure_for, &job.beside.other) else {
            return Ok(Self { run, runs: None, caveat: None });
        };
        progress.begin(Stage::new("measuring the other program", "", None));
        let subject =
            Subject { target, from: None, thread: run.thread.0 as usize, ending: run.ending };
        let ends = job.limit.measuring_ends();
        let part = budget / PART_OF_OTHER;
        let without = |why: &str| {
            let sentence = format!("The other program was not measured: {why}.");
            Some(Caveat::new("other-not-measured", sentence))
        };
        if run.cut.is_some() {
            let caveat = without("only the beginning of its run was recorded");
            return Ok(Self { run, runs: None, caveat });
        }
        match until(ends, stop, |stop| measure(subject, part, None, |_, _| {}, stop)) {
            Ok(Some(measured)) => Ok(Self { run, runs: Some(measured.runs), caveat: None }),
            Ok(None) => {
                let caveat = without(why_not(stop));
                Ok(Self { run, runs: None, caveat })
            }
            Err(error) => {
                let sentence = format!("The other program was not measured: {error}.");
                let caveat = Some(Caveat::new("other-not-measured", sentence));
                Ok(Self { run, runs: None, caveat })
            }
        }
    }
}
