//! The outcome of running a study, for a terminal and as Markdown.

use std::collections::BTreeMap;

use corun_record::{
    ConclusionAnswer, EndReason, FindingKind, StudyConclusion, StudyFigure, StudyFinding,
    StudyResult,
};

use super::rows::{errors, figures, lettered, measured, times};
use crate::bars::{Bar, bars};
use crate::figures::{is_sensible, seconds, three_digits};
use crate::markdown;
use crate::prose;
use crate::screen::View;
use crate::terminal::{named_grid, section, wrap};

/// Legend of the equals sign and the seconds.
const LEGEND: &str = "A published value with = follows from other published ones. A measured time is \
    that of the published work for each worker, from the rate measured here.";

/// The title of the CPU times.
const TIMES: &str = "Elapsed time and CPU time of all workers together";

/// All that a study's result says.
pub fn study_to_terminal(result: &StudyResult, view: &View) -> String {
    let columns = view.columns;
    let mut text = String::new();
    for line in heading(result) {
        text.push_str(&wrap(&line, "  ", columns));
    }
    let (table, reasons, unpredicted) = figures(result);
    text.push_str(&format!("\n{}\n\n{}", named_grid(&table, columns), wrap(LEGEND, "", columns)));
    for line in errors(&result.errors) {
        text.push_str(&wrap(&line, "", columns));
    }
    text.push_str(&picture(result, columns));
    let times = times(result);
    if !times.rows.is_empty() {
        let title = wrap(&format!("{TIMES}:"), "", columns);
        text.push_str(&format!("\n{title}\n{}\n", named_grid(&times, columns)));
    }
    section(&mut text, "Not possible here", numbered(&reasons), columns);
    section(&mut text, "Not predicted", lettered(&unpredicted), columns);
    section(&mut text, "Cut short", result.cut_short.clone(), columns);
    text.push_str(&conclusions(&result.findings, columns));
    section(&mut text, "What limits trust", caveats(result), columns);
    if let Some(why) = partial(result) {
        text.push_str(&format!("\n{}", wrap(&format!("PARTIAL RESULT: {why}"), "", columns)));
    }
    text.push('\n');
    text.push_str(&wrap(&course(result), "", columns));
    let answer: String = answers(result).iter().map(|line| wrap(line, "  ", columns)).collect();
    view.in_order(&answer, &text)
}

/// Why not all is there that was asked for.
pub(super) fn partial(result: &StudyResult) -> Option<String> {
    match result.ending.reason {
        EndReason::Interrupted => Some("interrupted; what was finished is shown.".to_owned()),
        EndReason::TimeUp => {
            Some(format!("{}; give more with --max-time.", result.ending.sentence))
        }
        _ => None,
    }
}

/// Which of the publication's conclusions hold here: how many, then each.
pub fn answers(result: &StudyResult) -> Vec<String> {
    let all = &result.conclusions;
    if all.is_empty() {
        return vec!["No conclusion of the publication is judged by these rows.".to_owned()];
    }
    let count = |answer| all.iter().filter(|it| it.answer == answer).count();
    let parts = ConclusionAnswer::ALL.into_iter().filter(|answer| count(*answer) > 0);
    let parts: Vec<String> = parts
        .map(|answer| {
            let count = count(answer);
            match (answer, count) {
                (ConclusionAnswer::Holds, 1) => "1 holds".to_owned(),
                (ConclusionAnswer::Holds, _) => format!("{count} hold"),
                (ConclusionAnswer::DoesNotHold, 1) => "1 does not hold".to_owned(),
                (ConclusionAnswer::DoesNotHold, _) => format!("{count} do not hold"),
                (ConclusionAnswer::Undecided, 1) => "1 is not decided".to_owned(),
                (ConclusionAnswer::Undecided, _) => format!("{count} are not decided"),
                (ConclusionAnswer::NotMeasured, 1) => "1 is not measured".to_owned(),
                (ConclusionAnswer::NotMeasured, _) => format!("{count} are not measured"),
            }
        })
        .collect();
    let conclusions = prose::plural(all.len(), "conclusion");
    let first = format!("Of {conclusions} of the publication, here {}.", parts.join(", "));
    let each = all.iter().map(|StudyConclusion { claim, answer, reason, .. }| {
        let name = answer.name();
        let (capital, rest) = name.split_at(1);
        format!("- {}{rest}: {}; {reason}.", capital.to_uppercase(), claim.trim_end_matches('.'))
    });
    std::iter::once(first).chain(each).collect()
}

/// More figures than these stay to the table.
const DRAWN: usize = 8;

/// The first ratios as bars: published, predicted, measured.
fn picture(result: &StudyResult, columns: u16) -> String {
    let ratios = result.figures.iter().filter(|it| it.unit == "1");
    let has_counterpart = |it: &&StudyFigure| it.measured.is_some() || it.predicted.is_some();
    let mut rows = Vec::new();
    for figure in ratios.filter(has_counterpart).take(DRAWN) {
        let Some(published) = &figure.published else { continue };
        let mut add = |name: &str, value: f64, limits: Option<[f64; 2]>| {
            let label = if name == "published" { figure.id.clone() } else { String::new() };
            let columns = vec![name.to_owned(), three_digits(value)];
            rows.push(Bar { label, value, limits, columns });
        };
        add("published", published.value, Some([published.low, published.high]));
        for (name, seen) in [("predicted", &figure.predicted), ("measured here", &figure.measured)]
        {
            if let Some(seen) = seen.as_ref().filter(|it| is_sensible(it)) {
                add(name, seen.value, Some([seen.low, seen.high]));
            }
        }
    }
    match rows.is_empty() {
        true => String::new(),
        false => format!("\n{}", bars(&rows, &["", ""], columns)),
    }
}

/// The result as Markdown.
pub fn study_to_markdown(result: &StudyResult) -> String {
    let mut lines: Vec<String> =
        heading(result).iter().map(|line| markdown::literal(line)).collect();
    let mut text = format!("# {}\n\n", lines.remove(0));
    if let Some(why) = partial(result) {
        text.push_str(&format!("**Partial result: {}**\n\n", markdown::literal(&why)));
    }
    for line in answers(result) {
        let line = markdown::literal(line.trim_start_matches("- "));
        text.push_str(&format!("{line}\n\n"));
    }
    for line in lines {
        text.push_str(&format!("{line}\n\n"));
    }
    let (table, reasons, unpredicted) = figures(result);
    let table = markdown::grid(&table);
    text.push_str(&format!("{table}\n\n{LEGEND}\n\n"));
    for line in errors(&result.errors) {
        text.push_str(&format!("{line}\n\n"));
    }
    let times = times(result);
    if !times.rows.is_empty() {
        text.push_str(&format!("## {TIMES}\n\n{}\n\n", markdown::grid(&times)));
    }
    let findings = FindingKind::ALL.map(|kind| {
        let lines = result.findings.iter().filter(|it| it.kind == kind).map(|finding| {
            let computed = finding.computed.join("; ");
            format!(
                "Claimed: {} Computed: {computed}. Correction: {}",
                finding.claim, finding.correction
            )
        });
        (kind.heading(), lines.collect())
    });
    let before = [
        ("Not possible here", numbered(&reasons)),
        ("Not predicted", lettered(&unpredicted)),
        ("Cut short", result.cut_short.clone()),
    ];
    let after = [("What limits trust", caveats(result))];
    for (title, lines) in before.into_iter().chain(findings).chain(after) {
        if !lines.is_empty() {
            text.push_str(&format!("## {title}\n\n"));
            lines.iter().for_each(|line| {
                text.push_str(&format!("- {}\n", markdown::literal(line)));
            });
            text.push('\n');
        }
    }
    text.push_str(&course(result));
    text.push('\n');
    text
}

/// Wrong conclusions, a heading for each kind.
pub(super) fn conclusions(findings: &[StudyFinding], columns: u16) -> String {
    let mut text = String::new();
    for kind in FindingKind::ALL {
        let mut of_kind = findings.iter().filter(|finding| finding.kind == kind).peekable();
        if of_kind.peek().is_some() {
            text.push_str(&format!("\n{}:\n", kind.heading()));
        }
        for StudyFinding { claim, computed, correction, .. } in of_kind {
            text.push_str(&wrap(&format!("- Claimed: {claim}"), "  ", columns));
            for line in computed {
                text.push_str(&wrap(&format!("    {line}"), "      ", columns));
            }
            text.push_str(&wrap(&format!("  Correction: {correction}"), "  ", columns));
        }
    }
    text
}

/// Heading: the publication, and the machine beside it.
pub fn heading(result: &StudyResult) -> Vec<String> {
    let mut lines = vec![
        format!("{}: {}", result.study, result.title),
        result.citation.clone(),
        format!("Published on: {}", result.published_on),
    ];
    if let Some(machine) = &result.machine {
        lines.push(format!("Here: {}", prose::machine(machine)));
    }
    lines
}

/// Reasons with the numbers that the table has for them.
pub fn numbered(reasons: &[String]) -> Vec<String> {
    reasons.iter().enumerate().map(|(index, reason)| format!("[{}] {reason}", index + 1)).collect()
}

/// A sentence of each kind of caveat, and in how many runs something like it is true.
pub fn caveats(result: &StudyResult) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for run in &result.runs {
        for caveat in &run.caveats {
            let seen = (run.workload.name.as_str(), caveat.sentence.as_str());
            kinds.entry(&caveat.kind).or_default().push(seen);
        }
    }
    let line = |seen: Vec<(&str, &str)>| {
        let (workload, sentence) = seen[0];
        match seen.len() {
            1 => format!("{workload}: {sentence}"),
            count => {
                let others = prose::plural(count - 1, "other run");
                format!("{workload}: {sentence} (likewise in {others})")
            }
        }
    };
    let of_study = result.caveats.iter().filter(|it| !kinds.contains_key(it.kind.as_str()));
    let of_study: Vec<String> = of_study.map(|it| it.sentence.clone()).collect();
    kinds.into_values().map(line).chain(of_study).collect()
}

/// Number of figures measured, and the time.
pub fn course(result: &StudyResult) -> String {
    format!(
        "{} of {} figures were measured, in {} of the {} allowed.",
        measured(result),
        result.figures.len(),
        seconds(result.elapsed_s),
        seconds(result.max_time_s)
    )
}
