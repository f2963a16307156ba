//! The sweep under a fake executor whose truth is known: does it choose well, does it claim too much, and
//! what does it cost?

use std::collections::BTreeMap;
use std::time::Duration;

use corun_measure::cores::Core;
use corun_measure::execution::ExecutionError;
use corun_measure::experiment::{ArmOutcome, Executor};
use corun_measure::sweep::{Grid, SweepObserver, SweepOutcome, SweepSchedule, run_sweep};
use corun_record::{Arm, EndReason, Evidence, Goal, Placement, Standing, ThreadVerdict};
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

/// Throughput that each sibling after the first adds to a core.
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
    clock: Duration,
    /// Numbers of workers that the program refuses.
    refuses: fn(u32) -> bool,
    /// The CPU time of a worker over its time.
    cpu_share: f64,
}

impl Fake {
    fn new(machine: Machine, shape: Shape, noise: Noise, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let next = random.random_range(0..1000);
        let (clock, refuses) = (Duration::ZERO, (|_| false) as fn(u32) -> bool);
        Self { machine, shape, noise, random, next, clock, refuses, cpu_share: 1.0 }
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
        let busy = makespan.as_secs_f64() * f64::from(arm.workers) * self.cpu_share;
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
        fixed_total: true,
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

/// Tally of many sweeps of one truth.
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

/// The truth of a shape on a machine.
struct Truth {
    machine: Machine,
    shape: Shape,
    arms: Vec<Arm>,
    best: f64,
    /// The fewest workers that are as good as the best.
    fewest: u32,
}

impl Truth {
    fn new(machine: Machine, shape: Shape) -> Self {
        let grid = machine.grid();
        let arms: Vec<Arm> = grid.points().map(|point| grid.arm(point)).collect();
        let best = arms.iter().map(|arm| shape(arm, &machine)).fold(0.0, f64::max);
        let truth = Self { machine, shape, arms, best, fewest: 0 };
        let good = truth.arms.iter().filter(|arm| truth.is_good(arm));
        let fewest = good.map(|arm| arm.workers).min().unwrap();
        Self { fewest, ..truth }
    }

    fn of(&self, arm: &Arm) -> f64 {
        (self.shape)(arm, &self.machine)
    }

    fn is_good(&self, arm: &Arm) -> bool {
        self.of(arm) >= self.best / (1.0 + PRACTICAL) - 1e-9
    }
}

impl Tally {
    /// Sweeps once and counts the outcome of it.
    fn add(&mut self, truth: &Truth, noise: &Noise, seed: u64) {
        let mut fake = Fake::new(truth.machine, truth.shape, noise.clone(), seed + 1);
        let outcome = sweep(&mut fake, seed);
        let conclusion = outcome.conclusion.as_ref().unwrap();
        let chosen = &outcome.tried[conclusion.chosen].arm;
        let is_good = truth.is_good(chosen);
        let is_fewest = is_good && chosen.workers <= truth.fewest + (truth.fewest / 8).max(1);
        let others = outcome.tried.iter().map(|tried| &tried.arm).filter(|arm| arm.id != chosen.id);
        let as_good = others.filter(|arm| truth.of(arm) >= truth.of(chosen) - 1e-9).count();
        let claims = |verdicts: &[ThreadVerdict]| verdicts.contains(&conclusion.verdict);
        let is_best = claims(&[ThreadVerdict::Best]);
        let is_claimed = claims(&[ThreadVerdict::Best, ThreadVerdict::Equal]);
        self.sweeps += 1;
        self.good += u32::from(is_good);
        self.fewest += u32::from(is_fewest);
        self.false_best += u32::from(is_best && as_good > 0);
        self.wrong += u32::from(is_claimed && !is_fewest);
        self.decided += u32::from(is_claimed || claims(&[ThreadVerdict::GoodEnough]));
        self.runs += outcome.samples.len() as u32;
        // The full grid has the same blocks, with a twin in each.
        self.full_grid += outcome.blocks * (truth.arms.len() as u32 + 1);
    }
}

fn report(name: &str, tally: &Tally) -> String {
    let share = |count: u32| f64::from(count) * 100.0 / f64::from(tally.sweeps);
    format!(
        "{name}: good {:.1} %, fewest {:.1} %, decided {:.1} %, wrong {:.2} %, false best {:.2} %, {:.0} runs, {:.0} % of the full grid",
        share(tally.good),
        share(tally.fewest),
        share(tally.decided),
        share(tally.wrong),
        share(tally.false_best),
        f64::from(tally.runs) / f64::from(tally.sweeps),
        f64::from(tally.runs) * 100.0 / f64::from(tally.full_grid),
    )
}

const MACHINES: [Machine; 4] = [
    Machine { cores: 2, width: 2 },
    Machine { cores: 1, width: 4 },
    Machine { cores: 8, width: 2 },
    Machine { cores: 64, width: 2 },
];

/// So many sweeps of each of these shapes, on each machine and with each recorded noise in turn.
fn check(shapes: &[(&str, Shape)], sweeps: u64) {
    let recorded: Vec<Noise> = recorded().into_values().map(Noise::Recorded).collect();
    let noises = [vec![Noise::Normal(0.01), Noise::Normal(0.03)], recorded].concat();
    for &(name, shape) in shapes {
        let mut sum = Tally::default();
        for machine in MACHINES {
            let truth = Truth::new(machine, shape);
            let mut tally = Tally::default();
            for seed in 0..sweeps / MACHINES.len() as u64 {
                tally.add(&truth, &noises[seed as usize % noises.len()], seed);
            }
            println!("{}x{} {}", machine.cores, machine.width, report(name, &tally));
            // Three standard errors of a share of 5 %.
            let chance = 3.0 * (0.05 * 0.95 / f64::from(tally.sweeps)).sqrt();
            for claims in [tally.false_best, tally.wrong] {
                let share = f64::from(claims) / f64::from(tally.sweeps);
                assert!(share <= 0.05 + chance, "{machine:?}: {}", report(name, &tally));
            }
            sum.runs += tally.runs;
            sum.full_grid += tally.full_grid;
        }
        assert!(f64::from(sum.runs) <= 0.6 * f64::from(sum.full_grid), "{name}: {sum:?}");
    }
}

#[test]
fn no_best_is_claimed_too_often_and_most_of_the_grid_is_not_run() {
    check(&SHAPES, 240);
}

#[test]
#[ignore = "takes minutes: a part of `scripts/test deep`"]
fn many_sweeps_of_the_first_shapes_claim_no_best_too_often() {
    check(&SHAPES[..5], many());
}

#[test]
#[ignore = "takes minutes: a part of `scripts/test deep`"]
fn many_sweeps_of_the_other_shapes_do_not_either() {
    check(&SHAPES[5..], many());
}

fn many() -> u64 {
    corun_testing::repetitions(10_000, 2_000)
}

#[test]
fn with_little_noise_the_best_are_chosen() {
    for machine in MACHINES {
        for (name, shape) in SHAPES {
            let truth = Truth::new(machine, shape);
            let mut tally = Tally::default();
            (0..20).for_each(|seed| tally.add(&truth, &Noise::Normal(0.003), seed));
            let told = report(name, &tally);
            assert!(tally.good >= 19 && tally.wrong <= 1, "{machine:?}: {told}");
        }
    }
}

#[test]
fn a_number_that_the_program_refuses_leaves_the_sweep() {
    let machine = Machine { cores: 8, width: 2 };
    let mut fake = Fake::new(machine, SHAPES[0].1, Noise::Normal(0.01), 1);
    fake.refuses = |workers| !workers.is_power_of_two();
    let outcome = sweep(&mut fake, 1);
    let conclusion = outcome.conclusion.unwrap();
    assert_eq!(outcome.tried[conclusion.chosen].arm.workers, 16);
    let failed = |index: usize| conclusion.standings[index] == Standing::Failed;
    for (index, tried) in outcome.tried.iter().enumerate() {
        assert_eq!(failed(index), !tried.arm.workers.is_power_of_two(), "{tried:?}");
        assert_eq!(failed(index), tried.failure.is_some());
    }
}

#[test]
fn a_program_that_never_runs_is_an_error() {
    let machine = Machine { cores: 2, width: 2 };
    let mut fake = Fake::new(machine, SHAPES[0].1, Noise::Normal(0.01), 1);
    fake.refuses = |_| true;
    let failed = run_sweep(&machine.grid(), &schedule(1), &mut fake, &mut Unobserved);
    assert!(matches!(failed, Err(ExecutionError::Failed { .. })));
}

#[test]
fn no_block_begins_that_would_end_after_the_time_allowed() {
    let machine = Machine { cores: 64, width: 2 };
    let mut fake = Fake::new(machine, SHAPES[5].1, Noise::Normal(0.1), 1);
    let outcome = sweep(&mut fake, 1);
    assert_eq!(outcome.ending.reason, EndReason::TimeUp);
    assert!(fake.clock <= schedule(1).max_time);
}

#[test]
fn a_program_that_waits_is_also_tried_with_more_workers_than_cpus() {
    let machine = Machine { cores: 2, width: 1 };
    let waits: Shape = |arm, _| f64::from(arm.workers.min(8));
    let mut fake = Fake::new(machine, waits, Noise::Normal(0.01), 1);
    fake.cpu_share = 0.1;
    let outcome = sweep(&mut fake, 1);
    let chosen = &outcome.tried[outcome.conclusion.unwrap().chosen].arm;
    assert_eq!(chosen.id, "free@8");
}
