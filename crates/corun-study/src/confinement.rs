//! A part of a machine: some of its cores with all their siblings, as `taskset` gave three of six
//! cores to a published test.
//!
//! Everything in corun respects the CPUs that its process may use, so that narrowing its own mask
//! for a step is all it takes.

use std::fmt;
use std::io;
use std::str::FromStr;

use corun_machine::{Affinity, CpuSet, Machine};
use corun_measure::cores::usable_cores;
use serde::{Deserialize, Deserializer};

/// A part of a machine's cores, for instance 1/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fraction {
    over: u32,
    under: u32,
}

impl Fraction {
    /// The logical CPUs of that part of the usable cores, rounded down, all siblings of each.
    ///
    /// # Errors
    /// Why there is no such part, as a sentence.
    pub fn cpus(self, machine: &Machine) -> Result<CpuSet, String> {
        let cores = usable_cores(machine);
        let wanted = cores.len() * self.over as usize / self.under as usize;
        if wanted == 0 {
            return Err(format!("it needs {self} of the cores, and {} can be used", cores.len()));
        }
        Ok(cores.iter().take(wanted).flat_map(|core| core.cpus.iter().copied()).collect())
    }
}

/// The machine as a process sees it that may use these CPUs only.
pub(crate) fn confined(machine: &Machine, cpus: &CpuSet) -> Machine {
    let mut confined = machine.clone();
    for cpu in &mut confined.logical_cpus {
        cpu.allowed &= cpus.contains(cpu.id);
    }
    confined
}

/// This thread, and what it starts, kept on some CPUs as long as this lives.
pub(crate) struct Confinement {
    before: Affinity,
}

impl Confinement {
    pub(crate) fn begin(cpus: &CpuSet) -> io::Result<Self> {
        let before = Affinity::of(0)?;
        Affinity::new(cpus).apply(0)?;
        Ok(Self { before })
    }
}

impl Drop for Confinement {
    fn drop(&mut self) {
        // The mask was this thread's own a moment ago; there is no caller to report to if it is not again.
        let _ = self.before.apply(0);
    }
}

/// A text that is no part of a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a part of the cores such as 1/2, found \"{0}\"")]
pub struct UnknownFraction(pub String);

impl FromStr for Fraction {
    type Err = UnknownFraction;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').and_then(|(over, under)| {
            Some(Self { over: over.parse().ok()?, under: under.parse().ok()? })
        });
        parts
            .filter(|part| 0 < part.over && part.over < part.under)
            .ok_or_else(|| UnknownFraction(text.to_owned()))
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.over, self.under)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_less_than_the_whole() {
        assert_eq!("1/2".parse::<Fraction>().unwrap().to_string(), "1/2");
        for text in ["", "1", "2/2", "0/2", "1/0", "-1/2", "a/b"] {
            assert!(text.parse::<Fraction>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_narrowed_comes_back() {
        let before = Affinity::of(0).unwrap();
        let first = before.cpus().iter().next().unwrap();
        let confinement = Confinement::begin(&CpuSet::from_iter([first])).unwrap();
        assert_eq!(Affinity::of(0).unwrap().cpus(), CpuSet::from_iter([first]));
        drop(confinement);
        assert_eq!(Affinity::of(0).unwrap(), before);
    }
}
