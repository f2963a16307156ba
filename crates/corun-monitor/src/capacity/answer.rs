//! A curve in words: the answer, what decides it, and what to do.

use corun_record::{
    Advice, CapacityAnswer, CapacityCurve, CapacityLevel, Estimate, Filling, Sample, Source,
};
use corun_stats::{median, percent};

use super::is_sensible;

/// The utilisation that the answer is about.
pub(super) const HALF: f64 = 0.5;
/// An interval that is wider is no basis for a plan.
const WIDEST: f64 = 0.2;
/// The share of the capacity that a plan keeps below.
const PLANNED: f64 = 0.8;
/// Cores that do so much less together than alone slow each other.
const SLOWED: f64 = 0.98;
/// Clocks that differ by less are the same.
const SAME_CLOCK: f64 = 0.01;

/// Adds the answer, the reasons and the advice that follow from a curve.
pub(super) fn complete(curve: &mut CapacityCurve) {
    curve.answer = answer(curve);
    curve.reasons = reasons(curve);
    curve.advice = advice(curve);
}

/// Name of the work in a sentence.
fn work(curve: &CapacityCurve) -> &str {
    &curve.workload.name
}

fn answer(curve: &CapacityCurve) -> Option<CapacityAnswer> {
    let half = curve.levels.iter().find(|it| (it.reported - HALF).abs() < 1e-9)?;
    if ![&half.cores_first, &half.siblings_first].into_iter().all(is_sensible) {
        return None;
    }
    let [low, high] = half.range();
    let (can, by) = match (curve.source, &curve.model) {
        (Source::Predicted, Some(model)) => (
            format!("cores like {model} with {} siblings could", curve.smt_width),
            ", by prediction",
        ),
        _ => ("this machine can".to_owned(), ""),
    };
    let (used, left) = used_and_left(low, high);
    Some(CapacityAnswer {
        sentence: format!(
            "At {} reported you have used {used} of what {can} do for {}{by}: {left}.",
            percent(HALF),
            work(curve),
        ),
        reported: HALF,
        used_low: low,
        used_high: high,
    })
}

/// Used and left capacity, in words. An upper limit beyond all says nothing that the lower one does not.
fn used_and_left(low: f64, high: f64) -> (String, String) {
    let is_open = high > 1.0 && low < 1.0;
    let left = [high, low].map(|it| (1.0 - it).max(0.0));
    let in_words = match is_open {
        true => percent(left[1]),
        false => range_in_words(left[0], left[1]),
    };
    let rest = match (in_words.as_str(), is_open) {
        ("0 %", _) => "nothing is left".to_owned(),
        (left, true) => format!("at most {left} is left"),
        (left, false) => format!("{left} is left"),
    };
    match is_open {
        true => (format!("at least {}", percent(low)), rest),
        false => (range_in_words(low, high), rest),
    }
}

/// A range of shares: `58 to 71 %`.
fn range_in_words(low: f64, high: f64) -> String {
    let [low, high] = [percent(low), percent(high)];
    match low == high {
        true => high,
        false => format!("{} to {high}", low.trim_end_matches(" %")),
    }
}

fn interval(estimate: &Estimate) -> String {
    format!("{:.2} ({:.2} to {:.2})", estimate.value, estimate.low, estimate.high)
}

fn reasons(curve: &CapacityCurve) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(smt_yield) = curve.smt_yield.as_ref().filter(|it| is_sensible(it)) {
        let limit = |it: f64| it.clamp(1.0, f64::from(curve.smt_width));
        let [least, most] = [smt_yield.high, smt_yield.low].map(|it| 1.0 / limit(it));
        let said = match smt_yield.high < 1.0 {
            true => {
                "busy siblings cost work, so that a core with one busy logical CPU has nothing left"
                    .to_owned()
            }
            false => format!(
                "a core with one busy logical CPU has used {} of itself, which the kernel reports as {}",
                range_in_words(least, most),
                percent(1.0 / f64::from(curve.smt_width))
            ),
        };
        reasons.push(format!("The SMT yield is {}: {said}.", interval(smt_yield)));
    }
    if let Some(scaling) = curve.scaling.as_ref().filter(|it| is_sensible(it)) {
        let said = if scaling.high < SLOWED {
            "cores slow each other, by caches and memory that they share or by the clock, so that the first ones to be busy use more"
        } else if scaling.low > SLOWED {
            "cores do not slow each other"
        } else {
            "whether cores slow each other is not decided"
        };
        reasons.push(format!(
            "One worker on each of {} cores does {} times as much a core as one alone: {said}.",
            curve.cores,
            interval(scaling)
        ));
    }
    reasons.extend(clocks(curve));
    reasons
}

/// The clocks with one logical CPU busy and with all.
fn clocks(curve: &CapacityCurve) -> Option<String> {
    let points = &curve.order(Filling::CoresFirst)?.points;
    let clock = |arm: &str| {
        let own = curve.samples.iter().filter(|sample| sample.arm == arm);
        median(&own.filter_map(clock_of).collect::<Vec<_>>())
    };
    let of = |arm: Option<&str>| arm.and_then(clock);
    let (one, all) = (of(points.first()?.arm.as_deref())?, of(points.last()?.arm.as_deref())?);
    (one > all * (1.0 + SAME_CLOCK)).then(|| {
        format!(
            "The clock is {one:.2} GHz with one logical CPU busy and {all:.2} GHz with all: capacity shrinks as it is used."
        )
    })
}

/// The clock of the CPUs in use, in GHz, where the processor counts it.
fn clock_of(sample: &Sample) -> Option<f64> {
    sample.evidence.aperf_ghz
}

fn advice(curve: &CapacityCurve) -> Vec<Advice> {
    let one = |tool: &str, line: String| Advice { tool: tool.to_owned(), line, fits: true };
    let mut advice = Vec::new();
    if let Some(reported) = planned(curve) {
        advice.push(one(
            "plan",
            format!(
                "Call the machine full at {} reported: up to {} of its capacity for this work is used there.",
                percent(reported),
                percent(PLANNED)
            ),
        ));
    }
    if let Some(smt_yield) = curve.smt_yield.as_ref().filter(|it| is_sensible(it)) {
        let limit = |it: f64| it.clamp(1.0, f64::from(curve.smt_width));
        advice.push(one(
            "top",
            format!("corun top --yield {:.2}..{:.2}", limit(smt_yield.low), limit(smt_yield.high)),
        ));
    }
    advice
}

/// The reported utilisation at which the planned share of the capacity may be used: where the upper limit reaches it.
fn planned(curve: &CapacityCurve) -> Option<f64> {
    let is_narrow = |it: &Estimate| it.high - it.low <= WIDEST;
    let is_known = |it: &CapacityLevel| is_narrow(&it.cores_first) && is_narrow(&it.siblings_first);
    if !curve.levels.iter().all(is_known) {
        return None;
    }
    let mut before = [0.0, 0.0];
    for level in &curve.levels {
        let now = [level.reported, level.range()[1]];
        if now[1] >= PLANNED {
            let part = (PLANNED - before[1]) / (now[1] - before[1]);
            return Some(before[0] + part * (now[0] - before[0]));
        }
        before = now;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::curve::tests::{empty_curve, samples};
    use crate::capacity::design::tests::cores;
    use crate::capacity::{CurveDesign, curve_of};

    /// Two cores with two siblings, of which the second adds a quarter.
    fn curve(noise: f64) -> CapacityCurve {
        let design = CurveDesign::new(cores(&[2, 2]));
        let work = |arm: &corun_record::Arm| {
            f64::from(arm.cores) + 0.25 * f64::from(arm.workers - arm.cores)
        };
        let mut samples = samples(&design, work);
        for sample in samples.iter_mut().filter(|it| it.arm.starts_with("full")) {
            sample.throughput *= (noise * f64::from(sample.block)).exp();
        }
        let found = curve_of(&design, &samples, 0.95);
        let mut curve = CapacityCurve {
            orders: found.orders,
            levels: found.levels,
            smt_yield: found.smt_yield,
            scaling: found.scaling,
            samples,
            ..empty_curve()
        };
        complete(&mut curve);
        curve
    }

    #[test]
    fn a_known_machine_is_said_to_be_what_it_is() {
        let curve = curve(0.0);
        let advice = curve.advice.iter().map(|it| &it.line);
        let lines: Vec<&String> = curve
            .answer
            .iter()
            .map(|it| &it.sentence)
            .chain(&curve.reasons)
            .chain(advice)
            .collect();
        assert_eq!(
            lines,
            [
                "At 50 % reported you have used 50 to 80 % of what this machine can do for fib: 20 to 50 % is left.",
                "The SMT yield is 1.25 (1.25 to 1.25): a core with one busy logical CPU has used 80 % of itself, which the \
                 kernel reports as 50 %.",
                "One worker on each of 2 cores does 1.00 (1.00 to 1.00) times as much a core as one alone: cores do not slow \
                 each other.",
                "Call the machine full at 50 % reported: up to 80 % of its capacity for this work is used there.",
                "corun top --yield 1.25..1.25",
            ]
        );
    }

    #[test]
    fn what_is_too_uncertain_is_no_plan_and_no_share_above_all() {
        let curve = curve(-0.15);
        let answer = curve.answer.as_ref().unwrap();
        assert!(answer.used_high > 1.0, "{answer:?}");
        assert!(answer.sentence.contains("used at least "), "{answer:?}");
        assert!(answer.sentence.contains("at most "), "{answer:?}");
        assert!(curve.advice.iter().all(|it| it.tool != "plan"), "{:?}", curve.advice);
    }

    #[test]
    fn what_is_used_of_more_than_all_leaves_nothing() {
        let words = |low, high| {
            let (used, left) = used_and_left(low, high);
            format!("{used}: {left}")
        };
        assert_eq!(words(0.58, 0.71), "58 to 71 %: 29 to 42 % is left");
        assert_eq!(words(0.5, 0.5), "50 %: 50 % is left");
        assert_eq!(words(0.42, 1.9), "at least 42 %: at most 58 % is left");
        assert_eq!(words(1.05, 1.1), "105 to 110 %: nothing is left");
        assert_eq!(words(1.0, 1.0), "100 %: nothing is left");
    }
}
