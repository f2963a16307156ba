//! Pieces of a picture that know their size, and how they are put together.
//!
//! A piece is drawn from its own corner; the caller places it. Sizes are in pixels of the
//! picture's own scale.

use svg::Node;
use svg::node::element::{Element, Group, Rectangle, Title};

/// Height of a line of text.
pub(super) const LINE: f64 = 18.0;
/// Width of a character of the text's font, and of its bold form: an upper bound.
const CHARACTER: f64 = 7.5;
/// Between the parts of a title.
const BETWEEN_PARTS: &str = " · ";
/// Around what is inside a frame.
const PADDING: f64 = 10.0;

/// Something drawn, with its size.
pub(super) struct Piece {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) node: Group,
}

impl Piece {
    /// Nothing, of this size.
    pub(super) fn empty(width: f64, height: f64) -> Self {
        Self { width, height, node: Group::new() }
    }

    /// A line of text.
    pub(super) fn line(content: &str, class: &str) -> Self {
        let text = text(content, class, 0.0, LINE - 5.0);
        Self {
            width: content.chars().count() as f64 * CHARACTER,
            height: LINE,
            node: Group::new().add(text),
        }
    }

    /// A word in the middle of a place.
    pub(super) fn word(width: f64, height: f64, content: &str, class: &str) -> Self {
        let class = format!("{class} word");
        let text = text(content, &class, width / 2.0, height / 2.0 + 4.0);
        Self { width, height, node: Group::new().add(text) }
    }

    /// A rectangle with a word in its middle, if that is not empty.
    pub(super) fn cell(width: f64, height: f64, content: &str, class: &str) -> Self {
        let mut cell = Self::empty(width, height);
        cell.node = cell.node.add(rectangle(width, height, 3.0, class));
        if !content.is_empty() {
            Self::word(width, height, content, class).place(&mut cell.node, 0.0, 0.0);
        }
        cell
    }

    /// The piece in a frame, below a title of some parts, in as many lines as keep the frame narrow.
    pub(super) fn framed(self, title: &str, class: &str) -> Self {
        let parts = if title.chars().count() as f64 * CHARACTER <= self.width {
            vec![title]
        } else {
            title.split(BETWEEN_PARTS).collect()
        };
        let title = parts.into_iter().filter(|part| !part.is_empty());
        let title = Self::stack(title.map(|part| Self::line(part, "title")).collect(), 0.0);
        let inner = Self::stack(vec![title, self], 4.0);
        let (width, height) = (inner.width + 2.0 * PADDING, inner.height + 2.0 * PADDING);
        let mut node = Group::new().add(rectangle(width, height, 8.0, class));
        inner.place(&mut node, PADDING, PADDING);
        Self { width, height, node }
    }

    /// The piece with words that appear when it is pointed at, and that are read aloud.
    pub(super) fn explained(mut self, words: &str) -> Self {
        self.node = Group::new().add(Title::new(allowed(words))).add(self.node);
        self
    }

    /// One below the other.
    pub(super) fn stack(pieces: Vec<Self>, gap: f64) -> Self {
        let mut whole = Self::empty(0.0, 0.0);
        for piece in pieces {
            let top = if whole.height > 0.0 { whole.height + gap } else { 0.0 };
            whole.width = whole.width.max(piece.width);
            whole.height = top + piece.height;
            piece.place(&mut whole.node, 0.0, top);
        }
        whole
    }

    /// Side by side, in as many rows as `width` asks for.
    pub(super) fn flow(pieces: Vec<Self>, width: f64, gap: f64) -> Self {
        let mut whole = Self::empty(0.0, 0.0);
        let (mut left, mut top, mut bottom) = (0.0, 0.0, 0.0_f64);
        for piece in pieces {
            if left > 0.0 && left + piece.width > width {
                (left, top) = (0.0, bottom + gap);
            }
            bottom = bottom.max(top + piece.height);
            let end = left + piece.width;
            whole.width = whole.width.max(end);
            piece.place(&mut whole.node, left, top);
            left = end + gap;
        }
        whole.height = bottom;
        whole
    }

    /// Puts the piece into `parent`, its corner there.
    pub(super) fn place(self, parent: &mut Group, left: f64, top: f64) {
        let moved = if (left, top) == (0.0, 0.0) {
            self.node
        } else {
            self.node.set("transform", format!("translate({left} {top})"))
        };
        parent.append(moved);
    }
}

/// A rectangle at the corner.
pub(super) fn rectangle(width: f64, height: f64, radius: f64, class: &str) -> Rectangle {
    let rectangle = Rectangle::new().set("width", width).set("height", height);
    rectangle.set("rx", radius).set("class", class)
}

/// Text with its corner at the left of the base line, or its middle there in a `word`. Spaces count.
fn text(content: &str, class: &str, left: f64, base: f64) -> Element {
    // The library's own element puts line ends around what it holds.
    let mut text = Element::new("text");
    text.append(svg::node::Text::new(allowed(content)));
    if !class.is_empty() {
        text.assign("class", class);
    }
    text.assign("xml:space", "preserve");
    text.assign("x", left);
    text.assign("y", base);
    text
}

/// Without the characters that XML cannot hold at all (XML 1.0, production 2).
pub(super) fn allowed(text: &str) -> String {
    let is_allowed = |character: &char| matches!(character, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars().filter(is_allowed).collect()
}
