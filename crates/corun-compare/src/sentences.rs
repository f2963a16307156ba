//! Findings of a comparison of runs, in sentences.

use corun_record::{Caveat, ChangeAnswer, ComparedObservation, Pairing, RunComparison};
use corun_stats::{FLOOR_DEVIATION, Unsettled, percent};

use crate::subject::Named;

/// Earlier runs from which on the history weighs more than the floor in most cases.
const ENOUGH_RUNS: u32 = 10;

/// The answer of a row as a sentence.
pub(crate) fn of_row(
    row: &ComparedObservation,
    unsettled: Option<Unsettled>,
    practical: f64,
) -> String {
    let what = subject(row);
    let interval = format!("interval {:.3} to {:.3}", row.ratio.low, row.ratio.high);
    let figure = format!("{:.3} times that of the base ({interval})", row.ratio.value);
    let bound = percent(practical);
    match row.answer {
        ChangeAnswer::NoChange => format!("{what}: no change beyond {bound}: {figure}."),
        // An interval of any width at all is no figure.
        ChangeAnswer::Inconclusive if unsettled == Some(Unsettled::TooUncertain) => {
            format!("{what}: inconclusive: {}.", why(row, unsettled, &bound))
        }
        ChangeAnswer::Inconclusive => {
            format!("{what}: inconclusive: {figure}, {}.", why(row, unsettled, &bound))
        }
        answer => format!("{what}: {}: {figure}.", answer.name()),
    }
}

/// Subject of a row: `throughput of spread`, `fib n=30: SMT yield of full`.
fn subject(row: &ComparedObservation) -> String {
    let workload = row.workload.as_ref().map(|it| format!("{it}: ")).unwrap_or_default();
    let of = row.of.as_ref().map(|it| format!(" of {it}")).unwrap_or_default();
    let arms = match &row.base_arm {
        Some(base) => format!("{} beside {base}", row.arm),
        None => row.arm.clone(),
    };
    let source = row.source.prefix();
    format!("{workload}{source}{}{of} of {arms}", row.metric.name())
}

fn why(row: &ComparedObservation, unsettled: Option<Unsettled>, bound: &str) -> String {
    match unsettled {
        Some(Unsettled::WithinPracticalBound) => {
            format!("a change, but perhaps no larger than the practical bound of {bound}")
        }
        Some(Unsettled::WithinNoiseFloor) => format!(
            "a change that identical arms can show by noise alone in one of the runs (noise floor {})",
            percent(row.noise_floor.unwrap_or_default())
        ),
        Some(Unsettled::ForeignLoad) => {
            "measured while other programs took the workers' CPUs; repeat it on an idle machine"
                .to_owned()
        }
        Some(Unsettled::TooUncertain) => "an interval over orders of magnitude".to_owned(),
        Some(Unsettled::BeyondReach) => "more than the workers can do".to_owned(),
        _ => format!("which holds \"no change\" and does not lie within ± {bound}"),
    }
}

/// Caveat on a run that is compared with itself.
pub(crate) fn with_itself(name: &str) -> Caveat {
    Caveat::new(
        "same-run",
        format!(
            "The base and {name} are the same run: comparing a run with itself shows no change."
        ),
    )
}

/// Caveats on what may have disturbed a run that is compared, each once however many workloads it has.
pub(crate) fn of_run(run: &Named) -> Vec<Caveat> {
    let mut found: Vec<Caveat> = Vec::new();
    for caveat in run.subjects.iter().flat_map(|it| &it.caveats).filter(|it| it.disturbs()) {
        let sentence = format!("In {}: {}", run.name, caveat.sentence);
        if !found.iter().any(|it| it.sentence == sentence) {
            found.push(Caveat::new(&*caveat.kind, sentence));
        }
    }
    found
}

/// Which earlier runs were not used, if any.
pub(crate) fn left_out(runs: usize) -> Option<Caveat> {
    (runs > 0).then(|| {
        Caveat::new(
            "changed-history",
            format!(
                "Up to {runs} earlier runs of a figure were left out: its level changed after them (`corun compare \
                 --over-time` shows it), and what a change makes is no difference between equal runs."
            ),
        )
    })
}

/// Limits of trust in a comparison.
pub(crate) fn caveats(comparison: &RunComparison) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let apart: Vec<&ComparedObservation> =
        comparison.observations.iter().filter(|row| row.pairing == Pairing::BetweenRuns).collect();
    let fewest = apart.iter().map(|row| row.earlier_runs).min();
    let floor = percent(FLOOR_DEVIATION);
    match fewest {
        Some(0) => caveats.push(Caveat::new(
            "no-history",
            format!(
                "How much equal runs differ on this machine is not known: no two earlier runs of the same thing were \
                 given. Within one run samples share its memory layout and clock, so two single runs are compared as if \
                 equal ones differed by {floor} (standard deviation). Give earlier runs with --history."
            ),
        )),
        Some(runs) if runs < ENOUGH_RUNS => caveats.push(Caveat::new(
            "short-history",
            format!(
                "The variance between equal runs rests on {runs} earlier runs, drawn towards a cautious {floor} (standard \
                 deviation); more of them narrow the intervals of a quiet machine."
            ),
        )),
        _ => {}
    }
    if !apart.is_empty() && !comparison.differences.is_empty() {
        let names: Vec<&str> =
            comparison.differences.iter().map(|difference| difference.what.as_str()).collect();
        caveats.push(Caveat::new(
            "differences",
            format!("A change may be due to what else differs: {}.", names.join(", ")),
        ));
    }
    caveats
}
