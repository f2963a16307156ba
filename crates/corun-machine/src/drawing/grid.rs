//! The grid of one group of cores: a column a core, a row a sibling.

use crate::{Core, LogicalCpu, Machine};

use super::Palette;
use super::shelf::{Block, INDENT};

/// Mark of a logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// The kernel does not use it.
    Offline,
    /// It is online, and this process may not run on it.
    NotAllowed,
}

impl Mark {
    pub(super) const ALL: [Self; 2] = [Self::Offline, Self::NotAllowed];

    pub(super) fn of(cpu: &LogicalCpu) -> Option<Self> {
        match (cpu.online, cpu.allowed) {
            (false, _) => Some(Self::Offline),
            (true, false) => Some(Self::NotAllowed),
            (true, true) => None,
        }
    }

    pub(super) fn sign(self) -> char {
        match self {
            Self::Offline => 'x',
            Self::NotAllowed => '!',
        }
    }

    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::NotAllowed => "not allowed for this process",
        }
    }
}

/// Draws the cores in as many bands as `width` asks for.
pub(super) fn draw(machine: &Machine, cores: &[&Core], width: usize, ink: &Palette) -> Block {
    let highest = machine.logical_cpus.last().map_or(0, |cpu| cpu.id);
    let digits = highest.to_string().len();
    // A space, the number, and a mark or another space.
    let cell_width = digits + 2;
    // Each column has a border, and so has the end of the band.
    let in_band = (width.saturating_sub(INDENT + 1) / (cell_width + 1)).max(1);

    let mut lines = Vec::new();
    let mut above = 0;
    for band in cores.chunks(in_band) {
        lines.push(border(above, band.len(), cell_width));
        let columns = band.len() * (cell_width + 1) + 1;
        for row in 0..band.iter().map(|core| core.cpus.len()).max().unwrap_or(0) {
            let mut line = String::new();
            for core in band {
                let id = core.cpus.as_slice().get(row);
                let cpu = id.and_then(|&id| machine.cpu(id));
                let mark = cpu.and_then(Mark::of);
                let number = cpu.map(|cpu| cpu.id.to_string()).unwrap_or_default();
                let sign = mark.map_or(' ', Mark::sign);
                line.push('│');
                line.push_str(&ink.mark(mark, &format!(" {number:>digits$}{sign}")));
            }
            line.push('│');
            lines.push((line, columns));
        }
        above = band.len();
    }
    lines.push(border(above, 0, cell_width));
    Block { lines }
}

/// The line between a band of `above` columns and one of `below`; 0 is no band.
fn border(above: usize, below: usize, cell_width: usize) -> (String, usize) {
    let columns = above.max(below);
    let mut line = String::new();
    for column in 0..=columns {
        let up = above > 0 && column <= above;
        let down = below > 0 && column <= below;
        line.push(joint(up, down, column > 0, column < columns));
        if column < columns {
            line.extend(std::iter::repeat_n('─', cell_width));
        }
    }
    (line, columns * (cell_width + 1) + 1)
}

/// The box-drawing character with these arms.
fn joint(up: bool, down: bool, left: bool, right: bool) -> char {
    match (up, down, left, right) {
        (false, _, false, _) => '┌',
        (false, _, true, true) => '┬',
        (false, _, true, false) => '┐',
        (true, true, false, _) => '├',
        (true, true, true, true) => '┼',
        (true, true, true, false) => '┤',
        (true, false, false, _) => '└',
        (true, false, true, true) => '┴',
        (true, false, true, false) => '┘',
    }
}
