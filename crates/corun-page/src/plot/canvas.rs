//! Canvas that plots are drawn on: shapes with classes, whose colours the page's style sheet gives.
//!
//! Foreign text reaches a picture through [`text`] and [`tipped`] only; the library escapes both.

use corun_report::parts::lines;
use svg::Node;
use svg::node::Text;
use svg::node::element::Element;

/// The width of a letter of plain text, in pixels; a mean over the usual fonts.
pub(crate) const LETTER: f64 = 7.7;
/// A picture narrower than this is for a telephone: labels stand above what they name.
const NARROW: f64 = 500.0;

/// A picture while it is drawn.
#[derive(Debug)]
pub(crate) struct Canvas {
    /// Width of the picture.
    pub width: f64,
    /// Height so far.
    pub height: f64,
    shapes: Vec<Element>,
}

impl Canvas {
    /// An empty picture of this width.
    pub(crate) fn new(width: f64) -> Self {
        Self { width, height: 0.0, shapes: Vec::new() }
    }

    /// True if it is for a narrow screen.
    pub(crate) fn is_narrow(&self) -> bool {
        self.width < NARROW
    }

    /// Draws a shape over those before it.
    pub(crate) fn add(&mut self, shape: Element) {
        self.shapes.push(shape);
    }

    /// Draws a shape with words that a pointer brings up: there is none on a narrow screen.
    pub(crate) fn add_tipped(&mut self, shape: Element, words: &str) {
        let shape = if self.is_narrow() { shape } else { tipped(shape, words) };
        self.shapes.push(shape);
    }

    /// Names of what colours and marks mean, beside each other as far as there is room.
    pub(crate) fn legend(&mut self, entries: &[(Mark, &str, &str)]) {
        let (mut left, mut base) = (0.0, self.height + 14.0);
        for (mark, class, name) in entries {
            let width = 22.0 + letters(name) + 14.0;
            if left > 0.0 && left + width > self.width {
                (left, base) = (0.0, base + 20.0);
            }
            self.add(marked(*mark, class, left + 8.0, base - 4.0, 5.0));
            self.add(text("label", Anchor::Start, left + 20.0, base, name));
            left += width;
        }
        if !entries.is_empty() {
            self.height = base + 10.0;
        }
    }

    /// Lines of small text across the picture.
    pub(crate) fn note(&mut self, note: &str, class: &str) {
        let columns = (self.width / 7.0) as usize;
        for line in lines(note, columns) {
            self.height += 18.0;
            self.add(text(class, Anchor::Start, 0.0, self.height - 4.0, &line));
        }
    }

    /// The shapes as the content of an element `svg`.
    pub(crate) fn content(&self) -> String {
        let shapes: Vec<String> = self.shapes.iter().map(Element::to_string).collect();
        shapes.join("\n")
    }
}

/// About how wide a text is, in pixels.
pub(crate) fn letters(content: &str) -> f64 {
    LETTER * content.chars().count() as f64
}

/// As much of a text as has room.
pub(crate) fn fitted(content: &str, room: f64) -> String {
    let most = (room / LETTER).max(1.0) as usize;
    match content.chars().count() > most {
        true => content.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => content.to_owned(),
    }
}

/// Which end of a text its position is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A mark of a point; each series of a plot has its own, so that no colour is needed to follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    /// A piece of a dashed line.
    Dashes,
}

impl Mark {
    /// The mark of a series, by its number.
    pub(crate) fn of(series: usize) -> Self {
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Cross][series % 5]
    }
}

fn element(name: &str, class: &str) -> Element {
    let mut element = Element::new(name);
    if !class.is_empty() {
        element.assign("class", class);
    }
    element
}

fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

pub(crate) fn rect(class: &str, left: f64, top: f64, width: f64, height: f64) -> Element {
    let mut rect = element("rect", class);
    for (name, value) in [("x", left), ("y", top), ("width", width), ("height", height)] {
        rect.assign(name, rounded(value.max(0.0)));
    }
    rect
}

pub(crate) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Element {
    let mut line = element("line", class);
    for (name, value) in [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)] {
        line.assign(name, rounded(value));
    }
    line
}

pub(crate) fn path(class: &str, data: &str) -> Element {
    let mut path = element("path", class);
    path.assign("d", data);
    path
}

/// A path through points.
pub(crate) fn through(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut data = String::new();
    for (x, y) in points {
        let command = if data.is_empty() { "M" } else { "L" };
        data += &format!("{command}{} {}", rounded(x), rounded(y));
    }
    data
}

/// Dots that nothing is said of one by one, as short as can be: a path whose round ends are the dots.
pub(crate) fn dots(class: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Element {
    let each = points.into_iter().map(|(x, y)| format!("M{} {}h0", rounded(x), rounded(y)));
    path(class, &each.collect::<String>())
}

/// A line of text.
pub(crate) fn text(class: &str, anchor: Anchor, x: f64, base: f64, content: &str) -> Element {
    let mut text = element("text", class);
    text.append(Text::new(content));
    text.assign("x", rounded(x));
    text.assign("y", rounded(base));
    match anchor {
        Anchor::Start => {}
        Anchor::Middle => text.assign("text-anchor", "middle"),
        Anchor::End => text.assign("text-anchor", "end"),
    }
    text
}

/// The shape with words that a pointer brings up.
pub(crate) fn tipped(mut shape: Element, words: &str) -> Element {
    let mut title = Element::new("title");
    title.append(Text::new(words));
    shape.append(title);
    shape
}

/// A mark around a point.
pub(crate) fn marked(mark: Mark, class: &str, x: f64, y: f64, size: f64) -> Element {
    let class = format!("mark {class}");
    let closed = |points: &[(f64, f64)]| {
        let points = points.iter().map(|(right, down)| (x + right * size, y + down * size));
        path(&class, &(through(points) + "Z"))
    };
    match mark {
        Mark::Circle => {
            let mut circle = element("circle", &class);
            for (name, value) in [("cx", x), ("cy", y), ("r", size * 0.9)] {
                circle.assign(name, rounded(value));
            }
            circle
        }
        Mark::Square => rect(&class, x - 0.8 * size, y - 0.8 * size, 1.6 * size, 1.6 * size),
        Mark::Triangle => closed(&[(0.0, -1.1), (1.0, 0.8), (-1.0, 0.8)]),
        Mark::Diamond => closed(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
        Mark::Cross => {
            let (low, high) = (-0.8 * size, 0.8 * size);
            let data = format!(
                "{}{}",
                through([(x + low, y + low), (x + high, y + high)]),
                through([(x + low, y + high), (x + high, y + low)])
            );
            path(&format!("{class} stroke"), &data)
        }
        Mark::Dashes => {
            line(&format!("{class} stroke dashed"), (x - 1.6 * size, y), (x + 1.6 * size, y))
        }
    }
}
