//! Subjects set side by side: which observations have a counterpart, and what the pair of them shows.

use corun_record::{
    Caveat, ChangeAnswer, ComparedObservation, ComparedRun, Estimate, Metric, NotCompared,
    Observation, Pairing, RunComparison, Source,
};
use corun_stats::{
    BetweenRuns, Bounds, Circumstances, ForeignLoad, RunValue, Unsettled, Verdict, decide,
    level_of_each, unpaired,
};

use crate::facts::{Facts, differences};
use crate::history::{Earlier, each_once};
use crate::metrics::{is_compared, is_exact, is_of_all_work, name, sense};
use crate::pairs::{load, paired};
use crate::sentences;
use crate::subject::{Named, Subject};

/// Request of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRequest {
    /// The confidence with which all intervals hold together.
    pub confidence: f64,
    /// The practical bound, as a fraction.
    pub practical: f64,
    /// The metrics to compare; all where none is named.
    pub metrics: Vec<Metric>,
}

/// The comparison of runs with the first of them, and what limits trust in it. `history` holds earlier runs of the same
/// things.
pub fn compare(
    runs: &[Named],
    history: &[Subject],
    request: &ComparisonRequest,
) -> (RunComparison, Vec<Caveat>) {
    let mut comparison = RunComparison {
        runs: runs.iter().map(listed).collect(),
        differences: all_differences(runs),
        confidence: request.confidence,
        practical: request.practical,
        comparisons: 0,
        observations: Vec::new(),
        not_compared: Vec::new(),
        gate: None,
    };
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    if let Some((base, others)) = runs.split_first() {
        for (index, other) in (1..).zip(others) {
            let found = Matching { run: index, base, other, request };
            found.pairs(&mut pairs, &mut comparison.not_compared);
        }
    }
    let compared: Vec<&Subject> = runs.iter().flat_map(|run| &run.subjects).collect();
    let history = each_once(history, &compared);
    let earlier: Vec<Earlier> = pairs.iter().map(|pair| pair.earlier(&history)).collect();
    let restates = restatements(&pairs, &earlier);
    let own = restates.iter().filter(|is_restated| !**is_restated).count();
    comparison.comparisons = u32::try_from(own).unwrap_or(u32::MAX);
    let level = level_of_each(request.confidence, own);
    for ((pair, earlier), restates) in pairs.iter().zip(&earlier).zip(restates) {
        match pair.row(&earlier.between, level, request.practical, restates) {
            Some(row) => comparison.observations.push(row),
            None => comparison.not_compared.push(pair.refused(
                "a value or its interval is zero, negative or infinite, so that there is no ratio",
            )),
        }
    }
    let mut caveats = sentences::caveats(&comparison);
    caveats.extend(runs.iter().flat_map(sentences::of_run));
    let left_out = earlier.iter().map(|it| it.left_out).max().unwrap_or(0);
    caveats.extend(sentences::left_out(left_out));
    let mut with_itself: Vec<&str> =
        pairs.iter().filter(|it| it.is_with_itself()).map(|it| it.name.as_str()).collect();
    with_itself.dedup();
    caveats.extend(with_itself.into_iter().map(sentences::with_itself));
    (comparison, caveats)
}

fn listed(run: &Named) -> ComparedRun {
    let name = match &run.arm {
        Some(arm) => format!("{}#{arm}", run.name),
        None => run.name.clone(),
    };
    ComparedRun {
        name,
        started: run.subjects.first().map(|it| it.started.clone()).unwrap_or_default(),
        workloads: run.subjects.iter().map(Subject::title).collect(),
    }
}

/// The differences between the first subjects of the documents, which share their machine with the others.
fn all_differences(runs: &[Named]) -> Vec<corun_record::RunDifference> {
    let facts: Vec<&Facts> =
        runs.iter().filter_map(|run| Some(&run.subjects.first()?.facts)).collect();
    let mut found = differences(&facts);
    // Which workloads of a bench are compared is said where they are.
    if runs.iter().any(|run| run.subjects.len() > 1) {
        found.retain(|difference| difference.what != "command");
    }
    found
}

/// Which rows say the same as one above: the same distance from 1, as exactly known.
fn restatements(pairs: &[Pair<'_>], earlier: &[Earlier]) -> Vec<bool> {
    let sizes: Vec<Option<(f64, f64)>> = pairs
        .iter()
        .zip(earlier)
        .map(|(pair, earlier)| {
            let estimate = pair.estimate(&earlier.between, 0.95)?;
            Some((estimate.log.abs(), estimate.half_width()))
        })
        .collect();
    let equals = |one: f64, other: f64| (one - other).abs() <= 1e-9;
    let says_the_same = |row: usize, earlier: usize| match (sizes[row], sizes[earlier]) {
        (Some(one), Some(other)) => {
            pairs[row].run == pairs[earlier].run
                && std::ptr::eq(pairs[row].base, pairs[earlier].base)
                && pairs[row].after.arm == pairs[earlier].after.arm
                && equals(one.0, other.0)
                && equals(one.1, other.1)
        }
        // What gives no estimate is no comparison.
        (None, _) => true,
        (_, None) => false,
    };
    (0..pairs.len())
        .map(|row| sizes[row].is_none() || (0..row).any(|earlier| says_the_same(row, earlier)))
        .collect()
}

/// A document beside the base.
struct Matching<'a> {
    run: u32,
    base: &'a Named,
    other: &'a Named,
    request: &'a ComparisonRequest,
}

impl<'a> Matching<'a> {
    fn pairs(&self, pairs: &mut Vec<Pair<'a>>, refused: &mut Vec<NotCompared>) {
        let single = self.base.subjects.len() == 1 && self.other.subjects.len() == 1;
        let counterparts = match single {
            true => vec![self.other.subjects.first()],
            false => counterparts(&self.base.subjects, &self.other.subjects),
        };
        for (base, other) in self.base.subjects.iter().zip(counterparts) {
            match other {
                Some(other) => self.of_subjects((base, other), single, pairs, refused),
                None => refused.push(NotCompared {
                    run: self.run,
                    what: base.title(),
                    reason: "the run has no such workload".to_owned(),
                    spoiled: false,
                }),
            }
        }
    }

    fn of_subjects(
        &self,
        (base, other): (&'a Subject, &'a Subject),
        single: bool,
        pairs: &mut Vec<Pair<'a>>,
        refused: &mut Vec<NotCompared>,
    ) {
        let sides = [(&self.base.name, base), (&self.other.name, other)];
        if let Some((name, why)) = sides.iter().find_map(|(name, it)| Some((name, it.spoiled()?))) {
            refused.push(NotCompared {
                run: self.run,
                what: base.title(),
                reason: format!("in {name} {why}"),
                spoiled: true,
            });
            return;
        }
        // An arm that is named for one run only is meant of both.
        let arms = [&self.base.arm, &self.other.arm];
        let [base_arm, other_arm] =
            [arms[0].as_ref().or(arms[1].as_ref()), arms[1].as_ref().or(arms[0].as_ref())];
        let is_wanted = |seen: &&Observation| {
            is_compared(seen.metric)
                && (self.request.metrics.is_empty() || self.request.metrics.contains(&seen.metric))
                && base_arm.is_none_or(|arm| seen.arm == *arm)
                && (base_arm == other_arm || seen.against.is_none())
        };
        for before in base.observations.iter().filter(is_wanted) {
            let arm = other_arm.unwrap_or(&before.arm);
            let is_it = |after: &&Observation| {
                (after.metric, &after.arm, &after.against, &after.of)
                    == (before.metric, arm, &before.against, &before.of)
            };
            // Predictions hold some figures twice: predicted and measured.
            let found = || other.observations.iter().filter(is_it);
            let after = found().find(|after| after.source == before.source).or(found().next());
            let name = &self.other.name;
            let pair = |after| Pair { run: self.run, name, single, base, other, before, after };
            match after {
                None => refused.push(pair(before).refused("the other run has no such observation")),
                Some(after) => {
                    let pair = pair(after);
                    match pair.why_not() {
                        None => pairs.push(pair),
                        Some(reason) => refused.push(pair.refused(&reason)),
                    }
                }
            }
        }
    }
}

/// Counterparts of an observation in the other document, each once: preferably with the same arms, and the n-th of
/// several equal ones with the n-th.
fn counterparts<'a>(base: &[Subject], other: &'a [Subject]) -> Vec<Option<&'a Subject>> {
    let mut free: Vec<&Subject> = other.iter().collect();
    let mut found: Vec<Option<&Subject>> = vec![None; base.len()];
    for same_arms in [true, false] {
        for (base, found) in base.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            let is_it = |other: &&Subject| {
                other.is_of_the_same(base) && (!same_arms || other.layout() == base.layout())
            };
            *found = free.iter().position(is_it).map(|index| free.remove(index));
        }
    }
    found
}

/// An observation of the base and its counterpart.
struct Pair<'a> {
    run: u32,
    /// The name of the other run.
    name: &'a String,
    /// True if both documents hold one workload.
    single: bool,
    base: &'a Subject,
    other: &'a Subject,
    before: &'a Observation,
    after: &'a Observation,
}

impl Pair<'_> {
    fn why_not(&self) -> Option<String> {
        let (before, after) = (self.before, self.after);
        if before.source != after.source {
            let word = |source| match source {
                Source::Measured => "measured",
                Source::Predicted => "predicted",
                Source::Published => "published",
            };
            return Some(format!(
                "one is {}, the other {}",
                word(before.source),
                word(after.source)
            ));
        }
        if before.unit != after.unit {
            return Some(format!("one is in {}, the other in {}", before.unit, after.unit));
        }
        if is_of_all_work(before.metric) && self.base.operations != self.other.operations {
            return Some(
                "the runs did not do the same amount of work; their throughputs are compared"
                    .to_owned(),
            );
        }
        let layout = |of: &Subject, arm: &str| of.layout().get(arm).copied();
        let [one, other] = [layout(self.base, &before.arm), layout(self.other, &after.arm)];
        match (one, other) {
            (Some(one), Some(other)) if one != other && before.arm == after.arm => Some(format!(
                "{} is {} workers on {} cores in one run, and {} on {} in the other",
                before.arm, one.0, one.1, other.0, other.1
            )),
            _ => None,
        }
    }

    fn refused(&self, reason: &str) -> NotCompared {
        let of = if self.single { String::new() } else { format!("{}: ", self.base.title()) };
        NotCompared {
            run: self.run,
            what: format!("{of}{} of {}", name(self.before), self.before.arm),
            reason: reason.to_owned(),
            spoiled: false,
        }
    }

    fn pairing(&self) -> Pairing {
        let is_same_run = self.base.is_same_run(self.other);
        match self.before.source {
            Source::Measured if is_exact(self.before) && is_exact(self.after) => Pairing::Simulated,
            Source::Measured if is_same_run && self.paired(0.95).is_some() => Pairing::Blocks,
            Source::Measured if is_same_run => Pairing::WithinRun,
            Source::Measured => Pairing::BetweenRuns,
            Source::Predicted | Source::Published => Pairing::Simulated,
        }
    }

    /// True if the same figure of the same run stands on both sides.
    fn is_with_itself(&self) -> bool {
        self.base.is_same_run(self.other) && self.before.arm == self.after.arm
    }

    fn paired(&self, level: f64) -> Option<corun_stats::Estimate> {
        paired(self.base, self.before, self.after, level)
    }

    /// Values of earlier equal runs of this observation: those whose facts are the base's, and those whose are the
    /// other's.
    fn earlier(&self, history: &[&Subject]) -> Earlier {
        if self.pairing() != Pairing::BetweenRuns {
            return Earlier::none();
        }
        let (mut like_base, mut like_other) = (Vec::new(), Vec::new());
        for run in history {
            if run.facts.agree_with(&self.base.facts) {
                like_base.extend(value_in(run, self.base, self.before));
            } else if run.facts.agree_with(&self.other.facts) {
                like_other.extend(value_in(run, self.other, self.after));
            }
        }
        Earlier::of([&like_base, &like_other])
    }

    fn estimate(&self, between: &BetweenRuns, level: f64) -> Option<corun_stats::Estimate> {
        match self.pairing() {
            Pairing::Blocks => self.paired(level),
            _ => {
                let (before, after) =
                    (self.of(self.base, self.before), self.of(self.other, self.after));
                let estimate = unpaired(&value(&before)?, &value(&after)?, between, level)?;
                Some(estimate.allowing(self.load_allowance()))
            }
        }
    }

    /// A figure without the error of the core's model where both are predicted on one, which shares its error.
    fn of(&self, run: &Subject, seen: &Observation) -> Observation {
        let mut own = seen.clone();
        let of_program = [Metric::Cycles, Metric::UserTime, Metric::InstructionsPerCycle];
        let is_shared = seen.source == Source::Predicted
            && of_program.contains(&seen.metric)
            && self.base.core_model == self.other.core_model;
        if let Some(cycles) = run.simulated_cycles.filter(|_| is_shared) {
            let limits = [cycles.low / cycles.value, cycles.high / cycles.value];
            let [low, high] = match seen.metric {
                Metric::InstructionsPerCycle => [1.0 / limits[1], 1.0 / limits[0]],
                _ => limits,
            };
            own.estimate.low = own.estimate.value * low;
            own.estimate.high = own.estimate.value * high;
        }
        own
    }

    /// Foreign load of the arms of either run.
    fn loads(&self) -> [ForeignLoad; 2] {
        [(self.base, self.before), (self.other, self.after)]
            .map(|(run, seen)| load(run, [Some(&seen.arm), seen.against.as_ref()]))
    }

    /// Allowance for what other work may have added to the log ratio, either way: of one arm, what it took from one run
    /// and not from the other; of a ratio of arms, what it may have added to either.
    fn load_allowance(&self) -> f64 {
        let [base, other] = self.loads().map(|load| load.allowance());
        match self.before.against {
            None => (base - other).abs(),
            Some(_) => base + other,
        }
    }

    /// True if other work took so much, so often, that nothing can be said of the program itself.
    fn load_decides(&self) -> bool {
        self.loads().iter().any(ForeignLoad::decides)
    }

    fn row(
        &self,
        between: &BetweenRuns,
        level: f64,
        practical: f64,
        restates: bool,
    ) -> Option<ComparedObservation> {
        let estimate = self.estimate(between, level)?;
        let pairing = self.pairing();
        let noise_floor = self.noise_floor();
        let bounds = Bounds {
            practical: practical.ln_1p(),
            noise_floor: noise_floor.map_or(0.0, f64::ln_1p),
        };
        let disturbed = self.load_decides();
        let circumstances = Circumstances { load_decides: disturbed, ..Circumstances::default() };
        let verdict = decide(&estimate, bounds, circumstances);
        let sense = sense(self.after);
        let [value, low, high] = estimate.ratio();
        let ratio = Estimate { value, low, high, level, blocks: estimate.blocks };
        let mut row = ComparedObservation {
            run: self.run,
            workload: (!self.single).then(|| self.base.title()),
            metric: self.after.metric,
            source: self.after.source,
            arm: self.after.arm.clone(),
            base_arm: (self.before.arm != self.after.arm).then(|| self.before.arm.clone()),
            against: self.after.against.clone(),
            of: self.after.of.clone(),
            unit: self.after.unit.clone(),
            base: self.before.estimate,
            value: self.after.estimate,
            ratio,
            sense,
            pairing,
            earlier_runs: u32::try_from(between.runs).unwrap_or(u32::MAX),
            run_deviation: (pairing == Pairing::BetweenRuns).then(|| between.deviation().exp_m1()),
            standard_error: (!self.is_with_itself()).then_some(estimate.standard_error),
            noise_floor,
            disturbed,
            restates,
            answer: answer(verdict, sense),
            sentence: String::new(),
        };
        row.sentence = sentences::of_row(&row, unsettled(verdict), practical);
        Some(row)
    }

    /// The largest effect that identical arms can show by noise alone in either run, over all arms that the metric is of.
    fn noise_floor(&self) -> Option<f64> {
        let floors = [(self.base, self.before), (self.other, self.after)].into_iter().flat_map(
            |(run, seen)| {
                let arms = [Some(&seen.arm), seen.against.as_ref()].into_iter().flatten();
                arms.filter_map(|arm| {
                    let is_floor =
                        |it: &&Observation| it.metric == Metric::NoiseFloor && it.arm == *arm;
                    run.observations.iter().find(is_floor).map(|it| it.estimate.value)
                })
                .collect::<Vec<_>>()
            },
        );
        floors.filter(|floor| floor.is_finite()).reduce(f64::max)
    }
}

/// An observation as a value with its run's own error.
pub(crate) fn value(seen: &Observation) -> Option<RunValue> {
    let Estimate { value, low, high, level, blocks } = seen.estimate;
    RunValue::of_interval(value, [low, high], level, blocks)
}

/// The value of an observation in another run of the same thing.
fn value_in(run: &Subject, like: &Subject, seen: &Observation) -> Option<RunValue> {
    if is_of_all_work(seen.metric) && run.operations != like.operations {
        return None;
    }
    let is_it = |it: &&Observation| {
        (it.metric, &it.arm, &it.against, &it.of, &it.unit, it.source)
            == (seen.metric, &seen.arm, &seen.against, &seen.of, &seen.unit, seen.source)
    };
    let is_laid_out_alike =
        run.layout().get(seen.arm.as_str()) == like.layout().get(seen.arm.as_str());
    run.observations.iter().find(is_it).filter(|_| is_laid_out_alike).and_then(value)
}

fn answer(verdict: Verdict, sense: corun_record::Sense) -> ChangeAnswer {
    use corun_record::Sense::{HigherIsBetter, LowerIsBetter, Neither};
    match (verdict, sense) {
        (Verdict::Helps, HigherIsBetter) | (Verdict::Hurts, LowerIsBetter) => ChangeAnswer::Better,
        (Verdict::Helps, LowerIsBetter) | (Verdict::Hurts, HigherIsBetter) => ChangeAnswer::Worse,
        (Verdict::Helps, Neither) => ChangeAnswer::Higher,
        (Verdict::Hurts, Neither) => ChangeAnswer::Lower,
        (Verdict::NoPracticalEffect, _) => ChangeAnswer::NoChange,
        (Verdict::Inconclusive(_), _) => ChangeAnswer::Inconclusive,
    }
}

fn unsettled(verdict: Verdict) -> Option<Unsettled> {
    match verdict {
        Verdict::Inconclusive(reason) => Some(reason),
        Verdict::Helps | Verdict::Hurts | Verdict::NoPracticalEffect => None,
    }
}
