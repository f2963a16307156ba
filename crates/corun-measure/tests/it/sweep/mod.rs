//! The sweep under a fake executor whose truth is known: does it choose well, does it claim too much, and
//! what does it cost?

use std::collections::BTreeMap;
use std::time::Duration;

use corun_measure::cores::Core;
use corun_measure::execution::ExecutionError;
use corun_measure::experiment::{ArmOutcome, Executor};
use corun_measure::sweep::{
    Grid, SweepObserver, SweepOutcome, SweepSchedule, WorkOfRun, run_sweep,
};
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
    /// Normal with this deviation, but one run of so many takes up to twice as long.
    Disturbed {
        deviation: f64,
        every: u32,
    },
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
    /// The share of its CPUs that other work takes.
    foreign: f64,
    /// The time of a run that does one unit of work in a second, in seconds.
    unit_s: f64,
    /// A run that takes longer is ended.
    slow: Duration,
    /// The runs: their arms, and the time of each.
    runs: Vec<(String, Duration)>,
}

impl Fake {
    fn new(machine: Machine, shape: Shape, noise: Noise, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let next = random.random_range(0..1000);
        let (clock, refuses) = (Duration::ZERO, (|_| false) as fn(u32) -> bool);
        let truth = Truth::new(machine, shape);
        Self {
            machine,
            shape,
            noise,
            random,
            next,
            clock,
            refuses,
            cpu_share: 1.0,
            foreign: 0.0,
            // The best run takes 0.4 s.
            unit_s: 0.4 * truth.best,
            slow: Duration::MAX,
            runs: Vec::new(),
        }
    }

    fn normal(&mut self) -> f64 {
        let sum: f64 = (0..12).map(|_| self.random.random::<f64>()).sum();
        sum - 6.0
    }

    fn noise(&mut self) -> f64 {
        match &self.noise {
            &Noise::Normal(deviation) => self.normal() * deviation,
            &Noise::Disturbed { deviation, every } => {
                let is_disturbed = self.random.random_ratio(1, every);
                let slower = if is_disturbed { self.random.random::<f64>().ln_1p() } else { 0.0 };
                self.normal() * deviation - slower
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
        if (self.refuses)(arm.workers) {
            self.clock += Duration::from_millis(400);
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
        let makespan = Duration::from_secs_f64(self.unit_s / throughput);
        let spent = makespan.min(self.slow);
        self.clock += spent;
        self.runs.push((arm.id.clone(), spent));
        if makespan > self.slow {
            return Err(ExecutionError::Timeout {
                arm: arm.id.clone(),
                seconds: self.slow.as_secs_f64(),
            });
        }
        let busy = makespan.as_secs_f64() * f64::from(arm.workers) * self.cpu_share;
        Ok(ArmOutcome {
            makespan,
            throughput,
            rates: BTreeMap::new(),
            latencies: BTreeMap::new(),
            workers: Vec::new(),
            evidence: Evidence {
                user_s: busy,
                foreign_busy: Some(self.foreign),
                ..Evidence::default()
            },
        })
    }

    fn end_slow_runs(&mut self, longest: Duration) {
        self.slow = longest;
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
        work: WorkOfRun::Fixed,
        practical: PRACTICAL,
        quota: None,
        seed,
        warmup: 1,
        max_time: Duration::from_secs(120),
        grows: false,
    }
}

fn sweep(fake: &mut Fake, seed: u64) -> SweepOutcome {
    let outcome = run_sweep(&fake.machine.grid(), &schedule(seed), fake, &mut Unobserved).unwrap();
    let standings = outcome.conclusion.iter().flat_map(|it| &it.standings);
    for (tried, standing) in outcome.tried.iter().zip(standings) {
        let reaches_one = tried.beside_chosen.as_ref().is_some_and(|it| it.high >= 0.0);
        assert!(*standing != Standing::Worse || !reaches_one, "{tried:?}");
    }
    outcome
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
    /// It was called best, or the fewest of equal ones, and is not; or it was said that no other is much better.
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
        self.judge(truth, &outcome);
    }

    /// Counts an outcome; returns whether all that it claims is true, and whether it is decided.
    fn judge(&mut self, truth: &Truth, outcome: &SweepOutcome) -> (bool, bool) {
        let conclusion = outcome.conclusion.as_ref().unwrap();
        let chosen = &outcome.tried[conclusion.chosen].arm;
        let is_good = truth.is_good(chosen);
        let is_fewest = is_good && chosen.workers <= truth.fewest + (truth.fewest / 8).max(1);
        let others = outcome.tried.iter().map(|tried| &tried.arm).filter(|arm| arm.id != chosen.id);
        let as_good = others.filter(|arm| truth.of(arm) >= truth.of(chosen) - 1e-9).count();
        let claims = |verdicts: &[ThreadVerdict]| verdicts.contains(&conclusion.verdict);
        let is_best = claims(&[ThreadVerdict::Best]);
        let is_claimed =
            claims(&[ThreadVerdict::Best, ThreadVerdict::Equal, ThreadVerdict::NumberKnown]);
        self.sweeps += 1;
        self.good += u32::from(is_good);
        self.fewest += u32::from(is_fewest);
        self.false_best += u32::from(is_best && as_good > 0);
        let is_decided = conclusion.verdict.is_answer();
        let is_true = !is_decided || (is_good && (is_fewest || !is_claimed));
        self.wrong += u32::from(!is_true);
        self.decided += u32::from(is_decided);
        self.runs += outcome.samples.len() as u32;
        // The full grid has the same blocks, with a twin in each.
        self.full_grid += outcome.blocks * (truth.arms.len() as u32 + 1);
        (is_true, is_decided)
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
fn runs_that_are_disturbed_now_and_then_lead_to_no_false_claims() {
    const SWEEPS: u64 = 20;
    let noise = Noise::Disturbed { deviation: 0.01, every: 10 };
    for machine in MACHINES {
        let mut wrong = 0;
        for (name, shape) in SHAPES {
            let mut tally = Tally::default();
            let truth = Truth::new(machine, shape);
            (0..SWEEPS).for_each(|seed| tally.add(&truth, &noise, seed));
            println!("{}x{} {}", machine.cores, machine.width, report(name, &tally));
            wrong += tally.wrong;
        }
        let most = 0.025 * SWEEPS as f64 * SHAPES.len() as f64;
        assert!(f64::from(wrong) <= most, "{machine:?}: {wrong} wrong, at most {most}");
    }
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
fn more_workers_than_cpus_are_tried_where_a_program_waits_while_the_machine_is_free() {
    let machine = Machine { cores: 2, width: 1 };
    let waits: Shape = |arm, _| f64::from(arm.workers.min(8));
    let one_lock: Shape = |_, _| 1.0;
    let most = |shape: Shape, cpu_share: f64, foreign: f64| {
        let mut fake = Fake::new(machine, shape, Noise::Normal(0.01), 1);
        (fake.cpu_share, fake.foreign) = (cpu_share, foreign);
        let outcome = sweep(&mut fake, 1);
        let chosen = outcome.tried[outcome.conclusion.unwrap().chosen].arm.workers;
        (chosen, outcome.tried.iter().map(|tried| tried.arm.workers).max().unwrap())
    };
    assert_eq!(most(waits, 0.1, 0.0), (8, 16));
    assert_eq!(most(waits, 1.0, 0.0).1, 2, "it does not wait");
    assert_eq!(most(waits, 0.1, 0.5).1, 2, "other programs use the CPUs");
    assert_eq!(most(one_lock, 0.5, 0.0), (1, 2), "more workers do no more");
}

#[test]
fn a_run_that_is_twice_as_slow_as_the_best_is_ended_and_that_is_evidence() {
    let machine = Machine { cores: 16, width: 1 };
    let falls: Shape = |arm, _| 1.0 / f64::from(arm.workers);
    let mut fake = Fake::new(machine, falls, Noise::Normal(0.01), 1);
    fake.unit_s *= 25.0;
    let outcome = run_sweep(
        &machine.grid(),
        &SweepSchedule { grows: true, ..schedule(1) },
        &mut fake,
        &mut Unobserved,
    );
    let outcome = outcome.unwrap();
    let mut best = Duration::MAX;
    for (arm, took) in &fake.runs {
        assert!(*took <= best.saturating_mul(2), "{arm}: {took:?}");
        best = best.min(*took);
    }
    let conclusion = outcome.conclusion.unwrap();
    assert_eq!(outcome.tried[conclusion.chosen].arm.workers, 1);
    for (tried, standing) in outcome.tried.iter().zip(conclusion.standings) {
        let is_ended = tried.screening.is_some_and(|run| run.is_ended);
        assert!(!is_ended || standing == Standing::Worse, "{tried:?}");
    }
}

#[test]
fn of_what_is_not_decided_the_smallest_number_is_named_and_what_would_decide() {
    let machine = Machine { cores: 4, width: 1 };
    let mut fake = Fake::new(machine, SHAPES[5].1, Noise::Normal(0.1), 1);
    let schedule = SweepSchedule { max_time: Duration::from_secs(12), ..schedule(1) };
    let outcome = run_sweep(&machine.grid(), &schedule, &mut fake, &mut Unobserved).unwrap();
    let conclusion = outcome.conclusion.unwrap();
    assert_eq!(conclusion.verdict, ThreadVerdict::Undecided);
    let alive = |standing: &Standing| {
        matches!(standing, Standing::Chosen | Standing::Undecided | Standing::Equal)
    };
    let open = outcome.tried.iter().zip(&conclusion.standings).filter(|(_, it)| alive(it));
    let smallest = open.map(|(tried, _)| tried.arm.workers).min();
    assert_eq!(Some(outcome.tried[conclusion.chosen].arm.workers), smallest);
    assert!(outcome.time_to_decide.is_some_and(|more| more > Duration::ZERO));
}

#[test]
fn the_time_allowed_grows_with_the_programs_own_time_unless_it_is_given() {
    let machine = Machine { cores: 4, width: 1 };
    let blocks = |grows: bool| {
        let mut fake = Fake::new(machine, SHAPES[0].1, Noise::Normal(0.01), 1);
        // The best run takes a minute.
        fake.unit_s *= 150.0;
        let schedule = SweepSchedule { grows, ..schedule(1) };
        run_sweep(&machine.grid(), &schedule, &mut fake, &mut Unobserved).unwrap().blocks
    };
    assert_eq!(blocks(false), 0);
    assert!(blocks(true) >= 3);
}

/// Scaling curves of a machine of many cores, with the part of the best run's work that a worker does.
const CURVES: [(&str, Shape); 6] = [
    ("linear", |arm, machine| machine.used(arm)),
    ("Amdahl: a fifth is serial", |arm, machine| 1.0 / (0.2 + 0.8 / machine.used(arm))),
    ("Amdahl: a fiftieth is serial", |arm, machine| 1.0 / (0.02 + 0.98 / machine.used(arm))),
    ("flat", |_, _| 1.0),
    ("falling: each doubling costs 5 %", |arm, _| 0.95_f64.powf(f64::from(arm.workers).log2())),
    ("falling: each worker takes as long as the first", |arm, _| 1.0 / f64::from(arm.workers)),
];

#[test]
fn many_cpus_are_answered_for_within_sixty_times_the_best_run() {
    let machine = Machine { cores: 64, width: 1 };
    for (name, shape) in CURVES {
        let truth = Truth::new(machine, shape);
        let mut costs = Vec::new();
        let (mut right, mut tally) = (0, Tally::default());
        for seed in 0..200 {
            let mut fake = Fake::new(machine, shape, Noise::Normal(0.01), seed + 1);
            // The best run takes 10 s.
            fake.unit_s *= 25.0;
            let schedule = SweepSchedule { grows: true, ..schedule(seed) };
            let outcome =
                run_sweep(&machine.grid(), &schedule, &mut fake, &mut Unobserved).unwrap();
            let cost = fake.clock.as_secs_f64() / 10.0;
            let (is_right, is_decided) = tally.judge(&truth, &outcome);
            right += u32::from(is_right && is_decided && cost <= 60.0);
            costs.push(cost);
        }
        costs.sort_by(f64::total_cmp);
        println!(
            "right in time {right} of 200; {:.1} T in the median, {:.1} T in 95 of 100, {:.1} T at most; {}",
            costs[100],
            costs[190],
            costs[199],
            report(name, &tally)
        );
        assert!(right >= 190, "{name}: right in time {right} of 200");
    }
}
