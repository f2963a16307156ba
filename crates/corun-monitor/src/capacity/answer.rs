//! A curve in words: the answer, what decides it, and what to do.

use corun_record::{Advice, CapacityAnswer, CapacityCurve, Estimate, Filling, Sample, Source};
use corun_stats::{median, percent};

use super::{is_sensible, measured::HALF};

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

/// What the work is called in a sentence.
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
    let left = range_in_words((1.0 - high).max(0.0), (1.0 - low).max(0.0));
    let rest = match left.as_str() {
        "0 %" => "nothing is left".to_owned(),
        left => format!("{left} is left"),
    };
    Some(CapacityAnswer {
        sentence: format!(
            "At {} reported you have used {} of what {can} do for {}{by}: {rest}.",
            percent(HALF),
            range_in_words(low, high),
            work(curve),
        ),
        reported: HALF,
        used_low: low,
        used_high: high,
    })
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
        let one = Estimate { low: smt_yield.low.max(1.0), ..*smt_yield }.under(1.0);
        let said = match smt_yield.high < 1.0 {
            true => {
                "busy siblings cost work, so that a core with one busy logical CPU has nothing left"
                    .to_owned()
            }
            false => format!(
                "a core with one busy logical CPU has used {} of itself, which the kernel reports as {}",
                range_in_words(one.low.min(1.0), one.high.min(1.0)),
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
    if let Some(reported) = planned(curve).filter(|_| curve.answer.is_some()) {
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
