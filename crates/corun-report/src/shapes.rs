//! The shapes that pictures are made of.

use svg::Node;
use svg::node::Text;
use svg::node::element::{Element, Rectangle};

/// A rectangle, to the hundredth of a pixel.
pub(crate) fn rectangle(left: f64, top: f64, width: f64, height: f64) -> Rectangle {
    let round = |it: f64| (it * 100.0).round() / 100.0;
    Rectangle::new()
        .set("x", round(left))
        .set("y", round(top))
        .set("width", round(width))
        .set("height", round(height))
}

/// A line of text without control characters, which XML does not take. The library's own element puts line ends around
/// what it holds.
pub(crate) fn text(content: &str, left: f64, base: f64, class: &str) -> Element {
    let content: String = content.chars().filter(|it| !it.is_control()).collect();
    let mut element = Element::new("text");
    element.append(Text::new(content));
    element.assign("x", left);
    element.assign("y", base);
    if !class.is_empty() {
        element.assign("class", class);
    }
    element
}
