//! Sweeps: every program on every core model with every combination of settings, a cell each.
//!
//! Each program is recorded once and then simulated for all of its cells; a cell that fails does not end the others.

mod cores;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use corun_machine::Machine;
use corun_measure::execution::Interrupt;
use corun_record::{Prediction, PredictionSweep, SweepCell};

use crate::request::predict_each;
use crate::{
    CoreVariant, Measuring, MemoryOf, PredictError, PredictRequest, PredictRequestError,
    ProgramRequest,
};

pub use cores::{core_variants, values_of};

/// The most cells of a sweep.
pub(crate) const MOST_CELLS: usize = 100_000;

/// The cells to predict.
#[derive(Debug, Clone)]
pub struct SweepRequest {
    /// Request that all cells share. Nothing is measured, and neither its program nor its models are predicted.
    pub shared: PredictRequest,
    /// The shared request as options of `corun predict`: a cell of an earlier sweep is taken over only if they are
    /// the same.
    pub options: Vec<String>,
    /// The programs.
    pub programs: Vec<SweptProgram>,
    /// The cores.
    pub cores: Vec<CoreVariant>,
    /// Simulations at a time.
    pub jobs: usize,
}

/// A program of a sweep.
#[derive(Debug, Clone)]
pub struct SweptProgram {
    /// Name in tables.
    pub name: String,
    /// The program.
    pub program: ProgramRequest,
}

/// Observer of the cells of a sweep, several at a time.
pub trait SweepObserver: Sync {
    /// A cell has its prediction, or failed.
    fn cell_ends(&self, cell: &SweepCell);

    /// A program cannot be recorded, so that none of its cells is predicted.
    fn program_fails(&self, name: &str, error: &PredictError);
}

impl SweepRequest {
    /// Refuses what makes no sweep.
    ///
    /// # Errors
    /// If there are too many cells, or anything is to be measured or its trace kept.
    pub fn check(&self) -> Result<(), PredictError> {
        let PredictRequest { measuring, memory, keep, .. } = &self.shared;
        let is_measured = *measuring != Measuring::Nothing || *memory == Some(MemoryOf::Host);
        if is_measured || keep.is_some() {
            return Err(PredictRequestError::MeasuredSweep.into());
        }
        match self.programs.len().saturating_mul(self.cores.len()) > MOST_CELLS {
            true => Err(PredictRequestError::Cells { most: MOST_CELLS }.into()),
            false => Ok(()),
        }
    }

    /// The cells without predictions, but for those of an earlier sweep.
    ///
    /// # Errors
    /// If the earlier sweep has other options.
    pub fn cells(
        &self,
        earlier: Option<PredictionSweep>,
    ) -> Result<PredictionSweep, PredictRequestError> {
        let mut earlier = match earlier {
            Some(earlier) if earlier.options != self.options => {
                let [expected, found] = [&self.options, &earlier.options].map(|it| it.join(" "));
                return Err(PredictRequestError::OtherOptions { expected, found });
            }
            earlier => earlier.map(|it| it.cells).unwrap_or_default(),
        };
        let mut cells = Vec::with_capacity(self.programs.len() * self.cores.len());
        for program in &self.programs {
            for core in &self.cores {
                let settings =
                    core.settings.iter().map(|(field, value)| format!("{field}={value}"));
                let cell = SweepCell {
                    program: program.name.clone(),
                    model: core.model.clone(),
                    settings: settings.collect(),
                    prediction: None,
                    failure: None,
                };
                let known = earlier.iter_mut().find(|it| it.is_same(&cell));
                let prediction = known.and_then(|it| it.prediction.take());
                cells.push(SweepCell { prediction, ..cell });
            }
        }
        Ok(PredictionSweep { options: self.options.clone(), cells })
    }

    /// Predicts every cell that has no prediction yet, a program after the other, until `stop` is set; the observer hears of
    /// each cell as soon as it is known.
    pub fn predict_open(
        &self,
        sweep: &mut PredictionSweep,
        machine: &Machine,
        observer: &dyn SweepObserver,
        (interrupt, stop): (&Interrupt, &AtomicBool),
    ) {
        for (program, cells) in self.programs.iter().zip(sweep.cells.chunks_mut(self.cores.len())) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let open: Vec<usize> =
                (0..cells.len()).filter(|at| cells[*at].prediction.is_none()).collect();
            if open.is_empty() {
                continue;
            }
            let cores: Vec<CoreVariant> = open.iter().map(|at| self.cores[*at].clone()).collect();
            let cells = Mutex::new(cells);
            let done = |at: usize, outcome: Result<Prediction, PredictError>| {
                let Ok(mut cells) = cells.lock() else { return };
                let cell = &mut cells[open[at]];
                match outcome {
                    Ok(prediction) => cell.prediction = Some(prediction),
                    Err(error) => cell.failure = Some(error.to_string()),
                }
                observer.cell_ends(cell);
            };
            let request =
                PredictRequest { program: program.program.clone(), ..self.shared.clone() };
            let ends = (interrupt, stop);
            let recorded = predict_each(&request, (&cores, self.jobs), machine, ends, &done);
            let Err(error) = recorded else { continue };
            if stop.load(Ordering::Relaxed) {
                break;
            }
            // Cells that failed before have a reason of their own.
            if let Ok(mut cells) = cells.lock() {
                for at in &open {
                    cells[*at].failure.get_or_insert_with(|| error.to_string());
                }
            }
            observer.program_fails(&program.name, &error);
        }
    }
}
