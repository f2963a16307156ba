//! One comparison: both sides' rates, taken in turns, and the ratio with its interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// What must be shown of a ratio of rates, corun's to the original's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// At least this.
    AtLeast(f64),
    /// Within this share of 1.
    Within(f64),
}

/// The rates of both sides, round by round; larger is better.
pub(crate) struct Contest {
    name: String,
    unit: String,
    limit: Limit,
    original: Vec<f64>,
    corun: Vec<f64>,
}

impl Contest {
    /// Lets both sides take turns; which begins changes from round to round.
    ///
    /// # Errors
    /// The first error of a side.
    pub(crate) fn hold(
        name: impl Into<String>,
        unit: impl Into<String>,
        limit: Limit,
        rounds: u32,
        mut original: impl FnMut() -> Result<f64, String>,
        mut corun: impl FnMut() -> Result<f64, String>,
    ) -> Result<Self, String> {
        let (name, unit) = (name.into(), unit.into());
        let mut contest = Self { name, unit, limit, original: Vec::new(), corun: Vec::new() };
        for round in 0..rounds {
            if round % 2 == 0 {
                contest.original.push(original()?);
                contest.corun.push(corun()?);
            } else {
                contest.corun.push(corun()?);
                contest.original.push(original()?);
            }
        }
        println!("{}", contest.line());
        Ok(contest)
    }

    /// True if each ratio itself keeps to its limit.
    pub(crate) fn all_reach_their_limits(contests: &[Self]) -> bool {
        println!();
        contests.iter().all(Self::reaches_its_limit)
    }

    fn reaches_its_limit(&self) -> bool {
        let [ratio, ..] = self.ratio();
        match self.limit {
            Limit::AtLeast(least) => ratio >= least,
            Limit::Within(share) => (ratio - 1.0).abs() <= share,
        }
    }

    /// The ratio of the rates with its 95 % interval: the mean of the logarithms of the rounds.
    fn ratio(&self) -> [f64; 3] {
        let pairs = self.corun.iter().zip(&self.original);
        let logs: Vec<f64> = pairs.map(|(corun, original)| (corun / original).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("two rounds or more");
        let half = student.inverse_cdf(0.975) * (variance / count).sqrt();
        [mean.exp(), (mean - half).exp(), (mean + half).exp()]
    }

    fn line(&self) -> String {
        let [ratio, low, high] = self.ratio();
        let mean = |rates: &[f64]| {
            (rates.iter().map(|rate| rate.ln()).sum::<f64>() / rates.len() as f64).exp()
        };
        let verdict = match (self.reaches_its_limit(), self.limit) {
            (true, _) => String::new(),
            (false, Limit::AtLeast(least)) => format!("  below {least}"),
            (false, Limit::Within(share)) => format!("  not within {:.0} %", share * 100.0),
        };
        format!(
            "{:<28} original {:>10.4}  corun {:>10.4} {:<12} ratio {ratio:.3} ({low:.3} to {high:.3}){verdict}",
            self.name,
            mean(&self.original),
            mean(&self.corun),
            self.unit,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contest(limit: Limit, corun: f64) -> Contest {
        Contest::hold("made up", "", limit, 3, || Ok(100.0), || Ok(corun)).unwrap()
    }

    #[test]
    fn limits_are_kept_or_not() {
        assert!(contest(Limit::AtLeast(0.97), 98.0).reaches_its_limit());
        assert!(!contest(Limit::AtLeast(0.97), 96.0).reaches_its_limit());
        assert!(contest(Limit::Within(0.05), 96.0).reaches_its_limit());
        assert!(!contest(Limit::Within(0.05), 106.0).reaches_its_limit());
    }
}
