//! The sweep under a fake executor whose truth is known: does it choose well, does it claim too much, and
//! what does it cost?

use std::collections::BTreeMap;
use std::time::Duration;

use corun_measure::cores::Core;
use corun_measure::execution::ExecutionError;
use corun_measure::experiment::{ArmOutcome, Executor};
use corun_measure::sweep::{Grid, SweepObserver, SweepOutcome, SweepSchedule, run_sweep};
use corun_record::{Arm, Evidence, Goal, Placement, ThreadVerdict};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The throughput of an arm, noise apart.
type Shape = fn(&Arm, &Machine) -> f64;

/// A machine of cores with as many siblings each.
#[derive(Debug, Clone, Copy)]
struct Machine {
    cores: u32,
    width: u32,
}

impl Machine {
    fn grid(self) -> Grid {
        let cpus = |core| (0..self.width).map(move |it| core + it * self.cores).collect::<Vec<_>>();
        let core = |core| Core {
            cpus: cpus(core),
            online_siblings: cpus(core),
            core_type: None,
            numa_node: None,
        };
        Grid::new((0..self.cores).map(core).collect())
    }

    /// The cores that an arm uses; the kernel spreads what it places.
    fn used(self, arm: &Arm) -> f64 {
        let free = matches!(arm.placement, Placement::Free(_));
        f64::from(if free { arm.workers.min(self.cores) } else { arm.cores })
    }
}

/// What each sibling after the first adds to a core.
fn with_siblings(arm: &Arm, machine: &Machine, adds: f64) -> f64 {
    let cores = machine.used(arm);
    let workers = f64::from(arm.workers.min(machine.cores * machine.width));
    cores + adds * (workers - cores)
}

/// Scaling curves. Each is a program that is well known for it.
const SHAPES: [(&str, Shape); 9] = [
    ("siblings add a quarter", |arm, machine| with_siblings(arm, machine, 0.25)),
    ("siblings add nothing", |arm, machine| with_siblings(arm, machine, 0.0)),
    ("siblings hurt", |arm, machine| with_siblings(arm, machine, -0.15)),
    ("Amdahl: a fifth is serial", |arm, machine| {
        1.0 / (0.2 + 0.8 / with_siblings(arm, machine, 0.25))
    }),
    ("half of the cores fill the memory bandwidth", |arm, machine| {
        with_siblings(arm, machine, 0.25).min(f64::from(machine.cores) / 2.0)
    }),
    ("every number is equal", |_, _| 1.0),
    ("one lock: each worker more costs 5 %", |arm, _| 0.95_f64.powf(f64::from(arm.workers).log2())),
    ("a peak at three quarters of the cores", |arm, machine| {
        let peak = (f64::from(machine.cores) * 0.75).ceil();
        let workers = machine.used(arm);
        if workers <= peak { workers } else { peak - 0.5 * (workers - peak) }.max(0.1)
    }),
    ("the kernel places badly", |arm, machine| {
        let free = matches!(arm.placement, Placement::Free(_));
        with_siblings(arm, machine, 0.25) * if free { 0.8 } else { 1.0 }
    }),
];

/// The noise of one run after the other, on the log scale.
#[derive(Debug, Clone)]
enum Noise {
    Normal(f64),
    /// Recorded runs, from a random one on.
    Recorded(Vec<f64>),
}

fn recorded() -> BTreeMap<String, Vec<f64>> {
    let lines = include_str!("noise.csv").lines().filter(|line| !line.starts_with('#'));
    let series = lines.map(|line| {
        let (name, values) = line.split_once(',').unwrap();
        (name.to_owned(), values.split(',').map(|value| value.parse().unwrap()).collect())
    });
    series.collect()
}

struct Fake {
    machine: Machine,
    shape: Shape,
    noise: Noise,
    random: ChaCha8Rng,
    /// The next recorded run.
    next: usize,
    runs: u32,
    clock: Duration,
    /// Numbers of workers that the program refuses.
    refuses: fn(u32) -> bool,
}

impl Fake {
    fn new(machine: Machine, shape: Shape, noise: Noise, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let next = random.random_range(0..1000);
        let (runs, clock, refuses) = (0, Duration::ZERO, (|_| false) as fn(u32) -> bool);
        Self { machine, shape, noise, random, next, runs, clock, refuses }
    }

    fn noise(&mut self) -> f64 {
        match &self.noise {
            Noise::Normal(deviation) => {
                let sum: f64 = (0..12).map(|_| self.random.random::<f64>()).sum();
                (sum - 6.0) * deviation
            }
            Noise::Recorded(values) => {
                self.next += 1;
                values[self.next % values.len()]
            }
        }
    }
}

impl Executor for Fake {
    fn run(&mut self, arm: &Arm) -> Result<ArmOutcome, ExecutionError> {
        self.runs += 1;
        self.clock += Duration::from_millis(400);
        if (self.refuses)(arm.workers) {
            return Err(ExecutionError::Failed {
                arm: arm.id.clone(),
                worker: 0,
                expected: "exit status 0".into(),
                found: "exit status 1".into(),
                output: String::new(),
                next_step: "".into(),
            });
        }
        let throughput = (self.shape)(arm, &self.machine) * self.noise().exp();
        let makespan = Duration::from_secs_f64(0.4);
        let busy = makespan.as_secs_f64() * f64::from(arm.workers);
        Ok(ArmOutcome {
            makespan,
            throughput,
            rates: BTreeMap::new(),
            latencies: BTreeMap::new(),
            workers: Vec::new(),
            evidence: Evidence { user_s: busy, ..Evidence::default() },
        })
    }

    fn elapsed(&self) -> Duration {
        self.clock
    }
}

struct Unobserved;
impl SweepObserver for Unobserved {}

const PRACTICAL: f64 = 0.02;

fn schedule(seed: u64) -> SweepSchedule {
    SweepSchedule {
        goal: Goal::Throughput,
        most_workers: false,
        practical: PRACTICAL,
        quota: None,
        seed,
        warmup: 1,
        max_time: Duration::from_secs(120),
    }
}

fn sweep(fake: &mut Fake, seed: u64) -> SweepOutcome {
    run_sweep(&fake.machine.grid(), &schedule(seed), fake, &mut Unobserved).unwrap()
}

/// What many sweeps of one truth came to.
#[derive(Debug, Default)]
struct Tally {
    sweeps: u32,
    /// The chosen one is as good as the best, within the practical bound.
    good: u32,
    /// It also has the fewest workers of those that are, as far as sweeps tell numbers apart.
    fewest: u32,
    /// It was called the best though another one is as good, or better.
    false_best: u32,
    /// It was called best, or the fewest of equal ones, and is not.
    wrong: u32,
    /// No other candidate is much better, the answer says.
    decided: u32,
    runs: u32,
    full_grid: u32,
}

fn tally(machine: Machine, shape: Shape, noise: &Noise, sweeps: u32) -> Tally {
    let grid = machine.grid();
    let arms: Vec<Arm> = grid.points().map(|point| grid.arm(point)).collect();
    let truth = |arm: &Arm| shape(arm, &machine);
    let best = arms.iter().map(truth).fold(0.0, f64::max);
    let is_good = |arm: &Arm| truth(arm) >= best / (1.0 + PRACTICAL) - 1e-9;
    let fewest = arms.iter().filter(|arm| is_good(arm)).map(|arm| arm.workers).min().unwrap();
    let mut tally = Tally { sweeps, ..Tally::default() };
    for seed in 0..sweeps {
        let mut fake = Fake::new(machine, shape, noise.clone(), u64::from(seed) + 1);
        let outcome = sweep(&mut fake, u64::from(seed));
        let conclusion = outcome.conclusion.as_ref().unwrap();
        let chosen = &outcome.tried[conclusion.chosen].arm;
        tally.good += u32::from(is_good(chosen));
        let is_fewest = is_good(chosen) && chosen.workers <= fewest + (fewest / 8).max(1);
        tally.fewest += u32::from(is_fewest);
        let others = outcome.tried.iter().map(|tried| &tried.arm).filter(|arm| arm.id != chosen.id);
        let as_good = others.filter(|arm| truth(arm) >= truth(chosen) - 1e-9).count();
        let is_claimed = conclusion.verdict == ThreadVerdict::Best;
        tally.false_best += u32::from(is_claimed && as_good > 0);
        let claims = [ThreadVerdict::Best, ThreadVerdict::Equal];
        tally.wrong += u32::from(claims.contains(&conclusion.verdict) && !is_fewest);
        let undecided = [ThreadVerdict::Undecided, ThreadVerdict::TooFewBlocks];
        tally.decided += u32::from(!undecided.contains(&conclusion.verdict));
        tally.runs += outcome.samples.len() as u32;
        // The full grid has the same blocks, with a twin in each.
        tally.full_grid += outcome.blocks * (arms.len() as u32 + 1);
    }
    tally
}

fn report(machine: Machine, name: &str, tally: &Tally) -> String {
    let share = |count: u32| f64::from(count) * 100.0 / f64::from(tally.sweeps);
    format!(
        "{}x{} {name}: good {:.1} %, fewest {:.1} %, decided {:.1} %, wrong {:.2} %, false best {:.2} %, {:.0} runs, {:.0} % of the full grid",
        machine.cores,
        machine.width,
        share(tally.good),
        share(tally.fewest),
        share(tally.decided),
        share(tally.wrong),
        share(tally.false_best),
        f64::from(tally.runs) / f64::from(tally.sweeps),
        f64::from(tally.runs) * 100.0 / f64::from(tally.full_grid),
    )
}

fn machines() -> [Machine; 4] {
    [(2, 2), (1, 4), (8, 2), (64, 2)].map(|(cores, width)| Machine { cores, width })
}

/// Some hundred sweeps of every shape; the deep test does 10,000.
fn check(sweeps: u32) {
    let mut noises: Vec<(String, Noise)> = vec![
        ("normal, 1 %".into(), Noise::Normal(0.01)),
        ("normal, 3 %".into(), Noise::Normal(0.03)),
    ];
    noises.extend(recorded().into_iter().map(|(name, values)| (name, Noise::Recorded(values))));
    for (noise_name, noise) in &noises {
        for machine in machines() {
            let mut sum = Tally::default();
            for (name, shape) in SHAPES {
                let tally = tally(machine, shape, noise, sweeps);
                println!("{noise_name}: {}", report(machine, name, &tally));
                // Three standard errors of a share of 5 %.
                let chance = 3.0 * (0.05 * 0.95 / f64::from(sweeps)).sqrt();
                for claims in [tally.false_best, tally.wrong] {
                    let share = f64::from(claims) / f64::from(sweeps);
                    assert!(share <= 0.05 + chance, "{noise_name}, {machine:?}, {name}: {tally:?}");
                }
                sum.runs += tally.runs;
                sum.full_grid += tally.full_grid;
            }
            assert!(f64::from(sum.runs) <= 0.6 * f64::from(sum.full_grid), "{machine:?}: {sum:?}");
        }
    }
}

#[test]
fn no_best_is_claimed_too_often_and_most_of_the_grid_is_not_run() {
    check(40);
}

#[test]
#[ignore = "takes minutes: a part of `scripts/test deep`"]
fn ten_thousand_sweeps_of_each_shape_claim_no_best_too_often() {
    check(10_000);
}

#[test]
fn with_little_noise_the_best_are_chosen() {
    for machine in machines() {
        for (name, shape) in SHAPES {
            let tally = tally(machine, shape, &Noise::Normal(0.003), 20);
            assert!(tally.good >= 19 && tally.wrong <= 1, "{}", report(machine, name, &tally));
        }
    }
}
