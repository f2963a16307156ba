//! The curve for a terminal: capacity used upwards, reported utilisation to the right.

use corun_record::{CapacityCurve, Filling, FillingCurve};

/// Lines of the plot.
const LINES: usize = 11;
/// The plot is not wider than this.
const MAX_WIDTH: usize = 61;
/// Nor narrower.
const MIN_WIDTH: usize = 21;
/// Room for the names on the left: ` 100 % │`.
const MARGIN: usize = 8;

/// The mark of an order.
fn mark(filling: Filling) -> char {
    match filling {
        Filling::CoresFirst => '●',
        Filling::SiblingsFirst => '○',
    }
}

/// The plot with its axes and what its marks are.
pub(super) fn plot(curve: &CapacityCurve, columns: u16) -> String {
    let width = usize::from(columns).saturating_sub(MARGIN + 1).clamp(MIN_WIDTH, MAX_WIDTH);
    let points = curve.orders.iter().flat_map(|order| &order.points);
    let highest = points.map(|it| it.used.value).fold(1.0, f64::max);
    let line = |share: f64| (share / highest * (LINES - 1) as f64).round() as usize;
    let mut cells = vec![' '; width * LINES];
    for column in 0..width {
        let reported = column as f64 / (width - 1) as f64;
        cells[line(reported).min(LINES - 1) * width + column] = '·';
        // Cores first is drawn over the other where both are the same.
        for order in curve.orders.iter().rev() {
            let used = at(order, reported);
            if column > 0 {
                cells[line(used).min(LINES - 1) * width + column] = mark(order.filling);
            }
        }
    }
    let mut text = String::new();
    for (number, row) in cells.chunks(width).enumerate().rev() {
        let name = match number % 5 {
            0 => format!("{:>4.0} %", number as f64 / (LINES - 1) as f64 * highest * 100.0),
            _ => " ".repeat(6),
        };
        let row: String = row.iter().collect();
        text.push_str(&format!("{name} │{}\n", row.trim_end()));
    }
    text.push_str(&format!("{:6} └{}\n", "", "─".repeat(width)));
    let [left, middle, right] = ["0 %", "50 % reported", "100 %"];
    let before = (width / 2).saturating_sub(left.len() + middle.len() / 2);
    let after = width.saturating_sub(left.len() + before + middle.len() + right.len());
    text.push_str(&format!("{:7}{left}{:before$}{middle}{:after$}{right}\n", "", "", ""));
    // Without siblings both orders are the same.
    let orders = curve.orders.iter().take(curve.smt_width.clamp(1, 2) as usize);
    let marks = orders.map(|it| format!("{} {}", mark(it.filling), it.filling.name()));
    let marks: Vec<String> = marks.chain(["· as reported".to_owned()]).collect();
    let beside = marks.iter().map(|it| it.chars().count() + 3).sum::<usize>();
    match beside <= width + 3 {
        true => text.push_str(&format!("{:7}{}\n", "", marks.join("   "))),
        false => marks.iter().for_each(|it| text.push_str(&format!("{:7}{it}\n", ""))),
    }
    text
}

/// The share used at a reported utilisation: straight between points.
fn at(order: &FillingCurve, reported: f64) -> f64 {
    let mut before = [0.0, 0.0];
    for point in &order.points {
        let now = [point.nominal, point.used.value];
        if now[0] >= reported - 1e-9 {
            let part = (reported - before[0]) / (now[0] - before[0]);
            return before[1] + part * (now[1] - before[1]);
        }
        before = now;
    }
    before[1]
}
