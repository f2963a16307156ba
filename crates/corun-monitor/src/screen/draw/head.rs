//! The lines about the whole machine: what the kernel reports, and what was used of the capacity.

use corun_record::{
    Activity, CapacityUse, CoBusyEvidence, CoBusyMethod, CoreActivity, YieldSource,
};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::{Colours, Pen, bold, points};
use crate::screen::view::View;

/// Number of lines where there is much room, with why nothing more exact is known.
pub(in crate::screen) const MOST_LINES: u16 = 7;
/// Number of lines where there is room.
pub(super) const LINES: u16 = 6;
/// Number of lines where there is little: those that come first.
pub(super) const FEWEST_LINES: u16 = 3;
/// The columns of the words before the lines, and where there are no bars.
const LABEL: u16 = 11;
const SHORT_LABEL: u16 = 9;
/// The columns before the bars, which stand below each other.
const BARS_AT: u16 = 48;
/// From this width on there are bars.
const BARS_FROM: u16 = 60;

/// Draws the head. The capacity is the answer: where lines are few, those above it are left out first.
pub(in crate::screen) fn draw(
    view: &View,
    activity: &Activity,
    colours: Colours,
    area: Rect,
    buffer: &mut Buffer,
) {
    let left_out = FEWEST_LINES.saturating_sub(area.height);
    if left_out == 0 {
        title(view, activity, colours, area, buffer);
    }
    let capacity = &activity.capacity;
    let has_bars = area.width >= BARS_FROM;
    let label = if has_bars { LABEL } else { SHORT_LABEL };
    let rest = (1.0, "\u{b7}", colours.dim());
    if left_out <= 1 {
        let mut pen = Pen::new(buffer, area, 1 - left_out);
        let text = format!("{} % busy", points(capacity.reported));
        pen.put_left(bold(), "reported", label).put_left(Style::new(), &text, BARS_AT - LABEL);
        if has_bars {
            let width = pen.left();
            pen.bar(width, &[(capacity.reported, "\u{2588}", colours.one_busy()), rest]);
        }
    }
    let mut pen = Pen::new(buffer, area, FEWEST_LINES - 1 - left_out.min(FEWEST_LINES - 1));
    let (used, left) = (used(capacity), left(capacity));
    let both = format!("{used}, {left}");
    let room = usize::from(area.width);
    if both.len() + usize::from(label) <= room {
        pen.put_left(bold(), "capacity", label);
    }
    let shown = if both.len() <= room { &both } else { &left };
    pen.put_left(bold(), shown, BARS_AT - LABEL);
    if has_bars {
        let low = (capacity.used_low, "\u{2588}", colours.co_busy());
        let high = (capacity.used_high, "\u{2592}", colours.co_busy());
        let width = pen.left();
        pen.bar(width, &[low, high, rest]);
    }
    Pen::new(buffer, area, 3)
        .put_left(bold(), "siblings", LABEL)
        .put(Style::new(), &siblings(activity));
    let mut remark = |line: u16, text: &str| {
        Pen::new(buffer, area, line).skip(LABEL).put(colours.dim(), text);
    };
    if activity.cores.iter().any(|core| core.cpus.len() > 1) {
        remark(4, &evidence(&activity.co_busy));
    }
    if capacity.yields.high > 1.0 {
        remark(5, &yields(capacity));
    }
    if let Some(why) = &activity.co_busy.not_exact_because {
        remark(6, &format!("not exact: {}", corun_record::on_one_line(why)));
    }
}

fn title(view: &View, activity: &Activity, colours: Colours, area: Rect, buffer: &mut Buffer) {
    let cpus: usize = activity.cores.iter().map(|core| core.cpus.len()).sum();
    let mut pen = Pen::new(buffer, area, 0);
    pen.put(bold(), "corun top");
    if view.is_paused {
        pen.put(bold(), "  PAUSED");
    }
    if let Some(moment) = &view.moment {
        pen.put(bold(), &format!("  {moment}"));
    }
    pen.put(
        Style::new(),
        &format!(
            "  {}, {}, {} over {:.1} s",
            counted(activity.cores.len(), "core"),
            counted(cpus, "CPU"),
            counted(activity.tasks.len(), "task"),
            activity.interval_s
        ),
    );
    if activity.tasks_hidden {
        pen.put(colours.dim(), ", others hidden (hidepid)");
    } else if activity.tasks_not_seen > 0 {
        pen.put(colours.dim(), &format!(", {} more not shown", activity.tasks_not_seen));
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `used 42 to 63 %`.
fn used(capacity: &CapacityUse) -> String {
    format!("used {}", between(capacity.used_low, capacity.used_high))
}

/// `left 37 to 58 %`.
fn left(capacity: &CapacityUse) -> String {
    format!("left {}", between(1.0 - capacity.used_high, 1.0 - capacity.used_low))
}

fn between(low: f64, high: f64) -> String {
    match (points(low), points(high)) {
        (low, high) if low == high => format!("{low} %"),
        (low, high) => format!("{low} to {high} %"),
    }
}

fn siblings(activity: &Activity) -> String {
    let cores = activity.cores.len().max(1) as f64;
    let mean =
        |of: fn(&CoreActivity) -> f64| points(activity.cores.iter().map(of).sum::<f64>() / cores);
    if activity.cores.iter().all(|core| core.cpus.len() < 2) {
        return "no core has two siblings online".to_owned();
    }
    format!(
        "idle {} %, one busy {} %, co-busy {} % of core time",
        mean(CoreActivity::idle),
        mean(CoreActivity::one_busy),
        mean(CoreActivity::co_busy)
    )
}

fn evidence(co_busy: &CoBusyEvidence) -> String {
    let method = match co_busy.method {
        CoBusyMethod::Bounds => {
            return "co-busy is not known, only the bounds of the capacity hold".to_owned();
        }
        CoBusyMethod::Sampled => "sampled",
        CoBusyMethod::Exact => "exact, every switch seen",
    };
    format!(
        "{method}; error of a core up to {:.1} points; costs {:.1} % of a CPU",
        co_busy.error * 100.0,
        co_busy.cost * 100.0
    )
}

fn yields(capacity: &CapacityUse) -> String {
    let yields = capacity.yields;
    let range = format!("from {:.2} to {:.2}", yields.low, yields.high);
    match yields.source {
        YieldSource::Any => format!("for any SMT yield {range} (corun capacity narrows it)"),
        YieldSource::Given => format!("for SMT yields {range}, as given"),
        YieldSource::Measured => format!("for SMT yields {range}, measured on this machine"),
        YieldSource::Predicted => format!("for SMT yields {range}, predicted for this core"),
    }
}
