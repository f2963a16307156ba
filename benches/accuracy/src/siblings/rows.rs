//! The list of published yields and of the programs that stand for them: `benches/accuracy/siblings.toml`.

use corun_predict::sibling_clock;
use corun_record::Estimate;
use serde::Deserialize;

/// What the file has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
    #[serde(rename = "program")]
    pub programs: Vec<Program>,
    #[serde(rename = "varied")]
    pub varied: Vec<Varied>,
}

/// A published yield.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// What was run.
    pub workload: String,
    /// On what.
    pub processor: String,
    /// The core model that stands for it.
    pub model: String,
    /// The name of the program that stands for the workload.
    pub program: String,
    pub ratio: Ratio,
    pub published: f64,
    /// How busy the cores were that are not simulated, from 0 to 1, as `corun simulate --load-of-others` takes it.
    pub others: f64,
    pub clock: Clock,
    pub side: Side,
    pub likeness: Likeness,
    /// Who published it, and of which runs the figure is.
    pub source: String,
}

/// Programs whose yields on a core are predicted with other values of the model's assumed fields. No yield of them on that core
/// is published.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Varied {
    pub model: String,
    pub programs: Vec<String>,
}

/// Which two placements a yield compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Ratio {
    #[serde(rename = "full/spread")]
    FullToSpread,
    #[serde(rename = "full/stacked")]
    FullToStacked,
}

/// Clock of the processor while the yield was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Clock {
    Fixed,
    Free,
    /// The publication does not say.
    Unknown,
}

/// What a row may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    Tuned,
    HeldOut,
}

/// How near the program is to the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Likeness {
    Faithful,
    Proxy,
}

/// What is traced.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    pub name: String,
    /// One of this crate's kernels.
    pub kernel: Option<String>,
    /// Or a command; `{corun}` and `{text}` are filled in.
    #[serde(default)]
    pub command: Vec<String>,
    /// Instructions before the window, as `corun trace --skip` takes them; of a kernel it begins with its loop.
    pub skip: Option<String>,
}

impl Row {
    /// Work a second from work a cycle, as `corun predict` would print it of this core: where the clock was fixed, the same.
    ///
    /// # Errors
    /// If the model cannot be read.
    pub(crate) fn a_second(&self, a_cycle: &Estimate) -> Result<Estimate, String> {
        let model = corun_model::find(&self.model).map_err(|error| error.to_string())?;
        Ok(match self.clock {
            Clock::Fixed => *a_cycle,
            Clock::Free | Clock::Unknown => sibling_clock(&model).work_a_second(a_cycle),
        })
    }
}

impl Listed {
    /// The list of this crate.
    ///
    /// # Errors
    /// If a row names no program, or the file is not as it should be.
    pub(crate) fn read() -> Result<Self, String> {
        let listed: Self = toml::from_str(include_str!("../../siblings.toml"))
            .map_err(|error| format!("benches/accuracy/siblings.toml: {error}"))?;
        match listed.rows.iter().find(|row| listed.program(&row.program).is_none()) {
            Some(row) => Err(format!(
                "benches/accuracy/siblings.toml: expected a program of the list for {}, found `{}`",
                row.workload, row.program
            )),
            None => Ok(listed),
        }
    }

    pub(crate) fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thirds_are_held_out_and_every_program_is_used() {
        let listed = Listed::read().unwrap();
        let held_out = listed.rows.iter().filter(|row| row.side == Side::HeldOut).count();
        assert!(3 * held_out >= 2 * listed.rows.len(), "{held_out} of {}", listed.rows.len());
        for program in &listed.programs {
            assert!(listed.rows.iter().any(|row| row.program == program.name), "{}", program.name);
            assert_ne!(program.kernel.is_some(), !program.command.is_empty(), "{}", program.name);
        }
    }
}
