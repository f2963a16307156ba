//! Simulated placements as data: each with its workers, and each against another.

use corun_record::{
    IssueCycles, PlacedWorker, PlacementComparison, RefusedComparison, SimulatedPlacement,
};
use corun_sim::{Comparison, Outcome, Simulated, Spread};

/// A placement with its workers.
pub(super) fn placement(outcome: &Outcome) -> SimulatedPlacement {
    let workers = outcome.phases[0].workers.iter().enumerate();
    SimulatedPlacement {
        placement: outcome.placement,
        cores: outcome.cores(),
        phases: outcome.phases.len(),
        workers: workers
            .map(|(place, one)| {
                let phases = || outcome.phases.iter().map(|phase| &phase.workers[place]);
                PlacedWorker {
                    worker: one.worker,
                    core: one.core,
                    logical_cpu: one.cpu,
                    instructions: one.instructions,
                    cycles: phases().map(|one| one.cycles).collect(),
                    stack: stack(phases().map(|one| &one.simulated)),
                    issue: phases()
                        .fold(IssueCycles::default(), |sum, one| sum.plus(one.simulated.issue)),
                }
            })
            .collect(),
    }
}

/// Cycles of each component, summed.
fn stack<'s>(simulated: impl Iterator<Item = &'s Simulated>) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = Vec::new();
    for one in simulated {
        for (place, (name, cycles)) in one.stack.cycles().enumerate() {
            match all.get_mut(place) {
                Some((_, sum)) => *sum += cycles,
                None => all.push((name.to_owned(), cycles)),
            }
        }
    }
    all
}

/// The comparisons with a figure, and those whose figure cannot be.
pub(super) fn comparisons(
    outcomes: &[Outcome],
) -> (Vec<PlacementComparison>, Vec<RefusedComparison>) {
    let (mut comparisons, mut refused) = (Vec::new(), Vec::new());
    for Comparison { metric, placement, against, value } in Comparison::all(outcomes) {
        match value {
            Ok(Spread { mean, low, high }) => comparisons.push(PlacementComparison {
                metric,
                placement,
                against,
                mean,
                low,
                high,
            }),
            Err(why) => {
                let reason = why.to_string();
                refused.push(RefusedComparison { metric, placement, against, reason });
            }
        }
    }
    (comparisons, refused)
}
