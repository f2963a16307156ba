//! A workload's figures over its runs, with the places where their level changes.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{
    Actionable, Caveat, ChangeAnswer, Exit, Metric, Observation, Sense, Trend, TrendChange,
    TrendPoint, TrendRun, TrendSeries, excerpt,
};
use corun_stats::{CHANGE_POINTS_FROM_VALUES, ChangePoint, change_points};

use crate::metrics::{is_compared, is_of_all_work, sense};
use crate::pairs::load;
use crate::subject::{Named, Subject};

/// The seed of the permutations: the same runs give the same answer.
const SEED: u64 = 1;
/// Names in an error that does not list all of them.
const SHOWN: usize = 5;

/// Request of a trend.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendRequest {
    /// A workload's name, or with its parameters, or a command; needed where the runs are of several.
    pub workload: Option<String>,
    /// The metrics to show; all where none is named.
    pub metrics: Vec<Metric>,
    /// The arms to show; all where none is named.
    pub arms: Vec<String>,
    /// A share of series without a change in which one is marked, at most.
    pub error_rate: f64,
    /// The smallest change that is marked, as a fraction.
    pub practical: f64,
}

/// Why there is no trend.
#[derive(Debug, thiserror::Error)]
pub enum TrendError {
    /// No run of the workload.
    #[error("expected runs of {wanted:?}, found runs of {found}")]
    NoSuchWorkload {
        /// The workload asked for.
        wanted: String,
        /// Those that there are.
        found: String,
    },
    /// Runs of several workloads.
    #[error("expected runs of one workload, found runs of {0}")]
    Several(String),
    /// Nothing to show.
    #[error("expected two runs with an observation in common, found none")]
    NothingInCommon,
}

impl Actionable for TrendError {
    fn exit(&self) -> Exit {
        Exit::Usage
    }

    fn next_step(&self) -> String {
        match self {
            Self::NoSuchWorkload { .. } | Self::Several(_) => {
                "Name one of them with --workload, with its parameters if there are several."
            }
            Self::NothingInCommon => "Name more runs of the same workload and placements.",
        }
        .to_owned()
    }
}

/// A run of the workload by the name of its document.
struct Member<'a> {
    name: &'a str,
    subject: &'a Subject,
}

/// Key of a series: an observation, of one core model where it is of a prediction.
#[derive(Clone, Copy)]
struct Key<'a> {
    core_model: Option<&'a String>,
    seen: &'a Observation,
}

impl Key<'_> {
    fn is_same(self, other: Key<'_>) -> bool {
        self.core_model == other.core_model && is_same(self.seen, other.seen)
    }
}

/// The trend of a workload over these runs, and what limits trust in it.
///
/// # Errors
/// If the runs are not of one workload, or have nothing in common.
pub fn trend(runs: &[Named], request: &TrendRequest) -> Result<(Trend, Vec<Caveat>), TrendError> {
    let mut members = members(runs, request.workload.as_deref())?;
    let all = members.len();
    members.retain(|it| it.subject.spoiled().is_none());
    let failed = all - members.len();
    // What a program finds when it begins decides what it takes.
    let preparation = members.last().and_then(|it| it.subject.facts.preparation());
    let alike = members.len();
    members.retain(|it| {
        let own = it.subject.facts.preparation();
        own.is_none() || preparation.is_none() || own == preparation
    });
    let otherwise = alike - members.len();
    let Some(last) = members.last() else { return Err(TrendError::NothingInCommon) };
    let mut keys: Vec<Key<'_>> = Vec::new();
    for Member { subject, .. } in &members {
        for seen in subject.observations.iter().filter(|seen| is_shown(seen, request)) {
            let key = Key { core_model: subject.core_model.as_ref(), seen };
            if !keys.iter().any(|it| it.is_same(key)) {
                keys.push(key);
            }
        }
    }
    let series: Vec<TrendSeries> =
        keys.into_iter().filter_map(|key| one_series(key, &members, request)).collect();
    let series = without_repeats(series, request);
    if series.is_empty() {
        return Err(TrendError::NothingInCommon);
    }
    let mut caveats = caveats(&members, failed, &series);
    if otherwise > 0 {
        let sentence = format!(
            "{otherwise} runs are left out: what ran before each of their samples (--prepare) is not that of the newest run, \
             which is {}.",
            preparation.unwrap_or_default()
        );
        caveats.push(Caveat::new("other-preparation", sentence));
    }
    let trend = Trend {
        workload: last.subject.label.clone(),
        runs: listed(&members),
        error_rate: request.error_rate,
        practical: request.practical,
        series,
    };
    Ok((trend, caveats))
}

/// Limits of trust: runs that failed or were disturbed, and series too short to show a change.
fn caveats(members: &[Member<'_>], failed: usize, series: &[TrendSeries]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if failed > 0 {
        let sentence = format!("{failed} runs are left out: their program failed.");
        caveats.push(Caveat::new("failed-runs", sentence));
    }
    let points = || series.iter().flat_map(|it| &it.points);
    if points().any(|it| it.disturbed) {
        let runs: BTreeSet<u32> = points().filter(|it| it.disturbed).map(|it| it.run).collect();
        caveats.push(Caveat::new(
            "foreign-load",
            format!(
                "In {} of {} runs other programs took the workers' CPUs: their values are shown, and no change is judged by \
                 them.",
                runs.len(),
                members.len()
            ),
        ));
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for member in members {
        let disturbing = member.subject.caveats.iter().filter(|it| it.disturbs());
        let of_member: BTreeSet<&str> = disturbing.map(|it| it.kind.as_str()).collect();
        of_member.into_iter().for_each(|kind| *kinds.entry(kind).or_default() += 1);
    }
    for (kind, runs) in kinds {
        let sentence = format!("{runs} of {} runs carry the caveat `{kind}`.", members.len());
        caveats.push(Caveat::new(kind, sentence));
    }
    let judged = |it: &TrendSeries| it.points.iter().filter(|point| !point.disturbed).count();
    if let Some(fewest) =
        series.iter().map(judged).min().filter(|it| *it < CHANGE_POINTS_FROM_VALUES)
    {
        caveats.push(Caveat::new(
            "few-runs",
            format!(
                "A series has {fewest} values that can be judged: no change is found in fewer than \
                 {CHANGE_POINTS_FROM_VALUES}, so that none is shown does not mean that there is none."
            ),
        ));
    }
    caveats
}

/// The runs of the workload, the oldest first, each once.
fn members<'a>(runs: &'a [Named], workload: Option<&str>) -> Result<Vec<Member<'a>>, TrendError> {
    let all = || {
        runs.iter()
            .flat_map(|run| run.subjects.iter().map(|subject| Member { name: &run.name, subject }))
    };
    let labels = |members: &mut dyn Iterator<Item = Member<'a>>| {
        members.map(|member| member.subject.label.as_str()).collect::<BTreeSet<&str>>()
    };
    let is_wanted = |member: &Member<'_>| workload.is_none_or(|it| member.subject.is_called(it));
    let found = labels(&mut all().filter(is_wanted));
    match (found.len(), workload) {
        (0, Some(wanted)) => {
            let found = listing(&labels(&mut all()));
            return Err(TrendError::NoSuchWorkload { wanted: wanted.to_owned(), found });
        }
        (0 | 1, _) => {}
        _ => return Err(TrendError::Several(listing(&found))),
    }
    let mut members: Vec<Member<'_>> = Vec::new();
    for member in all().filter(is_wanted) {
        if !members.iter().any(|it| it.subject.is_same_run(member.subject)) {
            members.push(member);
        }
    }
    // RFC 3339 in UTC sorts as text.
    members.sort_by(|one, other| one.subject.started.cmp(&other.subject.started));
    Ok(members)
}

fn listing(labels: &BTreeSet<&str>) -> String {
    let shown: Vec<String> = labels.iter().take(SHOWN).map(|label| excerpt(label)).collect();
    let more = if labels.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn listed(members: &[Member<'_>]) -> Vec<TrendRun> {
    let run = |index: usize| {
        let member = &members[index];
        let is_alike = |it: &&Member<'_>| it.subject.core_model == member.subject.core_model;
        let earlier = members[..index].iter().rfind(is_alike).map(|it| &it.subject.facts);
        TrendRun {
            name: member.name.to_owned(),
            started: member.subject.started.clone(),
            changed: earlier
                .map(|facts| member.subject.facts.changes_since(facts))
                .unwrap_or_default(),
        }
    };
    (0..members.len()).map(run).collect()
}

fn is_shown(seen: &Observation, request: &TrendRequest) -> bool {
    is_compared(seen.metric)
        && (request.metrics.is_empty() || request.metrics.contains(&seen.metric))
        && (request.arms.is_empty() || request.arms.contains(&seen.arm))
}

fn is_same(one: &Observation, other: &Observation) -> bool {
    (one.metric, &one.arm, &one.against, &one.of, &one.unit, one.source)
        == (other.metric, &other.arm, &other.against, &other.of, &other.unit, other.source)
}

/// A series of at least two values; a time is of runs that did as much work as the last of them.
fn one_series(
    Key { core_model, seen: key }: Key<'_>,
    members: &[Member<'_>],
    request: &TrendRequest,
) -> Option<TrendSeries> {
    let found = |member: &Member<'_>| {
        let subject = member.subject;
        let is_it =
            |it: &&Observation| subject.core_model.as_ref() == core_model && is_same(it, key);
        subject.observations.iter().find(is_it).map(|it| it.estimate)
    };
    let operations = members.iter().rfind(|it| found(it).is_some())?.subject.operations;
    let is_comparable = |member: &Member<'_>| {
        !is_of_all_work(key.metric) || member.subject.operations == operations
    };
    let points: Vec<TrendPoint> = (0..)
        .zip(members)
        .filter(|(_, member)| is_comparable(member))
        .filter_map(|(run, member)| {
            let estimate = found(member)?;
            let arms = [Some(&key.arm), key.against.as_ref()];
            Some(TrendPoint { run, estimate, disturbed: load(member.subject, arms).decides() })
        })
        .filter(|point| point.estimate.value > 0.0 && point.estimate.value.is_finite())
        .collect();
    if points.len() < 2 {
        return None;
    }
    let sense = sense(key);
    let judged: Vec<usize> = (0..points.len()).filter(|&at| !points[at].disturbed).collect();
    let logs: Vec<f64> = judged.iter().map(|&at| points[at].estimate.value.ln()).collect();
    let mut changes = changes(&logs, sense, request);
    for change in &mut changes {
        change.point = judged[change.point as usize] as u32;
    }
    Some(TrendSeries {
        core_model: core_model.cloned(),
        metric: key.metric,
        source: key.source,
        arm: key.arm.clone(),
        against: key.against.clone(),
        of: key.of.clone(),
        unit: key.unit.clone(),
        sense,
        points,
        changes,
    })
}

/// The changes of level that are large enough to matter.
fn changes(logs: &[f64], sense: Sense, request: &TrendRequest) -> Vec<TrendChange> {
    let mut found = change_points(logs, request.error_rate, SEED);
    loop {
        let sizes = sizes(logs, &found);
        let smallest = (0..found.len())
            .min_by(|&one, &other| sizes[one].abs().total_cmp(&sizes[other].abs()))
            .filter(|&it| sizes[it].abs() <= request.practical.ln_1p());
        match smallest {
            // Without it the levels on both sides of it are one.
            Some(index) => found.remove(index),
            None => {
                let change = |(change, size): (&ChangePoint, f64)| TrendChange {
                    point: u32::try_from(change.index).unwrap_or(u32::MAX),
                    ratio: size.exp(),
                    probability: change.probability,
                    answer: answer(size, sense),
                };
                return found.iter().zip(sizes).map(change).collect();
            }
        };
    }
}

/// The log ratio of the levels around each change.
fn sizes(logs: &[f64], changes: &[ChangePoint]) -> Vec<f64> {
    let borders: Vec<usize> =
        [0].into_iter().chain(changes.iter().map(|it| it.index)).chain([logs.len()]).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let levels: Vec<f64> = borders.windows(2).map(|it| mean(&logs[it[0]..it[1]])).collect();
    levels.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn answer(size: f64, sense: Sense) -> ChangeAnswer {
    match (sense, size > 0.0) {
        (Sense::HigherIsBetter, true) | (Sense::LowerIsBetter, false) => ChangeAnswer::Better,
        (Sense::HigherIsBetter, false) | (Sense::LowerIsBetter, true) => ChangeAnswer::Worse,
        (Sense::Neither, true) => ChangeAnswer::Higher,
        (Sense::Neither, false) => ChangeAnswer::Lower,
    }
}

/// Leaves out what says the same as another series, unless it was asked for.
fn without_repeats(mut series: Vec<TrendSeries>, request: &TrendRequest) -> Vec<TrendSeries> {
    if request.metrics.is_empty() {
        let has_throughput: Vec<String> = series
            .iter()
            .filter(|it| it.metric == Metric::Throughput)
            .map(|it| it.arm.clone())
            .collect();
        series.retain(|it| match it.metric {
            Metric::Makespan => !has_throughput.contains(&it.arm),
            Metric::RelativeThroughput | Metric::SiblingSlowdown => false,
            _ => true,
        });
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(practical: f64) -> TrendRequest {
        TrendRequest {
            workload: None,
            metrics: Vec::new(),
            arms: Vec::new(),
            error_rate: 0.05,
            practical,
        }
    }

    #[test]
    fn small_changes_are_left_out_and_their_sides_become_one() {
        let ripple = |index: usize| 0.001 * ((index as f64) * 2.4).sin();
        let level = |index: usize| match index {
            0..12 => 0.0,
            12..24 => 0.01,
            _ => 0.11,
        };
        let logs: Vec<f64> = (0..36).map(|index| level(index) + ripple(index)).collect();
        let found = |practical| changes(&logs, Sense::LowerIsBetter, &request(practical));
        let points = |found: &[TrendChange]| found.iter().map(|it| it.point).collect::<Vec<_>>();
        assert_eq!(points(&found(0.0)), [12, 24]);
        let large = found(0.02);
        assert_eq!(points(&large), [24]);
        // The mean of the levels 0 and 0.01 lies 0.105 below the third.
        assert!((large[0].ratio.ln() - 0.105).abs() < 1e-3, "{large:?}");
        assert_eq!(large[0].answer, ChangeAnswer::Worse);
    }
}
