//! Going on with a run that ended early: only where everything is as it was.
//!
//! What follows belongs to the same experiment only if it is measured with the same command on the same CPUs of the
//! same machine.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use corun_record::{Actionable, Arm, Exit, MachineSummary, Run, Workload, excerpt};
use serde_json::Value;

use crate::cores::Core;

/// A run that ended early: as it was before its first block, and the samples of its finished blocks.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The run.
    pub run: Run,
    /// How long it took so far.
    pub spent: Duration,
}

/// Why a run cannot be gone on with here and now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected everything as it was when the run began, found differences: {}", differences.join("; "))]
pub struct Differs {
    /// What differs, each with what was and what is.
    pub differences: Vec<String>,
}

impl Actionable for Differs {
    fn exit(&self) -> Exit {
        Exit::NotPossible
    }

    fn next_step(&self) -> String {
        "Bring it back as it was, or measure it again.".to_owned()
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

    /// Whether machine, work and arms are those of the earlier run.
    ///
    /// # Errors
    /// What differs.
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
            let mut workload = Workload { operations: 0.0, ..workload.clone() };
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
        match differences.is_empty() {
            true => Ok(()),
            false => Err(Differs { differences }),
        }
    }
}

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
