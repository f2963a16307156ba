//! The article of a study: published, predicted and measured side by side, and how far they lie apart.

use corun_record::{
    Estimate, FindingKind, Metric, ModelRole, Run, StudyColumn, StudyFigure, StudyResult,
};
use corun_report::parts::{figures, study};

use super::common::{capital, limits, machine, origin};
use super::{Article, Figure, Part, Section, Statement, Table};
use crate::Detail;
use crate::plot::Plot;
use crate::plot::bars::{Bar, Bars};

pub(super) fn article(result: &StudyResult, detail: Detail) -> Article {
    let (table, reasons, unpredicted) = study::figures(result);
    let mut parts: Vec<Part> = Vec::new();
    let pictures = side_by_side(result, detail).map(Part::from);
    let defined = pictures.is_some().then(|| Part::List(definitions(&result.figures)));
    parts.extend(pictures.into_iter().chain(defined));
    parts.extend(beside_published(result, detail).map(Part::from));
    parts.extend(errors(result, detail).map(Part::from));
    let mut sections = vec![Section::new("In pictures", parts)];
    let mut figures = vec![Part::Table(Table::new(
        "Published, measured here and predicted; a published value with = follows from other published ones",
        table,
        detail,
    ))];
    figures.push(Part::List(study::errors(&result.errors)));
    let times = study::times(result);
    if !times.rows.is_empty() {
        let caption = "Elapsed time and CPU time of all workers together";
        figures.push(Part::Table(Table::new(caption, times, detail)));
    }
    sections.push(Section::new("Every figure", figures));
    for kind in FindingKind::ALL {
        let findings = result.findings.iter().filter(|it| it.kind == kind);
        let sentences: Vec<String> = findings
            .map(|it| {
                let computed = it.computed.join("; ");
                format!("Claimed: {} Computed: {computed}. Correction: {}", it.claim, it.correction)
            })
            .collect();
        sections.extend(Section::of_sentences(kind.heading(), sentences));
    }
    sections.extend(Section::of_sentences("Not possible here", study::numbered(&reasons)));
    sections.extend(Section::of_sentences("Not predicted", study::lettered(&unpredicted)));
    sections.extend(Section::of_sentences("Cut short", result.cut_short.clone()));
    sections.extend(Section::of_sentences("What limits trust", study::caveats(result)));
    sections.push(runs(result, detail));
    let mut facts = vec![
        ("Published in".to_owned(), result.citation.clone()),
        ("Published on".to_owned(), result.published_on.clone()),
        ("Measured again by".to_owned(), format!("corun study run {}", result.study)),
    ];
    facts.extend(origin(&result.corun_version, &result.started, result.elapsed_s, &result.ending));
    sections.push(Section::folded("The exact command", vec![Part::Facts(facts)]));
    sections.extend(machine(result.machine.as_ref()));
    Article {
        kind: "Study",
        title: format!("{}: {}", result.study, result.title),
        answers: answers(result),
        sections,
        ..Article::default()
    }
}

fn answers(result: &StudyResult) -> Vec<Statement> {
    let conclusions = match result.conclusions.is_empty() {
        true => Vec::new(),
        false => study::answers(result),
    };
    let mut answers: Vec<Statement> = conclusions
        .iter()
        .map(|sentence| sentence.trim_start_matches("- "))
        .chain(study::errors(&result.errors).iter().map(String::as_str))
        .map(|sentence| Statement::new("even", sentence.to_owned()))
        .collect();
    if let Some(wrong) = result.findings.iter().find(|it| it.kind == FindingKind::Unsupported) {
        answers.push(Statement::new(
            "bad",
            format!("The published figures do not support a conclusion: {}", wrong.correction),
        ));
    }
    answers.push(Statement::new("even", study::course(result)));
    answers
}

/// Arms of a figure: `full / spread`.
fn arms(figure: &StudyFigure) -> String {
    let names: Vec<&str> =
        figure.arm.as_deref().into_iter().chain(figure.against.as_deref()).collect();
    format!("{} {}", figure.metric.name(), names.join(" / ")).trim_end().to_owned()
}

/// The ratios: three bars for each figure, so that they are seen side by side.
fn side_by_side(result: &StudyResult, detail: Detail) -> Option<Figure> {
    let ratios: Vec<&StudyFigure> =
        result.figures.iter().filter(|it| it.unit == "1" && it.published.is_some()).collect();
    let has_counterpart = |it: &&StudyFigure| it.measured.is_some() || it.predicted.is_some();
    let shown: Vec<&StudyFigure> = ratios.into_iter().filter(has_counterpart).collect();
    let most = (detail.rows / 4).clamp(4, 24);
    let left_out = shown.len().saturating_sub(most);
    let rows: Vec<Bar> = shown.iter().take(most).flat_map(|it| three(it)).collect();
    if rows.is_empty() {
        return None;
    }
    let rest = match left_out {
        0 => String::new(),
        some => format!(" {some} more stand in the table."),
    };
    Some(Figure {
        name: "published",
        message: format!("{}: {}", result.title, directions(&shown)),
        note: format!(
            "Ratios; 1 is no difference. Found again: within 2 % of 1 as published, or an effect of its direction and of half \
             to twice its size. Published on {}; measured on {}; predicted by a model of the published machine. Line: an \
             interval, or what the published digits leave open.{rest} {}.",
            result.published_on,
            measured_on(result),
            result.citation
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: "ratio".to_owned(),
            reference: Some((1.0, "no difference".to_owned())),
        }),
        table: None,
    })
}

/// Times and rates over the published ones: machines differ by orders of magnitude, and so do figures of a study.
fn beside_published(result: &StudyResult, detail: Detail) -> Option<Figure> {
    let most = (detail.rows / 4).clamp(4, 24);
    let mut rows = Vec::new();
    let shown = result.figures.iter().filter(|it| it.unit != "1");
    let mut figures = 0;
    for figure in shown {
        let Some(published) = &figure.published else { continue };
        let unit = figures::unit(&figure.unit);
        let value = |value: f64| match value.abs() {
            size if size >= 1e9 => format!("{} G", figures::three_digits(value * 1e-9)),
            size if size >= 1e6 => format!("{} M", figures::three_digits(value * 1e-6)),
            size if size >= 1e4 => format!("{} k", figures::three_digits(value * 1e-3)),
            _ => figures::three_digits(value),
        };
        let estimates =
            [(&figure.predicted, "predicted", "c2"), (&figure.measured, "measured here", "c1")];
        let known: Vec<_> =
            estimates.iter().filter_map(|it| Some(((*it.0)?, it.1, it.2))).collect();
        figures += usize::from(!known.is_empty());
        if figures > most {
            continue;
        }
        for (at, (seen, name, class)) in known.into_iter().enumerate() {
            let is_first = at == 0;
            rows.push(Bar {
                is_joined: !is_first,
                label: if is_first { figure.id.clone() } else { String::new() },
                remark: if is_first { format!("{}, {unit}", arms(figure)) } else { String::new() },
                value: Some(seen.value / published.value),
                limits: limits(&seen)
                    .map(|it| it.map(|it| it / published.value))
                    .filter(|it| it[0] < it[1]),
                figure: format!(
                    "{} {name}, {} published",
                    value(seen.value),
                    value(published.value)
                ),
                class,
                ..Bar::default()
            });
        }
    }
    if rows.is_empty() {
        return None;
    }
    let rest = match figures.saturating_sub(most) {
        0 => String::new(),
        some => format!(" {some} more stand in the table."),
    };
    Some(Figure {
        name: "published",
        message: match study::errors(&result.errors).first() {
            Some(error) => format!("{}. {}", result.title, error.trim_end_matches('.')),
            None => format!("{}: times and rates beside the published ones", result.title),
        },
        note: format!(
            "Each bar is a time or a rate over the published one, which is 1; line: its interval. Published on {}; \
             measured on {}.{rest} {}.",
            result.published_on,
            measured_on(result),
            result.citation
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: "value / published value".to_owned(),
            reference: Some((1.0, "published".to_owned())),
        }),
        table: None,
    })
}

/// True if a published ratio is found again: both within the practical bound of 2 %, or effects of one direction of which
/// neither is more than twice the other, as logarithms.
fn is_found_again(published: f64, found: f64) -> bool {
    let practical = 1.02_f64.ln();
    let (published, found) = (published.ln(), found.ln());
    match published.abs() <= practical {
        true => found.abs() <= practical,
        false => (0.5..=2.0).contains(&(found / published)),
    }
}

/// Summary of ratios: how many published effects are found again. What a model was fitted to is no finding.
fn directions(figures: &[&StudyFigure]) -> String {
    let found = |estimate: fn(&StudyFigure) -> Option<Estimate>, name: &str| {
        let known = figures.iter().filter_map(|it| {
            let found = estimate(it).filter(figures::is_sensible)?;
            Some(is_found_again(it.published.as_ref()?.value, found.value))
        });
        let known: Vec<bool> = known.collect();
        let same = known.iter().filter(|it| **it).count();
        (!known.is_empty()).then(|| format!("{same} of {} {name}", known.len()))
    };
    let found: Vec<String> = [
        found(
            |it| it.predicted.filter(|_| it.model_role == Some(ModelRole::HeldOut)),
            "in the prediction",
        ),
        found(|it| it.measured, "measured here"),
    ]
    .into_iter()
    .flatten()
    .collect();
    match found.is_empty() {
        true => "no published effect is predicted or can be measured here".to_owned(),
        false => format!("published effects found again: {}", found.join(", ")),
    }
}

/// Definitions of the ratios, a sentence each.
fn definitions(figures: &[StudyFigure]) -> Vec<String> {
    let ratios = figures.iter().filter(|it| it.unit == "1");
    let mut metrics: Vec<Metric> = ratios.map(|it| it.metric).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let defined =
        metrics.iter().filter_map(|it| Some(format!("{}: {}.", it.name(), it.definition()?)));
    defined.map(|it| capital(&it)).collect()
}

/// The machine of the measured figures, in a few words.
fn measured_on(result: &StudyResult) -> String {
    let machine = result.machine.as_ref().or_else(|| Some(&result.runs.first()?.machine));
    machine.map_or_else(
        || "the machine here".to_owned(),
        |it| {
            let name = it.cpu_model.as_deref().unwrap_or("a processor without a name");
            format!("{name}, {} logical CPUs, SMT width {}", it.online_cpus, it.smt_width)
        },
    )
}

fn three(figure: &StudyFigure) -> Vec<Bar> {
    let value = |value: f64| figures::three_digits(value);
    let mut bars = Vec::new();
    if let Some(published) = &figure.published {
        bars.push(Bar {
            label: figure.id.clone(),
            remark: arms(figure),
            value: Some(published.value),
            limits: (published.high / published.low > 1.01)
                .then_some([published.low, published.high]),
            figure: format!("{} published", value(published.value)),
            class: "c6",
            ..Bar::default()
        });
    }
    let estimates =
        [(&figure.predicted, "predicted", "c2"), (&figure.measured, "measured here", "c1")];
    for (estimate, name, class) in estimates {
        let Some(estimate) = estimate else { continue };
        let is_sensible = figures::is_sensible(estimate);
        bars.push(Bar {
            value: is_sensible.then_some(estimate.value),
            limits: limits(estimate).filter(|it| it[0] < it[1]),
            figure: match is_sensible {
                true => format!("{} {name}", value(estimate.value)),
                false => format!("{name}: too uncertain to say"),
            },
            class,
            is_joined: !bars.is_empty(),
            ..Bar::default()
        });
    }
    bars
}

/// Error of each column against the published one, figure by figure.
fn errors(result: &StudyResult, detail: Detail) -> Option<Figure> {
    let mut table = Vec::new();
    let mut rows = Vec::new();
    for figure in &result.figures {
        let Some(published) = &figure.published else { continue };
        let off = |value: Option<f64>| value.map(|it| it / published.value - 1.0);
        let measured = off(figure.measured.map(|it| it.value));
        let predicted = off(figure.predicted.map(|it| it.value));
        if measured.is_none() && predicted.is_none() {
            continue;
        }
        let text = |it: Option<f64>| it.map_or_else(|| "-".to_owned(), signed);
        table.push(vec![figure.id.clone(), arms(figure), text(predicted), text(measured)]);
    }
    for it in &result.errors {
        let (name, class) = match it.column {
            StudyColumn::Predicted => ("predicted", "c2"),
            StudyColumn::Measured => ("measured here", "c1"),
        };
        for (kind, value) in [("mean", it.mean), ("median", it.median)] {
            rows.push(Bar {
                label: name.to_owned(),
                remark: format!("{kind} of {} figures", it.figures),
                value: Some(value * 100.0),
                figure: corun_stats::percent(value),
                class,
                ..Bar::default()
            });
        }
    }
    if rows.is_empty() {
        return None;
    }
    Some(Figure {
        name: "errors",
        message: "How far predicted and measured figures lie from the published ones".to_owned(),
        note: format!(
            "The size of value / published - 1, over the figures that nothing was fitted to; shorter is closer. {}.",
            result.citation
        ),
        plot: Plot::Bars(Bars {
            rows,
            axis: "off the published value, %".to_owned(),
            reference: None,
        }),
        table: Some(Table::of(
            "How far each figure lies from the published one",
            &["figure", "what", "predicted", "measured here"],
            table,
            detail,
        )),
    })
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// The answers of the runs behind the measured figures.
fn runs(result: &StudyResult, detail: Detail) -> Section {
    let row = |run: &Run| {
        vec![
            run.workload.name.clone(),
            super::run::headline(run),
            corun_report::seconds(run.elapsed_s),
        ]
    };
    let rows = result.runs.iter().map(row).collect();
    let table =
        Table::of("The runs behind the measured figures", &["run", "answer", "took"], rows, detail);
    Section::folded("The evidence: the runs", vec![Part::Table(table)])
}

#[cfg(test)]
mod tests {
    use super::is_found_again;

    #[test]
    fn an_effect_of_a_third_of_the_size_is_not_found_again() {
        for (published, found, expected) in [
            (1.04, 1.14, false),
            (1.14, 1.04, false),
            (1.5, 1.6, true),
            (0.57, 0.7, true),
            (0.9, 1.1, false),
            (1.01, 0.99, true),
            (1.01, 1.05, false),
            (1.05, 1.01, false),
        ] {
            assert_eq!(is_found_again(published, found), expected, "{published} {found}");
        }
    }
}
