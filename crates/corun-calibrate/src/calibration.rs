//! All that is measured of a core, in order.

use std::sync::atomic::{AtomicBool, Ordering};

use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::{Progress, Stage, Unwatched};

use crate::figure::{Figure, FormFigure};
use crate::{CalibrateError, Routine, RoutineTimer, Spread, measure};

/// Measurements of a calibration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calibration {
    /// Fields of the model, and what it has no field for.
    pub figures: Vec<Figure>,
    /// Forms of instructions.
    pub forms: Vec<FormFigure>,
}

/// A part of the core, measured on its own.
type Part =
    fn(&mut dyn RoutineTimer, &CoreModel, &TimingTable) -> Result<Vec<Figure>, CalibrateError>;

/// The parts, each with what it is called while it is measured.
const PARTS: [(&str, Part); 5] = [
    ("what renaming eliminates", |bench, base, _| measure::elimination(bench, base)),
    ("loads and stores", |bench, _, timings| measure::loads_and_stores(bench, timings)),
    ("caches and translations", |bench, base, _| measure::caches(bench, base)),
    ("widths and branches", |bench, base, _| measure::front(bench, base)),
    ("buffers", |bench, base, timings| measure::buffers(bench, base, timings)),
];

/// Measures the forms of instructions alone; `progress` hears of each. What times do not show is taken from `timings`.
///
/// # Errors
/// As [`calibrate`].
pub fn calibrate_forms(
    bench: &mut dyn RoutineTimer,
    timings: &TimingTable,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Calibration, CalibrateError> {
    let mut bench = Stoppable { bench, stop, progress: &Unwatched };
    let forms = measure::forms(&mut bench, timings, progress)?;
    Ok(Calibration { figures: Vec::new(), forms })
}

/// Measures everything; `progress` hears of each part. What is not measured is the base's: `base` and its timing
/// table.
///
/// # Errors
/// If the bench fails, or `stop` was set.
pub fn calibrate(
    bench: &mut dyn RoutineTimer,
    base: &CoreModel,
    timings: &TimingTable,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Calibration, CalibrateError> {
    let mut calibration = calibrate_forms(bench, timings, progress, stop)?;
    let mut bench = Stoppable { bench, stop, progress };
    for (name, part) in PARTS {
        // How many timings a part needs follows from what it finds.
        progress.begin(Stage::new(format!("measuring {name}"), "timings", None));
        calibration.figures.extend(part(&mut bench, base, timings)?);
    }
    Ok(calibration)
}

#[cfg(test)]
mod tests;

/// A bench that stops when it is asked to, and reports its progress.
struct Stoppable<'b> {
    bench: &'b mut dyn RoutineTimer,
    stop: &'b AtomicBool,
    /// Hears of each routine that is timed.
    progress: &'b dyn Progress,
}

impl RoutineTimer for Stoppable<'_> {
    fn time(&mut self, routine: &Routine) -> Result<Spread, CalibrateError> {
        if self.stop.load(Ordering::Acquire) {
            return Err(CalibrateError::Interrupted);
        }
        self.progress.advance(1);
        self.bench.time(routine)
    }

    fn time_apart(&mut self, routine: &Routine) -> Result<Option<Spread>, CalibrateError> {
        if self.stop.load(Ordering::Acquire) {
            return Err(CalibrateError::Interrupted);
        }
        self.progress.advance(1);
        self.bench.time_apart(routine)
    }

    fn knows(&self, instruction: &iced_x86::Instruction) -> bool {
        self.bench.knows(instruction)
    }
}
