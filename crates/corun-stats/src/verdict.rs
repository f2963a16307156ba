//! From an estimate to an answer: helps, hurts, no practical effect, or inconclusive.
//!
//! "No effect" is a claim like the others and needs its own evidence: two one-sided tests
//! (Schuirmann 1987), never a failure to find a difference. An inconclusive answer says why.

use super::estimate::{Estimate, paired};
use super::sense::says_something;

/// The answer for one comparison; positive logs speak for the arm in the numerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A gain beyond chance, the practical bound and the noise floor.
    Helps,
    /// A loss beyond chance, the practical bound and the noise floor.
    Hurts,
    /// Shown to lie inside the practical bound.
    NoPracticalEffect,
    /// The data do not decide.
    Inconclusive(Unsettled),
}

impl Verdict {
    /// The one of four answers that is this verdict's.
    pub fn answer<A>(self, [helps, hurts, no_practical_effect, inconclusive]: [A; 4]) -> A {
        match self {
            Self::Helps => helps,
            Self::Hurts => hurts,
            Self::NoPracticalEffect => no_practical_effect,
            Self::Inconclusive(_) => inconclusive,
        }
    }
}

/// The first condition of a claim that an inconclusive estimate does not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsettled {
    /// The interval reaches over orders of magnitude.
    TooUncertain,
    /// The interval holds "no difference", and is too wide to claim that there is none.
    IntervalHoldsZero,
    /// There is a difference, but it may be too small to matter.
    WithinPracticalBound,
    /// The program waits most of the time, so that it matters little where it runs.
    ProgramWaits,
    /// Load of others took so much from the arms that nothing can be said of the arms themselves.
    ForeignLoad,
    /// There is a difference, but one that two identical arms can show by noise alone here.
    WithinNoiseFloor,
    /// The ratio is larger than the machine can have.
    BeyondReach,
}

/// Bounds that an effect must exceed to be claimed, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The smallest effect that matters; `ln(1.02)` for 2 %, 0 to make "no effect" unclaimable.
    pub practical: f64,
    /// The largest effect that two identical arms can show by noise alone; see [`noise_floor`].
    pub noise_floor: f64,
}

/// Circumstances that keep a verdict open whatever the blocks say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// The program waits most of the time.
    pub program_waits: bool,
    /// The ratio is larger than the machine can have.
    pub is_beyond_reach: bool,
    /// Load of others was as heavy and frequent as [`ForeignLoad::decides`](crate::ForeignLoad::decides) means.
    pub load_decides: bool,
}

/// The verdict on `estimate` in these circumstances: the one place that overrides what the figures alone say.
///
/// Where the interval says nothing only because it allows for load of others, that load is the reason.
pub fn decide(estimate: &Estimate, bounds: Bounds, circumstances: Circumstances) -> Verdict {
    let too_uncertain = Verdict::Inconclusive(Unsettled::TooUncertain);
    let judged = judge(estimate, bounds);
    let is_widened_by_load = || {
        let by_chance = estimate.allowing(-estimate.allowance);
        judge(&by_chance, bounds) != too_uncertain
    };
    if circumstances.program_waits {
        Verdict::Inconclusive(Unsettled::ProgramWaits)
    } else if circumstances.is_beyond_reach && judged != too_uncertain {
        Verdict::Inconclusive(Unsettled::BeyondReach)
    } else if circumstances.load_decides || judged == too_uncertain && is_widened_by_load() {
        Verdict::Inconclusive(Unsettled::ForeignLoad)
    } else {
        judged
    }
}

/// The verdict on a predicted ratio, from the limits of its interval, the model's own error included.
pub fn decide_predicted([low, high]: [f64; 2], practical: f64) -> Verdict {
    if low >= 1.0 - practical && high <= 1.0 + practical {
        Verdict::NoPracticalEffect
    } else if low > 1.0 {
        Verdict::Helps
    } else if high < 1.0 {
        Verdict::Hurts
    } else {
        Verdict::Inconclusive(Unsettled::IntervalHoldsZero)
    }
}

/// The verdict on `estimate` by the figures alone.
///
/// No practical effect if the equivalence test says so; else helps or hurts if the interval
/// excludes zero and the estimate exceeds both bounds; else inconclusive.
pub fn judge(estimate: &Estimate, bounds: Bounds) -> Verdict {
    let size = estimate.log.abs();
    let [ratio, low, high] = estimate.ratio();
    if !says_something(ratio, low, high) {
        Verdict::Inconclusive(Unsettled::TooUncertain)
    } else if lies_within(estimate, bounds.practical) {
        Verdict::NoPracticalEffect
    } else if estimate.interval().holds(0.0) {
        Verdict::Inconclusive(Unsettled::IntervalHoldsZero)
    } else if size <= bounds.practical {
        Verdict::Inconclusive(Unsettled::WithinPracticalBound)
    } else if size <= bounds.noise_floor {
        Verdict::Inconclusive(Unsettled::WithinNoiseFloor)
    } else if estimate.log > 0.0 {
        Verdict::Helps
    } else {
        Verdict::Hurts
    }
}

/// True if the effect is shown to lie strictly within `bound` of zero, on the log scale.
///
/// Two one-sided tests, each at the error rate of the estimate's own interval: the interval with
/// twice that rate (90 % for an estimate at 95 %) must lie inside. Never true for a bound of 0.
pub fn lies_within(estimate: &Estimate, bound: f64) -> bool {
    estimate
        .at_level(1.0 - 2.0 * (1.0 - estimate.level))
        .is_some_and(|interval| -bound < interval.low && interval.high < bound)
}

/// The largest effect that two identical arms can show by noise alone: the farther end of the 95 % interval of
/// the log ratios between an arm and its A/A twin. `None` where there is no such interval.
pub fn noise_floor(twin_log_ratios: &[f64]) -> Option<f64> {
    let twins = paired(twin_log_ratios, 0.95)?;
    Some(twins.low.abs().max(twins.high.abs()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TWO_PERCENT: f64 = 0.02;

    /// An estimate of `blocks` blocks whose 95 % interval reaches `reach` to each side.
    fn estimate(log: f64, reach: f64) -> Estimate {
        let unit = paired(&[-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0], 0.95).unwrap();
        let standard_error = unit.standard_error * reach / unit.half_width();
        Estimate { log, standard_error, ..unit }.at_level(0.95).unwrap()
    }

    fn verdict(log: f64, reach: f64, practical: f64, noise_floor: f64) -> Verdict {
        judge(&estimate(log, reach), Bounds { practical, noise_floor })
    }

    #[test]
    fn each_answer_has_its_conditions() {
        use Unsettled::{IntervalHoldsZero, TooUncertain, WithinNoiseFloor, WithinPracticalBound};
        use Verdict::{Helps, Hurts, Inconclusive, NoPracticalEffect};
        let cases = [
            ((0.10, 0.05), 0.01, Helps),
            ((-0.10, 0.05), 0.01, Hurts),
            ((0.005, 0.01), 0.01, NoPracticalEffect),
            ((0.03, 0.05), 0.01, Inconclusive(IntervalHoldsZero)),
            ((0.015, 0.012), 0.01, Inconclusive(WithinPracticalBound)),
            ((0.03, 0.02), 0.05, Inconclusive(WithinNoiseFloor)),
            ((3.0, 1.5), 0.01, Inconclusive(TooUncertain)),
        ];
        for ((log, reach), floor, expected) in cases {
            assert_eq!(verdict(log, reach, TWO_PERCENT, floor), expected, "{log} ± {reach}");
        }
    }

    #[test]
    fn circumstances_override_what_the_figures_say() {
        use Unsettled::{BeyondReach, ForeignLoad, ProgramWaits, TooUncertain};
        let bounds = Bounds { practical: TWO_PERCENT, noise_floor: 0.0 };
        let (quiet, waits) = (
            Circumstances::default(),
            Circumstances { program_waits: true, is_beyond_reach: true, load_decides: true },
        );
        let loaded = Circumstances { load_decides: true, ..quiet };
        let beyond = Circumstances { is_beyond_reach: true, ..loaded };
        let (clear, wide) = (estimate(0.1, 0.05), estimate(0.1, 3.0));
        for (estimate, circumstances, expected) in [
            (clear, quiet, Verdict::Helps),
            (clear, loaded, Verdict::Inconclusive(ForeignLoad)),
            (clear, waits, Verdict::Inconclusive(ProgramWaits)),
            (clear, beyond, Verdict::Inconclusive(BeyondReach)),
            (wide, quiet, Verdict::Inconclusive(TooUncertain)),
            (wide.allowing(0.5), quiet, Verdict::Inconclusive(TooUncertain)),
            (clear.allowing(3.0), quiet, Verdict::Inconclusive(ForeignLoad)),
            (clear.allowing(0.01), quiet, Verdict::Helps),
        ] {
            assert_eq!(decide(&estimate, bounds, circumstances), expected, "{estimate:?}");
        }
    }

    #[test]
    fn a_prediction_helps_or_hurts_beyond_the_error_of_its_model() {
        let open = Verdict::Inconclusive(Unsettled::IntervalHoldsZero);
        for (limits, expected) in [
            ([1.1, 1.5], Verdict::Helps),
            ([0.6, 0.9], Verdict::Hurts),
            ([0.9, 1.2], open),
            ([0.97, 1.03], Verdict::NoPracticalEffect),
        ] {
            assert_eq!(decide_predicted(limits, 0.05), expected, "{limits:?}");
        }
    }

    #[test]
    fn equivalence_takes_the_ninety_percent_interval() {
        // With 10 blocks the 90 % interval reaches 0.810 as far as the 95 % interval.
        assert!(lies_within(&estimate(0.0, TWO_PERCENT / 0.82), TWO_PERCENT));
        assert!(!lies_within(&estimate(0.0, TWO_PERCENT / 0.80), TWO_PERCENT));
    }

    #[test]
    fn the_noise_floor_is_the_farther_end() {
        let twins = [0.01, 0.02, 0.03, 0.00, -0.01];
        let interval = paired(&twins, 0.95).unwrap();
        assert_eq!(noise_floor(&twins), Some(interval.high));
        let turned = twins.map(|value| -value);
        assert_eq!(noise_floor(&turned), Some(interval.high));
        assert_eq!(noise_floor(&[0.1]), None);
    }

    #[test]
    fn a_point_at_zero_is_not_equivalent_to_nothing() {
        assert_eq!(
            verdict(0.0, 0.0, 0.0, 0.0),
            Verdict::Inconclusive(Unsettled::IntervalHoldsZero)
        );
        assert_eq!(verdict(0.0, 0.0, TWO_PERCENT, 0.0), Verdict::NoPracticalEffect);
    }

    proptest! {
        #[test]
        fn without_a_practical_bound_nothing_is_called_no_effect(
            log in -1.0..1.0, reach in 0.0..1.0,
        ) {
            prop_assert_ne!(verdict(log, reach, 0.0, 0.0), Verdict::NoPracticalEffect);
        }

        #[test]
        fn turning_the_ratio_round_turns_the_verdict(
            log in -0.2..0.2, reach in 0.0..0.2, practical in 0.0..0.1, floor in 0.0..0.1,
        ) {
            let turned = match verdict(log, reach, practical, floor) {
                Verdict::Helps => Verdict::Hurts,
                Verdict::Hurts => Verdict::Helps,
                other => other,
            };
            prop_assert_eq!(verdict(-log, reach, practical, floor), turned);
        }

        #[test]
        fn a_claim_always_exceeds_the_floors(
            log in -0.2..0.2, reach in 0.0..0.2, practical in 0.0..0.1, floor in 0.0..0.1,
        ) {
            if matches!(verdict(log, reach, practical, floor), Verdict::Helps | Verdict::Hurts) {
                prop_assert!(log.abs() > practical.max(floor).max(reach));
            }
        }
    }
}
