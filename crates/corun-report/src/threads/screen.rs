//! A sweep on one screen: the picture, then what a reader must not miss. The rest is in the whole view.
//!
//! On a terminal the answer comes last, where the eye is; in a file or a pipe it comes first.

use corun_record::{Advice, Caveat, Record, Standing, ThreadSweep, on_one_line};
use textwrap::core::display_width;

use super::{answer, headings, is_answered, rows};
use crate::bars::bars;
use crate::prose;
use crate::terminal::wrap;

/// Rows of a terminal, but for the prompt.
const ROWS: usize = 23;
/// The most rows of what limits trust.
const LIMIT_ROWS: usize = 3;
/// Rows around the bars: the work, their heading, empty lines, and where the rest is.
const AROUND: usize = 6;
/// The fewest bars that are shown.
const FEWEST_BARS: usize = 3;
/// The columns of a label before a line.
const LABEL: usize = 8;

/// Medium of a view.
#[derive(Debug, Clone, Copy)]
pub struct ThreadsView {
    /// Columns of the medium.
    pub columns: u16,
    /// True on a terminal, where the answer comes last.
    pub is_terminal: bool,
}

/// The sweep in the rows of one screen.
pub fn threads_to_screen(sweep: &Record<ThreadSweep>, view: ThreadsView) -> String {
    let columns = view.columns;
    // What would decide has a line of its own.
    let said = sweep.body.answer.as_ref().map(|answer| answer.sentence.clone());
    let answer = wrap(&said.unwrap_or_else(|| answer(sweep)), "", columns);
    let mut below = step(sweep, columns);
    below.push_str(&limits(sweep, columns));
    below.push_str(&format!(
        "{:LABEL$}All figures: --verbose, or `corun runs show last`\n",
        "More:"
    ));
    let taken = answer.lines().count() + below.lines().count() + AROUND;
    let picture = picture(sweep, columns, ROWS.saturating_sub(taken).max(FEWEST_BARS));
    let work = in_a_row(&prose::work(&sweep.body.workload), columns.into());
    match view.is_terminal {
        true => format!("{work}\n\n{picture}\n{answer}{below}"),
        false => format!("{answer}{below}\n{work}\n\n{picture}"),
    }
}

/// The bars, those of the candidates that decide where not all have room.
fn picture(sweep: &Record<ThreadSweep>, columns: u16, room: usize) -> String {
    let body = &sweep.body;
    let all = rows(body);
    let mut by_weight: Vec<usize> = (0..all.len()).collect();
    by_weight.sort_by_key(|&index| match body.candidates[index].standing {
        Standing::Chosen => 0,
        Standing::Equal | Standing::Undecided => 1,
        Standing::Worse if body.candidates[index].blocks > 0 => 2,
        Standing::Worse | Standing::Screened => 3,
        Standing::Failed => 4,
    });
    let left_out = all.len().saturating_sub(room);
    let shown = &by_weight[..all.len() - left_out];
    let kept = all.into_iter().enumerate().filter(|(index, _)| shown.contains(index));
    let kept: Vec<_> = kept.map(|(_, bar)| bar).collect();
    if kept.is_empty() {
        return String::new();
    }
    let mut text = bars(&kept, &headings(body), columns);
    if left_out > 0 {
        text.push_str(&format!(" ... and {left_out} more\n"));
    }
    text
}

/// What to do, in one line: the command, or what would decide.
fn step(sweep: &Record<ThreadSweep>, columns: u16) -> String {
    let body = &sweep.body;
    let line = |text: &str| format!("{:LABEL$}{text}", "To do:");
    if !is_answered(body) {
        let how = body.answer.as_ref().and_then(|answer| answer.to_decide.as_deref());
        return how.map_or_else(String::new, |how| {
            wrap(&line(&format!("to decide it, {how}")), &" ".repeat(LABEL), columns)
        });
    }
    // A line to copy is not broken.
    let advice = body.advice.iter().find(|it| it.fits);
    advice
        .map_or_else(String::new, |Advice { line: command, .. }| line(&on_one_line(command)) + "\n")
}

/// Kinds of caveats that hold in every run on a machine, each with a short name.
const OF_THE_MACHINE: [(&str, &str); 2] =
    [("virtual-machine", "a virtual machine"), ("doctor-smt", "no siblings")];

/// What limits trust: what this run showed first, then in one line what holds in every run here.
fn limits(sweep: &Record<ThreadSweep>, columns: u16) -> String {
    let is_of_machine = |it: &&Caveat| OF_THE_MACHINE.iter().any(|(kind, _)| it.kind == *kind);
    let (of_machine, mut of_run): (Vec<&Caveat>, Vec<&Caveat>) =
        sweep.caveats.iter().partition(is_of_machine);
    // What the samples show weighs more than what was found around them.
    of_run.sort_by_key(|it| it.kind.starts_with("doctor-"));
    let mut named: Vec<&str> = OF_THE_MACHINE
        .iter()
        .filter(|(kind, _)| of_machine.iter().any(|it| it.kind == *kind))
        .map(|(_, name)| *name)
        .collect();
    let has_no_siblings = sweep.machine.as_ref().is_some_and(|machine| machine.smt_width < 2);
    if has_no_siblings && !named.contains(&"no siblings") {
        named.push("no siblings");
    }
    let mut lines: Vec<String> = of_run.iter().map(|it| it.sentence.clone()).collect();
    let room = LIMIT_ROWS - usize::from(!named.is_empty());
    if lines.len() > room {
        let more = lines.len() - room + 1;
        lines.truncate(room - 1);
        lines.push(format!("{more} more: --verbose"));
    }
    if !named.is_empty() {
        lines.push(format!("This machine: {}.", named.join(", ")));
    }
    let room = usize::from(columns).saturating_sub(LABEL);
    let label = |index| if index == 0 { "Limits:" } else { "" };
    let row = |(index, line): (usize, &String)| {
        format!("{:LABEL$}{}\n", label(index), in_a_row(line, room))
    };
    lines.iter().enumerate().map(row).collect()
}

/// A text cut to a row, at a word.
fn in_a_row(text: &str, columns: usize) -> String {
    let text = on_one_line(text);
    if display_width(&text) <= columns {
        return text;
    }
    let mut cut = String::new();
    for word in text.split(' ') {
        if display_width(&cut) + display_width(word) + 5 > columns {
            break;
        }
        cut.push_str(word);
        cut.push(' ');
    }
    format!("{cut}...")
}
