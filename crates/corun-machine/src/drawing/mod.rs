//! A machine drawn for a person: cores side by side, each a column of its siblings.
//!
//! Cores stand together by package and by what divides it (die, NUMA node, L3 cache, core type), so
//! that one sees at a glance which CPUs share what.

mod grid;
mod groups;
mod shelf;
mod shown;
mod summary;
mod svg;

pub(crate) use summary::size;
pub use svg::draw_svg;

use std::fmt::Write as _;

use crate::Machine;
use grid::Mark;
use groups::Group;
use shelf::Block;

/// Machines above this number of CPUs show one of several equal groups in full.
const FOLDED_ABOVE: usize = 256;

/// Draws `machine` in lines of up to `width` columns where its cells allow it, with ANSI colours if
/// `color`; the marks need no colour.
pub fn draw(machine: &Machine, width: usize, color: bool) -> String {
    let ink = Palette { color };
    // Every control sequence from here on is one of the ink's.
    let machine = &shown::shown(machine);
    let mut text = summary::head(machine, &ink);
    let mut marks = Vec::new();
    for package in groups::packages(machine) {
        let _ = writeln!(text, "\n{}", ink.bold(&package.title));
        let blocks = blocks(machine, &package.groups, width, &ink, &mut marks);
        text.push_str(&shelf::arrange(&blocks, width));
    }
    summary::legend(&mut text, &marks);
    summary::tail(&mut text, machine, width);
    text
}

/// The groups of a package, in full or in a line; adds the marks that occur.
fn blocks(
    machine: &Machine,
    groups: &[Group<'_>],
    width: usize,
    ink: &Palette,
    marks: &mut Vec<Mark>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut in_full: Option<&Group<'_>> = None;
    for group in groups {
        let marked = group.marks(machine);
        let like_before = in_full.is_some_and(|before| before.has_shape_of(group));
        if machine.logical_cpus.len() > FOLDED_ABOVE && like_before && marked.is_empty() {
            blocks.push(Block::of_line(group.in_one_line(), width));
            continue;
        }
        let mut block = grid::draw(machine, &group.cores, width, ink);
        if !group.title.is_empty() {
            block.lines.insert(0, (group.title.clone(), group.title.chars().count()));
        }
        blocks.push(block);
        in_full = marked.is_empty().then_some(group);
        marks.extend(marked);
    }
    blocks
}

/// Colours, or none.
struct Palette {
    color: bool,
}

impl Palette {
    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn mark(&self, mark: Option<Mark>, text: &str) -> String {
        match mark {
            Some(Mark::Offline) => self.paint("31", text),
            Some(Mark::NotAllowed) => self.paint("33", text),
            None => text.to_owned(),
        }
    }

    /// `code` is a parameter of the control sequence SGR (ECMA-48).
    fn paint(&self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
