//! A matrix of cells, the darker the larger, each with its figure where there is room.

use super::canvas::{Anchor, Canvas, fitted, letters, rect, text};

/// A matrix.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heat {
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// The cells, a row after the other; absent where nothing is known.
    pub cells: Vec<Option<Cell>>,
    /// Titles of the rows and the columns.
    pub axes: [String; 2],
    /// Quantity of a cell, with its unit.
    pub what: String,
    /// The steps of colour with what they mean, where cells have kinds and not sizes.
    pub kinds: Vec<(&'static str, String)>,
}

/// A cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub value: f64,
    pub figure: String,
    pub words: String,
    /// The class of its kind; empty where its size colours it.
    pub class: &'static str,
}

/// The steps from the smallest to the largest.
pub(crate) const STEPS: [&str; 6] = ["h0", "h1", "h2", "h3", "h4", "h5"];
/// A cell with its figure is as wide as this at least.
const MIN_FIGURE: f64 = 34.0;

pub(crate) fn draw(heat: &Heat, width: f64) -> Canvas {
    let mut canvas = Canvas::new(width);
    let label = heat.rows.iter().map(|it| letters(it)).fold(14.0, f64::max);
    let left = label.min(0.4 * width) + 8.0;
    let cell = ((width - left) / heat.columns.len().max(1) as f64).clamp(1.0, 64.0);
    let height = cell.clamp(1.0, 30.0);
    let has_figures = cell >= MIN_FIGURE;
    canvas.note(&heat.axes[1], "axis");
    canvas.height += 18.0;
    let every = (20.0 / cell).ceil().max(1.0) as usize;
    for (column, name) in heat.columns.iter().enumerate().filter(|(at, _)| at % every == 0) {
        let middle = left + (column as f64 + 0.5) * cell;
        let name = fitted(name, cell * every as f64);
        canvas.add(text("tick", Anchor::Middle, middle, canvas.height - 5.0, &name));
    }
    let [low, high] = limits(heat);
    let every = (13.0 / height).ceil().max(1.0) as usize;
    for (row, name) in heat.rows.iter().enumerate() {
        let top = canvas.height + row as f64 * height;
        if row % every == 0 {
            let name = fitted(name, left - 8.0);
            canvas.add(text("tick", Anchor::End, left - 6.0, top + height / 2.0 + 4.0, &name));
        }
        for column in 0..heat.columns.len() {
            let Some(Some(seen)) = heat.cells.get(row * heat.columns.len() + column) else {
                continue;
            };
            let class = match seen.class {
                "" => STEPS[step(seen.value, low, high)],
                class => class,
            };
            let gap = if has_figures { 2.0 } else { 0.0 };
            let place = left + column as f64 * cell;
            let shape = rect(&format!("cell {class}"), place, top, cell - gap, height - gap);
            canvas.add_tipped(shape, &seen.words);
            if has_figures {
                let (x, base) = (place + cell / 2.0 - 1.0, top + height / 2.0 + 3.5);
                canvas.add(text(
                    &format!("inside on-{class}"),
                    Anchor::Middle,
                    x,
                    base,
                    &seen.figure,
                ));
            }
        }
    }
    canvas.height += heat.rows.len() as f64 * height + 6.0;
    canvas.note(&heat.axes[0], "axis");
    canvas.height += 4.0;
    legend(&mut canvas, heat, [low, high]);
    canvas.note(&heat.what, "axis");
    canvas.height += 4.0;
    canvas
}

fn legend(canvas: &mut Canvas, heat: &Heat, [low, high]: [f64; 2]) {
    let kinds = if heat.kinds.is_empty() {
        let at = |step: usize| low + (high - low) * step as f64 / STEPS.len() as f64;
        let name = |step: usize| format!("{:.2} to {:.2}", at(step), at(step + 1));
        STEPS.iter().enumerate().map(|(step, class)| (*class, name(step))).collect()
    } else {
        heat.kinds.clone()
    };
    let entries: Vec<_> = kinds
        .iter()
        .map(|(class, name)| (super::canvas::Mark::Square, *class, name.as_str()))
        .collect();
    canvas.legend(&entries);
}

fn limits(heat: &Heat) -> [f64; 2] {
    let values = heat.cells.iter().flatten().map(|it| it.value).filter(|it| it.is_finite());
    let [low, high] = values
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], it| [low.min(it), high.max(it)]);
    if low < high { [low, high] } else { [low.min(0.0), low.max(0.0) + 1.0] }
}

fn step(value: f64, low: f64, high: f64) -> usize {
    let share = (value - low) / (high - low) * STEPS.len() as f64;
    if share.is_finite() { (share as usize).min(STEPS.len() - 1) } else { 0 }
}
