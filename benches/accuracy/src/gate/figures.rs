//! Figures that are held to bounds, in sets.

/// A set of predicted figures: of one kind on one core, or of all yields.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    /// Also the name of its table in the file of bounds.
    pub name: String,
    pub figures: Vec<Figure>,
}

/// A predicted figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub name: String,
    pub kind: Kind,
    /// The value of a perfect prediction.
    pub ideal: f64,
    pub now: f64,
}

/// The kinds of figures, of which each has a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One program or yield.
    Row,
    Mean,
    Median,
    Largest,
    /// Kendall's rank correlation.
    Tau,
    /// The share of rows in which "siblings help" is predicted as published.
    Signs,
}

impl Figure {
    /// The distance of a value from the ideal.
    pub(super) fn off(&self, value: f64) -> f64 {
        (value - self.ideal).abs()
    }
}

/// The mean and the largest error of rows.
pub(super) fn summaries(rows: &[Figure]) -> [Figure; 2] {
    let errors = || rows.iter().map(|row| row.off(row.now));
    let mean = errors().sum::<f64>() / rows.len() as f64;
    let largest = errors().fold(0.0, |one: f64, other| match other.is_nan() {
        true => other,
        false => one.max(other),
    });
    [("mean error", Kind::Mean, mean), ("largest error", Kind::Largest, largest)]
        .map(|(name, kind, now)| Figure { name: name.to_owned(), kind, ideal: 0.0, now })
}
