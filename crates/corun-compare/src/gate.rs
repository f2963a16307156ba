//! Gate: conditions that make a comparison fail in continuous integration.
//!
//! A row fails if its whole interval is worse by more than the limit, so that noise alone fails as seldom as the
//! confidence says. What a passed gate is worth depends on the change that it would have seen, which is said with it.

use corun_record::{ComparedObservation, ComparisonGate, RunComparison, Sense, VisibleChange};

/// Condition of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FailOn {
    /// Worse by more than this fraction.
    WorseBy(f64),
    /// Neither shown to be worse nor shown not to be.
    Inconclusive,
}

/// Treatment of a comparison that would have shown no change of any observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blind {
    /// It fails.
    Fails,
    /// It passes unless a condition is so.
    Passes,
}

/// Standard errors between the true change and what four of five comparisons exceed: the 80 % point of the normal
/// distribution, the power that is customary (Cohen 1988, Statistical Power Analysis, 2.4).
const POWER: f64 = 0.8416;

/// The outcome of these conditions; `None` if there are none. What could not be compared because its program failed fails
/// all of them.
pub fn gate(
    conditions: &[FailOn],
    blind: Blind,
    comparison: &RunComparison,
) -> Option<ComparisonGate> {
    if conditions.is_empty() {
        return None;
    }
    let limits = conditions.iter().filter_map(|condition| match condition {
        FailOn::WorseBy(limit) => Some(*limit),
        FailOn::Inconclusive => None,
    });
    let worse_by = limits.reduce(f64::min);
    let limit = worse_by.unwrap_or(0.0).ln_1p();
    let counted = || {
        (0..)
            .zip(&comparison.observations)
            .filter(|(_, row)| !row.restates && row.sense != Sense::Neither)
    };
    let of = |standing: Standing| -> Vec<u32> {
        counted().filter(|(_, row)| standing_of(row, limit) == standing).map(|it| it.0).collect()
    };
    let (worse, undecided) = (of(Standing::Worse), of(Standing::Undecided));
    let inconclusive_fails = conditions.contains(&FailOn::Inconclusive);
    let spoiled = comparison.not_compared.iter().filter(|it| it.spoiled).count();
    let fails = spoiled > 0
        || (worse_by.is_some() && !worse.is_empty())
        || (inconclusive_fails && !undecided.is_empty());
    let mut gate = ComparisonGate {
        worse_by,
        inconclusive_fails,
        worse,
        undecided,
        spoiled: u32::try_from(spoiled).unwrap_or(u32::MAX),
        visible: Vec::new(),
        blind: Vec::new(),
        fails_as_blind: false,
        passes: false,
    };
    for (observation, row) in counted() {
        match visible_change(row, limit) {
            Some(change) => gate.visible.push(VisibleChange { observation, change }),
            None => gate.blind.push(observation),
        }
    }
    gate.fails_as_blind = !fails && gate.is_blind() && blind == Blind::Fails;
    gate.passes = !fails && !gate.fails_as_blind;
    Some(gate)
}

/// The smallest true change for the worse that four of five such comparisons show to exceed a limit, as a fraction; `None`
/// where not even a doubling beyond the limit is.
///
/// Shown means that the estimate exceeds the noise floor and its interval the limit; by chance the estimate lies below the
/// true change.
fn visible_change(row: &ComparedObservation, limit: f64) -> Option<f64> {
    let standard_error = row.standard_error?;
    let half_width = (row.ratio.high / row.ratio.low).ln() / 2.0;
    let shown = (limit + half_width).max(row.noise_floor.unwrap_or(0.0).ln_1p());
    let change = shown + POWER * standard_error;
    (!row.disturbed && change - limit <= std::f64::consts::LN_2).then(|| change.exp_m1())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Worse,
    Undecided,
    Passes,
}

/// Standing of a row: shown to be worse by more than a limit, on the log scale.
fn standing_of(row: &ComparedObservation, limit: f64) -> Standing {
    let (low, high) = (row.ratio.low.ln(), row.ratio.high.ln());
    let [least, most] = match row.sense {
        Sense::LowerIsBetter => [low, high],
        Sense::HigherIsBetter | Sense::Neither => [-high, -low],
    };
    let floor = row.noise_floor.unwrap_or(0.0).ln_1p();
    let is_claimed = row.ratio.value.ln().abs() > floor;
    if row.disturbed {
        Standing::Undecided
    } else if least > limit && is_claimed {
        Standing::Worse
    } else if most <= limit {
        Standing::Passes
    } else {
        Standing::Undecided
    }
}
