//! Runs that a command is given by name, with an arm if one is meant: `old.json`, `new.json#full`, `-`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use corun_compare::{Named, Subject, subjects};
use corun_record::{Actionable, Metric, shown};

use crate::problem::{Problem, say};
use crate::{documents, keeping};

/// The most earlier runs that say how much equal runs differ: their deviation is then known within 7 %.
const EQUAL_RUNS: usize = 100;

/// Documents that were read, each once: standard input can be read no second time.
#[derive(Default)]
pub(super) struct NamedRuns {
    read: BTreeMap<String, Vec<Subject>>,
}

impl NamedRuns {
    /// The run of this name, and the arm behind `#`.
    ///
    /// # Errors
    /// If there is no such document, it holds nothing to compare, or has no such arm.
    pub(super) fn named(&mut self, name: &str) -> Result<Named, Problem> {
        let (document, arm) = split(name);
        let subjects = self.subjects(document)?;
        if let Some(arm) = arm.filter(|arm| !subjects.iter().any(|it| it.has_arm(arm))) {
            let mut arms: Vec<&str> = subjects.iter().flat_map(Subject::arms).collect();
            arms.dedup();
            return Err(Problem::usage(
                format!("expected an arm of {}, found {arm:?}", shown(document)),
                format!("It has {}.", arms.join(", ")),
            ));
        }
        Ok(Named { name: document.to_owned(), arm: arm.map(str::to_owned), subjects })
    }

    /// The newest of the kept runs that can be compared, behind the newest one before it of the same workload or command.
    ///
    /// # Errors
    /// If there are no two among the newest.
    pub(super) fn newest_two(&mut self) -> Result<Vec<Named>, Problem> {
        let mut newest: Option<Named> = None;
        for before in 0..NEWEST {
            let name = match before {
                0 => "last".to_owned(),
                _ => format!("last~{before}"),
            };
            let Ok(run) = self.named(&name) else { continue };
            match newest.take() {
                Some(last) if has_same_label(&run, &last) => return Ok(vec![run, last]),
                Some(last) => newest = Some(last),
                None => newest = Some(run),
            }
        }
        let found = match newest {
            Some(run) => format!("one ({})", run.name),
            None => "none".to_owned(),
        };
        Err(Problem::usage(
            format!(
                "expected two runs of the same workload or command among the last {NEWEST} that are kept, found {found}"
            ),
            "Name two runs of `corun runs list`, or measure the same again.",
        ))
    }

    /// Earlier runs of the same things, which say how much equal runs differ: those of these names.
    ///
    /// # Errors
    /// If there is no such document, or it holds nothing to compare.
    pub(super) fn history(&mut self, names: &[String]) -> Result<Vec<Subject>, Problem> {
        let mut earlier = Vec::new();
        for name in names {
            earlier.extend(self.subjects(name)?);
        }
        Ok(earlier)
    }

    /// Runs of the same things that are kept: how much equal runs differ is known from them, too. A store that cannot be read
    /// is said, and no reason to compare nothing.
    pub(super) fn kept_like(&self, runs: &[Named]) -> Vec<Subject> {
        let labels = runs.iter().flat_map(|run| &run.subjects).map(Subject::label);
        let labels: BTreeSet<&str> = labels.collect();
        let mut kept = Vec::new();
        for label in labels {
            let same = |_, text: &str| {
                let mut found = subjects(text).ok()?;
                found.retain(|it| it.label() == label);
                (!found.is_empty()).then_some(found)
            };
            match keeping::runs_of(label, EQUAL_RUNS, same) {
                Ok(found) => kept.extend(found.into_iter().flatten()),
                Err(error) => {
                    say(&format!("corun: no history from the store: {error}"));
                    break;
                }
            }
        }
        kept
    }

    fn subjects(&mut self, name: &str) -> Result<Vec<Subject>, Problem> {
        if let Some(known) = self.read.get(name) {
            return Ok(known.clone());
        }
        let text = documents::text(name)?;
        let found = subjects(&text).map_err(|error| {
            Problem::failed(format!("{}: {error}", shown(name)), error.next_step())
        })?;
        self.read.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}

/// Number of newest runs that are looked at where none is named.
const NEWEST: usize = 30;

fn has_same_label(one: &Named, other: &Named) -> bool {
    one.subjects.iter().any(|it| other.subjects.iter().any(|that| that.label() == it.label()))
}

/// A name and the arm behind its last `#`; a file whose own name has one is that file.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('#') {
        Some((document, arm)) if !document.is_empty() && !Path::new(name).exists() => {
            (document, Some(arm))
        }
        _ => (name, None),
    }
}

/// A metric by its name in JSON, with hyphens or without.
///
/// # Errors
/// A sentence on what was expected.
pub(super) fn metric(text: &str) -> Result<Metric, String> {
    serde_json::from_value(text.replace('-', "_").into()).map_err(|_| {
        format!(
            "expected a metric such as throughput, makespan, latency or smt-yield, found \"{text}\""
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_follows_the_last_number_sign() {
        assert_eq!(split("a.json#full@2"), ("a.json", Some("full@2")));
        assert_eq!(split("-#spread"), ("-", Some("spread")));
        assert_eq!(split("a.json"), ("a.json", None));
        assert_eq!(split("#full"), ("#full", None));
    }

    #[test]
    fn metrics_have_their_names_of_json() {
        assert_eq!(metric("smt-yield"), Ok(Metric::SmtYield));
        assert_eq!(metric("makespan"), Ok(Metric::Makespan));
        assert!(metric("speed").is_err() && metric("").is_err());
    }
}
