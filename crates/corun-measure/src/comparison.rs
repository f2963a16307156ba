//! Which arms are compared with which, and what the comparison is called.
//!
//! Every comparison is a ratio of throughputs, perhaps turned round (costs in time) and scaled, so
//! one analysis serves them all: log value = sign * (ln X(arm) - ln X(against)) + ln factor.

use corun_record::{Arm, Metric, Placement, SmtState};

/// Relation of the workers of one arm to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// Each does as much as any other, in a time of its own.
    Alike,
    /// Each is counted over one window, in which some may do more than others.
    Counted,
    /// Some work and others wait for them or hand work on.
    Together,
    /// They are a server's, and are not distinguished.
    Service,
}

/// A metric between two arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Metric of the comparison.
    pub metric: Metric,
    /// The arm it is said of.
    pub arm: String,
    /// The arm it is compared with.
    pub against: String,
    /// +1 for a ratio of throughputs, -1 for a ratio of times.
    pub sign: f64,
    /// A constant factor of the metric.
    pub factor: f64,
}

impl Comparison {
    fn throughputs(metric: Metric, arm: &Arm, against: &Arm) -> Self {
        Self { metric, arm: arm.id.clone(), against: against.id.clone(), sign: 1.0, factor: 1.0 }
    }

    fn times(metric: Metric, arm: &Arm, against: &Arm) -> Self {
        Self { sign: -1.0, ..Self::throughputs(metric, arm, against) }
    }

    fn scaled(self, factor: f64) -> Self {
        Self { factor, ..self }
    }

    /// The comparison that the verdict rests on: of all the work that the arms do, whatever the metric divides it by.
    pub fn of_all_work(&self) -> Self {
        self.clone().scaled(1.0)
    }

    /// True if a verdict is given on it; the others restate one that is.
    pub fn is_judged(&self) -> bool {
        !matches!(self.metric, Metric::SiblingSlowdown | Metric::RelativeThroughput)
    }
}

/// Every comparison that these arms allow, in table order; twins are left out.
pub fn comparisons(arms: &[Arm]) -> Vec<Comparison> {
    let arms: Vec<&Arm> = arms.iter().filter(|arm| arm.twin_of.is_none()).collect();
    arms.iter().flat_map(|arm| of_arm(arm, &arms)).collect()
}

fn of_arm(arm: &Arm, arms: &[&Arm]) -> Vec<Comparison> {
    let find = |wanted: &dyn Fn(&Arm) -> bool| {
        arms.iter().copied().find(|other| {
            other.core_type == arm.core_type
                && other.variant.is_none()
                && other.smt == arm.smt
                && wanted(other)
        })
    };
    let mut found = Vec::new();
    if arm.variant.is_some() {
        if let Some(own) = find(&|other| other.placement == arm.placement) {
            found.push(Comparison::times(Metric::SharingPenalty, arm, own));
        }
        return found;
    }
    let spread = find(&|other| other.placement == Placement::Spread(None));
    match (arm.placement, spread) {
        (Placement::Spread(None), _) => {
            if let Some(single) = find(&|other| other.placement == Placement::Single) {
                let cores = f64::from(arm.cores);
                found.push(
                    Comparison::throughputs(Metric::Scaling, arm, single).scaled(1.0 / cores),
                );
            }
        }
        (Placement::Full(_), Some(spread)) => {
            let workers_a_core = f64::from(arm.workers) / f64::from(arm.cores);
            found.push(Comparison::throughputs(Metric::SmtYield, arm, spread));
            found.push(
                Comparison::times(Metric::SiblingSlowdown, arm, spread).scaled(workers_a_core),
            );
        }
        (Placement::Stacked, Some(spread)) => {
            found.push(Comparison::throughputs(Metric::TimeSlicing, arm, spread));
        }
        _ => {}
    }
    match arm.placement {
        Placement::Full(_) => {
            if let Some(stacked) =
                find(&|other| other.placement == Placement::Stacked && other.workers == arm.workers)
            {
                found.push(Comparison::throughputs(Metric::MultitaskingGain, arm, stacked));
            }
        }
        Placement::Packed(_) | Placement::Scatter(_) => {
            if let Some(same_number) = find(&|other| {
                matches!(other.placement, Placement::Spread(_)) && other.workers == arm.workers
            }) {
                found.push(Comparison::times(Metric::CoreEquivalence, arm, same_number));
            }
        }
        Placement::Free(_) => {
            let pinned = |other: &Arm| {
                matches!(other.placement, Placement::Full(_) | Placement::Spread(_))
                    && other.workers == arm.workers
            };
            if let Some(pinned) = find(&pinned) {
                found.push(Comparison::throughputs(Metric::FreePlacement, arm, pinned));
            }
        }
        _ => {}
    }
    found.extend(to_first_listed(arm, arms));
    found.extend(across_switch(arm, arms));
    found.extend(in_sweep(arm, arms, &found));
    let spread = arms.iter().copied().find(|other| {
        other.core_type == arm.core_type
            && other.variant.is_none()
            && other.smt != Some(SmtState::Off)
            && other.placement == Placement::Spread(None)
    });
    if let Some(spread) = spread.filter(|spread| spread.id != arm.id) {
        found.push(Comparison::throughputs(Metric::RelativeThroughput, arm, spread));
    }
    found
}

/// Comparison with the first arm whose CPUs were listed, whatever its cores.
fn to_first_listed(arm: &Arm, arms: &[&Arm]) -> Option<Comparison> {
    let first = arms.iter().find(|it| it.placement == Placement::Cpus && it.smt == arm.smt)?;
    (first.id != arm.id).then(|| Comparison::throughputs(Metric::RelativeToFirst, arm, first))
}

/// Reference of an arm of a sweep of numbers of workers: the arm with the fewest workers, a pinned one where there
/// are several. `full@K` has a natural reference, `spread`; what that says is not said twice.
fn in_sweep(arm: &Arm, arms: &[&Arm], natural: &[Comparison]) -> Option<Comparison> {
    let is_told = natural.iter().any(Comparison::is_judged);
    match arm.placement {
        Placement::Spread(Some(_)) | Placement::Free(Some(_)) => {}
        Placement::Full(Some(_)) if !is_told => {}
        _ => return None,
    }
    let may_be_reference = |other: &&&Arm| {
        let is_free = matches!(other.placement, Placement::Free(_));
        let is_pinned = matches!(
            other.placement,
            Placement::Single | Placement::Spread(_) | Placement::Full(_)
        );
        (is_free || is_pinned)
            && other.variant.is_none()
            && (&other.core_type, other.smt) == (&arm.core_type, arm.smt)
    };
    let fewest = arms
        .iter()
        .filter(may_be_reference)
        .min_by_key(|other| (other.workers, matches!(other.placement, Placement::Free(_))))?;
    (fewest.workers < arm.workers).then(|| Comparison::throughputs(Metric::Speedup, arm, fewest))
}

/// Comparisons of an arm with SMT on with those with SMT off.
fn across_switch(arm: &Arm, arms: &[&Arm]) -> Vec<Comparison> {
    let find = |wanted: &dyn Fn(&Arm) -> bool| {
        arms.iter().copied().find(|other| {
            other.core_type == arm.core_type && other.smt == Some(SmtState::Off) && wanted(other)
        })
    };
    if arm.smt != Some(SmtState::On) {
        return Vec::new();
    }
    match arm.placement {
        Placement::Free(_) => find(&|other| other.placement == arm.placement)
            .map(|off| Comparison::throughputs(Metric::SwitchGain, arm, off))
            .into_iter()
            .collect(),
        Placement::Full(_) => {
            let spread = find(&|other| other.placement == Placement::Spread(None));
            let stacked = find(&|other| {
                other.placement == Placement::Stacked && other.workers == arm.workers
            });
            let yielded = |off| Comparison::throughputs(Metric::SwitchYield, arm, off);
            let gained = |off| Comparison::throughputs(Metric::MultitaskingGain, arm, off);
            spread.map(yielded).into_iter().chain(stacked.map(gained)).collect()
        }
        _ => Vec::new(),
    }
}

/// The comparison that the experiment is about: it decides when to stop and is answered first.
///
/// The switch gain where SMT is switched, else arms whose CPUs were listed, else the yield of all siblings, else the most
/// workers of a sweep, else all cores, else whatever there is. Time slices are the control for siblings: without these
/// nobody has asked for them.
pub fn headline(comparisons: &[Comparison]) -> Option<&Comparison> {
    let last = |metric| comparisons.iter().rfind(|comparison| comparison.metric == metric);
    let first = |metric| comparisons.iter().find(|comparison| comparison.metric == metric);
    first(Metric::SwitchGain)
        .or_else(|| first(Metric::RelativeToFirst))
        .or_else(|| last(Metric::SmtYield))
        .or_else(|| first(Metric::CoreEquivalence))
        .or_else(|| first(Metric::MultitaskingGain))
        .or_else(|| last(Metric::Speedup))
        .or_else(|| first(Metric::Scaling))
        .or_else(|| first(Metric::TimeSlicing))
        .or_else(|| comparisons.iter().find(|comparison| comparison.is_judged()))
        .or_else(|| comparisons.first())
}
