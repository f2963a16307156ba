//! Going on with a run that ended early: only where everything is as it was.
//!
//! What follows belongs to the same experiment only if it is measured with the same command on the same CPUs of the
//! same machine.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use corun_record::{
    Actionable, Arm, Caveat, Exit, FileContent, MachineSummary, Run, Workload, excerpt,
};
use serde_json::Value;

use crate::cores::Core;

/// A run that ended early: as it was before its first block, and the samples of its finished blocks.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The run.
    pub run: Run,
    /// Time it took so far.
    pub spent: Duration,
    /// True if it may go on with another program file or another standard input.
    pub may_be_changed: bool,
}

/// Why a run cannot be resumed here and now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected everything as it was when the run began, found differences: {}", differences.join("; "))]
pub struct Differs {
    /// Differences, each with what was and what is.
    pub differences: Vec<String>,
    /// True if that is what files hold, and nothing else.
    pub is_of_files: bool,
}

impl Actionable for Differs {
    fn exit(&self) -> Exit {
        Exit::NotPossible
    }

    fn next_step(&self) -> String {
        match self.is_of_files {
            true => {
                "Bring it back as it was, or measure it again; --even-if-changed goes on, and the run then says that \
                 its blocks are of different files."
            }
            false => "Bring it back as it was, or measure it again.",
        }
        .to_owned()
    }
}

impl Earlier {
    /// When it began.
    pub(crate) fn started(&self) -> Option<SystemTime> {
        humantime::parse_rfc3339(&self.run.started).ok()
    }

    /// The cores in an order that chooses those of the earlier run again.
    pub(crate) fn first(&self, mut cores: Vec<Core>) -> Vec<Core> {
        let chosen: Vec<u32> = self.run.design.cores.values().flatten().copied().collect();
        cores.sort_by_key(|core| {
            let first = core.cpus.first();
            chosen.iter().position(|cpu| Some(cpu) == first).unwrap_or(usize::MAX)
        });
        cores
    }

    /// Checks that machine, work and arms are those of the earlier run.
    ///
    /// # Errors
    /// Difference.
    pub(crate) fn check(
        &self,
        machine: &MachineSummary,
        workload: &Workload,
        sized_by: Option<&str>,
        arms: &[Arm],
    ) -> Result<(), Differs> {
        let json = |it: &MachineSummary| serde_json::to_value(it).unwrap_or_default();
        let mut differences = differing(&json(&self.run.machine), &json(machine));
        // Its size was found by trying before the first block, and is taken over.
        let sized = |workload: &Workload| {
            let (program, input) = (None, None);
            let mut workload = Workload { operations: 0.0, program, input, ..workload.clone() };
            if let Some(parameter) = sized_by {
                workload.parameters.remove(parameter);
            }
            serde_json::to_value(workload).unwrap_or_default()
        };
        differences.extend(differing(&sized(&self.run.workload), &sized(workload)));
        if self.run.arms != arms {
            let said = |arms: &[Arm]| {
                let all = arms.iter().filter(|arm| arm.twin_of.is_none());
                all.map(|arm| format!("{} {:?}", arm.id, arm.cpus)).collect::<Vec<_>>().join(", ")
            };
            differences.push(format!(
                "arms and CPUs: {} before, {} now",
                said(&self.run.arms),
                said(arms)
            ));
        }
        let version = env!("CARGO_PKG_VERSION");
        if self.run.corun_version != version {
            differences.push(format!("corun: {} before, {version} now", self.run.corun_version));
        }
        let is_of_files = differences.is_empty();
        if !self.may_be_changed {
            differences.extend(self.changed_files(workload));
        }
        match differences.is_empty() {
            true => Ok(()),
            false => Err(Differs { differences, is_of_files }),
        }
    }

    /// Caveat that blocks are of different files, and what the run says of that already.
    pub(crate) fn caveats(&self, workload: &Workload) -> Vec<Caveat> {
        let said = self.run.caveats.iter().filter(|caveat| caveat.kind == CHANGED_FILES);
        let mut caveats: Vec<Caveat> = said.cloned().collect();
        let changed = self.changed_files(workload);
        if !changed.is_empty() {
            let next = self.run.design.blocks.saturating_add(1);
            let changed = changed.join("; ");
            let sentence = format!("Files were replaced before block {next}: {changed}.");
            caveats.push(Caveat::new(CHANGED_FILES, sentence));
        }
        caveats
    }

    /// Changes of the program's files; runs of an older corun do not say what they held.
    fn changed_files(&self, workload: &Workload) -> Vec<String> {
        let said = |content: &FileContent| {
            let digest = content.sha256.get(..12).unwrap_or_default();
            format!("{} bytes (sha256 {digest})", content.bytes)
        };
        let before = &self.run.workload;
        [
            ("the program's file", &before.program, &workload.program),
            ("its standard input", &before.input, &workload.input),
        ]
        .into_iter()
        .filter_map(|(what, before, now)| {
            let before = before.as_ref().filter(|_| before != now)?;
            let now = now.as_ref().map_or_else(|| "nothing that can be read".to_owned(), said);
            Some(format!("{what}: {} before, {now} now", said(before)))
        })
        .collect()
    }
}

/// The kind of caveat that says so.
const CHANGED_FILES: &str = "changed-files";

/// The fields in which two values differ, each with both.
fn differing(before: &Value, now: &Value) -> Vec<String> {
    let fields = |it: &Value| -> BTreeMap<String, Value> {
        let fields = it.as_object().into_iter().flatten();
        fields.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let (before, now) = (fields(before), fields(now));
    let names = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
    let said = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "unknown".to_owned(),
        Some(Value::String(text)) => excerpt(text),
        Some(other) => excerpt(&other.to_string()),
    };
    names
        .filter(|name| before.get(*name) != now.get(*name))
        .map(|name| {
            let what = name.replace('_', " ");
            format!("{what}: {} before, {} now", said(before.get(name)), said(now.get(name)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_said_with_both_values() {
        let before = MachineSummary {
            host: Some("a".to_owned()),
            smt_active: Some(true),
            cores: 2,
            ..MachineSummary::default()
        };
        let now = MachineSummary { host: Some("b".to_owned()), smt_active: None, ..before.clone() };
        let [before, now] = [before, now].map(|it| serde_json::to_value(it).unwrap());
        let said = differing(&before, &now);
        assert_eq!(said, ["host: a before, b now", "smt active: true before, unknown now"]);
        assert!(differing(&before, &before).is_empty());
    }
}
