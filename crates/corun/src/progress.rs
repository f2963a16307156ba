//! How the experiment goes, on one line of a terminal; silent anywhere else.

use std::time::Duration;

use corun_measure::{Forecast, Forecaster, experiment::Observer};
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
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar.enable_steady_tick(Duration::from_secs(1));
        Self { bar, forecaster, forecast: String::new() }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for ProgressLine {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, _elapsed: Duration) {
        let block = match block {
            Some(block) => format!("block {}", block + 1),
            None => "warm-up".to_owned(),
        };
        self.bar.set_message(format!("{}{block}: {}", self.forecast, arm.id));
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
