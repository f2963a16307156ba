//! What the phases of a placement say together, and one placement against another.

use corun_record::Placement;

use crate::together::Phase;

/// A placement, simulated.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Which.
    pub placement: Placement,
    /// Each phase; never none.
    pub phases: Vec<Phase>,
}

/// A figure of several phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean over phases.
    pub mean: f64,
    /// The phase with the least.
    pub least: f64,
    /// The phase with the most.
    pub most: f64,
}

impl Spread {
    /// Of one figure a phase.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut least, mut most) = (0, 0.0, f64::MAX, f64::MIN);
        for value in values {
            (count, sum) = (count + 1, sum + value);
            (least, most) = (f64::min(least, value), f64::max(most, value));
        }
        Self { mean: sum / f64::from(count.max(1)), least, most }
    }
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
            phase.workers.iter().map(|one| Some(reference.cycles(one.worker)? / one.cycles)).sum()
        };
        let rates: Option<Vec<f64>> = self.phases.iter().map(rate).collect();
        let own = reference.own_rate()?;
        Some(Spread::of(rates?.into_iter().map(|rate| rate / cores / own)))
    }

    /// Workers a core of it, as `per_core` counts them: 1 where each has a core to itself.
    fn own_rate(&self) -> Option<f64> {
        (self.cores() > 0).then(|| self.on_each())
    }

    /// How much longer its workers take than those of `reference`, each against itself: the core
    /// equivalence, if this is `packed` and the reference `spread`. None if the workers differ.
    pub fn time_against(&self, reference: &Self) -> Option<Spread> {
        let mean = |phase: &Phase| -> Option<f64> {
            let longer =
                phase.workers.iter().map(|one| Some(one.cycles / reference.cycles(one.worker)?));
            let longer: Option<Vec<f64>> = longer.collect();
            let longer = longer?;
            Some(longer.iter().sum::<f64>() / longer.len().max(1) as f64)
        };
        let means: Option<Vec<f64>> = self.phases.iter().map(mean).collect();
        Some(Spread::of(means?.into_iter()))
    }
}
