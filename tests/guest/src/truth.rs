//! Timed tests on a host that others use, too: a wrong answer counts only if the host was quiet.
//!
//! To have been unable to tell is an honest answer where runs differ a lot, so an outcome bears the
//! truth out, contradicts it, or leaves it undecided.

use std::ops::RangeInclusive;

use corun_record::Estimate;

use crate::{Guest, Host, Outcome, Scenario};

/// How many host CPUs others may keep busy, on average, during a boot that counts as quiet.
const QUIET: f64 = 0.1;
const ATTEMPTS: usize = 4;
/// A host that is a virtual machine cannot see what its neighbours take, so one wrong answer may be
/// theirs; corun's own come again.
const WRONG_ON_A_QUIET_HOST: usize = 2;

/// What an outcome says of the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// It says what is true.
    BornOut,
    /// It says that it cannot tell, or what it says is as wide as to hold the truth.
    Undecided,
    /// It says what is not true.
    Contradicted,
}

impl Finding {
    /// Of an estimate, where the true value is known to lie within bounds.
    pub fn within(bounds: &RangeInclusive<f64>, estimate: Estimate) -> Self {
        if bounds.contains(&estimate.value) {
            Self::BornOut
        } else if estimate.low <= *bounds.end() && *bounds.start() <= estimate.high {
            Self::Undecided
        } else {
            Self::Contradicted
        }
    }

    /// Of several findings, the worst.
    pub fn all(findings: impl IntoIterator<Item = Self>) -> Self {
        findings.into_iter().max().unwrap_or(Self::BornOut)
    }
}

impl From<bool> for Finding {
    fn from(is_true: bool) -> Self {
        if is_true { Self::BornOut } else { Self::Contradicted }
    }
}

impl Guest {
    /// Boots until the outcome of the scenario bears out the truth. What stays undecided, or is
    /// contradicted while the host is busy, is tried again, and is a skip in the end.
    ///
    /// # Panics
    /// If outcomes contradict the truth on a quiet host, or the scenario fails.
    pub fn assert_truth<F: Into<Finding>>(
        &self,
        host: &Host,
        scenario: &Scenario,
        truth: impl Fn(&Outcome) -> F,
    ) {
        let mut attempts = Vec::new();
        let mut wrong = 0;
        for _ in 0..ATTEMPTS {
            let outcome = self.boot(host, scenario).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
            let load = outcome.load.cpus();
            let seconds = outcome.load.elapsed.as_secs_f64();
            eprintln!("{seconds:.0} s, others kept {load:.2} host CPUs busy; {}", outcome.console);
            let finding = truth(&outcome).into();
            if finding == Finding::BornOut {
                return;
            }
            wrong += usize::from(finding == Finding::Contradicted && load <= QUIET);
            assert!(wrong < WRONG_ON_A_QUIET_HOST, "wrong on a quiet host:\n{}", outcome.console);
            attempts.push(format!("{finding:?} while others kept {load:.1} host CPUs busy"));
        }
        corun_testing::skip("guest timing", &attempts.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_reaches_the_bounds_decides_nothing() {
        let of = |value, low, high| {
            let estimate = Estimate { value, low, high, level: 0.95, blocks: 8 };
            Finding::within(&(1.5..=2.5), estimate)
        };
        assert_eq!(of(1.6, 1.0, 2.2), Finding::BornOut);
        assert_eq!(of(1.4, 1.2, 1.6), Finding::Undecided);
        assert_eq!(of(2.6, 2.4, 2.8), Finding::Undecided);
        assert_eq!(of(1.0, 0.9, 1.1), Finding::Contradicted);
        assert_eq!(of(f64::NAN, f64::NAN, f64::NAN), Finding::Contradicted);
    }

    #[test]
    fn one_contradiction_is_enough() {
        use Finding::{BornOut, Contradicted, Undecided};
        assert_eq!(Finding::all([BornOut, BornOut]), BornOut);
        assert_eq!(Finding::all([Undecided, BornOut]), Undecided);
        assert_eq!(Finding::all([Undecided, Contradicted, BornOut]), Contradicted);
    }
}
