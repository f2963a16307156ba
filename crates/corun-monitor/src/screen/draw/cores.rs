//! Cores with their siblings side by side: as rows, as tiles or as a map, by how many there are.

use corun_record::{Activity, CoreActivity, CpuActivity};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::{Colours, Pen, bold, points};
use crate::screen::view::CoreDetail;

/// Plan of the cores of a machine in an area.
pub(in crate::screen) struct Plan {
    form: Form,
    /// The lines of all cores, whether they fit or not.
    lines: Vec<Line>,
    /// The lines that are shown.
    shown: u16,
    has_title: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// With a bar of this width for each sibling.
    Rows {
        cell: u16,
        bar: u16,
    },
    Tiles {
        cell: u16,
    },
    Map,
}

/// A line of the part.
enum Line {
    /// The cores with these indices, side by side.
    Cores(std::ops::Range<usize>),
    /// Sums of the cores with these indices, all of one package.
    Package(std::ops::Range<usize>),
}

/// The columns of the mix of a core's time.
const MIX: u16 = 10;

impl Plan {
    /// Shows the cores in at most so many lines, a title included.
    pub(in crate::screen) fn new(
        activity: &Activity,
        detail: CoreDetail,
        width: u16,
        budget: u16,
        has_title: bool,
    ) -> Self {
        let room = budget.saturating_sub(u16::from(has_title)).max(1);
        let cores = &activity.cores;
        // A recording may say anything.
        let most = cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0);
        let siblings = most.min(256) as u16;
        let digits = digits(activity);
        let rows = [8, 4, 1].into_iter().map(|bar| {
            let sibling = 1 + digits + 1 + bar + 4;
            Form::Rows { cell: digits + sibling * siblings + 1 + MIX + 7, bar }
        });
        let rows = rows.filter(|form| form.cell() <= width);
        let tiles = Form::Tiles { cell: digits + 1 + siblings + 4 + 2 };
        let forms: Vec<Form> = match detail {
            CoreDetail::Fitting => rows.chain([tiles, Form::Map]).collect(),
            CoreDetail::Rows => rows.take(1).chain([tiles]).take(1).collect(),
            CoreDetail::Tiles => vec![tiles],
            CoreDetail::Map => vec![Form::Map],
        };
        let planned = |form: &Form| (*form, lines(cores, *form, width));
        let fits = |planned: &(Form, Vec<Line>)| planned.1.len() <= usize::from(room);
        let (form, lines) = forms
            .iter()
            .map(planned)
            .find(fits)
            .or_else(|| forms.last().map(planned))
            .unwrap_or((Form::Map, Vec::new()));
        let shown = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(room);
        Self { form, lines, shown, has_title }
    }

    /// The lines that it takes.
    pub(in crate::screen) fn height(&self) -> u16 {
        self.shown + u16::from(self.has_title)
    }
}

impl Form {
    fn cell(self) -> u16 {
        match self {
            Self::Rows { cell, .. } | Self::Tiles { cell } => cell,
            Self::Map => 1,
        }
    }
}

/// The digits of the highest number of a core or CPU.
fn digits(activity: &Activity) -> u16 {
    let numbers = activity
        .cores
        .iter()
        .flat_map(|core| core.cpus.iter().map(|cpu| cpu.cpu).chain([core.core]));
    numbers.max().unwrap_or(0).max(10).ilog10() as u16 + 1
}

fn lines(cores: &[CoreActivity], form: Form, width: u16) -> Vec<Line> {
    let across = usize::from((width / form.cell()).max(1));
    if form != Form::Map {
        return chunks(0..cores.len(), across).map(Line::Cores).collect();
    }
    let mut lines = Vec::new();
    let mut first = 0;
    for package in cores.chunk_by(|one, other| one.package == other.package) {
        let all = first..first + package.len();
        first = all.end;
        lines.push(Line::Package(all.clone()));
        lines.extend(chunks(all, across).map(Line::Cores));
    }
    lines
}

fn chunks(
    all: std::ops::Range<usize>,
    size: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    let end = all.end;
    all.step_by(size).map(move |first| first..(first + size).min(end))
}

/// Draws as many lines of the plan as fit, from this one on.
pub(in crate::screen) fn draw(
    plan: &Plan,
    activity: &Activity,
    scroll: usize,
    colours: Colours,
    area: Rect,
    buffer: &mut Buffer,
) {
    let shown = area.height.saturating_sub(u16::from(plan.has_title));
    let first = scroll.min(plan.lines.len().saturating_sub(usize::from(shown)));
    if plan.has_title {
        let mut pen = Pen::new(buffer, area, 0);
        pen.put(bold(), "cores  ");
        for (glyph, style, word) in legend(plan.form, colours) {
            pen.put(style, glyph).put(colours.dim(), &format!(" {word}  "));
        }
        let last = (first + usize::from(shown)).min(plan.lines.len());
        if last - first < plan.lines.len() {
            let place = format!(" [ lines {} to {last} of {} ]", first + 1, plan.lines.len());
            pen.put(bold(), &place);
        }
    }
    let digits = digits(activity);
    let below = u16::from(plan.has_title)..area.height;
    for (line, what) in below.zip(plan.lines.iter().skip(first)) {
        let mut pen = Pen::new(buffer, area, line);
        match what {
            Line::Package(range) => package(&mut pen, &activity.cores[range.clone()], colours),
            Line::Cores(range) => {
                for core in &activity.cores[range.clone()] {
                    match plan.form {
                        Form::Rows { bar, .. } => row(&mut pen, core, digits, bar, colours),
                        Form::Tiles { .. } => tile(&mut pen, core, digits, colours),
                        Form::Map => spot(&mut pen, core, colours),
                    }
                }
            }
        }
    }
}

fn legend(form: Form, colours: Colours) -> Vec<(&'static str, Style, &'static str)> {
    match form {
        Form::Rows { .. } | Form::Tiles { .. } => vec![
            ("\u{2588}", colours.co_busy(), "co-busy"),
            ("\u{2592}", colours.one_busy(), "one busy"),
            ("\u{b7}", colours.dim(), "idle"),
        ],
        Form::Map => vec![
            ("\u{b7}", colours.dim(), "idle"),
            ("o", colours.one_busy(), "one busy"),
            ("\u{2591}\u{2592}\u{2593}\u{2588}", colours.co_busy(), "co-busy 5, 25, 50, 75 %"),
        ],
    }
}

/// `  3   3 ████      50   7 ██        25 █▒▒▒▒▒▒···  10 co`.
fn row(pen: &mut Pen<'_>, core: &CoreActivity, digits: u16, bar: u16, colours: Colours) {
    pen.put_right(bold(), &core.core.to_string(), digits);
    for cpu in &core.cpus {
        pen.skip(1).put_right(colours.dim(), &cpu.cpu.to_string(), digits).skip(1);
        let (busy, steal) = (cpu.busy(), cpu.busy() + cpu.steal);
        let style = busy_style(core, colours);
        match bar {
            1 => pen.put(style, eighths(cpu)),
            _ => pen.bar(
                bar,
                &[
                    (busy, "\u{25a0}", style),
                    (steal, "\u{00d7}", bold()),
                    (1.0, "\u{b7}", colours.dim()),
                ],
            ),
        };
        pen.put_right(Style::new(), &points(busy), 4);
    }
    pen.skip(1).bar(MIX, &mix(core, colours));
    pen.put_right(colours.co_busy(), &points(core.co_busy()), 4).skip(3);
}

/// ` 12 ▇▂  30`.
fn tile(pen: &mut Pen<'_>, core: &CoreActivity, digits: u16, colours: Colours) {
    pen.put_right(colours.dim(), &core.core.to_string(), digits).skip(1);
    for cpu in &core.cpus {
        pen.put(busy_style(core, colours), eighths(cpu));
    }
    pen.put_right(colours.co_busy(), &points(core.co_busy()), 4).skip(2);
}

fn spot(pen: &mut Pen<'_>, core: &CoreActivity, colours: Colours) {
    let (glyph, style) = match core.co_busy() {
        share if share >= 0.75 => ("\u{2588}", colours.co_busy()),
        share if share >= 0.5 => ("\u{2593}", colours.co_busy()),
        share if share >= 0.25 => ("\u{2592}", colours.co_busy()),
        share if share >= 0.05 => ("\u{2591}", colours.co_busy()),
        _ if core.idle() < 0.95 => ("o", colours.one_busy()),
        _ => ("\u{b7}", colours.dim()),
    };
    pen.put(style, glyph);
}

fn package(pen: &mut Pen<'_>, cores: &[CoreActivity], colours: Colours) {
    let number = cores.first().and_then(|core| core.package);
    let name = number.map_or("package ?".to_owned(), |it| format!("package {it}"));
    let count = cores.len().max(1) as f64;
    let mean = |of: fn(&CoreActivity) -> f64| cores.iter().map(of).sum::<f64>() / count;
    let shares =
        [mean(CoreActivity::co_busy), mean(CoreActivity::one_busy), mean(CoreActivity::idle)];
    let [co, one, idle] = shares.map(points);
    pen.put(bold(), &name).skip(2).bar(MIX, &ends(shares, colours));
    pen.put(Style::new(), &format!("  co-busy {co} %, one busy {one} %, idle {idle} %"));
}

/// The times of a core, those with most siblings busy first.
fn mix(core: &CoreActivity, colours: Colours) -> [(f64, &'static str, Style); 3] {
    ends([core.co_busy(), core.one_busy(), core.idle()], colours)
}

fn ends([co, one, _]: [f64; 3], colours: Colours) -> [(f64, &'static str, Style); 3] {
    [
        (co, "\u{2588}", colours.co_busy()),
        (co + one, "\u{2592}", colours.one_busy()),
        (1.0, "\u{b7}", colours.dim()),
    ]
}

/// Style of the state in which the core was longer while it was busy.
fn busy_style(core: &CoreActivity, colours: Colours) -> Style {
    if core.co_busy() > core.one_busy() { colours.co_busy() } else { colours.one_busy() }
}

/// A bar of one character.
fn eighths(cpu: &CpuActivity) -> &'static str {
    const LEVELS: [&str; 9] = [
        "\u{b7}", "\u{2581}", "\u{2582}", "\u{2583}", "\u{2584}", "\u{2585}", "\u{2586}",
        "\u{2587}", "\u{2588}",
    ];
    let level = (cpu.busy() * 8.0).round().clamp(0.0, 8.0) as usize;
    LEVELS.get(level).copied().unwrap_or("?")
}
