//! A sweep on one screen: the bars of the candidates that decide, the answer, and the command or what would decide.

use corun_record::{Record, Standing, ThreadSweep};

use super::{answer, headings, is_answered, rows};
use crate::bars::bars;
use crate::prose;
use crate::screen::{NextStep, Screen, View, limits};

/// The most bars; a screen has rarely room for more.
const MOST_BARS: usize = 12;

/// The sweep in the rows of one screen.
pub fn threads_to_screen(sweep: &Record<ThreadSweep>, view: &View) -> String {
    // The step that would decide has a line of its own.
    let said = sweep.body.answer.as_ref().map(|answer| answer.sentence.clone());
    let machine = sweep.machine.as_ref().map(prose::machine_in_short);
    let screen = Screen {
        heading: [prose::work(&sweep.body.workload)].into_iter().chain(machine).collect(),
        picture: picture(&sweep.body, view.columns),
        answers: vec![said.unwrap_or_else(|| answer(sweep))],
        advice: step(&sweep.body),
        limits: limits(&sweep.caveats),
        ..Screen::default()
    };
    screen.text(view)
}

/// The bars in their order, without those of the candidates that matter least where there are many.
fn picture(sweep: &ThreadSweep, columns: u16) -> String {
    let all = rows(sweep);
    let mut by_weight: Vec<usize> = (0..all.len()).collect();
    by_weight.sort_by_key(|&index| match sweep.candidates[index].standing {
        Standing::Chosen => 0,
        Standing::Equal | Standing::Undecided => 1,
        Standing::Worse if sweep.candidates[index].blocks > 0 => 2,
        Standing::Worse | Standing::Screened => 3,
        Standing::Failed => 4,
    });
    by_weight.truncate(MOST_BARS);
    let left_out = all.len() - by_weight.len();
    let kept = all.into_iter().enumerate().filter(|(index, _)| by_weight.contains(index));
    let kept: Vec<_> = kept.map(|(_, bar)| bar).collect();
    if kept.is_empty() {
        return String::new();
    }
    let text = bars(&kept, &headings(sweep), columns);
    match left_out {
        0 => text,
        _ => format!("{text} ... and {left_out} more\n"),
    }
}

/// Next step: the command with its number, or the step that would decide.
fn step(sweep: &ThreadSweep) -> Option<NextStep> {
    if is_answered(sweep) {
        let advice = sweep.advice.iter().find(|it| it.fits)?;
        return Some(NextStep::by("use it", advice.line.clone()));
    }
    let how = sweep.answer.as_ref()?.to_decide.as_ref()?;
    Some(NextStep::phrase(format!("to decide it, {how}")))
}
