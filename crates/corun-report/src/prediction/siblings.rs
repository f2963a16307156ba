//! Effects of a busy sibling on a program, in words: the answer, why, and what to do.

use corun_record::{
    Answer, AttributedCode, Cause, Caveat, Effect, Estimate, KnownBy, Metric, MissRate,
    Observation, Placement, PredictedPlacement, PredictedStacked, Prediction, Source, WhatIf,
    on_one_line,
};
use corun_stats::{TOO_UNCERTAIN, percent};

use super::words::gerund;
use crate::bars::{Bar, bars};
use crate::figures::{interval, is_sensible, ratio};
use crate::prose::begin_of;
use crate::screen::NextStep;

/// A prediction of the program alone that is off by more than this share is not to be trusted.
const MAX_ERROR_ALONE: f64 = 0.15;
/// Characters of a function's or a file's name that are shown.
const MOST_OF_NAME: usize = 32;

/// The answer of a verdict in words.
fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Helps => "helps",
        Answer::Hurts => "hurts",
        Answer::NoPracticalEffect => "hardly changes the work of a core",
        Answer::Inconclusive => "may help or hurt",
    }
}

/// The verdict on a placement.
fn verdict(prediction: &Prediction, placement: &PredictedPlacement) -> Answer {
    // A figure without a verdict decides nothing.
    prediction.answer(&placement.placement.to_string()).unwrap_or(Answer::Inconclusive)
}

/// The predicted figure of a placement.
fn figure(
    prediction: &Prediction,
    placement: &PredictedPlacement,
    metric: Metric,
) -> Option<Estimate> {
    let arm = placement.placement.to_string();
    let is_it =
        |it: &&Observation| it.metric == metric && it.arm == arm && it.source == Source::Predicted;
    prediction.observations.iter().find(is_it).map(|it| it.estimate)
}

/// The ratio of work of a placement: none for `packed`, which has a ratio of times.
fn work(prediction: &Prediction, placement: &PredictedPlacement) -> Option<Estimate> {
    figure(prediction, placement, Metric::SmtYield)
}

/// The answer: a sentence for each placement, what was measured, and what a reader must know of them.
pub fn answers(prediction: &Prediction) -> Vec<String> {
    findings(prediction).into_iter().chain(reservations(prediction)).collect()
}

/// Sentences on the placements, as predicted and as measured.
pub(super) fn findings(prediction: &Prediction) -> Vec<String> {
    let sentences = prediction.beside.iter().filter_map(|it| answer(prediction, it));
    let measured = measured_yields(prediction).filter_map(|it| measured(prediction, it));
    let stacked = prediction.stacked.iter().map(|it| turns(prediction, it));
    sentences.chain(stacked).chain(measured).collect()
}

/// Sentences without which the findings mislead: that the model is off, and of which part of a program they are.
pub(super) fn reservations(prediction: &Prediction) -> Vec<String> {
    let limits = prediction.caveats.iter().filter(|it| LIMITS.contains(&it.kind.as_str()));
    mistrust(prediction).into_iter().chain(limits.map(|it| it.sentence.clone())).collect()
}

/// The caveats that say of which program, process or part of a run the answer is.
const LIMITS: [&str; 8] = [
    "no-figure",
    "implausible-yield",
    "becomes-another",
    "children",
    "processes-unknown",
    "runs-by-time",
    "other-work",
    "time-limit",
];

/// Sentences on what was asked for beside siblings and has no figure.
pub(super) fn missing(prediction: &Prediction) -> Vec<String> {
    let is_missing = |it: &&Caveat| ["no-figure", "implausible-yield"].contains(&it.kind.as_str());
    prediction.caveats.iter().filter(is_missing).map(|it| it.sentence.clone()).collect()
}

/// Sentence on copies that take turns, and the gain of the hardware over that.
fn turns(prediction: &Prediction, stacked: &PredictedStacked) -> String {
    let PredictedStacked { slice_ms, switch_us, refill_cycles, work, .. } = stacked;
    let is_gain =
        |it: &&Observation| it.metric == Metric::MultitaskingGain && it.source == Source::Predicted;
    let gains = prediction.observations.iter().filter(is_gain).map(|it| {
        format!(
            " The multitasking gain, {} over stacked, is {} ({}).",
            it.arm,
            ratio(&it.estimate),
            interval(&it.estimate)
        )
    });
    format!(
        "Stacked copies, which take turns on one hardware thread, do {} times the work of one ({}): of {slice_ms} ms, a \
         slice loses {switch_us} µs to the switch and {} cycles to refilled caches.{}",
        ratio(work),
        interval(work),
        super::count(*refill_cycles),
        gains.collect::<String>()
    )
}

/// The yields that were measured on siblings.
fn measured_yields(prediction: &Prediction) -> impl Iterator<Item = &Observation> {
    let is_yield =
        |it: &&Observation| it.metric == Metric::SmtYield && it.source == Source::Measured;
    prediction.observations.iter().filter(is_yield)
}

/// A measured yield, and whether the predicted one agrees.
fn measured(prediction: &Prediction, seen: &Observation) -> Option<String> {
    let siblings = prediction.measured_siblings.as_ref()?;
    let cpus: Vec<String> = siblings.cpus.iter().map(u32::to_string).collect();
    let own = &seen.estimate;
    let is_predicted = |it: &&Observation| {
        it.metric == Metric::SmtYield && it.arm == seen.arm && it.source == Source::Predicted
    };
    let agreement = match prediction.observations.iter().find(is_predicted) {
        None => String::new(),
        Some(it) if it.estimate.low <= own.high && own.low <= it.estimate.high => {
            "; the two intervals overlap".to_owned()
        }
        Some(it) => format!(
            "; the prediction is {} % too {}",
            crate::figures::three_digits(100.0 * (it.estimate.value / own.value - 1.0).abs()),
            if it.estimate.value > own.value { "high" } else { "low" }
        ),
    };
    Some(format!(
        "Measured here in {} ({} of one core): {}{agreement}.",
        seen.arm,
        match &cpus[..] {
            [one] => format!("CPU {one}"),
            _ => format!("CPUs {}", cpus.join(", ")),
        },
        match is_sensible(own) {
            true => format!("{} times the work of one ({})", ratio(own), interval(own)),
            false => TOO_UNCERTAIN.to_owned(),
        }
    ))
}

fn answer(prediction: &Prediction, placement: &PredictedPlacement) -> Option<String> {
    let core = &prediction.core.model;
    if let Some(time) = figure(prediction, placement, Metric::CoreEquivalence) {
        return Some(format!(
            "On {core}, {} take {} times as long as on a core each ({}).",
            workers(placement, "on one core"),
            ratio(&time),
            interval(&time)
        ));
    }
    let work = work(prediction, placement)?;
    let verdict = word(verdict(prediction, placement));
    let times = format!("{:.2}", prediction.time_beside(&placement.slowdown).value);
    let a_cycle = figure(prediction, placement, Metric::YieldInCycles);
    let clock = prediction.core.sibling_clock.as_ref().map(|it| it.known);
    let of_work = match (a_cycle, clock) {
        (Some(it), Some(KnownBy::Published | KnownBy::Assumed)) => {
            format!("{} times the work of one a cycle ({} a second)", ratio(&it), interval(&work))
        }
        (None, _) => format!("{} times the work of one ({})", ratio(&work), interval(&work)),
        (Some(it), _) => format!(
            "{} times the work of one ({}) a second, {} a cycle",
            ratio(&work),
            interval(&work),
            ratio(&it)
        ),
    };
    if !is_sensible(&work) {
        return Some(format!(
            "A busy sibling {verdict}: how much work a core of {core} then does is {TOO_UNCERTAIN}; the program takes {times} \
             times as long as alone."
        ));
    }
    Some(match &placement.slowdown_of_other {
        Some(other) => format!(
            "Sharing a core of {core} {verdict}: the two programs do {of_work}; the program takes {times} times as long \
             as alone, the other one {:.2} times.",
            prediction.time_beside(other).value
        ),
        None => format!(
            "A busy sibling {verdict}: {} of {core} do {of_work}; each takes {times} times as long as alone.",
            workers(placement, "on a core"),
        ),
    })
}

/// The workers of a core: "two copies on a core".
fn workers(placement: &PredictedPlacement, place: &str) -> String {
    let number = match placement.threads {
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        4 => "four".to_owned(),
        other => other.to_string(),
    };
    let what = if placement.is_one_process { "threads" } else { "copies" };
    format!("{number} {what} {place}")
}

/// Said where this host shows that the model is off for this program.
fn mistrust(prediction: &Prediction) -> Option<String> {
    let ratio = prediction.estimate(Metric::PredictedToMeasured, Source::Predicted)?;
    let off = (ratio.value - 1.0).abs();
    (prediction.core.is_own && off > MAX_ERROR_ALONE).then(|| {
        format!(
            "Not to be trusted: alone, the program takes {} times the predicted cycles here, which is more than \
             {:.0} % off.",
            crate::figures::three_digits(1.0 / ratio.value),
            100.0 * MAX_ERROR_ALONE
        )
    })
}

/// A bar for one copy alone, and one for each placement.
pub(super) fn picture(prediction: &Prediction, columns: u16) -> String {
    let mut rows = vec![Bar {
        label: "one alone".to_owned(),
        value: 1.0,
        limits: None,
        columns: vec!["1.00".to_owned(), "1.00".to_owned()],
    }];
    for placement in &prediction.beside {
        let Some(work) = work(prediction, placement) else { continue };
        rows.push(Bar {
            label: placement.placement.to_string(),
            value: work.value,
            limits: Some([work.low, work.high]),
            columns: vec![
                format!("{} ({})", ratio(&work), interval(&work)),
                format!("{:.2}", prediction.time_beside(&placement.slowdown).value),
            ],
        });
    }
    rows.extend(measured_yields(prediction).map(|it| Bar {
        label: format!("{}, measured", it.arm),
        value: it.estimate.value,
        limits: Some([it.estimate.low, it.estimate.high]),
        columns: vec![
            format!("{} ({})", ratio(&it.estimate), interval(&it.estimate)),
            String::new(),
        ],
    }));
    rows.extend(prediction.what_if.iter().filter(|it| is_full(it)).map(|it| Bar {
        label: it.setting.clone(),
        value: it.estimate.value,
        limits: Some([it.estimate.low, it.estimate.high]),
        columns: vec![
            format!("{} ({})", ratio(&it.estimate), interval(&it.estimate)),
            String::new(),
        ],
    }));
    match rows.len() {
        1 => String::new(),
        _ => bars(&rows, &["work of the core", "time of each"], columns),
    }
}

fn is_full(it: &WhatIf) -> bool {
    !matches!(it.placement, Placement::Packed(_))
}

/// Why, a sentence each.
pub fn reasons(prediction: &Prediction) -> Vec<String> {
    let Some(first) = prediction.beside.first() else { return Vec::new() };
    let parts = |effect: Effect| -> Vec<String> {
        let of: Vec<&Cause> = first.causes.iter().filter(|it| it.effect == effect).collect();
        let text = |it: &&Cause| format!("{} {}", percent(it.share), gerund(&it.component));
        let texts = of.iter().map(text).enumerate();
        // Of the largest only: the picture and the answer have to be on the same screen.
        let with_code = texts.map(|(at, text)| match of[at].code.as_ref().filter(|_| at == 0) {
            Some(code) => format!("{text} ({})", attributed(code)),
            None => text,
        });
        with_code.collect()
    };
    let mut sentences = Vec::new();
    let retiring = prediction.stack.iter().find(|it| it.component == "retiring");
    let used = retiring.map_or(0.0, |it| it.share);
    let fills = parts(Effect::Fills);
    if fills.is_empty() {
        sentences.push(format!(
            "Alone, the program uses {} of the core's issue slots: little is left for a sibling.",
            percent(used)
        ));
    } else {
        sentences.push(format!(
            "Alone, the program uses {} of the core's issue slots; a sibling can use what it loses: {}.",
            percent(used),
            fills.join(", ")
        ));
    }
    let costs = parts(Effect::Costs);
    let longer = first.slowdown.value - 1.0;
    if longer < 0.01 {
        sentences.push("Beside the sibling it takes as long as alone.".to_owned());
    } else if !costs.is_empty() {
        sentences.push(format!(
            "Beside the sibling it takes {} more cycles. Of what grew, {}.",
            percent(longer),
            costs.join(", ")
        ));
    }
    sentences.extend(data(first));
    sentences.extend(first.apart.map(|apart| {
        format!("Copies that are spread over the run, so that other phases meet, do {apart:.2} times the work of one.")
    }));
    sentences
}

/// Code that a cause comes from: "57 % of it `idiv` in `update`, solver.c:41".
fn attributed(code: &AttributedCode) -> String {
    let text = |text: &str| begin_of(&on_one_line(text), MOST_OF_NAME);
    let instruction = code.instruction.iter().map(|it| format!(" `{}`", text(it)));
    let module = code.module.as_ref().map(|it| text(it));
    let place = match (&code.function, &code.file, code.line) {
        (Some(function), Some(file), Some(line)) => {
            format!(" in `{}`, {}:{line}", text(function), text(file))
        }
        (None, Some(file), Some(line)) => format!(" at {}:{line}", text(file)),
        (Some(function), ..) => {
            let of = module.map_or_else(String::new, |it| format!(" of {it}"));
            format!(" in `{}`{of}", text(function))
        }
        (None, ..) => match (module, code.address) {
            (Some(module), Some(address)) => format!(" at {module}+{address:#x}"),
            (Some(module), None) => format!(" in {module}"),
            (None, _) => String::new(),
        },
    };
    format!("{} of it{}{place}", percent(code.share), instruction.collect::<String>())
}

/// Levels of the data and the code, alone and beside.
fn data(placement: &PredictedPlacement) -> Option<String> {
    let (memory, caches): (Vec<_>, Vec<_>) = placement
        .misses
        .iter()
        .filter(|it| it.alone.max(it.beside) >= 0.05)
        .partition(|it| it.cache == MissRate::FROM_MEMORY);
    let rate = |it: &MissRate| format!("{:.1} alone, {:.1} beside", it.alone, it.beside);
    let caches: Vec<String> =
        caches.into_iter().map(|it| format!("{} {}", it.cache, rate(it))).collect();
    let mut sentence = match caches.is_empty() {
        true => "Its code and data are in the first-level caches, alone and beside.".to_owned(),
        false => format!("Misses in 1000 instructions: {}.", caches.join("; ")),
    };
    for it in memory {
        sentence.push_str(&format!(
            " Lines from memory, prefetched ones too: {} in as many.",
            rate(it)
        ));
    }
    Some(sentence)
}

/// Recommendations for running the program.
pub fn advice(prediction: &Prediction) -> Vec<String> {
    let Some((phrase, pair)) = recommendation(prediction) else { return Vec::new() };
    let (capital, rest) = phrase.split_at(1);
    vec![
        format!("{}{rest}.", capital.to_uppercase()),
        format!(
            "`corun threads` measures how many {} a machine with siblings needs.",
            if pair { "workers of each" } else { "workers" }
        ),
    ]
}

/// The recommendation as the next step of a user; where nothing is decided, the measurement that would.
pub(super) fn next_step(prediction: &Prediction) -> Option<NextStep> {
    if let Some((phrase, _)) = recommendation(prediction) {
        return Some(NextStep::phrase(phrase));
    }
    let is_open = !missing(prediction).is_empty();
    is_open.then(|| NextStep::phrase("allow more time (--max-time), or simulate less (--sample)"))
}

/// Recommendation that follows from the verdict and from what a worker pays, without a full stop, and true if it is about
/// two programs.
fn recommendation(prediction: &Prediction) -> Option<(String, bool)> {
    let first = prediction.beside.first()?;
    work(prediction, first)?;
    let pair = first.slowdown_of_other.is_some();
    let what = if pair { "these two" } else { "copies of it" };
    let times = [Some(&first.slowdown), first.slowdown_of_other.as_ref()].into_iter().flatten();
    let slowdown = times.map(|it| prediction.time_beside(it).value).fold(0.0, f64::max);
    // What is below the practical bound is no reason to keep a sibling idle.
    let arm = first.placement.to_string();
    let practical =
        prediction.verdicts.iter().find(|it| it.arm == arm).map_or(0.0, |it| it.practical);
    let costs = slowdown > 1.0 + practical;
    let longer = percent((slowdown - 1.0).max(0.0));
    let phrase = match (verdict(prediction, first), costs) {
        (Answer::Helps, true) => format!(
            "for the most work, run {what} on all hardware threads of a core; one alone, its sibling idle, takes {longer} \
             less long",
            longer = percent(1.0 - 1.0 / slowdown)
        ),
        (Answer::Helps, false) => format!(
            "run {what} on all hardware threads of a core: each takes no more than {longer} longer"
        ),
        (Answer::Hurts, _) => format!("do not run {what} on one core: leave the siblings idle"),
        (Answer::NoPracticalEffect, _) => format!(
            "run one worker a core: {what} on a core's hardware threads gain nothing, and each takes {longer} longer"
        ),
        (Answer::Inconclusive, _) => {
            "measure it on the machine that matters: this prediction decides nothing".to_owned()
        }
    };
    Some((phrase, pair))
}

/// A row of a table of several cores for each placement and each changed field.
pub(crate) fn rows(prediction: &Prediction) -> Vec<Vec<String>> {
    let core = &prediction.core.model;
    let ipc = prediction.estimate(Metric::InstructionsPerCycle, Source::Predicted);
    let ipc = ipc.map_or_else(|| "-".to_owned(), |it| format!("{:.2}", it.value));
    if prediction.beside.is_empty() {
        let rest = ["-"; 4].map(str::to_owned);
        return vec![[vec![core.clone(), ipc], rest.to_vec()].concat()];
    }
    let of_placement = |it: &PredictedPlacement| {
        let work = work(prediction, it);
        let time = figure(prediction, it, Metric::CoreEquivalence);
        let shown = work.or(time);
        let shown = shown
            .map_or_else(|| "-".to_owned(), |it| format!("{} ({})", ratio(&it), interval(&it)));
        let verdict = work.map_or("-", |_| word(verdict(prediction, it)));
        vec![
            core.clone(),
            ipc.clone(),
            it.placement.to_string(),
            shown,
            format!("{:.2}", prediction.time_beside(&it.slowdown).value),
            verdict.to_owned(),
        ]
    };
    let changed = prediction.what_if.iter().map(|it| {
        let figures = format!("{} ({})", ratio(&it.estimate), interval(&it.estimate));
        let of = format!("{}, {}", it.placement, it.setting);
        vec![core.clone(), String::new(), of, figures, String::new(), String::new()]
    });
    prediction.beside.iter().map(of_placement).chain(changed).collect()
}

/// Remarks on one core in a table of several.
pub(super) fn remarks(prediction: &Prediction) -> Vec<String> {
    let core = &prediction.core.model;
    let not_predicted = prediction.not_predicted.iter().map(|why| format!("Not predicted: {why}"));
    let all = not_predicted.chain(mistrust(prediction));
    all.map(|sentence| format!("{core}: {sentence}")).collect()
}

/// The cores on which a sibling does most and least.
pub fn most_and_least(predictions: &[Prediction]) -> Option<String> {
    let works = predictions.iter().filter_map(|it| {
        let first = it.beside.first()?;
        Some((it.core.model.as_str(), work(it, first)?))
    });
    let mut works: Vec<(&str, Estimate)> = works.collect();
    works.sort_by(|one, other| other.1.value.total_cmp(&one.1.value));
    let [(most, best), .., (least, worst)] = &works[..] else { return None };
    Some(match best.low > worst.high {
        true => format!(
            "A busy sibling does most on {most} ({} times the work of one) and least on {least} ({}).",
            ratio(best),
            ratio(worst)
        ),
        false => format!(
            "The cores do not differ by more than the intervals: {} on {most} to {} on {least}.",
            ratio(best),
            ratio(worst)
        ),
    })
}
