//! Outcome of the phases of a placement together, and one placement against another.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::Placement;

use crate::spread::Spread;
use crate::together::{Phase, PlacedWorker};
use corun_record::MemoryRequests;

/// A placement, simulated.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Which.
    pub placement: Placement,
    /// Each phase; never none.
    pub phases: Vec<Phase>,
    /// Phases of the placement with its workers begun where those of a placement begin that is compared with it.
    pub matched: Vec<Phase>,
}

impl Outcome {
    /// Cores that are used.
    pub fn cores(&self) -> usize {
        let cores = self.phases.iter().flat_map(|phase| &phase.workers).map(|one| one.core + 1);
        cores.max().unwrap_or(0)
    }

    /// Workers a core.
    pub fn on_each(&self) -> f64 {
        let workers = self.phases.first().map_or(0, |phase| phase.workers.len());
        workers as f64 / self.cores().max(1) as f64
    }

    /// Cycles of a worker that counts the instructions that `one` counts, in the same order and after the same
    /// warm-up; where none does, those of [`Outcome::cycles`].
    pub fn cycles_like(&self, one: &PlacedWorker) -> Option<f64> {
        self.like(one)
            .map(|like| like.cycles)
            .filter(|cycles| *cycles > 0.0)
            .or_else(|| self.cycles(one.worker))
    }

    /// A worker that counts the instructions that `one` counts.
    fn like(&self, one: &PlacedWorker) -> Option<&PlacedWorker> {
        let offset = one.offset?;
        let is_like = |it: &&PlacedWorker| it.worker == one.worker && it.offset == Some(offset);
        self.phases.iter().chain(&self.matched).flat_map(|phase| &phase.workers).find(is_like)
    }

    /// For each worker where those of this placement begin and none of `reference` does.
    pub fn unmatched(&self, reference: &Self) -> BTreeMap<usize, Vec<f64>> {
        let mut all: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for one in self.phases.iter().flat_map(|phase| &phase.workers) {
            let others = reference.phases.iter().flat_map(|phase| &phase.workers);
            let mut others = others.filter(|it| it.worker == one.worker).peekable();
            // Who takes turns is counted in slices, wherever it began.
            let can_match = others.peek().is_some() && others.all(|it| it.offset.is_some());
            let Some(offset) = one.offset.filter(|_| can_match && reference.like(one).is_none())
            else {
                continue;
            };
            let offsets = all.entry(one.worker).or_default();
            if !offsets.contains(&offset) {
                offsets.push(offset);
            }
        }
        all
    }

    /// Largest difference of its workers from those of `reference` that count the same, as a sentence: events in
    /// 1000 instructions.
    pub fn differs(&self, reference: &Self) -> String {
        let rates = |outcome: &Self, is_reference: bool| -> Vec<(&'static str, f64)> {
            let phases =
                outcome.phases.iter().chain(outcome.matched.iter().filter(|_| is_reference));
            let workers: Vec<&PlacedWorker> = phases.flat_map(|phase| &phase.workers).collect();
            let instructions: u64 = workers.iter().map(|one| one.simulated.instructions).sum();
            let rate = |sum: u64| 1e3 * sum as f64 / instructions.max(1) as f64;
            let requests = workers
                .iter()
                .fold(MemoryRequests::default(), |sum, one| sum.plus(&one.simulated.requests));
            let mispredicts = workers.iter().map(|one| one.simulated.mispredicts).sum();
            let requests =
                requests.by_name().into_iter().filter(|(name, _)| *name != "prefetched lines");
            requests
                .map(|(name, sum)| (name, rate(sum)))
                .chain([("mispredicted branches", rate(mispredicts))])
                .collect()
        };
        let (own, others) = (rates(self, false), rates(reference, true));
        let mut all: Vec<_> = own
            .iter()
            .zip(&others)
            .map(|((name, own), (_, other))| (*name, *own, *other))
            .collect();
        all.sort_by(|one, another| (another.1 - another.2).abs().total_cmp(&(one.1 - one.2).abs()));
        let parts: Vec<String> = all
            .iter()
            .take(3)
            .map(|(name, own, other)| {
                format!(
                    "{name} {own:.2} in {} and {other:.2} in {}",
                    self.placement, reference.placement
                )
            })
            .collect();
        format!("in 1000 instructions, {}", parts.join(", "))
    }

    /// The most workers that run at once on one core.
    pub fn most_at_once(&self) -> f64 {
        let workers = self.phases.first().map_or(&[][..], |phase| &phase.workers[..]);
        let cpus: BTreeSet<(usize, usize)> =
            workers.iter().map(|one| (one.core, one.cpu)).collect();
        let mut cores: BTreeMap<usize, usize> = BTreeMap::new();
        cpus.iter().for_each(|(core, _)| *cores.entry(*core).or_default() += 1);
        cores.into_values().max().unwrap_or(1) as f64
    }

    /// The most workers that a core has, those included that take turns.
    pub fn most_on_a_core(&self) -> f64 {
        let workers = self.phases.first().map_or(&[][..], |phase| &phase.workers[..]);
        let mut cores: BTreeMap<usize, usize> = BTreeMap::new();
        workers.iter().for_each(|one| *cores.entry(one.core).or_default() += 1);
        cores.into_values().max().unwrap_or(1) as f64
    }

    /// Mean cycles of a worker's counted part over its copies and all phases, if it ran.
    pub fn cycles(&self, worker: usize) -> Option<f64> {
        let workers = self.phases.iter().flat_map(|phase| &phase.workers);
        let cycles = workers.filter(|one| one.worker == worker).map(|one| one.cycles);
        let spread = Spread::of(cycles);
        (spread.mean > 0.0).then_some(spread.mean)
    }

    /// Work per second of each core, against that of a core which runs one worker as `reference` does:
    /// the SMT yield, if this is `full` and the reference `spread`. None if the workers differ.
    ///
    /// Each worker's work counts as its cycles in the reference do, so that programs of different length
    /// weigh the same.
    pub fn per_core(&self, reference: &Self) -> Option<Spread> {
        let cores = self.cores() as f64;
        let rate = |phase: &Phase| -> Option<f64> {
            phase.workers.iter().map(|one| Some(reference.cycles_like(one)? / one.cycles)).sum()
        };
        let rates: Option<Vec<f64>> = self.phases.iter().map(rate).collect();
        let own = reference.own_rate()?;
        Some(Spread::of(rates?.into_iter().map(|rate| rate / cores / own)))
    }

    /// Workers a core of it, as `per_core` counts them: 1 where each has a core to itself.
    fn own_rate(&self) -> Option<f64> {
        (self.cores() > 0).then(|| self.on_each())
    }

    /// Ratio of its workers' times to those of `reference`, each against itself: the core
    /// equivalence, if this is `packed` and the reference `spread`. None if the workers differ.
    pub fn time_against(&self, reference: &Self) -> Option<Spread> {
        let mean = |phase: &Phase| -> Option<f64> {
            let longer =
                phase.workers.iter().map(|one| Some(one.cycles / reference.cycles_like(one)?));
            let longer: Option<Vec<f64>> = longer.collect();
            let longer = longer?;
            Some(longer.iter().sum::<f64>() / longer.len().max(1) as f64)
        };
        let means: Option<Vec<f64>> = self.phases.iter().map(mean).collect();
        Some(Spread::of(means?.into_iter()))
    }
}
