//! A machine drawn as a picture, with what a probe found of it.
//!
//! The same groups as in the terminal: packages, what divides them, cores, logical CPUs. The picture
//! has its own background, dark where the reader prefers dark; every part says in a tooltip what it
//! is; and the file reads in order, from the machine's name to the last sentence.

mod cores;
mod matrix;
mod piece;

use svg::Document;
use svg::node::element::{Description, Group, Style, Title};

use crate::Machine;
use crate::probe::{self, Probe};
use cores::Cores;
use piece::{Piece, allowed, rectangle};

use super::grid::Mark;
use super::{Palette, summary};

/// Pixels between the edge and the picture, and that the packages may be wide.
const MARGIN: f64 = 20.0;
const WIDTH: f64 = 960.0;
/// Characters of a line of text.
const COLUMNS: usize = 120;
const STYLE: &str = include_str!("style.css");

/// Draws `machine` as an SVG document, with the result of a probe if there is one.
pub fn draw_svg(machine: &Machine, probe: Option<&Probe>) -> String {
    let head = summary::head(machine, &Palette { color: false });
    let mut tail = String::new();
    summary::tail(&mut tail, machine, COLUMNS);

    let mut pieces = vec![lines(&head, true), Cores { machine, probe, width: WIDTH }.draw()];
    pieces.extend(legend(machine));
    pieces.push(lines(tail.trim_start_matches('\n'), false));
    if let Some(probe) = probe {
        let title = probe::head(probe, COLUMNS);
        pieces.push(matrix::draw(machine, probe).framed(title.trim(), "package"));
        pieces.push(lines(probe::findings(probe, COLUMNS).trim_start_matches('\n'), false));
    }
    let picture = Piece::stack(pieces, 14.0);
    let (width, height) = (picture.width + 2.0 * MARGIN, picture.height + 2.0 * MARGIN);
    let mut page = Group::new().add(rectangle(width, height, 0.0, "page"));
    picture.place(&mut page, MARGIN, MARGIN);

    let name = machine.cpu_model.as_deref().unwrap_or("CPU model not known");
    let document = Document::new()
        .set("viewBox", (0, 0, width.ceil() as i64, height.ceil() as i64))
        .set("width", width.ceil())
        .set("height", height.ceil())
        .set("role", "img")
        .add(Title::new(allowed(name)))
        .add(Description::new().add(svg::node::Text::new(allowed(&head))))
        .add(Style::new(STYLE))
        .add(page);
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n")
}

/// Text line by line; the first in bold if it is a `headline`.
fn lines(text: &str, headline: bool) -> Piece {
    let class = |number| if number == 0 && headline { "title" } else { "" };
    let lines = text.lines().enumerate().map(|(number, line)| Piece::line(line, class(number)));
    Piece::stack(lines.collect(), 0.0)
}

/// Legend of core types and marks, where they occur.
fn legend(machine: &Machine) -> Option<Piece> {
    let types = machine.core_types.iter().enumerate().map(|(place, one)| {
        let class =
            if place == 0 { "core".to_owned() } else { format!("core kind{}", place.min(2)) };
        matrix::entry(&class, &one.name)
    });
    let marks: Vec<Mark> = machine.logical_cpus.iter().filter_map(Mark::of).collect();
    let marks = Mark::ALL.into_iter().filter(|mark| marks.contains(mark)).map(|mark| {
        let class = if mark == Mark::Offline { "cpu offline" } else { "cpu barred" };
        matrix::entry(class, mark.meaning())
    });
    let entries: Vec<Piece> = types.chain(marks).collect();
    (!entries.is_empty()).then(|| Piece::flow(entries, WIDTH, 18.0))
}
