//! Cycles of a program's operation on a core, beside others: simulated once and kept as data.
//!
//! `studies/simulated-cycles.csv` has those of the studies that come with corun, so that a study is shown with its
//! predictions at once; tests hold each of them to what the simulator gives now.

use std::collections::BTreeMap;

use corun_record::Placement;
use serde::{Deserialize, Serialize};

use super::{CoreEngine, Prediction, SimulatedProgram, WorkerLayout};

/// The cycles that come with corun.
const KEPT: &str = include_str!("../../../../studies/simulated-cycles.csv");

/// Core cycles from the end of one operation of a worker to that of its next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycles {
    /// The mean over workers and phases.
    pub mean: f64,
    /// The least of all phases.
    pub low: f64,
    /// The most of all phases.
    pub high: f64,
}

/// A simulation: what is simulated, where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Key {
    core: String,
    program: String,
    placement: Placement,
    cores: u32,
}

/// Cycles by what was simulated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SimulatedCycles(BTreeMap<Key, Cycles>);

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    core: String,
    program: String,
    placement: Placement,
    cores: u32,
    cycles: f64,
    low: f64,
    high: f64,
}

impl SimulatedCycles {
    /// Those that come with corun.
    pub fn kept() -> Self {
        Self::from_csv(KEPT).unwrap_or_default()
    }

    /// Reads what [`to_csv`](Self::to_csv) wrote.
    ///
    /// # Errors
    /// The first line that is wrong, as a sentence.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let lines = reader.deserialize().map(|line| {
            let Line { core, program, placement, cores, cycles, low, high } = line?;
            Ok((Key { core, program, placement, cores }, Cycles { mean: cycles, low, high }))
        });
        let lines: Result<_, csv::Error> = lines.collect();
        lines.map(Self).map_err(|error| error.to_string())
    }

    /// As the file has them, four digits each.
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for (key, cycles) in &self.0 {
            let Key { core, program, placement, cores } = key.clone();
            let [cycles, low, high] = [cycles.mean, cycles.low, cycles.high].map(four_digits);
            // Writing to memory cannot fail.
            let _ = writer.serialize(Line { core, program, placement, cores, cycles, low, high });
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    /// Those of a program in this layout.
    pub fn of(
        &self,
        core: &str,
        program: &SimulatedProgram,
        layout: WorkerLayout,
    ) -> Option<Cycles> {
        self.0.get(&Key::of(core, program, layout)).copied()
    }

    /// Simulates all that a prediction needs, a program after the other. A program that cannot be simulated is left
    /// out, with the reason.
    pub fn simulated(
        prediction: &Prediction,
        engine: &dyn CoreEngine,
        mut begins: impl FnMut(usize, usize, &SimulatedProgram),
    ) -> (Self, Vec<String>) {
        let (mut all, mut failed) = (Self::default(), Vec::new());
        let needed = prediction.needed();
        for (index, (program, layouts)) in needed.iter().enumerate() {
            begins(index + 1, needed.len(), program);
            match engine.cycles(&prediction.core, program, layouts) {
                Ok(found) => {
                    all.0.extend(layouts.iter().zip(found).map(|(layout, cycles)| {
                        (Key::of(&prediction.core, program, *layout), cycles)
                    }));
                }
                Err(reason) => failed.push(format!("{program}: {reason}")),
            }
        }
        (all, failed)
    }

    /// As before, but every program takes longer by a factor of its own, and by another one beside siblings: what does
    /// not change then was not predicted.
    pub(crate) fn varied(&self) -> Self {
        let is_alone =
            |key: &Key| matches!(key.placement, Placement::Single | Placement::Spread(_));
        let mut kinds: Vec<(&String, bool)> = Vec::new();
        let varied = self.0.iter().map(|(key, cycles)| {
            let kind = (&key.program, is_alone(key));
            let place = kinds.iter().position(|it| *it == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            let factor = 1.1 + 0.037 * place as f64;
            let [mean, low, high] = [cycles.mean, cycles.low, cycles.high].map(|it| it * factor);
            (key.clone(), Cycles { mean, low, high })
        });
        Self(varied.collect())
    }

    /// Takes those of another in, in place of its own.
    pub fn update(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Each with what was simulated, in words.
    pub fn iter(&self) -> impl Iterator<Item = (String, Cycles)> {
        self.0.iter().map(|(key, cycles)| {
            (format!("{}, {}, {} on {}", key.core, key.program, key.placement, key.cores), *cycles)
        })
    }
}

impl Key {
    fn of(core: &str, program: &SimulatedProgram, layout: WorkerLayout) -> Self {
        Self {
            core: core.to_owned(),
            program: program.to_string(),
            placement: layout.placement,
            cores: layout.cores,
        }
    }
}

fn four_digits(number: f64) -> f64 {
    let unit = 10_f64.powf(number.abs().max(f64::MIN_POSITIVE).log10().floor() - 3.0);
    // Through text, so that no digits come from the multiplication.
    format!("{:.*}", (-unit.log10().round()).max(0.0) as usize, (number / unit).round() * unit)
        .parse()
        .unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = "core,program,placement,cores,cycles,low,high\n\
                    coffee-lake,fib granularity=32 threads=6,full,3,51.23,50.0,52.9\n";
        let read = SimulatedCycles::from_csv(text).unwrap();
        assert_eq!(SimulatedCycles::from_csv(&read.to_csv()), Ok(read));
        assert!(SimulatedCycles::from_csv("core\nx\n").is_err());
        assert!(!SimulatedCycles::kept().0.is_empty());
    }

    #[test]
    fn four_digits_are_kept() {
        assert_eq!(
            [0.012_345_6, 7.1234, 123_456.0, 1.0].map(four_digits),
            [0.01235, 7.123, 123_500.0, 1.0]
        );
    }
}
