//! A simulated machine whose true ratios are known: the judge of corun's statistics.
//!
//! It simulates runs, not ratios: every run of every arm draws its own noise, in random order
//! within its block, while the machine drifts from run to run under all of them.

// Each test and benchmark that includes this module uses its own part of it.
#![allow(dead_code)]

pub(crate) mod planned;
pub(crate) mod tally;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};

/// The deviation of a run's log throughput, unless a machine sets another.
pub(crate) const RUN_NOISE: f64 = 0.01;

/// Noise of a run's log throughput, beside drift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Multiplicative normal noise.
    Normal,
    /// Student's t with 3 degrees of freedom: finite variance, hardly.
    HeavyTails,
    /// Normal; one run in twenty takes about three times as long, log-normally spread.
    Outliers,
    /// Normal; every block runs at one of two clocks, 20 % apart.
    ClockPerBlock,
    /// Normal; every run runs at one of two clocks, 20 % apart.
    ClockPerRun,
}

/// Drift of the machine from run to run, under all arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Drift {
    /// Not at all.
    Still,
    /// It slows down by a tenth of the noise with every run.
    Linear,
    /// It wanders: every run adds a normal step of half the noise.
    RandomWalk,
}

/// Load of others that comes and goes, and takes more from the first half of the arms of a block
/// than from the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Foreign {
    /// Blocks for which it stays, or stays away, in the mean.
    pub blocks: f64,
    /// The share of the time that it takes from each half where it is heaviest.
    pub takes: [f64; 2],
}

impl Foreign {
    /// Addition to the log ratio of the halves in the long run.
    pub(crate) fn long_run(self) -> f64 {
        let steps = 1000;
        let mean = (0..steps).map(|step| {
            let weight = LIGHTEST + (1.0 - LIGHTEST) * (f64::from(step) + 0.5) / f64::from(steps);
            let [first, second] = self.takes.map(|takes| (1.0 - takes * weight).ln());
            first - second
        });
        0.5 * mean.sum::<f64>() / f64::from(steps)
    }
}

/// Lower bound of the load, as a share of the heaviest.
const LIGHTEST: f64 = 0.2;

/// A machine that runs blocks of arms.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Scale of a run's own noise and of the drift, in log throughput.
    pub run_noise: f64,
    noise: Noise,
    drift: Drift,
    level: f64,
    foreign: Option<Foreign>,
    /// Weight of the load of others now.
    weight: f64,
    random: ChaCha8Rng,
}

impl Machine {
    /// A machine of its own for each `replication` of an experiment.
    pub(crate) fn new(noise: Noise, drift: Drift, seed: u64, replication: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(replication);
        let (level, foreign, weight) = (0.0, None, 0.0);
        Self { run_noise: RUN_NOISE, noise, drift, level, foreign, weight, random }
    }

    /// The machine with load of others.
    pub(crate) fn with(mut self, foreign: Foreign) -> Self {
        self.foreign = Some(foreign);
        self.weight = if self.random.random_bool(0.5) { self.fresh_weight() } else { 0.0 };
        self
    }

    fn fresh_weight(&mut self) -> f64 {
        self.random.random_range(LIGHTEST..1.0)
    }

    /// Runs each arm once, in random order; takes true log throughputs, returns measured ones.
    pub(crate) fn block<const ARMS: usize>(&mut self, arms: [f64; ARMS]) -> [f64; ARMS] {
        self.block_and_waits(arms).0
    }

    /// As [`block`](Self::block), with the share of its time that each run waited for its CPU.
    pub(crate) fn block_and_waits<const ARMS: usize>(
        &mut self,
        arms: [f64; ARMS],
    ) -> ([f64; ARMS], [f64; ARMS]) {
        let mut order: [usize; ARMS] = std::array::from_fn(|arm| arm);
        order.shuffle(&mut self.random);
        let clock = match self.noise {
            Noise::ClockPerBlock => self.clock(),
            _ => 0.0,
        };
        let (mut measured, mut waits) = ([0.0; ARMS], [0.0; ARMS]);
        for arm in order {
            waits[arm] = self.waited(ARMS, arm * 2 / ARMS);
            measured[arm] = arms[arm] + clock + self.run() + (1.0 - waits[arm]).ln();
        }
        (measured, waits)
    }

    /// Time that others take from a run of this half of the arms.
    fn waited(&mut self, runs_a_block: usize, half: usize) -> f64 {
        let Some(foreign) = self.foreign else { return 0.0 };
        if self.random.random_bool((1.0 / (foreign.blocks * runs_a_block as f64)).min(1.0)) {
            self.weight = if self.weight > 0.0 { 0.0 } else { self.fresh_weight() };
        }
        foreign.takes[half] * self.weight
    }

    /// Measurement of one run beside its arm's true value.
    fn run(&mut self) -> f64 {
        self.level += match self.drift {
            Drift::Still => 0.0,
            Drift::Linear => -0.1 * self.run_noise,
            Drift::RandomWalk => 0.5 * self.run_noise * self.normal(),
        };
        let noise = match self.noise {
            Noise::Normal | Noise::ClockPerBlock => self.run_noise * self.normal(),
            Noise::HeavyTails => {
                let heavy = StudentT::new(3.0).expect("3 is positive");
                self.run_noise * Distribution::<f64>::sample(&heavy, &mut self.random)
            }
            Noise::Outliers if self.random.random_bool(0.05) => -(3_f64.ln() + 0.3 * self.normal()),
            Noise::Outliers => self.run_noise * self.normal(),
            Noise::ClockPerRun => self.clock() + self.run_noise * self.normal(),
        };
        self.level + noise
    }

    fn clock(&mut self) -> f64 {
        if self.random.random_bool(0.5) { 1.2_f64.ln() } else { 0.0 }
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.random)
    }
}

/// An experiment on two arms with an A/A twin each, as log ratios, a value a block.
#[derive(Debug)]
pub(crate) struct Experiment {
    machine: Machine,
    effect: f64,
    /// First arm over second arm, each the mean of the arm and its twin.
    pub ratios: Vec<f64>,
    /// Second arm over its twin.
    pub twins: Vec<f64>,
    /// Waiting of the workers of both arms, each the mean of the arm and its twin.
    pub waits: Vec<[Option<f64>; 2]>,
}

impl Experiment {
    /// An experiment without blocks, in which the true log ratio of the arms is `effect`.
    pub(crate) fn new(machine: Machine, effect: f64) -> Self {
        Self { machine, effect, ratios: Vec::new(), twins: Vec::new(), waits: Vec::new() }
    }

    /// The experiment with as many further blocks as make `blocks`.
    pub(crate) fn run_to(&mut self, blocks: u32) {
        while self.ratios.len() < blocks as usize {
            let ([first, first_twin, second, second_twin], waits) =
                self.machine.block_and_waits([self.effect, self.effect, 0.0, 0.0]);
            let pair = [waits[0] + waits[1], waits[2] + waits[3]];
            self.waits.push(pair.map(|both| Some(both / 2.0)));
            self.ratios.push((first + first_twin - second - second_twin) / 2.0);
            self.twins.push(second - second_twin);
        }
    }
}
