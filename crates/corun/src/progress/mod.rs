//! Progress of long work, on one line of a terminal; silent anywhere else.
//!
//! Crates tell of their work through the trait `corun_record::Progress`; experiments, suites and studies through
//! observers of their own, which have more to say.

mod course;
mod line;

use std::time::Duration;

use corun_measure::experiment::Observer;
use corun_measure::suite::{Item, SuiteObserver};
use corun_measure::{Forecast, Forecaster};
use corun_record::{Arm, Progress, Sample, Stage};
use corun_study::StudyObserver;

pub(crate) use line::{StepProgress, aside};

/// A line for an experiment.
pub(crate) struct ProgressLine {
    line: StepProgress,
    forecaster: Forecaster,
    headline: String,
}

impl ProgressLine {
    /// A line on standard error if that is a terminal and `quiet` is not asked for.
    pub(crate) fn new(forecaster: Forecaster, quiet: bool) -> Self {
        let line = StepProgress::new(quiet);
        line.ends_before(forecaster.max_time());
        Self { line, forecaster, headline: String::new() }
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.line.finish();
    }
}

impl Observer for ProgressLine {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, _elapsed: Duration) {
        self.line.show(format!("{}{}: {}", self.headline, phase(block), arm.id));
    }

    fn block_ends(&mut self, blocks: u32, samples: &[Sample], elapsed: Duration) {
        if let Some(end) = self.forecaster.planned_end(blocks, elapsed) {
            self.line.ends_at(end);
        }
        let Some(forecast) = self.forecaster.forecast(blocks, samples, elapsed) else { return };
        let Forecast { metric, estimate, end } = forecast;
        self.headline = format!(
            "{} {} ({}), ",
            metric.name(),
            corun_report::ratio(&estimate),
            corun_report::interval(&estimate),
        );
        self.line.ends_at(end);
    }
}

/// Parts of an item that its progress is counted in.
const PARTS: u64 = 1000;

/// A progress line for several workloads, or for the experiments of a study.
pub(crate) struct SuiteProgress {
    line: StepProgress,
    items: usize,
    /// Blocks of each item, where they are known.
    blocks: Option<u32>,
    /// The item that is measured, counted from 0.
    at: usize,
    item: String,
}

impl SuiteProgress {
    /// A line on standard error if that is a terminal and `quiet` is not asked for.
    pub(crate) fn new(items: usize, quiet: bool) -> Self {
        let line = StepProgress::new(quiet);
        line.begin(Stage::new("", "", items as u64 * PARTS));
        Self { line, items, blocks: None, at: 0, item: String::new() }
    }

    /// Progress of items of so many blocks each.
    pub(crate) fn of_blocks(self, blocks: u32) -> Self {
        Self { blocks: Some(blocks), ..self }
    }

    /// Progress of what ends so long after it began at the latest.
    pub(crate) fn ends_before(self, limit: Duration) -> Self {
        self.line.ends_before(limit);
        self
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.line.finish();
    }

    fn starts(&mut self, at: usize, items: usize, name: &str) {
        (self.at, self.items) = (at, items);
        self.item = format!("{} of {items}: {name}", at + 1);
        self.line.reach(at as u64 * PARTS);
        self.line.show(self.item.clone());
    }
}

impl Observer for SuiteProgress {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, _elapsed: Duration) {
        if let Some((block, blocks)) = block.zip(self.blocks) {
            let part = PARTS * u64::from(block) / u64::from(blocks.max(1));
            self.line.reach(self.at as u64 * PARTS + part);
        }
        self.line.show(format!("{}, {}: {}", self.item, phase(block), arm.id));
    }
}

impl SuiteObserver for SuiteProgress {
    fn item_starts(&mut self, index: usize, item: &Item) {
        self.starts(index, self.items, item.workload.descriptor().name);
    }
}

impl StudyObserver for SuiteProgress {
    fn experiment_starts(&mut self, number: usize, count: usize, id: &str) {
        if number == 1 {
            self.line.begin(Stage::new("", "", count as u64 * PARTS));
        }
        self.starts(number - 1, count, id);
    }
}

fn phase(block: Option<u32>) -> String {
    block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1))
}
