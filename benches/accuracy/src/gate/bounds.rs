//! The committed bounds: figures of an earlier day, and how much worse one may become.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::figures::{Figure, Kind, Set};

/// The file `bounds.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bounds {
    margins: Margins,
    /// By set and name.
    sets: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Margins by kind of figure: the distance from the ideal may grow by so much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Margins {
    row: f64,
    mean: f64,
    median: f64,
    largest: f64,
    tau: f64,
}

impl Margins {
    fn of(self, kind: Kind) -> f64 {
        match kind {
            Kind::Row => self.row,
            Kind::Mean => self.mean,
            Kind::Median => self.median,
            Kind::Largest => self.largest,
            Kind::Tau => self.tau,
            Kind::Signs => 0.0,
        }
    }
}

/// A figure beside its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Kept,
    Worse,
    /// By more than the margin: the bound may be tightened.
    Better,
}

const HEAD: &str = "\
# The bounds of the accuracy gate: what was predicted when they were blessed. A figure may be farther from its ideal (1 for
# predicted over measured cycles and for tau-b, the published yield, 0 for errors) by its margin and no more.
# Written by `cargo run --release -p corun-accuracy -- --gate --bless`; margins are changed by hand.

";

impl Bounds {
    /// The committed ones.
    ///
    /// # Errors
    /// If the file is not as it should be.
    pub(super) fn read() -> Result<Self, String> {
        let path = path();
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        let parsed = text.and_then(|text| toml::from_str(&text).map_err(|error| error.to_string()));
        parsed.map_err(|reason| format!("{}: {reason}", path.display()))
    }

    /// With these figures.
    ///
    /// # Errors
    /// If one is not a number, since nothing was predicted.
    pub(super) fn with(&self, sets: &[Set]) -> Result<Self, String> {
        let mut all = BTreeMap::new();
        for set in sets {
            let figure = |figure: &Figure| match figure.now.is_nan() {
                true => Err(format!("{}, {}: nothing is predicted", set.name, figure.name)),
                false => Ok((figure.name.clone(), (figure.now * 1e4).round() / 1e4)),
            };
            let figures = set.figures.iter().map(figure).collect::<Result<_, String>>()?;
            all.insert(set.name.clone(), figures);
        }
        Ok(Self { margins: self.margins, sets: all })
    }

    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(&self) -> Result<(), String> {
        let text = toml::to_string(self).map_err(|error| error.to_string())?;
        let path = path();
        std::fs::write(&path, format!("{HEAD}{text}"))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The figure as it was, and how far off it may be; none of one that is new.
    pub(super) fn of(&self, set: &Set, figure: &Figure) -> Option<(f64, f64)> {
        let before = *self.sets.get(&set.name)?.get(&figure.name)?;
        Some((before, figure.off(before) + self.margins.of(figure.kind)))
    }

    /// A new figure is worse than none: it has to be blessed.
    pub(super) fn verdict(&self, set: &Set, figure: &Figure) -> Verdict {
        let Some((before, bound)) = self.of(set, figure) else { return Verdict::Worse };
        let now = figure.off(figure.now);
        match now <= bound {
            false => Verdict::Worse,
            true if now < figure.off(before) - self.margins.of(figure.kind) => Verdict::Better,
            true => Verdict::Kept,
        }
    }

    /// Names in the file that no prediction has any more.
    pub(super) fn without_prediction(&self, sets: &[Set]) -> Vec<String> {
        let has = |set: &str, name: &str| {
            let mut own = sets.iter().filter(|it| it.name == set).flat_map(|it| &it.figures);
            own.any(|figure| figure.name == name)
        };
        let known = self.sets.iter().flat_map(|(set, own)| own.keys().map(move |name| (set, name)));
        known
            .filter(|(set, name)| !has(set, name))
            .map(|(set, name)| format!("{set}, {name}"))
            .collect()
    }
}

fn path() -> PathBuf {
    super::folder().join("bounds.toml")
}
