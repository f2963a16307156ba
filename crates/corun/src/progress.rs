//! How the experiment goes, on one line of a terminal; silent anywhere else.

use std::time::Duration;

use corun_measure::experiment::Observer;
use corun_measure::suite::{Item, SuiteObserver};
use corun_measure::{Forecast, Forecaster};
use corun_record::{Arm, Sample, on_one_line};
use corun_study::StudyObserver;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, WeakProgressBar};

/// A progress line.
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    forecaster: Forecaster,
    forecast: String,
}

impl ProgressLine {
    /// A line on standard error if that is a terminal and `quiet` is not asked for.
    pub(crate) fn new(forecaster: Forecaster, quiet: bool) -> Self {
        let bar = bar(quiet);
        Self { bar, forecaster, forecast: String::new() }
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for ProgressLine {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, _elapsed: Duration) {
        show(&self.bar, &format!("{}{}: {}", self.forecast, phase(block), arm.id));
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

/// A progress line for several workloads, or for the experiments of a study.
pub(crate) struct SuiteProgress {
    bar: ProgressBar,
    items: usize,
    item: String,
}

impl SuiteProgress {
    /// A line on standard error if that is a terminal and `quiet` is not asked for.
    pub(crate) fn new(items: usize, quiet: bool) -> Self {
        Self { bar: bar(quiet), items, item: String::new() }
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for SuiteProgress {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, _elapsed: Duration) {
        show(&self.bar, &format!("{}{}: {}", self.item, phase(block), arm.id));
    }
}

impl SuiteObserver for SuiteProgress {
    fn item_starts(&mut self, index: usize, item: &Item) {
        let name = item.workload.descriptor().name;
        self.item = format!("{} of {}: {name}, ", index + 1, self.items);
        show(&self.bar, &self.item);
    }
}

impl StudyObserver for SuiteProgress {
    fn experiment_starts(&mut self, number: usize, count: usize, id: &str) {
        self.item = format!("{number} of {count}: {id}, ");
        show(&self.bar, &self.item);
    }
}

/// A progress line for what is done in steps.
pub(crate) struct StepProgress(ProgressBar);

impl StepProgress {
    /// A line on standard error if that is a terminal and `quiet` is not asked for.
    pub(crate) fn new(quiet: bool) -> Self {
        Self(bar(quiet))
    }

    /// Shows what is going on.
    pub(crate) fn show(&self, text: String) {
        show(&self.0, &text);
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// Shows a line in which nothing steers a terminal.
#[expect(clippy::disallowed_methods, reason = "this is the writer")]
fn show(bar: &ProgressBar, line: &str) {
    bar.set_message(on_one_line(line));
}

fn bar(quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(
        ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    if !bar.is_hidden() {
        tick(bar.downgrade());
    }
    bar
}

/// Draws the line once a second, from a thread of its own. indicatif's ticker panics where there can
/// be none; here the line then moves only when there is news.
fn tick(bar: WeakProgressBar) {
    let ticker = move || {
        while let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) {
            bar.tick();
            drop(bar);
            std::thread::sleep(Duration::from_secs(1));
        }
    };
    let _ = std::thread::Builder::new().spawn(ticker);
}

fn phase(block: Option<u32>) -> String {
    block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1))
}
