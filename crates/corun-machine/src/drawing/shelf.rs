//! Blocks of text side by side, as many as fit, like books on shelves.
//!
//! Colour codes take bytes and no columns, so that a block knows its width on the screen.

/// A block of lines.
pub(super) struct Block {
    /// Each line with its width on the screen in columns.
    pub(super) lines: Vec<(String, usize)>,
}

impl Block {
    /// A line that stands alone on a shelf of `width` columns.
    pub(super) fn of_line(line: String, width: usize) -> Self {
        let columns = line.chars().count().max(width);
        Self { lines: vec![(line, columns)] }
    }

    fn width(&self) -> usize {
        self.lines.iter().map(|(_, width)| *width).max().unwrap_or(0)
    }
}

/// Columns before the first block.
pub(super) const INDENT: usize = 2;
const GAP: usize = 2;

/// Puts the blocks on shelves of up to `width` columns; a block wider than that stands alone.
pub(super) fn arrange(blocks: &[Block], width: usize) -> String {
    let mut text = String::new();
    let mut rest = blocks;
    while !rest.is_empty() {
        let mut used = INDENT;
        let fits = |block: &&Block| {
            used += block.width() + GAP;
            used <= width + GAP
        };
        let on_shelf = rest.iter().take_while(fits).count().max(1);
        let (shelf, others) = rest.split_at(on_shelf);
        for row in 0..shelf.iter().map(|block| block.lines.len()).max().unwrap_or(0) {
            let mut line = " ".repeat(INDENT);
            for block in shelf {
                let (content, columns) = block.lines.get(row).map_or(("", 0), |(t, w)| (t, *w));
                line.push_str(content);
                line.extend(std::iter::repeat_n(' ', block.width().saturating_sub(columns) + GAP));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        rest = others;
    }
    text
}
