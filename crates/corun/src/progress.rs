//! How the experiment goes, on one line of a terminal; silent anywhere else.

use std::time::Duration;

use corun_measure::experiment::Observer;
use corun_measure::suite::{Item, SuiteObserver};
use corun_measure::{Forecast, Forecaster};
use corun_record::{Arm, Sample};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress line.
pub struct ProgressLine {
    bar: ProgressBar,
    forecaster: Forecaster,
    forecast: String,
}

impl ProgressLine {
    /// A line on standard error if that is a terminal and `quiet` is not asked for.
    pub fn new(forecaster: Forecaster, quiet: bool) -> Self {
        let bar = bar(quiet);
        Self { bar, forecaster, forecast: String::new() }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for ProgressLine {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, _elapsed: Duration) {
        self.bar.set_message(format!("{}{}: {}", self.forecast, phase(block), arm.id));
    }

    fn block_ends(&mut self, blocks: u32, samples: &[Sample], elapsed: Duration) {
        self.forecast = match self.forecaster.forecast(blocks, samples, elapsed) {
            Some(Forecast { metric, estimate, end }) => format!(
                "of about {}, {} {} ({}), ",
                humantime::format_duration(Duration::from_secs(end.as_secs())),
                metric.name(),
                corun_report::ratio(&estimate),
                corun_report::interval(&estimate),
            ),
            None => String::new(),
        };
    }
}

/// A progress line for several workloads.
pub struct SuiteProgress {
    bar: ProgressBar,
    items: usize,
    item: String,
}

impl SuiteProgress {
    /// A line on standard error if that is a terminal and `quiet` is not asked for.
    pub fn new(items: usize, quiet: bool) -> Self {
        Self { bar: bar(quiet), items, item: String::new() }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for SuiteProgress {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, _elapsed: Duration) {
        self.bar.set_message(format!("{}{}: {}", self.item, phase(block), arm.id));
    }
}

impl SuiteObserver for SuiteProgress {
    fn item_starts(&mut self, index: usize, item: &Item) {
        let name = item.workload.about().name;
        self.item = format!("{} of {}: {name}, ", index + 1, self.items);
        self.bar.set_message(self.item.clone());
    }
}

fn bar(quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(
        ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    // The ticker is a thread, and indicatif panics where there can be none.
    if !bar.is_hidden() && std::thread::Builder::new().spawn(|| {}).is_ok() {
        bar.enable_steady_tick(Duration::from_secs(1));
    }
    bar
}

fn phase(block: Option<u32>) -> String {
    block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1))
}
