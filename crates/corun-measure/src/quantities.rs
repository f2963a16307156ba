//! The quantity that a comparison rests on: elapsed time, or, beside other work, one that this work is no part of.
//!
//! Blocks pair the arms in each quantity, so that what other work adds to caches and clocks mostly cancels. Of the two
//! quantities without other work that both arms have, the one with the narrower interval is taken.

use corun_record::{Arm, Caveat, Sample};
use corun_stats::{Estimate, percent, steady};

use crate::comparison::Comparison;
use crate::foreign_load::{ForeignLoadByArm, estimate};
use crate::series::Series;

/// Quantity of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quantity {
    /// Elapsed time as it was.
    Elapsed,
    /// Elapsed time less what workers waited for their CPUs, and what the hypervisor took where that is known of all.
    WithoutWaits,
    /// Processor time.
    ProcessorTime,
}

/// Throughput by each quantity.
pub(crate) struct Quantities {
    elapsed: Series,
    without_waits: Series,
    processor_time: Series,
    pub(crate) load: ForeignLoadByArm,
    /// True if load of others was seen in this run.
    load_seen: bool,
    /// True if the hypervisor took time, which is not in elapsed time without waits.
    has_steal: bool,
}

impl Quantities {
    pub(crate) fn of(arms: &[Arm], samples: &[Sample]) -> Self {
        let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let load = ForeignLoadByArm::of(arms, samples);
        // Of all samples or of none: what was taken out of one arm alone would be a difference.
        let mut elapsed = samples.iter().map(|it| it.evidence.undisturbed);
        let has_steal = elapsed.all(|it| it.by_elapsed.is_none() || it.without_steal.is_some());
        Self {
            elapsed: Series::of_throughput(arms, samples),
            without_waits: Series::of(arms, samples, |sample| {
                let undisturbed = sample.evidence.undisturbed;
                known(undisturbed.without_steal.filter(|_| has_steal).or(undisturbed.by_elapsed))
            }),
            processor_time: Series::of(arms, samples, |sample| {
                known(sample.evidence.undisturbed.by_processor)
            }),
            load_seen: load.is_seen(),
            has_steal: has_steal && samples.iter().any(|it| it.evidence.stolen > Some(0.0)),
            load,
        }
    }

    /// Throughput as it was.
    pub(crate) fn elapsed(&self) -> &Series {
        &self.elapsed
    }

    pub(crate) fn series(&self, quantity: Quantity) -> &Series {
        match quantity {
            Quantity::Elapsed => &self.elapsed,
            Quantity::WithoutWaits => &self.without_waits,
            Quantity::ProcessorTime => &self.processor_time,
        }
    }

    /// The quantity that a comparison rests on at this level.
    pub(crate) fn chosen(&self, comparison: &Comparison, level: f64) -> Quantity {
        if !self.load.between(comparison).is_seen() {
            return Quantity::Elapsed;
        }
        let uses_its_cpus = |arm: &String| self.load.uses_its_cpus(arm);
        let is_fair = |quantity: &Quantity| {
            *quantity != Quantity::ProcessorTime
                || [&comparison.arm, &comparison.against].into_iter().all(uses_its_cpus)
        };
        let width = |quantity: &Quantity| {
            let logs = self.series(*quantity).comparison(comparison);
            self.estimate(*quantity, comparison, &logs, level).map(|it| it.half_width())
        };
        [Quantity::WithoutWaits, Quantity::ProcessorTime]
            .into_iter()
            .filter(is_fair)
            .filter_map(|quantity| Some((width(&quantity)?, quantity)))
            .min_by(|(one, _), (other, _)| one.total_cmp(other))
            .map_or(Quantity::Elapsed, |(_, quantity)| quantity)
    }

    /// The mean of a comparison's logs in this quantity, with an interval that holds what load may still have done; `None`
    /// where the quantity is not known in every sample of both arms.
    pub(crate) fn estimate(
        &self,
        quantity: Quantity,
        comparison: &Comparison,
        logs: &[f64],
        level: f64,
    ) -> Option<Estimate> {
        let Comparison { arm, against, .. } = comparison;
        let allowance = match quantity {
            Quantity::Elapsed => {
                return estimate(logs, level, self.load_seen, &self.load.between(comparison));
            }
            Quantity::WithoutWaits => self.load.between_siblings(arm, against).allowance(),
            Quantity::ProcessorTime => {
                let own = [arm, against].map(|arm| self.load.own_waiting(arm));
                let siblings = self.load.between_siblings(arm, against).allowance();
                own.into_iter().fold(0.0, f64::max) + siblings
            }
        };
        // The load that would make blocks alike is not in it; what else does so shows in the values.
        Some(steady(logs, level, false)?.allowing(allowance))
    }

    /// Caveat that time was taken out of comparisons: how much, and what that assumes.
    pub(crate) fn caveat<'a>(
        &self,
        comparisons: impl Iterator<Item = &'a Comparison> + Clone,
        level: f64,
    ) -> Option<Caveat> {
        let chosen = comparisons.map(|it| (self.chosen(it, level), it));
        let taken_out = |quantity: Quantity| {
            let mut arms: Vec<&str> = chosen
                .clone()
                .filter(|(chosen, _)| *chosen == quantity)
                .flat_map(|(_, it)| [it.arm.as_str(), it.against.as_str()])
                .collect();
            arms.sort_unstable();
            arms.dedup();
            let share = |arm: &&str| {
                let logs = self.series(quantity).arm(arm);
                let taken = self.elapsed.arm(arm).into_iter().zip(logs).map(|(was, is)| was - is);
                let mean = taken.sum::<f64>() / self.elapsed.arm(arm).len().max(1) as f64;
                format!("{arm} {}", percent((-mean.exp_m1()).clamp(0.0, 1.0)))
            };
            let own = arms.iter().map(|arm| self.load.own_waiting(arm)).fold(0.0, f64::max);
            let shares = arms.iter().map(share).collect::<Vec<_>>().join(", ");
            (!arms.is_empty()).then_some((shares, own))
        };
        let waits = taken_out(Quantity::WithoutWaits).map(|(shares, _)| {
            let (hypervisor, steal) = match self.has_steal {
                true => (" and the hypervisor", ", and the steal of the rest of the time"),
                false => ("", ""),
            };
            format!(
                "What other programs{hypervisor} took is not in the comparisons ({shares} of the time): it is taken to be what \
                 workers, each with a CPU of its own, waited for it{steal}, and nothing is taken out for caches that others used."
            )
        });
        let processor = taken_out(Quantity::ProcessorTime).map(|(shares, own)| {
            format!(
                "Processor time is compared, not elapsed time ({shares} of that is not in it): other programs took the rest, as \
                 far as the program itself does not wait, which intervals allow {} for.",
                percent(own.exp_m1())
            )
        });
        let sentences: Vec<String> = [waits, processor].into_iter().flatten().collect();
        (!sentences.is_empty()).then(|| Caveat::new("without-foreign-load", sentences.join(" ")))
    }
}
