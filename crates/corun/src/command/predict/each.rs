//! One program on many cores: it is recorded once, and a core that fails does not end the others.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use corun_machine::Machine;
use corun_model::host_core;
use corun_model::timing::TimingTable;
use corun_predict::{Core, Job, MemoryOf, RecordedJob};
use corun_record::{Caveat, Prediction, Unwatched};
use corun_sim::in_parallel;

use super::cores::{ChosenCore, set_otherwise};
use super::{Arguments, parsed};
use crate::core_model::{timings, validation_caveat};
use crate::problem::Problem;
use crate::progress::StepProgress;

/// A core model with what of it is set otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CoreVariant {
    pub(crate) model: String,
    pub(crate) settings: Vec<(String, String)>,
}

/// A core that can be predicted on.
struct Ready {
    /// Its place among those that were asked for.
    place: usize,
    core: ChosenCore,
    set: Vec<(String, String)>,
    timings: TimingTable,
    caveats: Vec<Caveat>,
}

/// Predicts the program of a line of `corun predict` on each of these cores, `jobs` of them at a time. `done` is given the
/// place of each core and the outcome of it, as soon as it is known; a core that `stop` prevented is not reported.
///
/// # Errors
/// If the line has no meaning, or the program cannot be recorded: then there is no prediction on any core.
pub(crate) fn on_each(
    line: &[OsString],
    variants: &[CoreVariant],
    jobs: usize,
    stop: &AtomicBool,
    done: &(dyn Fn(usize, Result<Prediction, Problem>) + Sync),
) -> Result<(), Problem> {
    let arguments = parsed(line)?;
    let beside = arguments.beside()?;
    let mut ready = Vec::new();
    for (place, variant) in variants.iter().enumerate() {
        match arguments.ready(place, variant) {
            Ok(core) => ready.push(core),
            Err(problem) => done(place, Err(problem)),
        }
    }
    if ready.is_empty() || stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    let machine = Machine::read(Path::new("/"))?;
    let subject = arguments.subject(&beside)?;
    let cores: Vec<Core<'_>> = ready.iter().map(Ready::core).collect();
    // One round: every core is predicted from the same recorded windows.
    let job = Job {
        // Where there are fewer cores than jobs, each core has several.
        jobs: jobs.div_ceil(ready.len()),
        ..arguments.job(subject, cores, beside, &machine)
    };
    let line = StepProgress::new(arguments.quiet);
    let recorded = RecordedJob::of(&job, &line, stop);
    line.finish();
    let recorded = recorded?;
    in_parallel(jobs, ready.len(), |at| {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let core = std::slice::from_ref(&job.cores[at]);
        match recorded.predict(core, &Unwatched, stop) {
            Ok(predicted) => {
                for mut prediction in predicted {
                    let sentence = ready[at].timings.usage().sentence();
                    let caveat = sentence.map(|sentence| Caveat::new("timing-rows", sentence));
                    prediction.caveats.extend(caveat);
                    done(ready[at].place, Ok(prediction));
                }
            }
            Err(_) if stop.load(Ordering::Relaxed) => {}
            Err(error) => done(ready[at].place, Err(error.into())),
        }
    });
    Ok(())
}

impl Ready {
    fn core(&self) -> Core<'_> {
        Core {
            model: &self.core.model,
            memory: MemoryOf::Model,
            set: &self.set,
            timings: &self.timings,
            reason: self.core.reason.clone(),
            is_own: self.core.is_own,
            caveats: self.caveats.clone(),
        }
    }
}

impl Arguments {
    /// A core with its settings.
    fn ready(&self, place: usize, variant: &CoreVariant) -> Result<Ready, Problem> {
        let mut core = ChosenCore::find(Some(&variant.model), host_core().as_ref())?;
        let set: Vec<_> = self.settings().into_iter().chain(variant.settings.clone()).collect();
        core.model = core.model.clone().with(&set)?;
        self.check_siblings(&core.model)?;
        let timings = timings(&core.model)?;
        let mut caveats = core.caveats.clone();
        caveats.extend(set_otherwise(&set));
        caveats.extend(validation_caveat(&core.model)?);
        Ok(Ready { place, core, set, timings, caveats })
    }
}
