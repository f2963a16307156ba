//! Timed tests on a host that others use, too: a wrong answer counts only if the host was quiet.

use crate::{Guest, Host, Outcome, Scenario};

/// How many host CPUs others may keep busy, on average, during a boot that counts as quiet.
const QUIET: f64 = 0.1;
const ATTEMPTS: usize = 4;
/// A host that is a virtual machine cannot see what its neighbours take, so one wrong answer may be
/// theirs; corun's own come again.
const WRONG_ON_A_QUIET_HOST: usize = 2;

impl Guest {
    /// Boots until the outcome of the scenario bears out the truth. A host that is busy each time
    /// leaves it undecided, which is a skip.
    ///
    /// # Panics
    /// If outcomes contradict the truth on a quiet host, or the scenario fails.
    pub fn assert_truth(&self, host: &Host, scenario: &Scenario, truth: impl Fn(&Outcome) -> bool) {
        let mut loads = Vec::new();
        let mut wrong = 0;
        for _ in 0..ATTEMPTS {
            let outcome = self.boot(host, scenario).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(outcome.results.exit, 0, "{}", outcome.console);
            let load = outcome.load.cpus();
            let seconds = outcome.load.elapsed.as_secs_f64();
            eprintln!("{seconds:.0} s, others kept {load:.2} host CPUs busy; {}", outcome.console);
            if truth(&outcome) {
                return;
            }
            wrong += usize::from(load <= QUIET);
            assert!(wrong < WRONG_ON_A_QUIET_HOST, "wrong on a quiet host:\n{}", outcome.console);
            loads.push(format!("{load:.1}"));
        }
        let loads = loads.join(", ");
        let reason = format!("others kept {loads} host CPUs busy in {ATTEMPTS} attempts");
        corun_testing::skip("guest timing", &reason);
    }
}
