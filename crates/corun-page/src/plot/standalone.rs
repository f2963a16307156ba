//! A plot as a file of its own, for an article or a slide: with its message, on white, without variables,
//! which many programs that read SVG do not know.

use corun_record::on_lines;
use corun_report::parts::lines;
use svg::node::Blob;
use svg::node::element::{Group, Style, Title};
use svg::{Document, Node};

use super::canvas::{Anchor, rect, text};
use super::{STYLE, WIDTHS};
use crate::article::Figure;

const MARGIN: f64 = 16.0;
/// Letters of the message and of the note that fit into a line.
const LETTERS: [usize; 2] = [70, 104];

/// The most lines of a note.
const NOTE_LINES: usize = 4;

/// Origin that every picture names.
const ORIGIN: &str = "Made by corun.";

/// Figures below each other, each with what it says and how to read it.
pub(crate) fn standalone(figures: &[&Figure]) -> String {
    let width = WIDTHS[0] + 2.0 * MARGIN;
    let mut page = Group::new();
    let mut base = MARGIN;
    for figure in figures {
        for line in lines(&figure.message, LETTERS[0]) {
            base += 20.0;
            page.append(text("message", Anchor::Start, MARGIN, base - 4.0, &line));
        }
        for line in shortened(lines(&figure.note, LETTERS[1])) {
            base += 16.0;
            page.append(text("tick", Anchor::Start, MARGIN, base - 2.0, &line));
        }
        base += 12.0;
        let canvas = figure.plot.draw(WIDTHS[0]);
        // What is drawn is SVG already.
        let drawn =
            format!("<g transform=\"translate({MARGIN} {base})\">\n{}\n</g>", canvas.content());
        page.append(Blob::new(drawn));
        base += canvas.height + 12.0;
    }
    page.append(text("tick", Anchor::Start, MARGIN, base + 12.0, ORIGIN));
    let height = (base + 12.0 + MARGIN).ceil();
    let message = figures.first().map_or("", |it| it.message.as_str());
    let document = Document::new()
        .set("viewBox", (0, 0, width as i64, height as i64))
        .set("width", width)
        .set("height", height)
        .set("role", "img")
        .add(Title::new(message))
        .add(Style::new(plain_style()))
        .add(rect("ground", 0.0, 0.0, width, height))
        .add(page);
    let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n");
    on_lines(&text).into_owned()
}

/// No more lines of a note than a reader of a picture takes in: the page and the document have the rest.
fn shortened(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > NOTE_LINES {
        lines.truncate(NOTE_LINES);
        if let Some(last) = lines.last_mut() {
            *last = format!("{} ...", last.trim_end_matches(['.', ',', ';', ':']));
        }
    }
    lines
}

/// The style sheet with its light colours in place of variables.
fn plain_style() -> String {
    let light = STYLE.split("@media").next().unwrap_or_default();
    let declared = |line: &str| {
        let (name, value) = line.trim().strip_suffix(';')?.split_once(": ")?;
        name.starts_with("--").then(|| (name.to_owned(), value.to_owned()))
    };
    let variables: Vec<(String, String)> = light.lines().filter_map(declared).collect();
    let rules = STYLE.split_once("/* Shapes */").map_or("", |it| it.1);
    variables.iter().fold(rules.to_owned(), |rules, (name, value)| {
        rules.replace(&format!("var({name})"), value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_left_in_a_file() {
        let style = plain_style();
        assert!(style.contains(".bar"), "{style}");
        assert!(!style.contains("var("), "{style}");
    }
}
