//! The answer of the gate, and what to do about it.

use std::fmt::{self, Display, Formatter, Write as _};

use super::bounds::{Bounds, Verdict};
use super::figures::{Kind, Set};

/// Each figure beside its bound.
#[derive(Debug)]
pub struct Report {
    lines: Vec<Line>,
    /// Figures that have a bound and are not predicted any more.
    missing: Vec<String>,
}

#[derive(Debug)]
struct Line {
    verdict: Verdict,
    cells: [String; 5],
}

const AGAIN: &str = "\
If the change is meant, make the bounds again, whose difference a review sees, and then the page:

    cargo run --release -p corun-accuracy -- --gate --bless
    cargo run --release -p corun-accuracy -- --all --output docs/accuracy.md
";

const HEAD: [&str; 5] = ["set", "figure", "before", "may be off by", "now"];

impl Report {
    pub(super) fn of(sets: &[Set], bounds: &Bounds) -> Self {
        let mut lines = Vec::new();
        for set in sets {
            for figure in &set.figures {
                let verdict = bounds.verdict(set, figure);
                let shown = |value: f64| match figure.kind {
                    Kind::Signs => format!("{value:.0} of {:.0}", figure.ideal),
                    _ if value.is_nan() => "not predicted".to_owned(),
                    _ => format!("{value:.3}"),
                };
                let (before, bound) = match bounds.of(set, figure) {
                    Some((before, bound)) => (shown(before), format!("{bound:.3}")),
                    None => ("-".to_owned(), "-".to_owned()),
                };
                let name = figure.name.clone();
                let cells = [set.name.clone(), name, before, bound, shown(figure.now)];
                lines.push(Line { verdict, cells });
            }
        }
        Self { lines, missing: bounds.without_prediction(sets) }
    }

    /// True if no figure is worse than its bound and every bound has a figure.
    pub fn is_kept(&self) -> bool {
        self.missing.is_empty() && self.of_verdict(Verdict::Worse).next().is_none()
    }

    /// The figures that are worse, and what to make again; if there are none, the bounds that may be tightened.
    pub fn in_brief(&self) -> String {
        let worse: Vec<&Line> = self.of_verdict(Verdict::Worse).collect();
        let mut text = String::new();
        if !worse.is_empty() {
            let what = match worse.len() {
                1 => "1 figure is worse than its bound".to_owned(),
                count => format!("{count} figures are worse than their bounds"),
            };
            writeln!(text, "{what}:\n\n{}", table(&worse)).expect("a string takes everything");
        }
        for name in &self.missing {
            writeln!(text, "{name}: has a bound, and is not predicted any more")
                .expect("a string takes everything");
        }
        if !self.is_kept() {
            text += AGAIN;
        }
        for Line { cells: [set, figure, before, _, now], .. } in self.of_verdict(Verdict::Better) {
            writeln!(text, "{set}, {figure}: better than its bound ({before} before, {now} now), which --bless tightens")
                .expect("a string takes everything");
        }
        text
    }

    fn of_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.verdict == verdict)
    }
}

/// All figures.
impl Display for Report {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&table(&self.lines.iter().collect::<Vec<_>>()))
    }
}

/// Columns as wide as what they hold.
fn table(lines: &[&Line]) -> String {
    let head = HEAD.map(str::to_owned);
    let rows: Vec<&[String; 5]> =
        std::iter::once(&head).chain(lines.iter().map(|line| &line.cells)).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figure;
    use super::*;

    fn set(figures: &[(&str, Kind, f64, f64)]) -> Set {
        let figure = |&(name, kind, ideal, now): &(&str, Kind, f64, f64)| Figure {
            name: name.to_owned(),
            kind,
            ideal,
            now,
        };
        Set { name: "programs on zen5".to_owned(), figures: figures.iter().map(figure).collect() }
    }

    fn bounds() -> Bounds {
        let text = "[margins]\nrow = 0.02\nmean = 0.005\nmedian = 0.003\nlargest = 0.02\ntau = 0.003\n\n\
                    [sets.\"programs on zen5\"]\ngzip = 0.9\nsigns = 3\n";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn worse_figures_fail_with_what_to_make_again() {
        let now = |gzip, signs| {
            let figures = [("gzip", Kind::Row, 1.0, gzip), ("signs", Kind::Signs, 4.0, signs)];
            Report::of(&[set(&figures)], &bounds())
        };
        for kept in [now(0.9, 3.0), now(0.881, 3.0), now(1.11, 3.0)] {
            assert!(kept.is_kept() && kept.in_brief().is_empty(), "{}", kept.in_brief());
        }
        let better = now(1.0, 4.0);
        assert!(better.is_kept() && better.in_brief().contains("gzip: better than its bound"));
        for worse in [now(0.87, 3.0), now(1.13, 3.0), now(0.9, 2.0), now(f64::NAN, 3.0)] {
            let text = worse.in_brief();
            assert!(!worse.is_kept() && text.contains("1 figure"), "{text}");
            assert!(text.contains("-- --all --output docs/accuracy.md\n"), "{text}");
            assert!(text.contains("-- --gate --bless\n"), "{text}");
        }
    }

    #[test]
    fn new_figures_and_lost_ones_have_to_be_blessed() {
        let report = Report::of(&[set(&[("xz", Kind::Row, 1.0, 1.0)])], &bounds());
        let text = report.in_brief();
        assert!(
            !report.is_kept() && text.contains("programs on zen5, gzip: has a bound"),
            "{text}"
        );
        assert!(text.contains("programs on zen5  xz      -"), "{text}");
    }
}
