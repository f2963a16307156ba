//! The audit: every property once a round, in a fresh random order, until the time is up.

use std::time::Duration;

use corun_record::{AuditReading, AuditRow, AuditVerdict, Observation, Source};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::facts::Facts;
use crate::judgement::{estimate, judge};
use crate::load::Load;
use crate::property::{Figure, Property, PropertyPlan, Reading};
use crate::timeline::Timeline;

/// System that loads run on: the machine, or made-up schedules in a test.
pub trait System {
    /// Runs a load and records which task ran on which CPU when.
    ///
    /// # Errors
    /// If the user interrupts, or the load could not be run.
    fn observe(&mut self, load: &Load) -> Result<Timeline, ObserveError>;

    /// The time since the audit began.
    fn elapsed(&self) -> Duration;
}

/// Why a load was not observed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// The system did not run it.
    #[error("{0}")]
    Refused(String),
}

/// Rounds that are run in any case: fewer have no interval.
const ROUNDS_OF_AN_INTERVAL: u32 = 2;

/// Settings of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// No round begins that is not expected to end within this time, but for the first two.
    pub max_time: Duration,
    /// The seed of the orders.
    pub seed: u64,
}

/// Outcome of an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditOutcome {
    /// The properties, in the order asked for.
    pub rows: Vec<AuditRow>,
    /// Finished rounds.
    pub rounds: u32,
    /// True if the user ended it.
    pub interrupted: bool,
}

/// Audits `properties`, telling `observer` the round and the property before each.
pub fn run_audit(
    properties: &[&'static Property],
    facts: &Facts,
    system: &mut dyn System,
    settings: Settings,
    observer: &mut dyn FnMut(u32, &Property),
) -> AuditOutcome {
    let mut trials: Vec<Trial> = properties.iter().map(|it| Trial::of(it, facts)).collect();
    let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut rounds = 0;
    let mut interrupted = false;
    while !interrupted && trials.iter().any(Trial::is_possible) {
        let begun = system.elapsed();
        let mut order: Vec<usize> =
            (0..trials.len()).filter(|&it| trials[it].is_possible()).collect();
        order.shuffle(&mut random);
        let mut round = Vec::new();
        for index in order {
            let trial = &mut trials[index];
            observer(rounds, trial.property);
            match trial.run(system) {
                Ok(readings) => round.push((index, readings)),
                Err(ObserveError::Interrupted) => {
                    interrupted = true;
                    break;
                }
                Err(ObserveError::Refused(why)) => trial.refused = Some(why),
            }
        }
        if interrupted {
            // A round counts whole or not at all.
            break;
        }
        for (index, readings) in round {
            trials[index].rounds.push((rounds, readings));
        }
        rounds += 1;
        let now = system.elapsed();
        let next_end = now + now.saturating_sub(begun);
        if rounds >= ROUNDS_OF_AN_INTERVAL && next_end > settings.max_time {
            break;
        }
    }
    AuditOutcome { rows: trials.into_iter().map(Trial::row).collect(), rounds, interrupted }
}

/// A property under audit.
struct Trial {
    property: &'static Property,
    plan: Result<PropertyPlan, String>,
    /// Why it is not observed any more.
    refused: Option<String>,
    /// The readings of each round that the property was observed in.
    rounds: Vec<(u32, Vec<Reading>)>,
}

impl Trial {
    fn of(property: &'static Property, facts: &Facts) -> Self {
        Self { property, plan: (property.plan)(facts), refused: None, rounds: Vec::new() }
    }

    fn is_possible(&self) -> bool {
        self.plan.is_ok() && self.refused.is_none()
    }

    fn run(&self, system: &mut dyn System) -> Result<Vec<Reading>, ObserveError> {
        let plan = self.plan.as_ref().map_err(|why| ObserveError::Refused(why.clone()))?;
        let seen: Vec<Timeline> =
            plan.loads.iter().map(|load| system.observe(load)).collect::<Result<_, _>>()?;
        Ok((plan.read)(&seen))
    }

    fn row(self) -> AuditRow {
        let Property { name, question, .. } = *self.property;
        let mut row = AuditRow {
            property: name.to_owned(),
            question: question.to_owned(),
            expected: None,
            bound: None,
            observed: None,
            verdict: AuditVerdict::NotPossible,
            reason: None,
            observations: Vec::new(),
            readings: Vec::new(),
        };
        let (plan, refused) = match (self.plan, self.refused) {
            (Err(why), _) => return AuditRow { reason: Some(why), ..row },
            (Ok(_), Some(why)) if self.rounds.is_empty() => {
                return AuditRow { reason: Some(why), ..row };
            }
            (Ok(plan), refused) => (plan, refused),
        };
        let figures = by_figure(&self.rounds);
        for readings in &figures {
            let (Some(first), values) = (readings.first(), values(readings)) else { continue };
            let Figure { metric, of, arm, unit } = &first.1.figure;
            row.readings.extend(readings.iter().map(|(round, reading)| AuditReading {
                round: *round,
                arm: arm.clone(),
                of: (*of).to_owned(),
                value: reading.value,
                attributed: reading.attributed,
            }));
            // One round has no interval.
            let Some(estimate) = estimate(*metric, &values, 0.95) else { continue };
            row.observations.push(Observation {
                metric: *metric,
                arm: arm.clone(),
                against: None,
                of: Some((*of).to_owned()),
                unit: (*unit).to_owned(),
                estimate,
                bootstrap: None,
                source: Source::Measured,
            });
        }
        let judged: Vec<&Reading> =
            figures.first().into_iter().flatten().map(|(_, reading)| *reading).collect();
        let (verdict, reason) = judge(&judged, plan.bound);
        let last = self.rounds.last().map_or(0, |(round, _)| round + 1);
        let ended = refused.map(|why| format!("Not observed any more after round {last}: {why}."));
        let sentences: Vec<String> = reason.sentence().into_iter().chain(ended).collect();
        row.verdict = verdict;
        row.reason = (!sentences.is_empty()).then(|| sentences.join(" "));
        row.observed = (!row.observations.is_empty()).then(|| (plan.observed)(&row.observations));
        (row.expected, row.bound) = (Some(plan.expected), Some(plan.bound));
        row
    }
}

/// The readings of each figure, the figure that is read first in front.
fn by_figure(rounds: &[(u32, Vec<Reading>)]) -> Vec<Vec<(u32, &Reading)>> {
    let mut figures: Vec<Vec<(u32, &Reading)>> = Vec::new();
    for (round, readings) in rounds {
        for reading in readings {
            let same = |other: &&mut Vec<(u32, &Reading)>| other[0].1.figure == reading.figure;
            match figures.iter_mut().find(same) {
                Some(figure) => figure.push((*round, reading)),
                None => figures.push(vec![(*round, reading)]),
            }
        }
    }
    figures
}

fn values(readings: &[(u32, &Reading)]) -> Vec<f64> {
    readings.iter().map(|(_, reading)| reading.value).collect()
}

#[cfg(test)]
mod tests;
