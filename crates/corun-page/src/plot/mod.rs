//! The plots: each is data until it is drawn, for the width of a page, of a telephone, or of an article.
//!
//! Shapes have classes; their colours are in `templates/plot.css`, light and dark, the same for all plots.

pub(crate) mod bars;
mod canvas;
pub(crate) mod course;
pub(crate) mod gantt;
pub(crate) mod heat;
pub(crate) mod lines;
pub(crate) mod places;
mod scale;
pub(crate) mod stacks;
mod standalone;

use canvas::Canvas;
pub(crate) use standalone::standalone;

/// The width of a page, in pixels, and that of a telephone.
pub(crate) const WIDTHS: [f64; 2] = [720.0, 330.0];

/// The style of what is drawn.
pub(crate) const STYLE: &str = include_str!("../../templates/plot.css");

/// A plot.
#[derive(Debug, Clone)]
pub(crate) enum Plot {
    Bars(bars::Bars),
    Lines(lines::Lines),
    Stacks(stacks::Stacks),
    Heat(heat::Heat),
    Places(places::Places),
    Course(course::Course),
    Gantt(gantt::Gantt),
}

impl Plot {
    fn draw(&self, width: f64) -> Canvas {
        match self {
            Self::Bars(bars) => bars::draw(bars, width),
            Self::Lines(lines) => lines::draw(lines, width),
            Self::Stacks(stacks) => stacks::draw(stacks, width),
            Self::Heat(heat) => heat::draw(heat, width),
            Self::Places(places) => places::draw(places, width),
            Self::Course(course) => course::draw(course, width),
            Self::Gantt(gantt) => gantt::draw(gantt, width),
        }
    }

    /// The plot as a drawing of this width: its height, and the content of its element `svg`.
    pub(crate) fn drawn(&self, width: f64) -> Drawing {
        let canvas = self.draw(width);
        Drawing { width, height: canvas.height.ceil(), content: canvas.content() }
    }
}

/// A drawn plot.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub width: f64,
    pub height: f64,
    /// The shapes, as SVG.
    pub content: String,
}

/// The colours of series, in order; the last serves all that follow.
pub(crate) fn colour(series: usize) -> &'static str {
    ["c1", "c2", "c3", "c4", "c5", "c6"][series.min(5)]
}
