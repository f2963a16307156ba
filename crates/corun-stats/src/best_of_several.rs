//! Which of several candidates is the best, when all are compared with each other over several analyses.
//!
//! Multiple comparisons with the best (Hsu 1984), with Bonferroni's levels: whatever the best one is, only
//! the comparisons of the others with it can mislead, so these share the error rate, and the planned
//! analyses share it too. Neither needs equal variances, and candidates may join and leave between.

use crate::estimate::Estimate;

/// The error rate of a contest and what shares it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedLevel {
    /// The confidence of all claims together, such as 0.95.
    pub confidence: f64,
    /// The planned analyses.
    pub analyses: u32,
}

impl SharedLevel {
    /// The level of one comparison where `candidates` are compared.
    pub fn of_one(self, candidates: usize) -> f64 {
        let shares = candidates.saturating_sub(1).max(1) as f64 * f64::from(self.analyses.max(1));
        1.0 - (1.0 - self.confidence) / shares
    }
}

/// Standing of the first candidate against the second in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Better by any amount.
    Better,
    /// Worse, by more than the practical bound.
    MuchWorse,
    /// Worse by some amount, perhaps more than the practical bound.
    Worse,
    /// Neither is shown.
    Open,
}

/// Standing of the first by an estimate of `ln(first / second)`, at the level of one comparison.
///
/// No difference is claimed that two identical arms can show by noise alone: `noise_floor`. All on the log scale.
pub fn standing(estimate: &Estimate, practical: f64, noise_floor: f64) -> Standing {
    let is_claimed = estimate.log.abs() > noise_floor;
    if is_claimed && estimate.high < -practical {
        Standing::MuchWorse
    } else if is_claimed && estimate.high < 0.0 {
        Standing::Worse
    } else if is_claimed && estimate.low > 0.0 {
        Standing::Better
    } else {
        Standing::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired;

    #[test]
    fn comparisons_and_analyses_share_the_error_rate() {
        let shared = SharedLevel { confidence: 0.95, analyses: 5 };
        assert!((shared.of_one(3) - 0.995).abs() < 1e-12);
        assert_eq!(shared.of_one(1), shared.of_one(2));
        let alone = SharedLevel { confidence: 0.95, analyses: 1 };
        assert!((alone.of_one(2) - 0.95).abs() < 1e-12);
    }

    #[test]
    fn a_difference_is_claimed_from_its_bound_and_the_noise_on() {
        let around = |log: f64| paired(&[log - 0.01, log, log + 0.01], 0.95).unwrap();
        let cases = [
            (0.10, 0.0, Standing::Better),
            (0.10, 0.2, Standing::Open),
            (-0.10, 0.0, Standing::MuchWorse),
            (-0.03, 0.0, Standing::Worse),
            (-0.01, 0.0, Standing::Open),
        ];
        for (log, floor, expected) in cases {
            assert_eq!(standing(&around(log), 0.02, floor), expected, "{log} over {floor}");
        }
    }
}
