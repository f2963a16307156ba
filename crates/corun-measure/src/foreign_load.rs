//! Foreign load on each sample: CPU time that workers waited for, and the sibling of a core that should be idle.

use std::collections::BTreeMap;

use corun_record::{Arm, Sample};

use crate::comparison::Comparison;
use corun_stats::{ForeignLoad, WAITED};

/// Loss by load in one sample, as shares of its time, where that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LostShares {
    /// The worker that waited most, where it cannot have waited for another one.
    waited: Option<f64>,
    /// All that is known to have been lost.
    lost: Option<f64>,
}

/// Loss by load of each arm and twin, by block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForeignLoadByArm {
    by_arm: BTreeMap<String, Vec<LostShares>>,
    twins: BTreeMap<String, String>,
}

impl ForeignLoadByArm {
    /// Foreign load by these samples.
    pub fn of(arms: &[Arm], samples: &[Sample]) -> Self {
        let mut by_arm: BTreeMap<String, Vec<LostShares>> = BTreeMap::new();
        for sample in samples {
            let arm = arms.iter().find(|arm| arm.id == sample.arm);
            let taken = taken(sample, arm.is_some_and(Arm::has_cpus_of_its_own));
            by_arm.entry(sample.arm.clone()).or_default().push(taken);
        }
        let twin = |arm: &Arm| Some((arm.twin_of.clone()?, arm.id.clone()));
        Self { by_arm, twins: arms.iter().filter_map(twin).collect() }
    }

    /// True if any arm was disturbed often enough that blocks may be alike because of it.
    pub fn is_seen(&self) -> bool {
        self.by_arm.values().any(|blocks| {
            ForeignLoad::new(blocks.iter().map(|taken| [taken.lost, None]).collect()).is_seen()
        })
    }

    /// Foreign load of the two arms of a comparison.
    pub(crate) fn between(&self, comparison: &Comparison) -> ForeignLoad {
        self.between_arms(&comparison.arm, &comparison.against)
    }

    /// Foreign load of two arms.
    pub fn between_arms(&self, arm: &str, against: &str) -> ForeignLoad {
        let pairs = self.lost(arm).into_iter().zip(self.lost(against));
        ForeignLoad::new(pairs.map(|(arm, against)| [arm, against]).collect())
    }

    /// Waiting of the workers of an arm, its twin's included, in every sample where it is known.
    pub(crate) fn waits(&self, arm: &str) -> Vec<f64> {
        let ids = [Some(arm), self.twins.get(arm).map(String::as_str)];
        let all = ids.into_iter().flatten().filter_map(|id| self.by_arm.get(id));
        all.flatten().filter_map(|taken| taken.waited).collect()
    }

    /// The mean of an arm and its twin, by block.
    fn lost(&self, id: &str) -> Vec<Option<f64>> {
        let of = |id: &str| -> Vec<Option<f64>> {
            self.by_arm.get(id).into_iter().flatten().map(|taken| taken.lost).collect()
        };
        let own = of(id);
        let twin = self.twins.get(id).map(|twin| of(twin)).unwrap_or_default();
        if twin.len() != own.len() {
            return own;
        }
        let mean = |(own, twin): (Option<f64>, Option<f64>)| match (own, twin) {
            (Some(own), Some(twin)) => Some((own + twin) / 2.0),
            (own, twin) => own.or(twin),
        };
        own.into_iter().zip(twin).map(mean).collect()
    }
}

/// True if a worker waits for its CPU for longer than chance has it.
pub(crate) fn is_long(waited: f64) -> bool {
    waited > WAITED
}

/// The share of its time that a sample of this arm is known to have lost to other work.
pub(crate) fn lost_share(sample: &Sample, arm: &Arm) -> Option<f64> {
    taken(sample, arm.has_cpus_of_its_own()).lost
}

fn taken(sample: &Sample, cpus_of_its_own: bool) -> LostShares {
    let evidence = &sample.evidence;
    let waited = evidence.cpu_wait.filter(|_| cpus_of_its_own);
    LostShares { waited, lost: evidence.lost_share(cpus_of_its_own) }
}
