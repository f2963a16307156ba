//! One placement against another: which ratio that is, and whether its figure can be.

use corun_record::{Metric, Placement};

use crate::outcome::Outcome;
use crate::plausible::{Implausible, of_time, of_yield};
use crate::spread::Spread;

/// A placement against another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Metric of the ratio; [`Metric::Makespan`] is the slowdown of the workers against themselves alone.
    pub metric: Metric,
    /// The placement.
    pub placement: Placement,
    /// Placement that it is compared with.
    pub against: Placement,
    /// The ratio over all phases, or why its figure cannot be.
    pub value: Result<Spread, Implausible>,
}

impl Comparison {
    /// Every two of these placements whose ratio has a name.
    pub fn all(outcomes: &[Outcome]) -> Vec<Self> {
        let pairs = outcomes.iter().flat_map(|one| outcomes.iter().map(move |other| (one, other)));
        pairs.filter_map(|(outcome, reference)| Self::of(outcome, reference)).collect()
    }

    /// None if the ratio has no name, or the two have different workers.
    fn of(outcome: &Outcome, reference: &Outcome) -> Option<Self> {
        let (placement, against) = (outcome.placement, reference.placement);
        let metric = match (placement, against) {
            (Placement::Full(_), Placement::Spread(_)) => Metric::SmtYield,
            (Placement::Full(_), Placement::Stacked) => Metric::MultitaskingGain,
            (Placement::Packed(_), Placement::Spread(_)) => Metric::CoreEquivalence,
            (Placement::Single, Placement::Single) => return None,
            (_, Placement::Single) => Metric::Makespan,
            _ => return None,
        };
        let value = match metric {
            Metric::SmtYield | Metric::MultitaskingGain => outcome.per_core(reference)?,
            _ => outcome.time_against(reference)?,
        };
        let checked = match metric {
            Metric::SmtYield => of_yield("an SMT yield of", value, outcome.most_at_once()),
            Metric::MultitaskingGain => {
                of_yield("a multitasking gain of", value, outcome.most_at_once())
            }
            Metric::CoreEquivalence => {
                of_time("a core equivalence of", value, outcome.most_at_once())
            }
            // On cores of their own workers meet in what cores share alone.
            _ => of_time("times those alone of", value, outcome.most_on_a_core()),
        };
        let value = match checked {
            Ok(()) => Ok(value),
            Err(why) => Err(why.with(outcome.differs(reference))),
        };
        Some(Self { metric, placement, against, value })
    }
}
