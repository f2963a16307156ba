//! The curve from samples: shares of the work that all logical CPUs do together, compared within blocks.

use corun_measure::analysis::{estimate, noise_floor, ratio};
use corun_measure::foreign_load::ForeignLoadByArm;
use corun_measure::series::Series;
use corun_record::{
    CapacityLevel, CapacityPoint, Estimate, Filling, FillingCurve, Metric, Observation, Sample,
    Source,
};
use corun_stats::ForeignLoad;

use super::design::CurveDesign;

/// The orders of filling.
pub(super) const ORDERS: [Filling; 2] = [Filling::CoresFirst, Filling::SiblingsFirst];

/// Used capacity by samples.
pub struct UsedCapacity<'a> {
    design: &'a CurveDesign,
    samples: &'a [Sample],
    throughput: Series,
    disturbed: ForeignLoadByArm,
    /// The level of intervals.
    level: f64,
    /// True if other work was seen, so that blocks may be alike.
    load_seen: bool,
}

/// Curve for a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// The curves, by order of filling.
    pub orders: Vec<FillingCurve>,
    /// The capacity used at 10, 20, ... 100 %.
    pub levels: Vec<CapacityLevel>,
    /// X(full)/X(spread).
    pub smt_yield: Option<Estimate>,
    /// The shares of a core that 1, 2, ... S siblings use.
    pub core_use: Vec<Estimate>,
    /// X(spread)/(C * X(single)).
    pub scaling: Option<Estimate>,
    /// Capacities and throughputs as observations.
    pub observations: Vec<Observation>,
}

/// The curve that these samples give, with intervals at `level`; empty where there are too few blocks.
pub fn curve_of(design: &CurveDesign, samples: &[Sample], level: f64) -> Curve {
    let used = UsedCapacity::new(design, samples, level);
    let order = |filling| {
        let points = design.points(filling).iter();
        let point = |(busy, arm): &(u32, String)| {
            Some(CapacityPoint {
                arm: Some(arm.clone()),
                busy: *busy,
                nominal: f64::from(*busy) / f64::from(design.cpus()),
                reported: used.reported(arm),
                used: used.at(filling, f64::from(*busy))?,
            })
        };
        FillingCurve { filling, points: points.filter_map(point).collect() }
    };
    let level_at = |tenth: u32| {
        let reported = f64::from(tenth) / 10.0;
        let at = |filling| used.at(filling, reported * f64::from(design.cpus()));
        Some(CapacityLevel {
            reported,
            cores_first: at(Filling::CoresFirst)?,
            siblings_first: at(Filling::SiblingsFirst)?,
        })
    };
    let smt_yield = design.yield_arms().and_then(|[all, one]| used.ratio(all, one, 1.0));
    let scaling = used.scaling();
    Curve {
        orders: ORDERS.map(order).into_iter().filter(|it| !it.points.is_empty()).collect(),
        levels: (1..=10).filter_map(level_at).collect(),
        smt_yield,
        core_use: used.core_use().unwrap_or_default(),
        scaling,
        observations: used.observations(smt_yield, scaling),
    }
}

impl<'a> UsedCapacity<'a> {
    /// Used capacity by these samples, with intervals at `level`.
    pub fn new(design: &'a CurveDesign, samples: &'a [Sample], level: f64) -> Self {
        let disturbed = ForeignLoadByArm::of(design.arms(), samples);
        let load_seen = disturbed.is_seen();
        let throughput = Series::of_throughput(design.arms(), samples);
        Self { design, samples, throughput, disturbed, level, load_seen }
    }

    /// The share of the capacity that so many busy logical CPUs use; a number between two that ran stands for time shared by
    /// both. `None` where there are too few blocks.
    pub fn at(&self, filling: Filling, busy: f64) -> Option<Estimate> {
        let points = self.design.points(filling);
        let above = points.iter().position(|(it, _)| f64::from(*it) >= busy - 1e-9)?;
        let (more, arm) = &points[above];
        let below = above.checked_sub(1).map(|it| &points[it]);
        let fewer = below.map_or(0.0, |it| f64::from(it.0));
        let part = ((busy - fewer) / (f64::from(*more) - fewer)).clamp(0.0, 1.0);
        let below = below.map(|it| self.throughput.arm(&it.1));
        let own = self.throughput.arm(arm);
        let logs = own.iter().enumerate().map(|(block, log)| {
            let below = below.as_ref().and_then(|it| it.get(block)).map_or(0.0, |it| it.exp());
            (part * log.exp() + (1.0 - part) * below).ln()
        });
        self.against(logs.collect(), arm, self.design.full()?, 1.0)
    }

    /// X of an arm over X of another, times a factor.
    fn ratio(&self, arm: &str, against: &str, factor: f64) -> Option<Estimate> {
        self.against(self.throughput.arm(arm), arm, against, factor)
    }

    /// The mean of a log a block, over X of another arm; its interval holds what other work took from either.
    fn against(&self, logs: Vec<f64>, arm: &str, other: &str, factor: f64) -> Option<Estimate> {
        let pairs = logs.into_iter().zip(self.throughput.arm(other));
        let logs: Vec<f64> = pairs.map(|(log, other)| log - other + factor.ln()).collect();
        let load = self.disturbed.between_arms(arm, other);
        ratio(&estimate(&logs, self.level, self.load_seen, &load)?)
    }

    fn of(&self, id: &str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.arm == id)
    }

    /// The utilisation that the kernel reported while an arm ran.
    fn reported(&self, id: &str) -> Option<f64> {
        let busy: Vec<f64> = self.of(id).filter_map(|it| it.evidence.busy_cpus).collect();
        let mean = busy.iter().sum::<f64>() / busy.len() as f64;
        (!busy.is_empty()).then(|| (mean / f64::from(self.design.cpus())).min(1.0))
    }

    /// The shares of a core that 1, 2, ... S of its siblings use, where all cores have as many.
    fn core_use(&self) -> Option<Vec<Estimate>> {
        let width = self.design.smt_width();
        if width < 2 || !self.design.is_even() {
            return None;
        }
        let cores = self.design.cores().len() as u32;
        (1..=width)
            .map(|siblings| self.at(Filling::CoresFirst, f64::from(siblings * cores)))
            .collect()
    }

    fn scaling(&self) -> Option<Estimate> {
        let cores = self.design.cores().len() as u32;
        if cores < 2 || !self.design.has_one_type() {
            return None;
        }
        let all = self.design.arm_of(Filling::CoresFirst, cores)?;
        let one = self.design.arm_of(Filling::CoresFirst, 1)?;
        self.ratio(all, one, 1.0 / f64::from(cores))
    }

    fn observations(
        &self,
        smt_yield: Option<Estimate>,
        scaling: Option<Estimate>,
    ) -> Vec<Observation> {
        let seen = |metric, arm: &str, against: Option<&str>, unit: &str, estimate| Observation {
            metric,
            arm: arm.to_owned(),
            against: against.map(str::to_owned),
            of: None,
            unit: unit.to_owned(),
            estimate,
            bootstrap: None,
            source: Source::Measured,
        };
        let mut all = Vec::new();
        for arm in self.design.arms().iter().filter(|arm| arm.twin_of.is_none()) {
            let logs = self.throughput.arm(&arm.id);
            let estimate = estimate(&logs, self.level, self.load_seen, &ForeignLoad::default());
            let throughput = estimate.and_then(|it| ratio(&it));
            all.extend(
                throughput.map(|it| seen(Metric::Throughput, &arm.id, None, "operations/s", it)),
            );
        }
        if let (Some([arm, against]), Some(estimate)) = (self.design.yield_arms(), smt_yield) {
            all.push(seen(Metric::SmtYield, arm, Some(against), "1", estimate));
        }
        let cores = self.design.cores().len() as u32;
        let arms = [cores, 1].map(|busy| self.design.arm_of(Filling::CoresFirst, busy));
        if let ([Some(arm), Some(against)], Some(estimate)) = (arms, scaling) {
            all.push(seen(Metric::Scaling, arm, Some(against), "1", estimate));
        }
        all.extend(self.noise_floor());
        all
    }

    /// The random difference to expect between two runs with all CPUs busy.
    fn noise_floor(&self) -> Option<Observation> {
        let full = self.design.full()?;
        let against = Some(format!("{full}.aa"));
        Some(Observation { against, ..noise_floor(&self.throughput, full)? })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use corun_record::{Arm, CapacityCurve, Evidence, Mode, Workload};

    use super::*;
    use crate::capacity::design::tests::cores;

    /// A curve that says nothing.
    pub(crate) fn empty_curve() -> CapacityCurve {
        CapacityCurve {
            workload: Workload {
                name: "fib".to_owned(),
                command: Vec::new(),
                parameters: BTreeMap::new(),
                mode: Mode::Copies,
                operation: "operations".to_owned(),
                operations: 1.0,
                steady: true,
                load: None,
                program: None,
                input: None,
                prepare: None,
            },
            mix: Vec::new(),
            source: Source::Measured,
            model: None,
            cores: 2,
            cpus: 4,
            smt_width: 2,
            answer: None,
            orders: Vec::new(),
            levels: Vec::new(),
            smt_yield: None,
            core_use: Vec::new(),
            scaling: None,
            reasons: Vec::new(),
            advice: Vec::new(),
            design: None,
            arms: Vec::new(),
            observations: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Three blocks in which an arm does what `work` says, but for what a block does to all.
    pub(crate) fn samples(design: &CurveDesign, work: impl Fn(&Arm) -> f64) -> Vec<Sample> {
        let sample = |block: u32, arm: &Arm| Sample {
            block,
            arm: arm.id.clone(),
            makespan_s: 1.0,
            throughput: work(arm) * (1.0 + 0.1 * f64::from(block)),
            evidence: Evidence {
                busy_cpus: Some(f64::from(arm.workers)),
                user_s: f64::from(arm.workers),
                ..Evidence::default()
            },
            ..Sample::default()
        };
        (0..3).flat_map(|block| design.arms().iter().map(move |arm| sample(block, arm))).collect()
    }

    /// The work of cores that do not slow each other, of which a second sibling adds a quarter.
    fn quarter(arm: &Arm) -> f64 {
        f64::from(arm.cores) + 0.25 * f64::from(arm.workers - arm.cores)
    }

    #[test]
    fn a_known_machine_gives_the_known_curve() {
        let design = CurveDesign::new(cores(&[2, 2]));
        let curve = curve_of(&design, &samples(&design, quarter), 0.95);
        let used = |filling| -> Vec<String> {
            let order = curve.orders.iter().find(|it| it.filling == filling).unwrap();
            order.points.iter().map(|it| format!("{}:{:.2}", it.nominal, it.used.value)).collect()
        };
        assert_eq!(used(Filling::CoresFirst), ["0.25:0.40", "0.5:0.80", "0.75:0.90", "1:1.00"]);
        assert_eq!(used(Filling::SiblingsFirst), ["0.25:0.40", "0.5:0.50", "0.75:0.90", "1:1.00"]);
        let levels: Vec<String> = curve
            .levels
            .iter()
            .map(|it| format!("{:.2} {:.2}", it.siblings_first.value, it.cores_first.value))
            .collect();
        assert_eq!(levels[4], "0.50 0.80");
        assert_eq!(levels[0], "0.16 0.16", "a tenth is two fifths of the time with one CPU busy");
        assert_eq!(levels[9], "1.00 1.00");
        assert!((curve.smt_yield.unwrap().value - 1.25).abs() < 1e-9);
        assert!((curve.scaling.unwrap().value - 1.0).abs() < 1e-9);
        let core_use: Vec<f64> = curve.core_use.iter().map(|it| it.value).collect();
        assert!((core_use[0] - 0.8).abs() < 1e-9 && core_use[1] == 1.0, "{core_use:?}");
        assert_eq!(curve.orders[0].points[1].reported, Some(0.5));
    }

    #[test]
    fn what_is_not_shared_by_all_cores_is_the_yield_of_the_wide_ones() {
        let design = CurveDesign::new(cores(&[2, 2, 1, 1]));
        let curve = curve_of(&design, &samples(&design, quarter), 0.95);
        assert!((curve.smt_yield.unwrap().value - 1.25).abs() < 1e-9);
        assert_eq!(curve.core_use, []);
    }

    #[test]
    fn a_block_is_not_enough() {
        let design = CurveDesign::new(cores(&[2, 2]));
        let mut one = samples(&design, quarter);
        one.retain(|it| it.block == 0);
        let curve = curve_of(&design, &one, 0.95);
        assert_eq!(curve, Curve::default());
        assert_eq!(curve_of(&design, &[], 0.95), Curve::default());
    }
}
