//! A sweep as a picture: a bar for each candidate with its interval, the chosen one in another colour.

use corun_record::{Record, Standing, ThreadSweep};
use svg::Document;
use svg::node::element::{Group, Line, Style, Title};

use crate::shapes::{rectangle, text};

use super::{answer, is_answered, machine_line, rows, score_name};

const MARGIN: f64 = 20.0;
const LABEL: f64 = 90.0;
const BARS: f64 = 520.0;
/// Room for figures after the bars.
const FIGURES: f64 = 190.0;
const ROW: f64 = 24.0;
const BAR: f64 = 16.0;
/// Letters of a line of text.
const LETTERS: usize = 94;
const LINE: f64 = 18.0;

const STYLE: &str = "
.page { fill: #ffffff; }
.bar { fill: #9db4c8; }
.chosen { fill: #2f7d4f; }
.interval { stroke: #222222; stroke-width: 1.5; }
text { font: 13px sans-serif; fill: #222222; }
.answer { font-weight: bold; }
.small { font-size: 11px; fill: #666666; }
@media (prefers-color-scheme: dark) {
  .page { fill: #16181c; }
  .bar { fill: #4c6378; }
  .chosen { fill: #4caf7a; }
  .interval { stroke: #eeeeee; }
  text { fill: #dddddd; }
  .small { fill: #999999; }
}
";

/// The sweep as an SVG document.
pub fn threads_to_svg(sweep: &Record<ThreadSweep>) -> String {
    let mut page = Group::new();
    let mut top = MARGIN;
    for line in textwrap::wrap(&answer(sweep), LETTERS) {
        page = page.add(text(&line, MARGIN, top + LINE - 4.0, "answer"));
        top += LINE;
    }
    top += LINE / 2.0;
    let rows = rows(&sweep.body);
    let highest = |value: f64, limits: Option<[f64; 2]>| limits.map_or(value, |limits| limits[1]);
    let longest = rows.iter().map(|row| highest(row.value, row.limits)).fold(1e-9, f64::max);
    let left = MARGIN + LABEL;
    let place = |value: f64| left + BARS * value / longest;
    for (row, candidate) in rows.iter().zip(&sweep.body.candidates) {
        let is_chosen = candidate.standing == Standing::Chosen && is_answered(&sweep.body);
        let class = if is_chosen { "chosen" } else { "bar" };
        let middle = top + BAR / 2.0;
        page = page
            .add(text(&row.label, MARGIN, top + BAR - 3.0, ""))
            .add(rectangle(left, top, place(row.value) - left, BAR).set("class", class));
        if let Some([low, high]) = row.limits {
            let interval = Line::new()
                .set("x1", place(low))
                .set("x2", place(high))
                .set("y1", middle)
                .set("y2", middle);
            page = page.add(interval.set("class", "interval"));
        }
        let figures = row.columns.first().map_or("", String::as_str);
        let end = place(highest(row.value, row.limits)) + 8.0;
        page = page.add(text(figures, end, top + BAR - 3.0, ""));
        top += ROW;
    }
    for line in [
        format!("{} beside the chosen one, with its interval", score_name(sweep.body.goal)),
        machine_line(sweep),
    ] {
        page = page.add(text(&line, MARGIN, top + LINE - 6.0, "small"));
        top += LINE;
    }
    let (width, height) = (2.0 * MARGIN + LABEL + BARS + FIGURES, top + MARGIN);
    let document = Document::new()
        .set("viewBox", (0, 0, width.ceil() as i64, height.ceil() as i64))
        .set("width", width)
        .set("height", height)
        .set("role", "img")
        .add(Title::new(answer(sweep)))
        .add(Style::new(STYLE))
        .add(rectangle(0.0, 0.0, width, height).set("class", "page"))
        .add(page);
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n")
}
