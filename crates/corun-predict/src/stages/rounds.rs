//! Rounds: further windows of the same run, until the choice of windows leaves no more doubt than is asked for.
//!
//! Rounds are stratified samples of the same strata, drawn independently. To stop where an interval is as narrow as asked for
//! keeps its coverage where each round has many windows (Chow and Robbins 1965).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use corun_record::{Estimate, Progress};
use corun_sim::SampledRun;

use super::{CoreRuns, FittedModel, RecordedRun, SampledRuns};
use crate::extrapolation::extrapolated;
use crate::siblings::slowdown;
use crate::{Core, Job, PredictError};

/// Simulates the windows on each of these cores: those of the recorded run, and of further rounds of recording where the
/// slowdown's interval on some core is wider than the precision of the job, up to so many rounds. Cores for which there is no
/// time are left out.
pub(crate) fn simulate_rounds(
    (job, rounds): (&Job<'_>, u32),
    (recorded, other): (&RecordedRun, Option<&RecordedRun>),
    (cores, fitted): (&[Core<'_>], &[FittedModel]),
    (ends, progress, stop): (Instant, &dyn Progress, &AtomicBool),
) -> Result<Vec<CoreRuns>, PredictError> {
    let of_other = other.map(|run| SampledRun::of(run.recording())).transpose()?;
    let round = |number: u32, recorded: &RecordedRun| {
        let own = SampledRun::of(recorded.recording())?;
        let runs = SampledRuns { own: &own, other: of_other.as_ref() };
        let seed = seed_of_round(job.beside.seed, number);
        let mut done = Vec::new();
        for (at, (core, fitted)) in cores.iter().zip(fitted).enumerate() {
            // What is left of the time is for all cores that are left.
            let now = Instant::now();
            if now >= ends && !done.is_empty() {
                break;
            }
            let left = ends.saturating_duration_since(now) / (cores.len() - at) as u32;
            let course = (now + left, progress, stop);
            match CoreRuns::of((job, seed), core, recorded, runs, fitted, course) {
                Ok(runs) => done.push(runs),
                Err(error) if error.is_cut() && !done.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok::<_, PredictError>(done)
    };
    let begun = Instant::now();
    let mut done = round(0, recorded)?;
    let mut longest = begun.elapsed();
    for number in 1..rounds {
        let is_cut = done.len() < cores.len() || done.iter().any(CoreRuns::is_cut);
        let begun = Instant::now();
        if is_cut || stop.load(Ordering::Relaxed) || begun + longest > ends {
            break;
        }
        if done.iter().all(|runs| reach(runs, recorded.thread_instructions) <= job.precision) {
            break;
        }
        let seed = seed_of_round(job.beside.seed, number);
        let more = match recorded.again(job, number, seed, progress, stop) {
            Ok(Some(other_windows)) => round(number, &other_windows),
            Ok(None) => break,
            Err(error) => Err(error),
        };
        // A round that is not whole adds nothing.
        let is_whole =
            |more: &Vec<CoreRuns>| more.len() == cores.len() && !more.iter().any(CoreRuns::is_cut);
        let more = match more {
            Ok(more) if is_whole(&more) => more,
            Err(error) if !error.is_cut() => return Err(error),
            _ => break,
        };
        longest = longest.max(begun.elapsed());
        done = done.into_iter().zip(more).map(|(one, other)| one.with(other)).collect();
    }
    Ok(done)
}

/// The half-width of the widest interval of a slowdown, as a part of it; alone, of the cycles. It is of the choice of windows.
fn reach(runs: &CoreRuns, total: u64) -> f64 {
    let half = |it: &Estimate| (it.high - it.low) / 2.0 / it.value;
    let alone = &runs.alone.windows;
    let own = runs.beside.iter().filter(|run| run.setting.is_none());
    let slowdowns = own.map(|run| {
        let passes: Vec<_> = run.windows.passes.iter().collect();
        slowdown(alone, &passes, total).as_ref().map_or(0.0, half)
    });
    slowdowns
        .reduce(f64::max)
        .unwrap_or_else(|| extrapolated(&alone.windows, total).as_ref().map_or(0.0, half))
}

/// The seed of a round: the job's own in the first, and never the one that puts windows in the middle of their parts.
fn seed_of_round(seed: u64, round: u32) -> u64 {
    // The golden ratio's fraction of 2^64, whose multiples lie far apart (Weyl).
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    match round {
        0 => seed,
        round => seed.wrapping_add(STEP.wrapping_mul(u64::from(round))).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_a_seed_of_its_own() {
        for seed in [0, 1, 2, u64::MAX] {
            let seeds: std::collections::BTreeSet<u64> =
                (0..100).map(|round| seed_of_round(seed, round)).collect();
            assert_eq!((seeds.len(), seed_of_round(seed, 0)), (100, seed));
        }
    }
}
