//! Samples as series of logarithms: for each arm one number a block, its A/A twin averaged in.
//!
//! The twin is a second run of the same arm in the same block, so the mean of the two is the better
//! figure, and their difference shows how far identical arms can be apart.

use std::collections::BTreeMap;

use corun_record::{Arm, Sample};

use crate::comparison::Comparison;

/// The natural logarithms of a quantity, by arm and block.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// In block order, for every arm and every twin.
    by_arm: BTreeMap<String, Vec<f64>>,
    /// The twin of each arm.
    twins: BTreeMap<String, String>,
}

impl Series {
    /// The logarithms of throughput.
    pub fn of_throughput(arms: &[Arm], samples: &[Sample]) -> Self {
        Self::of(arms, samples, |sample| sample.throughput)
    }

    /// The logarithms of makespan, in seconds.
    pub fn of_makespan(arms: &[Arm], samples: &[Sample]) -> Self {
        Self::of(arms, samples, |sample| sample.makespan_s)
    }

    /// The logarithms of the energy of one operation, in joules; not numbers where the machine counts no energy.
    pub fn of_energy_per_operation(arms: &[Arm], samples: &[Sample]) -> Self {
        Self::of(arms, samples, |sample| sample.joules_per_operation().unwrap_or(f64::NAN))
    }

    /// The logarithms of what the slowest worker did in a second, over the mean of all workers.
    pub fn of_least_share(arms: &[Arm], samples: &[Sample]) -> Self {
        Self::of(arms, samples, |sample| {
            let rates = sample.workers.iter().map(|it| f64::from(it.runs) / it.seconds);
            let mean = rates.clone().sum::<f64>() / sample.workers.len() as f64;
            rates.fold(f64::INFINITY, f64::min) / mean
        })
    }

    /// The logarithms of any quantity of a sample.
    pub fn of(arms: &[Arm], samples: &[Sample], quantity: impl Fn(&Sample) -> f64) -> Self {
        let mut by_arm: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for sample in samples {
            by_arm.entry(sample.arm.clone()).or_default().push(quantity(sample).ln());
        }
        let twins =
            arms.iter().filter_map(|arm| Some((arm.twin_of.clone()?, arm.id.clone()))).collect();
        Self { by_arm, twins }
    }

    /// One logarithm a block: the arm and its twin averaged.
    pub fn arm(&self, id: &str) -> Vec<f64> {
        let own = self.raw(id);
        match self.twins.get(id).map(|twin| self.raw(twin)) {
            Some(twin) if twin.len() == own.len() => {
                own.iter().zip(twin).map(|(own, twin)| (own + twin) / 2.0).collect()
            }
            _ => own.to_vec(),
        }
    }

    /// The log ratio of an arm to its twin, one a block: the ratio of no difference.
    pub fn against_twin(&self, id: &str) -> Vec<f64> {
        let twin = self.twins.get(id).map_or(&[][..], |twin| self.raw(twin));
        self.raw(id).iter().zip(twin).map(|(own, twin)| own - twin).collect()
    }

    /// The log of the comparison's metric, one a block.
    pub fn comparison(&self, comparison: &Comparison) -> Vec<f64> {
        let pairs = self.arm(&comparison.arm).into_iter().zip(self.arm(&comparison.against));
        pairs
            .map(|(arm, against)| comparison.sign * (arm - against) + comparison.factor.ln())
            .collect()
    }

    fn raw(&self, id: &str) -> &[f64] {
        self.by_arm.get(id).map_or(&[], Vec::as_slice)
    }
}
