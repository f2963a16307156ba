//! Stated errors against schedules of known truth, shown as a kernel would show them.

use corun_record::CpuActivity;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::watch::CoBusySamples;
use super::{CoBusyReading, Core, Cores};
use crate::proc::{Accounts, CpuUse, Range};

const SECOND: f64 = 1e9;
const TICK: f64 = 1e7;

/// When a CPU was busy, as times at which it begins and ends to be.
#[derive(Debug, Clone)]
struct CpuSchedule {
    edges: Vec<f64>,
    /// Which of the busy times are of tasks that nobody watches.
    is_hidden: Vec<bool>,
}

impl CpuSchedule {
    /// Busy for a share of the time, in turns of about this length, up to this time.
    fn random(random: &mut ChaCha8Rng, share: f64, turn: f64, end: f64, hidden: f64) -> Self {
        let (mut edges, mut is_hidden) = (Vec::new(), Vec::new());
        let mut at = turn * random.random::<f64>();
        while at < end {
            let mut length = |share: f64| 2.0 * turn * share * random.random::<f64>() + 1.0;
            let (busy, idle) = (length(share), length(1.0 - share));
            edges.extend([at, at + busy]);
            is_hidden.push(random.random::<f64>() < hidden);
            at += busy + idle;
        }
        Self { edges, is_hidden }
    }

    /// Busy when the other is idle, or (with `in_phase`) when the other is busy.
    fn like(other: &Self, in_phase: bool) -> Self {
        let mut edges = other.edges.clone();
        if !in_phase {
            // What was idle is busy.
            edges.insert(0, 0.0);
            edges.pop();
        }
        let count = edges.len() / 2;
        Self { edges, is_hidden: vec![false; count] }
    }

    fn busy_turn(&self, at: f64) -> Option<usize> {
        let before = self.edges.partition_point(|edge| *edge <= at);
        (before % 2 == 1).then_some(before / 2)
    }

    fn busy_until(&self, at: f64) -> f64 {
        self.edges.chunks(2).map(|turn| turn[1].min(at) - turn[0].min(at)).sum()
    }

    /// The line of `/proc/stat`: whole ticks of idle time, and busy ticks counted by what runs when a tick comes.
    fn line(&self, cpu: usize, at: f64) -> String {
        let idle = ((at - self.busy_until(at)) / TICK).floor();
        let ticks = (1..=(at / TICK) as u64).map(|tick| tick as f64 * TICK);
        let busy = ticks.filter(|tick| self.busy_turn(*tick).is_some()).count();
        format!("cpu{cpu} {busy} 0 0 {idle} 0 0 0 0 0 0\n")
    }
}

/// The siblings of a core.
struct Schedule(Vec<CpuSchedule>);

impl Schedule {
    fn random(random: &mut ChaCha8Rng, width: usize, end: f64, hidden: f64) -> Self {
        let one = |random: &mut ChaCha8Rng| {
            let share = random.random::<f64>();
            let turn = SECOND * 10_f64.powf(-3.0 * random.random::<f64>());
            CpuSchedule::random(random, share, turn, end, hidden)
        };
        let mut all = vec![one(random)];
        while all.len() < width {
            all.push(match random.random_range(0..4) {
                0 => CpuSchedule::like(&all[0], true),
                1 => CpuSchedule::like(&all[0], false),
                _ => one(random),
            });
        }
        Self(all)
    }

    fn truth(&self, from: f64, to: f64) -> Vec<f64> {
        let mut edges: Vec<f64> = self.0.iter().flat_map(|cpu| cpu.edges.iter().copied()).collect();
        edges.extend([from, to]);
        edges.retain(|edge| (from..=to).contains(edge));
        edges.sort_by(f64::total_cmp);
        let mut shares = vec![0.0; self.0.len() + 1];
        for pair in edges.windows(2) {
            let middle = f64::midpoint(pair[0], pair[1]);
            let busy = self.0.iter().filter(|cpu| cpu.busy_turn(middle).is_some()).count();
            shares[busy] += (pair[1] - pair[0]) / (to - from);
        }
        shares
    }

    fn uses(&self, from: f64, to: f64) -> Vec<CpuUse> {
        let accounts = |at: f64| {
            let lines: String =
                self.0.iter().enumerate().map(|(cpu, it)| it.line(cpu, at)).collect();
            let mut accounts = Accounts::default();
            accounts.parse(lines.as_bytes());
            accounts
        };
        let (before, after) = (accounts(from), accounts(to));
        let of = |cpu: usize| after.since(&before, cpu as u32, (to - from) / TICK).unwrap();
        (0..self.0.len()).map(of).collect()
    }

    /// The tasks that are seen running: one a CPU, unless nobody watches it.
    fn running(&self, at: f64) -> Vec<(u32, u32)> {
        let seen = |(cpu, it): (usize, &CpuSchedule)| {
            it.busy_turn(at)
                .filter(|turn| !it.is_hidden[*turn])
                .map(|_| (cpu as u32, cpu as u32 + 10))
        };
        self.0.iter().enumerate().filter_map(seen).collect()
    }
}

fn cores(width: usize) -> Cores {
    let cpus: Vec<u32> = (0..width as u32).collect();
    let places = (0..width).map(|sibling| Some((0, sibling))).collect();
    Cores { all: vec![Core { id: 0, package: None, cpus }], places }
}

/// Share of so many schedules in which every share of a core lay within the stated error; and the mean error.
fn coverage(width: usize, samples: usize, hidden: f64, count: usize) -> (f64, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(36);
    let cores = cores(width);
    let (mut within, mut errors) = (0, 0.0);
    for _ in 0..count {
        let from = SECOND * (1.0 + random.random::<f64>());
        let to = from + SECOND * (0.5 + 2.0 * random.random::<f64>());
        let schedule = Schedule::random(&mut random, width, to + SECOND, hidden);
        let mut seen = CoBusySamples::of(&cores);
        for part in 0..samples {
            let at = from + (to - from) * (part as f64 + random.random::<f64>()) / samples as f64;
            seen.add(&mut schedule.running(at), &cores);
        }
        let found =
            CoBusyReading::from_samples(&seen, &[schedule.uses(from, to)], (to - from) as u64);
        let shares = &found.cores[0];
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{shares:?}");
        let truth = schedule.truth(from, to);
        let error = found.evidence.error + 1e-9;
        let is_within = shares.iter().zip(&truth).all(|(one, other)| (one - other).abs() <= error);
        within += usize::from(is_within);
        errors += error;
    }
    (within as f64 / count as f64, errors / count as f64)
}

#[test]
fn the_stated_error_of_samples_holds() {
    for (width, samples, hidden) in
        [(2, 100, 0.0), (2, 20, 0.0), (2, 400, 0.0), (2, 100, 0.3), (4, 100, 0.0), (1, 10, 0.0)]
    {
        let (coverage, error) = coverage(width, samples, hidden, 400);
        eprintln!(
            "{width} siblings, {samples} samples, {hidden} hidden: {coverage} within {error}"
        );
        assert!(
            coverage >= 0.95,
            "{width} siblings, {samples} samples, {hidden} hidden: {coverage}"
        );
        assert!(error < 0.35, "an error of {error} says nothing");
    }
}

#[test]
fn bounds_hold_always() {
    for width in [2, 3, 4] {
        assert_eq!(coverage(width, 0, 0.0, 200).0, 1.0, "{width}");
    }
}

/// A thread that samples beside a busy sibling makes nothing co-busy; where it keeps another thread waiting, it does.
#[test]
fn the_time_of_the_thread_that_samples_is_left_out() {
    let cores = cores(2);
    let share = |value: f64| Range { low: value, value, high: value };
    let cpu = |cpu: u32, busy: f64| CpuUse {
        activity: CpuActivity { cpu, ..CpuActivity::default() },
        busy: share(busy),
        ..CpuUse::default()
    };
    let uses = [vec![cpu(0, 1.0), cpu(1, 0.02)]];
    let with_own_time_on = |own_cpu: u32| {
        let mut seen = CoBusySamples::of(&cores);
        for _ in 0..100 {
            let mut running = vec![(0, 7)];
            seen.add(&mut running, &cores);
            seen.add_own_time(own_cpu, 200_000, &running);
        }
        CoBusyReading::from_samples(&seen, &uses, 1_000_000_000).cores[0][2]
    };
    assert!(with_own_time_on(1) < 1e-9, "{}", with_own_time_on(1));
    assert!((with_own_time_on(0) - 0.02).abs() < 1e-6, "{}", with_own_time_on(0));
}

#[test]
fn who_was_beside_whom_is_seen() {
    let cores = cores(2);
    let mut seen = CoBusySamples::of(&cores);
    for at in 0..100 {
        let mut running = vec![(0, 7), (0, 8)];
        if at % 2 == 0 {
            running.push((1, 9));
        }
        // A CPU that no core has is left out.
        running.push((5, 3));
        seen.add(&mut running, &cores);
    }
    let times = seen.times(1_000_000);
    // Two tasks take turns on a CPU.
    let of = |task: u32| (times.tasks[&task].ran_ns, times.tasks[&task].beside_ns);
    assert_eq!((of(7), of(8), of(9)), ((500_000, 250_000), (500_000, 250_000), (500_000, 500_000)));
    assert_eq!((times.pairs[&(7, 9)], times.pairs.len()), (250_000, 2));
    assert_eq!(times.tasks[&9].cpus, [1]);
    assert!(!times.tasks.contains_key(&3));
}
