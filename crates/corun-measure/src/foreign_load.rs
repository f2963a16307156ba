//! Foreign load on each sample: CPU time that workers waited for, and the sibling of a core that should be idle.

use std::collections::BTreeMap;

use corun_record::{Arm, Sample};

use crate::comparison::Comparison;
use corun_stats::{Estimate, ForeignLoad, WAITED, steady};

/// An own wait of a larger share says no more.
const MAX_WAITING: f64 = 0.95;
/// A program that uses its CPUs for this share of its quietest run uses them alike in others: what it uses less there, while
/// tasks waited for CPUs, it lost.
const USES_ITS_CPUS: f64 = 0.95;
/// Runs that are shorter say nothing of that: they are mostly start and end.
const SHORTEST_RUN_S: f64 = 0.05;

/// Loss by load in one sample, as shares of its time, where that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LostShares {
    /// The worker that waited most, where it cannot have waited for another one.
    waited: Option<f64>,
    /// Loss to work on a sibling that should be idle.
    sibling: Option<f64>,
    /// All that is known to have been lost.
    lost: Option<f64>,
    /// Time in which the workers' CPUs did not run them, and which is not known to be lost.
    own_waiting: f64,
}

impl LostShares {
    /// Loss of a sample of an arm whose workers left their CPUs unused for `quietest` of the time where they were held up least.
    fn of(sample: &Sample, cpus_of_its_own: bool, quietest: Option<f64>) -> Self {
        let evidence = &sample.evidence;
        let waited = evidence.cpu_wait.filter(|_| cpus_of_its_own);
        let stolen = evidence.stolen.filter(|_| cpus_of_its_own);
        let unused = unused(sample);
        let pressure = evidence.cpu_pressure_s.map(|seconds| seconds / sample.makespan_s);
        let beyond_quietest = || {
            let quietest = quietest.filter(|&it| it <= 1.0 - USES_ITS_CPUS)?;
            Some((unused? - quietest).min(pressure?).max(0.0))
        };
        let others = waited.or_else(beyond_quietest).or(evidence.foreign_busy);
        let sibling = evidence.sibling_share();
        let held_up = match (evidence.undisturbed.by_elapsed, others) {
            (Some(by_elapsed), _) => 1.0 - sample.throughput / by_elapsed,
            (None, others) => others.unwrap_or(0.0),
        };
        Self {
            waited,
            sibling,
            lost: [with_stolen(others, stolen), sibling].into_iter().flatten().reduce(f64::max),
            own_waiting: (unused.unwrap_or(0.0) - held_up).max(0.0),
        }
    }
}

/// Shares that other tasks and the hypervisor took: waiting holds what is taken meanwhile.
fn with_stolen(others: Option<f64>, stolen: Option<f64>) -> Option<f64> {
    let left = |it: Option<f64>| 1.0 - it.unwrap_or(0.0);
    others.or(stolen).map(|_| 1.0 - left(others) * left(stolen))
}

/// The share of a sample's time in which the workers' CPUs did not run them.
fn unused(sample: &Sample) -> Option<f64> {
    let by_processor = sample.evidence.undisturbed.by_processor?;
    (sample.makespan_s >= SHORTEST_RUN_S)
        .then(|| (1.0 - sample.throughput / by_processor).clamp(0.0, 1.0))
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
        let original = |id: &str| {
            let arm = arms.iter().find(|arm| arm.id == id);
            arm.and_then(|arm| arm.twin_of.clone()).unwrap_or_else(|| id.to_owned())
        };
        let mut quietest: BTreeMap<String, f64> = BTreeMap::new();
        for sample in samples {
            if let Some(unused) = unused(sample) {
                let least = quietest.entry(original(&sample.arm)).or_insert(unused);
                *least = least.min(unused);
            }
        }
        let mut by_arm: BTreeMap<String, Vec<LostShares>> = BTreeMap::new();
        for sample in samples {
            let arm = arms.iter().find(|arm| arm.id == sample.arm);
            let own = arm.is_some_and(Arm::has_cpus_of_its_own);
            let quietest = quietest.get(&original(&sample.arm)).copied();
            let lost = LostShares::of(sample, own, quietest);
            by_arm.entry(sample.arm.clone()).or_default().push(lost);
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
        self.pairs([arm, against], |shares| shares.lost)
    }

    /// Work of others on siblings of two arms that should be idle.
    pub(crate) fn between_siblings(&self, arm: &str, against: &str) -> ForeignLoad {
        self.pairs([arm, against], |shares| shares.sibling)
    }

    /// True if the arm's program hardly waits for anything but others' work, so that processor time says how fast it is.
    pub(crate) fn uses_its_cpus(&self, arm: &str) -> bool {
        self.own_waiting(arm) <= -USES_ITS_CPUS.ln()
    }

    fn pairs(&self, arms: [&str; 2], of: fn(&LostShares) -> Option<f64>) -> ForeignLoad {
        let [arm, against] = arms.map(|arm| self.by_block(arm, of));
        let pairs = arm.into_iter().zip(against);
        ForeignLoad::new(pairs.map(|(arm, against)| [arm, against]).collect())
    }

    /// Mean reach of an arm's own waiting on the log scale: for nothing that is known to be others' work.
    pub(crate) fn own_waiting(&self, arm: &str) -> f64 {
        let own = self.by_block(arm, |shares| Some(shares.own_waiting));
        let logs = own.iter().flatten().map(|share| -(1.0 - share.min(MAX_WAITING)).ln());
        logs.sum::<f64>() / own.len().max(1) as f64
    }

    /// Waiting of the workers of an arm, its twin's included, in every sample where it is known.
    pub(crate) fn waits(&self, arm: &str) -> Vec<f64> {
        let ids = [Some(arm), self.twins.get(arm).map(String::as_str)];
        let all = ids.into_iter().flatten().filter_map(|id| self.by_arm.get(id));
        all.flatten().filter_map(|taken| taken.waited).collect()
    }

    /// The mean of an arm and its twin, by block.
    fn by_block(&self, id: &str, share: fn(&LostShares) -> Option<f64>) -> Vec<Option<f64>> {
        let of = |id: &str| -> Vec<Option<f64>> {
            self.by_arm.get(id).into_iter().flatten().map(share).collect()
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

/// The mean of one log a block, with an interval at `level` that holds what load of others may have done; `load_seen`
/// says whether the run saw any.
pub fn estimate(logs: &[f64], level: f64, load_seen: bool, load: &ForeignLoad) -> Option<Estimate> {
    Some(steady(logs, level, load_seen)?.allowing(load.allowance()))
}

/// True if a worker waits for its CPU for longer than chance has it.
pub(crate) fn is_long(waited: f64) -> bool {
    waited > WAITED
}

/// The share of its time that a sample of this arm is known to have lost to other work.
pub(crate) fn lost_share(sample: &Sample, arm: &Arm) -> Option<f64> {
    sample.evidence.lost_share(arm.has_cpus_of_its_own())
}

#[cfg(test)]
mod tests {
    use corun_record::{Evidence, Undisturbed};

    use super::*;
    use crate::testing::arm;

    /// A sample of a second, whose children used so much of a CPU while tasks waited for CPUs for so long.
    fn sample(used: f64, pressure_s: f64) -> Sample {
        let by_processor = Some(1.0 / used);
        Sample {
            arm: "single".to_owned(),
            makespan_s: 1.0,
            throughput: 1.0,
            evidence: Evidence {
                cpu_pressure_s: Some(pressure_s),
                undisturbed: Undisturbed { by_processor, ..Undisturbed::default() },
                ..Evidence::default()
            },
            ..Sample::default()
        }
    }

    fn load(samples: &[Sample]) -> ForeignLoadByArm {
        ForeignLoadByArm::of(&[arm("single", 1, 1, &[0])], samples)
    }

    #[test]
    fn what_children_waited_for_shows_in_the_time_that_they_used() {
        let samples = [sample(0.99, 0.0), sample(0.6, 0.9), sample(0.7, 0.9)];
        let load = load(&samples);
        assert!(load.is_seen());
        let lost: Vec<f64> = load.by_arm["single"].iter().filter_map(|it| it.lost).collect();
        assert!((lost[1] - 0.39).abs() < 1e-9 && lost[0] == 0.0, "{lost:?}");
        assert!((load.own_waiting("single") - 0.01).abs() < 1e-3);
    }

    #[test]
    fn what_a_program_waits_for_itself_is_no_load() {
        let disk = [sample(0.99, 0.0), sample(0.6, 0.0), sample(0.7, 0.0)];
        assert!(!load(&disk).is_seen(), "nothing waited for a CPU");
        assert!(load(&disk).own_waiting("single") > 0.2);
        let sleeper = [sample(0.5, 0.9), sample(0.4, 0.9)];
        assert!(!load(&sleeper).is_seen(), "it never uses its CPU all the time");
    }
}
