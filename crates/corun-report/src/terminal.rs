//! A run for the terminal: the answer, then the tables, then what limits trust.

use corun_record::{Answer, Metric, Run, on_lines, on_one_line};

use crate::bars::{Bar, bars};
use crate::figures::{half_width, is_sensible};
use crate::grid::{filled, glue};
use crate::prose;
use crate::screen::View;
use crate::tables::{self, RateScale};

pub(crate) use crate::grid::{NO_BREAK, grid, named_grid};

/// All that a run says.
pub fn to_terminal(run: &Run, view: &View) -> String {
    let View { columns, has_colour, .. } = *view;
    let mut text = String::new();
    for line in prose::heading(run) {
        text.push_str(&wrap(&line, "  ", columns));
    }
    text.push('\n');
    if run.is_partial() && !run.is_without_interval() {
        text.push_str("PARTIAL RESULT: the experiment was cut short.\n\n");
    }
    text.push_str(&picture(run, columns));
    let details = [tables::details(run), tables::comparisons(run), tables::latencies(run)];
    for table in [tables::arms(run)].iter().chain(details.iter().filter(|it| !it.rows.is_empty())) {
        text.push_str(&grid(table, columns));
        text.push_str("\n\n");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    section(&mut text, "Not possible here", prose::not_possible(run), columns);
    section(&mut text, "What limits trust", prose::caveats(run), columns);
    text.push('\n');
    text.push_str(&wrap(&prose::course(run), "", columns));
    // Nothing that others wrote brings colours of its own.
    view.in_order(&answers_to_terminal(run, columns, has_colour), &on_lines(&text))
}

/// A bar for the work of each arm; nothing where there is one arm, or no interval.
fn picture(run: &Run, columns: u16) -> String {
    let scale = RateScale::of(run);
    let arms = run.arms.iter().filter(|arm| arm.twin_of.is_none());
    let rows = arms.filter_map(|arm| {
        let seen = run.observation(Metric::Throughput, &arm.id)?.estimate;
        let limits = if is_sensible(&seen) { [seen.low, seen.high] } else { [0.0, seen.value] };
        Some(Bar {
            label: arm.id.clone(),
            value: seen.value,
            limits: Some(limits),
            columns: vec![scale.show(seen.value), half_width(&seen)],
        })
    });
    let rows: Vec<Bar> = rows.collect();
    match rows.len() {
        0 | 1 => String::new(),
        _ => bars(&rows, &[&scale.unit.replace(NO_BREAK, " "), ""], columns) + "\n",
    }
}

/// The answers of a run alone.
pub fn answers_to_terminal(run: &Run, columns: u16, has_colour: bool) -> String {
    painted_answers(run, has_colour).iter().map(|answer| wrap(answer, "  ", columns)).collect()
}

/// The answers of a run, a line each.
pub(crate) fn painted_answers(run: &Run, has_colour: bool) -> Vec<String> {
    let painted = |(answer, sentence): (Answer, String)| {
        let sentence = on_one_line(&sentence);
        if has_colour { painted(answer, &sentence) } else { sentence }
    };
    prose::answers(run).into_iter().map(painted).collect()
}

/// The sentence with what it claims, up to the figures, in the colour of the answer.
fn painted(answer: Answer, sentence: &str) -> String {
    let colour = match answer {
        Answer::Helps => "1;32",
        Answer::Hurts => "1;31",
        Answer::NoPracticalEffect => "1",
        Answer::Inconclusive => "1;33",
    };
    let end = sentence.find(": ").or_else(|| sentence.find(" (")).unwrap_or(sentence.len());
    let (claim, figures) = sentence.split_at(end);
    format!("\u{1b}[{colour}m{claim}\u{1b}[0m{figures}")
}

pub(crate) fn section(text: &mut String, title: &str, lines: Vec<String>, columns: u16) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}:\n"));
    for line in lines {
        text.push_str(&wrap(&format!("- {line}"), "  ", columns));
    }
}

/// Breaks a line at spaces, but not between a number and its unit; later lines begin with `indent`.
pub(crate) fn wrap(line: &str, indent: &str, columns: u16) -> String {
    filled(&glue(line), indent, columns).replace(NO_BREAK, " ") + "\n"
}

#[cfg(test)]
mod tests {
    use corun_record::{EndReason, Ending, Estimate, Metric, Observation};
    use serde_json::json;

    use super::*;
    use crate::bench::examples;

    /// Two arms of which one had a wide interval, on a machine that counts energy.
    fn run() -> Run {
        let arms = [("spread", 2, 20e6), ("full", 4, 24e6)];
        let mut run = examples::run("chase", json!({}), &arms);
        let seen = run.observations[0].clone();
        let beside = |arm: &str, metric, unit: &str, value: f64, width: f64| Observation {
            metric,
            arm: arm.to_owned(),
            unit: unit.to_owned(),
            estimate: Estimate { value, low: value / width, high: value * width, ..seen.estimate },
            ..seen.clone()
        };
        run.observations.extend([
            beside("spread", Metric::Makespan, "s", 0.2, 1.01),
            beside("full", Metric::Makespan, "s", 0.4, 20.0),
            beside("spread", Metric::EnergyPerOperation, "J/operation", 3.1e-9, 1.02),
            beside("spread", Metric::NoiseFloor, "1", 0.012, 1.0),
            beside("full", Metric::NoiseFloor, "1", 384.593, 1.0),
        ]);
        run.verdicts[0].sentence =
            "SMT helps: with 2 workers a core does 1.20 times the work it does with one (95 % interval 1.18 to 1.22).".to_owned();
        run
    }

    #[test]
    fn the_answer_comes_first_and_every_line_fits() {
        let shown = [120, 80, 60].map(|columns| to_terminal(&run(), &View::of_file(columns)));
        for (text, columns) in shown.iter().zip([120, 80, 60]) {
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            assert!(text.starts_with(&answers_to_terminal(&run(), columns as u16, false)));
        }
        insta::assert_snapshot!(shown[1], @r"
        SMT helps: with 2 workers a core does 1.20 times the work it does with one (95 %
          interval 1.18 to 1.22).

        workload chase (a process for each worker)
        Made up, 4 cores, 8 logical CPUs, SMT width 2

                                                           M loads/s
         spread  █████████████████████████████████░        20.0       ± 2.0 %
         full    ███████████████████████████████████████░  24.0       ± 2.0 %

         arm      workers   CPUs   time           M loads/s   energy per    noise floor
                                                              operation
        ════════════════════════════════════════════════════════════════════════════════
         spread   2         any    200 ms         20.0        3.10 nJ       1.2 %
                                   ± 1.0 %                    ± 2.0 %
         full     4         any    400 ms, too    24.0        -             too
                                   uncertain to                             uncertain
                                   say                                      to say

         metric      arms            value   interval       verdict
        ════════════════════════════════════════════════════════════
         SMT yield   full / spread   1.20    1.18 to 1.22   helps

        5 blocks of 2 runs (0 of them A/A) in 1.00 s, seed 1; all 5 planned blocks were
        done.
        ");
    }

    #[test]
    fn colours_are_those_of_the_answer_and_of_nothing_else() {
        let mut run = run();
        run.workload.command = vec!["evil\u{1b}[31m".to_owned()];
        let plain = to_terminal(&run, &View::of_file(100));
        assert!(!plain.contains('\u{1b}'), "{plain}");
        let coloured = to_terminal(&run, &View { has_colour: true, ..View::of_file(100) });
        assert!(coloured.starts_with("\u{1b}[1;32mSMT helps\u{1b}[0m: with 2"), "{coloured}");
        assert_eq!(coloured.matches('\u{1b}').count(), 2);
    }

    #[test]
    fn an_answer_that_is_given_twice_is_shown_once() {
        let mut run = run();
        run.verdicts.push(run.verdicts[0].clone());
        assert_eq!(answers_to_terminal(&run, 200, false).lines().count(), 1);
    }

    #[test]
    fn what_ended_too_early_says_so_first() {
        let mut run = run();
        run.design.blocks = 0;
        let sentence = "the time allowed (5s) is too short".to_owned();
        run.ending = Ending { reason: EndReason::TimeUp, sentence };
        insta::assert_snapshot!(
            answers_to_terminal(&run, 200, false),
            @"Too few blocks to say: the time allowed (5s) is too short. Allow more with --max-time, measure fewer placements with --placement, or shorten the command."
        );
    }

    #[test]
    fn arms_without_a_comparison_are_an_answer_too() {
        let mut run = run();
        run.verdicts.clear();
        insta::assert_snapshot!(
            answers_to_terminal(&run, 200, false),
            @"No comparison: spread takes 200 ms ± 1.0 %, full takes 400 ms, too uncertain to say."
        );
    }
}
