//! Which samples load of others disturbed, by what their workers waited for their CPUs.

use std::collections::BTreeMap;

use corun_record::{Arm, Sample};

use crate::comparison::Comparison;
use crate::statistics::{ForeignLoad, WAITED};

/// What the workers of each arm and twin waited, by block.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Waited {
    by_arm: BTreeMap<String, Vec<Option<f64>>>,
    twins: BTreeMap<String, String>,
}

impl Waited {
    /// What these samples say.
    pub(crate) fn of(arms: &[Arm], samples: &[Sample]) -> Self {
        let known: BTreeMap<&str, bool> =
            arms.iter().map(|arm| (arm.id.as_str(), tells_of_others(arm))).collect();
        let mut by_arm: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        for sample in samples {
            let tells = known.get(sample.arm.as_str()).copied().unwrap_or(false);
            let waited = sample.evidence.cpu_wait.filter(|_| tells);
            by_arm.entry(sample.arm.clone()).or_default().push(waited);
        }
        let twin = |arm: &Arm| Some((arm.twin_of.clone()?, arm.id.clone()));
        Self { by_arm, twins: arms.iter().filter_map(twin).collect() }
    }

    /// Whether any arm was disturbed often enough that blocks may be alike because of it.
    pub(crate) fn is_seen(&self) -> bool {
        self.by_arm.values().any(|blocks| {
            ForeignLoad::new(blocks.iter().map(|&waited| [waited, None]).collect()).is_seen()
        })
    }

    /// What disturbed the two arms of a comparison.
    pub(crate) fn between(&self, comparison: &Comparison) -> ForeignLoad {
        let pairs = self.arm(&comparison.arm).into_iter().zip(self.arm(&comparison.against));
        ForeignLoad::new(pairs.map(|(arm, against)| [arm, against]).collect())
    }

    /// The samples of an arm, its twin's included, of which it is known, and how many were disturbed.
    pub(crate) fn disturbed(&self, arm: &str) -> (usize, usize) {
        let twin = self.twins.get(arm).map(String::as_str);
        let ids = [Some(arm), twin];
        let all = ids.into_iter().flatten().filter_map(|id| self.by_arm.get(id));
        all.flatten().flatten().fold((0, 0), |(disturbed, known), waited| {
            (disturbed + usize::from(*waited > WAITED), known + 1)
        })
    }

    /// The mean of an arm and its twin, by block.
    fn arm(&self, id: &str) -> Vec<Option<f64>> {
        let own = self.by_arm.get(id).cloned().unwrap_or_default();
        let Some(twin) = self.twins.get(id).and_then(|twin| self.by_arm.get(twin)) else {
            return own;
        };
        let mean = |(own, twin): (Option<f64>, &Option<f64>)| match (own, *twin) {
            (Some(own), Some(twin)) => Some((own + twin) / 2.0),
            (own, twin) => own.or(twin),
        };
        own.into_iter().zip(twin).map(mean).collect()
    }
}

/// Workers that have a CPU each wait for nobody but others; where they share CPUs, or are placed by
/// the kernel, they wait for each other too.
pub(crate) fn tells_of_others(arm: &Arm) -> bool {
    let mut cpus = arm.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    !cpus.is_empty() && cpus.len() == arm.cpus.len()
}
