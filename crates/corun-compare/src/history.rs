//! Earlier runs, from which it is known how much equal runs differ.

use corun_stats::{BetweenRuns, RunValue, since_last_change};

use crate::subject::Subject;

/// Values of an observation in earlier equal runs.
pub(crate) struct Earlier {
    pub(crate) between: BetweenRuns,
    /// The number of runs before the last change of level: they are not equal to later ones, and are left out.
    pub(crate) left_out: usize,
}

impl Earlier {
    /// For quantities that are the same in every run, such as simulated ones.
    pub(crate) fn none() -> Self {
        Self { between: BetweenRuns::none(), left_out: 0 }
    }

    /// From groups of equal runs, each in the order of time.
    pub(crate) fn of(groups: [&[RunValue]; 2]) -> Self {
        let used = groups.map(since_last_change);
        let count = |groups: [&[RunValue]; 2]| groups.iter().map(|it| it.len()).sum::<usize>();
        Self {
            between: BetweenRuns::of_history(&used.map(<[RunValue]>::to_vec)),
            left_out: count(groups) - count(used),
        }
    }
}

/// The earlier runs in the order of time, each once, without those that are compared and those that failed.
pub(crate) fn each_once<'a>(history: &'a [Subject], compared: &[&Subject]) -> Vec<&'a Subject> {
    let mut found: Vec<&Subject> = Vec::new();
    for run in history {
        if run.spoiled().is_none() && !found.iter().chain(compared).any(|it| it.is_same_run(run)) {
            found.push(run);
        }
    }
    // RFC 3339 in UTC sorts as text.
    found.sort_by(|one, other| one.started.cmp(&other.started));
    found
}
