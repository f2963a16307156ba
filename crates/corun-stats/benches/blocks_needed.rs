//! Savings by pairing within blocks: blocks needed for an interval of ± 1 % on a noisy pair.
//!
//! Both sides analyse the same simulated experiments, in which the machine drifts under both arms.
//! Paired is what corun does; unpaired is Welch's interval on the two arms as independent samples.
//!
//! `cargo bench -p corun-stats --bench blocks_needed`

#[path = "../tests/it/simulation/mod.rs"]
mod simulation;

use corun_stats::{paired, quantile};
use simulation::{Drift, Machine, Noise};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::Statistics;

const TARGET: f64 = 0.01;
const LEVEL: f64 = 0.95;
/// The deviation of a run of the noisy pair.
const RUN_NOISE: f64 = 0.03;
/// Limit of the count; some unpaired intervals never get narrow.
const MAX_BLOCKS: usize = 1_000;
const EXPERIMENTS: u64 = 100;
const SEED: u64 = 1;

fn main() {
    println!(
        "Blocks for an interval of ± 1 % on two arms whose runs vary by 3 %, over {EXPERIMENTS}"
    );
    println!("simulated experiments a row: median (10th to 90th percentile).");
    println!();
    println!("{:<31}{:>16}{:>22}{:>8}", "machine", "paired", "unpaired", "ratio");
    for (name, noise, drift) in [
        ("still", Noise::Normal, Drift::Still),
        ("slows down steadily", Noise::Normal, Drift::Linear),
        ("wanders", Noise::Normal, Drift::RandomWalk),
        ("two clocks, a block at a time", Noise::ClockPerBlock, Drift::Still),
        ("two clocks, a run at a time", Noise::ClockPerRun, Drift::Still),
    ] {
        let needed: Vec<[f64; 2]> =
            (0..EXPERIMENTS).map(|experiment| blocks_needed(noise, drift, experiment)).collect();
        let [paired, unpaired] = [0, 1].map(|side| summary(&needed, side));
        let ratio = unpaired.1 / paired.1;
        println!("{name:<31}{:>16}{:>22}{ratio:>8.1}", paired.0, unpaired.0);
    }
    println!();
    println!("{MAX_BLOCKS} stands for {MAX_BLOCKS} or more, and so do the ratios made of it.");
}

/// The first number of blocks with a narrow interval: `[paired, unpaired]`.
fn blocks_needed(noise: Noise, drift: Drift, experiment: u64) -> [f64; 2] {
    let mut machine = Machine::new(noise, drift, SEED, experiment);
    machine.run_noise = RUN_NOISE;
    let (mut first, mut second, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut needed = [None; 2];
    // Analysing after every block would mislead an experiment; here it finds where the width passes.
    for blocks in 1..MAX_BLOCKS {
        let [one, other] = machine.block([1.25_f64.ln(), 0.0]);
        first.push(one);
        second.push(other);
        ratios.push(one - other);
        if blocks < 5 {
            continue;
        }
        let widths = [
            paired(&ratios, LEVEL).map(|estimate| estimate.half_width()),
            welch_half_width(&first, &second),
        ];
        for (needed, width) in needed.iter_mut().zip(widths) {
            if needed.is_none() && width.is_some_and(|width| width <= TARGET) {
                *needed = Some(blocks as f64);
            }
        }
        if needed.iter().all(Option::is_some) {
            break;
        }
    }
    needed.map(|blocks| blocks.unwrap_or(MAX_BLOCKS as f64))
}

/// Half the width of Welch's interval (1947) for the difference of two means.
fn welch_half_width(first: &[f64], second: &[f64]) -> Option<f64> {
    let share = |values: &[f64]| values.variance() / values.len() as f64;
    let (one, other) = (share(first), share(second));
    let freedom = (one + other).powi(2)
        / (one.powi(2) / (first.len() - 1) as f64 + other.powi(2) / (second.len() - 1) as f64);
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(student.inverse_cdf(0.5 + LEVEL / 2.0) * (one + other).sqrt())
}

/// One side's blocks in words, and their median.
fn summary(needed: &[[f64; 2]], side: usize) -> (String, f64) {
    let blocks: Vec<f64> = needed.iter().map(|both| both[side]).collect();
    let [low, middle, high] =
        [0.1, 0.5, 0.9].map(|share| quantile(&blocks, share).expect("finite numbers"));
    (format!("{middle:.0} ({low:.0} to {high:.0})"), middle)
}
