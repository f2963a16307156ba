//! Sizes of experiments: how much of each fits into the time allowed.

use std::time::Duration;

use corun_measure::experiment::{FEWEST_BLOCKS, FEWEST_CYCLES};

use crate::plan::{Setting, Sizes, StudyStep};

/// Time a run should take, where there is time enough.
const COMFORTABLE: Duration = Duration::from_millis(150);
/// Cost of a run beside its work: processes, clock probes, evidence.
const AROUND_A_RUN: Duration = Duration::from_millis(30);
/// The part of its time that a run is planned for: arms in which workers take turns need more.
const SPARE: f64 = 0.7;
/// Runs that calibration takes, about.
const CALIBRATION: u32 = 2;
/// Runs after the four switches of a cycle that are not counted.
const AFTER_SWITCHES: u32 = 3;

impl Sizes {
    /// The size of a step that may take `share`, whose runs should take `least_run`.
    pub(crate) fn within(share: Duration, step: &StudyStep, least_run: Duration) -> Self {
        let comfortable = COMFORTABLE.max((least_run + AROUND_A_RUN).div_f64(SPARE));
        let a_run = |blocks: u32| share / runs(step, blocks);
        let choices: &[u32] = match step.setting {
            Setting::Cycles => &[20, 10, FEWEST_CYCLES],
            Setting::AsFound | Setting::Whole(_) => &[20, 10, 5, 3, FEWEST_BLOCKS],
        };
        let fits = |blocks: &&u32| a_run(**blocks) >= comfortable;
        let blocks = *choices.iter().find(fits).unwrap_or(&choices[choices.len() - 1]);
        let work = a_run(blocks).mul_f64(SPARE).saturating_sub(AROUND_A_RUN);
        let tenths = share.as_millis() as u64 / 100;
        Self {
            blocks,
            sample_time: work
                .clamp(Duration::from_millis(5), Duration::from_secs(1).max(least_run)),
            max_time: Duration::from_millis(100 * tenths.max(1)),
            timeout: share.max(Duration::from_secs(10)),
        }
    }
}

/// Weight of a step beside others: its runs at the fewest blocks.
pub(crate) fn weight(step: &StudyStep) -> u32 {
    match step.setting {
        Setting::Cycles => runs(step, FEWEST_CYCLES),
        Setting::AsFound | Setting::Whole(_) => runs(step, FEWEST_BLOCKS),
    }
}

/// The shortest time in which a step whose runs take `least_run` gives a result.
pub(crate) fn least_time(step: &StudyStep, least_run: Duration) -> Duration {
    if least_run.is_zero() { Duration::ZERO } else { (least_run + AROUND_A_RUN) * weight(step) }
}

/// Runs of so many blocks, those that are not counted included.
fn runs(step: &StudyStep, blocks: u32) -> u32 {
    let warmup = match step.setting {
        Setting::Cycles => AFTER_SWITCHES * blocks,
        Setting::AsFound | Setting::Whole(_) => step.runs_a_block / 2,
    };
    CALIBRATION + warmup + step.runs_a_block * blocks
}
