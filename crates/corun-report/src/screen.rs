//! An answer on one screen of a terminal: a picture, why, and what a reader must not miss.
//!
//! On a terminal the answer comes last, where the eye is; in a file or a pipe it comes first. What has no place here is
//! in the whole view, which `--verbose` and the kept run show.

use corun_record::{Caveat, on_one_line};
use textwrap::core::display_width;

use crate::grid::{NO_BREAK, filled, glue};
use crate::terminal::wrap;

/// Medium of a view.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Columns of the medium.
    pub columns: u16,
    /// True on a terminal, where the answer comes last.
    pub is_terminal: bool,
    /// True if the answers are coloured.
    pub has_colour: bool,
    /// True if the answer is kept, so that `corun runs show last` shows the rest.
    pub is_kept: bool,
}

impl View {
    /// A view without colours in a file or pipe of this many columns.
    pub fn of_file(columns: u16) -> Self {
        Self { columns, is_terminal: false, has_colour: false, is_kept: false }
    }

    /// The answer and the rest in the order of the medium, an empty line between them.
    pub(crate) fn in_order(&self, answer: &str, rest: &str) -> String {
        let (answer, rest) = (answer.trim_matches('\n'), rest.trim_matches('\n'));
        match (answer.is_empty() || rest.is_empty(), self.is_terminal) {
            (true, _) => format!("{answer}{rest}\n"),
            (false, true) => format!("{rest}\n\n{answer}\n"),
            (false, false) => format!("{answer}\n\n{rest}\n"),
        }
    }
}

/// The most rows of an answer: those of a terminal, but for the prompt.
pub(crate) const ROWS: usize = 23;
/// The most rows of limits.
const LIMIT_ROWS: usize = 3;
/// The most rows that say what was run where.
const HEADING_ROWS: usize = 2;
/// The columns of a label, and of what is below one.
const LABEL: usize = 8;

/// The parts of an answer, the most important of each first.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// The work and the machine, a row each.
    pub heading: Vec<String>,
    /// The rows of a picture.
    pub picture: String,
    /// Sentences that explain the picture.
    pub reasons: Vec<String>,
    /// The answer, then others, which are shown where there is room; each may bring colours.
    pub answers: Vec<String>,
    /// Said right after the answer of a result that is not all that was asked for.
    pub notice: Option<String>,
    /// Next step of the user.
    pub advice: Option<NextStep>,
    /// Sentences that limit trust.
    pub limits: Vec<String>,
}

/// Next step of a user: a phrase, and a command to copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextStep {
    /// The step in words, without a full stop.
    pub phrase: String,
    /// The command; empty where there is none.
    pub command: String,
}

impl Screen {
    /// The screen as text of [`ROWS`] rows at most, unless the answer alone takes more.
    pub(crate) fn text(&self, view: &View) -> String {
        let answers: Vec<String> =
            self.answers.iter().map(|it| wrap(it, "  ", view.columns)).collect();
        let rest = self.below(view);
        let rows = |text: &str| text.lines().count();
        let first = answers.first().map_or("", String::as_str);
        let above = self.above(view.columns, ROWS.saturating_sub(rows(first) + rows(&rest) + 1));
        // What has rows of its own in the picture may have a sentence, too.
        let mut room = ROWS.saturating_sub(rows(first) + rows(&rest) + rows(&above) + 1);
        let others = answers.iter().skip(1).take_while(|it| {
            let fits = rows(it) <= room;
            room = room.saturating_sub(rows(it));
            fits
        });
        let others: String = others.map(String::as_str).collect();
        view.in_order(&format!("{first}{others}{rest}"), &above)
    }

    /// Heading, picture and reasons in so many rows.
    fn above(&self, columns: u16, room: usize) -> String {
        let heading = self.heading.iter().take(HEADING_ROWS);
        let mut rows: Vec<String> =
            heading.map(|line| in_a_row(line, columns.into())).take(room).collect();
        let picture: Vec<&str> = self.picture.lines().collect();
        let left = room.saturating_sub(rows.len() + 1);
        if !picture.is_empty() && left > 1 {
            rows.push(String::new());
            let shown = if picture.len() <= left { picture.len() } else { left - 1 };
            rows.extend(picture[..shown].iter().map(|&row| row.to_owned()));
            if shown < picture.len() {
                rows.push(format!(" ... and {} more", picture.len() - shown));
            }
        }
        let mut separate = true;
        for reason in &self.reasons {
            let text = wrap(reason, "  ", columns);
            let needed = text.lines().count() + usize::from(separate);
            if rows.len() + needed > room {
                break;
            }
            if std::mem::take(&mut separate) && !rows.is_empty() {
                rows.push(String::new());
            }
            rows.extend(text.lines().map(str::to_owned));
        }
        rows.join("\n")
    }

    /// Next step, and the limits of trust.
    fn below(&self, view: &View) -> String {
        let notice = self.notice.iter().map(|it| wrap(it, "  ", view.columns));
        let advice = self.advice.iter().map(|it| it.rows(view.columns));
        let mut text: String = notice.chain(advice).collect();
        let room = usize::from(view.columns).saturating_sub(LABEL);
        for (index, limit) in self.limits.iter().take(LIMIT_ROWS).enumerate() {
            let label = if index == 0 { "Limits:" } else { "" };
            text += &format!("{label:LABEL$}{}\n", in_a_row(limit, room));
        }
        text + &self.rest(view)
    }

    /// Line on how to see all figures.
    fn rest(&self, view: &View) -> String {
        let limits = match self.limits.len().saturating_sub(LIMIT_ROWS) {
            0 => String::new(),
            1 => "1 more limit, and ".to_owned(),
            more => format!("{more} more limits, and "),
        };
        let kept = if view.is_kept { ", or `corun runs show last`" } else { "" };
        let line = format!("{limits}all figures: --verbose{kept}");
        let (first, others) = line.split_at(1);
        format!("{:LABEL$}{}{others}\n", "More:", first)
    }
}

impl NextStep {
    /// A step without a command to copy.
    pub(crate) fn phrase(phrase: impl Into<String>) -> Self {
        Self { phrase: phrase.into(), command: String::new() }
    }

    /// A step with the command that does it.
    pub(crate) fn by(phrase: impl Into<String>, command: impl Into<String>) -> Self {
        Self { phrase: phrase.into(), command: command.into() }
    }

    /// In one row where it fits; a command to copy is not broken.
    fn rows(&self, columns: u16) -> String {
        let Self { phrase, command } = self;
        let indent = " ".repeat(LABEL);
        if command.is_empty() {
            return wrap(&format!("{:LABEL$}{phrase}.", "To do:"), &indent, columns);
        }
        let command = on_one_line(command);
        let line = format!("{:LABEL$}{phrase}: {command}", "To do:");
        match display_width(&line) <= usize::from(columns) {
            true => line + "\n",
            false => {
                wrap(&format!("{:LABEL$}{phrase}:", "To do:"), &indent, columns)
                    + &format!("{indent}{command}\n")
            }
        }
    }
}

/// Kinds of caveats that hold in every run on a machine, which its own line says.
const OF_THE_MACHINE: [&str; 2] = ["virtual-machine", "doctor-smt"];
/// Kinds of caveats that repeat what another says of the samples themselves, or are about the machine around them.
const OF_THE_SURROUNDINGS: [&str; 3] = ["busy-cores", "outliers", "doctor-"];

/// Sentences of the caveats that a screen may show, those that are about the figures first.
pub(crate) fn limits<'a>(caveats: impl IntoIterator<Item = &'a Caveat>) -> Vec<String> {
    let is_shown = |it: &&Caveat| !OF_THE_MACHINE.contains(&it.kind.as_str());
    let is_around = |it: &&Caveat| OF_THE_SURROUNDINGS.iter().any(|of| it.kind.starts_with(of));
    let mut shown: Vec<&Caveat> = caveats.into_iter().filter(is_shown).collect();
    shown.sort_by_key(is_around);
    let mut sentences: Vec<String> = Vec::new();
    for caveat in shown {
        if !sentences.contains(&caveat.sentence) {
            sentences.push(caveat.sentence.clone());
        }
    }
    sentences
}

/// A text in one row of so many columns: all of it, its first sentence, or its beginning up to a clause.
pub(crate) fn in_a_row(text: &str, columns: usize) -> String {
    let text = on_one_line(text);
    let first = text.split_once(". ").map_or(&*text, |(first, _)| first);
    let fits = |text: &str| display_width(text) <= columns;
    match () {
        () if fits(&text) => return text,
        () if fits(first) => return format!("{}.", first.trim_end_matches('.')),
        () => {}
    }
    let beginning = |room: usize| {
        let room = u16::try_from(room).unwrap_or(u16::MAX);
        let row = filled(&glue(first), "", room);
        row.lines().next().unwrap_or_default().replace(NO_BREAK, " ")
    };
    // The mark at the end of a clause goes.
    let row = beginning(columns.saturating_sub(3)) + " ";
    let clause = [": ", "; ", ", ", " ("].iter().filter_map(|end| row.rfind(end)).max();
    let row = match clause {
        // A clause says something, a beginning of one may not; but not where it is hardly a beginning.
        Some(end) if 2 * end > row.len() => row[..end].to_owned(),
        _ => beginning(columns.saturating_sub(4)).trim_end_matches([',', ':', ';']).to_owned(),
    };
    // A word longer than the row.
    let row: String = row.chars().take(columns.saturating_sub(4)).collect();
    format!("{row} ...")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(answers: usize, limits: usize, picture: usize, reasons: usize) -> Screen {
        let sentence = |index| {
            format!(
                "Sentence {index} says at some length, as they do, what was seen: 1.2 times as much as alone, of 4 runs."
            )
        };
        Screen {
            heading: vec!["./solver ".repeat(30), "a machine".to_owned()],
            picture: " bar\n".repeat(picture),
            reasons: (0..reasons).map(sentence).collect(),
            answers: (0..answers).map(sentence).collect(),
            notice: Some("PARTIAL RESULT: interrupted.".to_owned()),
            advice: Some(NextStep::by(
                "find how many workers are best",
                "corun threads -- ./solver",
            )),
            limits: (0..limits).map(sentence).collect(),
        }
    }

    #[test]
    fn whatever_there_is_fits_a_terminal() {
        for is_terminal in [false, true] {
            let view = View { is_terminal, is_kept: true, ..View::of_file(80) };
            for answers in [1, 2, 9] {
                for limits in [0, 1, 3, 12] {
                    for (picture, reasons) in [(0, 0), (1, 9), (9, 2), (40, 0), (40, 40)] {
                        let text = screen(answers, limits, picture, reasons).text(&view);
                        assert!(text.lines().count() <= ROWS, "{text}");
                        assert!(text.lines().all(|it| it.chars().count() <= 80), "{text}");
                        assert!(text.contains("corun threads -- ./solver"), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_answer_is_last_on_a_terminal_and_first_elsewhere() {
        let screen = screen(1, 1, 3, 0);
        let terminal = View { is_terminal: true, ..View::of_file(80) };
        let (shown, written) = (screen.text(&terminal), screen.text(&View::of_file(80)));
        assert!(written.starts_with("Sentence 0") && shown.starts_with("./solver"), "{shown}");
        assert!(shown.ends_with("all figures: --verbose\n"), "{shown}");
        assert!(written.ends_with(" bar\n"), "{written}");
    }

    #[test]
    fn a_long_limit_ends_with_a_clause() {
        let said = "Other work ran on the workers' CPUs, and a worker waited for its CPU: single in 52 of 126 samples.";
        assert_eq!(
            in_a_row(said, 72),
            "Other work ran on the workers' CPUs, and a worker waited for its CPU ..."
        );
        assert_eq!(in_a_row(said, 200), said);
        let two = "Other work kept CPU 0 busy. `corun doctor` says that it spoils a comparison.";
        assert_eq!(in_a_row(two, 40), "Other work kept CPU 0 busy.");
        // Neither a number without its unit, nor a word that is cut where there is a space.
        assert_eq!(in_a_row("The program waits for 72 % of its time", 24), "The program waits ...");
        assert!(in_a_row(&"x".repeat(300), 40).chars().count() <= 40);
    }

    #[test]
    fn what_is_always_so_on_a_machine_is_no_limit_of_a_run() {
        let caveats = [
            Caveat::new("virtual-machine", "It is one."),
            Caveat::new("doctor-load", "Other work was seen."),
            Caveat::new("foreign-load", "A worker waited."),
            Caveat::new("doctor-smt", "There are no siblings."),
        ];
        assert_eq!(limits(&caveats), ["A worker waited.", "Other work was seen."]);
    }
}
