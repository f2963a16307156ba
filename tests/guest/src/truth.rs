//! Timed tests on a host that others use, too: an outcome is judged against a control of the same minute.
//!
//! To have been unable to tell is an honest answer where runs differ a lot, so an outcome confirms the truth,
//! contradicts it, or leaves it undecided. The control is what two of the host's CPUs do together, measured
//! right before and right after each boot, while no other guest runs.

use std::ops::RangeInclusive;

use corun_record::{Answer, Estimate, Metric, Run};

use crate::boot::BootPermit;
use crate::{Guest, Host, Outcome, Scenario};

/// How many host CPUs others may keep busy, on average, during a boot that counts as quiet.
const QUIET: f64 = 0.1;
const ATTEMPTS: usize = 4;
/// A host that is a virtual machine cannot see what its neighbours take, so one wrong answer may be
/// theirs; corun's own come again.
const WRONG_ON_A_QUIET_HOST: usize = 2;
/// The work of two host CPUs over that of one in a sound control: two cores that nothing else uses.
const SOUND: RangeInclusive<f64> = 1.8..=2.2;

/// What two host CPUs did together, over one, around a boot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    /// Right before it.
    pub before: f64,
    /// Right after it.
    pub after: f64,
}

impl Control {
    /// True if the host gave two CPUs' work at both moments.
    pub fn is_sound(self) -> bool {
        SOUND.contains(&self.before) && SOUND.contains(&self.after)
    }

    /// The gain of a second host CPU: the mean of both moments.
    pub fn gain(self) -> f64 {
        f64::midpoint(self.before, self.after)
    }
}

/// What an outcome says of the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// It says what is true.
    Confirmed,
    /// It says that it cannot tell, or what it says is as wide as to hold the truth.
    Undecided,
    /// It says what is not true.
    Contradicted,
}

impl Finding {
    /// Of an estimate, where the true value is known to lie within bounds.
    pub fn within(bounds: &RangeInclusive<f64>, estimate: Estimate) -> Self {
        if bounds.contains(&estimate.value) {
            Self::Confirmed
        } else if estimate.low <= *bounds.end() && *bounds.start() <= estimate.high {
            Self::Undecided
        } else {
            Self::Contradicted
        }
    }

    /// Of the estimate of a metric for an arm, where its true value lies within bounds: undecided where the run's
    /// verdict is that it cannot tell, and gives no estimate.
    ///
    /// # Panics
    /// If the run has neither the estimate nor such a verdict.
    pub fn of_run(run: &Run, metric: Metric, arm: &str, bounds: &RangeInclusive<f64>) -> Self {
        let Some(seen) = run.observation(metric, arm) else {
            let is_told = run.verdicts.iter().any(|verdict| {
                (verdict.metric, verdict.answer) == (metric, Answer::Inconclusive)
                    && verdict.arm == arm
            });
            assert!(is_told, "neither {metric:?} of {arm} nor why not, in {:?}", run.verdicts);
            return Self::Undecided;
        };
        eprintln!("{metric:?} of {arm}: {:.2}", seen.estimate.value);
        Self::within(bounds, seen.estimate)
    }

    /// As the summary of the tests counts it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "timed boots confirmed",
            Self::Undecided => "timed boots undecided",
            Self::Contradicted => "timed boots contradicted",
        }
    }

    /// Of several findings, the worst.
    pub fn all(findings: impl IntoIterator<Item = Self>) -> Self {
        findings.into_iter().max().unwrap_or(Self::Confirmed)
    }
}

impl From<bool> for Finding {
    fn from(is_true: bool) -> Self {
        if is_true { Self::Confirmed } else { Self::Contradicted }
    }
}

impl Guest {
    /// Boots until the outcome of the scenario confirms the truth, as the control of that boot tells it. What
    /// stays undecided, or is contradicted while the host is busy, is tried again, and is a skip in the end.
    /// Every boot is counted by its finding ([`corun_testing::count`]).
    ///
    /// # Panics
    /// If outcomes contradict the truth on a quiet host, or in every boot while the controls were sound; if the
    /// scenario fails.
    pub fn assert_truth<F: Into<Finding>>(
        &self,
        host: &Host,
        scenario: &Scenario,
        truth: impl Fn(&Outcome, Control) -> F,
    ) {
        let mut attempts = Vec::new();
        let (mut wrong_on_quiet, mut wrong_beside_sound) = (0, 0);
        for _ in 0..ATTEMPTS {
            let permit = BootPermit::exclusive();
            let before = host.gain_of_two_cpus();
            let outcome =
                self.boot_with(&permit, host, scenario).unwrap_or_else(|error| panic!("{error}"));
            let control = Control { before, after: host.gain_of_two_cpus() };
            drop(permit);
            assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
            let load = outcome.load.cpus();
            let seconds = outcome.load.elapsed.as_secs_f64();
            eprintln!(
                "{seconds:.0} s, others kept {load:.2} host CPUs busy; {control:.2?}; {}",
                outcome.console
            );
            let finding = truth(&outcome, control).into();
            corun_testing::count(finding.name());
            if finding == Finding::Confirmed {
                return;
            }
            let is_wrong = finding == Finding::Contradicted;
            wrong_on_quiet += usize::from(is_wrong && load <= QUIET);
            wrong_beside_sound += usize::from(is_wrong && control.is_sound());
            assert!(
                wrong_on_quiet < WRONG_ON_A_QUIET_HOST,
                "wrong on a quiet host:\n{}",
                outcome.console
            );
            attempts.push(format!(
                "{} while others kept {load:.1} host CPUs busy and two did {:.2} of one's work",
                finding.name(),
                control.gain()
            ));
        }
        assert!(
            wrong_beside_sound < ATTEMPTS,
            "wrong in each of {ATTEMPTS} boots, beside sound controls: {}",
            attempts.join(", ")
        );
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
        assert_eq!(of(1.6, 1.0, 2.2), Finding::Confirmed);
        assert_eq!(of(1.4, 1.2, 1.6), Finding::Undecided);
        assert_eq!(of(2.6, 2.4, 2.8), Finding::Undecided);
        assert_eq!(of(1.0, 0.9, 1.1), Finding::Contradicted);
        assert_eq!(of(f64::NAN, f64::NAN, f64::NAN), Finding::Contradicted);
    }

    #[test]
    fn a_control_is_sound_where_both_moments_were() {
        assert!(Control { before: 1.9, after: 1.85 }.is_sound());
        assert!(!Control { before: 2.0, after: 1.2 }.is_sound());
        assert!(!Control { before: 1.0, after: 2.0 }.is_sound());
        assert!(
            !Control { before: 2.0, after: 3.8 }.is_sound(),
            "one CPU was busy with other work"
        );
    }

    #[test]
    fn one_contradiction_is_enough() {
        use Finding::{Confirmed, Contradicted, Undecided};
        assert_eq!(Finding::all([Confirmed, Confirmed]), Confirmed);
        assert_eq!(Finding::all([Undecided, Confirmed]), Undecided);
        assert_eq!(Finding::all([Undecided, Contradicted, Confirmed]), Contradicted);
    }
}
