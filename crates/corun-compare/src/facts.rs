//! Facts that a run was made with, beside its figures: what may be the reason for a change.
//!
//! Runs whose facts agree are equal runs; only those say how much equal runs differ.

use corun_record::{MachineSummary, Mode, RunDifference, Workload};

/// The facts of a run, in the order of reports: a name and a value, absent where the document does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts(Vec<(String, Option<String>)>);

impl Facts {
    /// The host comes first: no two machines are equal, however much alike they are.
    pub(crate) fn of_host(machine: &MachineSummary) -> Self {
        Self(vec![("host".to_owned(), machine.host.clone())])
    }

    pub(crate) fn add(&mut self, what: &str, value: Option<String>) {
        self.0.push((what.to_owned(), value));
    }

    pub(crate) fn of_machine(&mut self, machine: &MachineSummary) {
        self.0.extend(machine.settings());
    }

    pub(crate) fn of_workload(&mut self, workload: &Workload) {
        self.add("command", Some(workload.label()));
        self.add("workers", Some(mode(workload.mode).to_owned()));
        let prepare = workload.prepare.as_ref().map(|command| match command.is_empty() {
            true => "nothing".to_owned(),
            false => shell_words::join(command),
        });
        self.add("prepare", prepare);
        self.add("restarted copies", Some(if workload.steady { "yes" } else { "no" }.to_owned()));
        let load = workload.load.as_ref();
        self.add("load", load.map(|load| shell_words::join(&load.command)));
    }

    fn value(&self, what: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == what)?.1.as_deref()
    }

    /// The command that ran before each sample, if the document is of a kind that says so.
    pub(crate) fn preparation(&self) -> Option<&str> {
        self.value("prepare")
    }

    /// True if no fact is known to differ.
    pub(crate) fn agree_with(&self, other: &Self) -> bool {
        differences(&[self, other]).is_empty()
    }

    /// Changes since an earlier run, a sentence each.
    pub(crate) fn changes_since(&self, earlier: &Self) -> Vec<String> {
        let unlike = |difference: RunDifference| {
            let mut values = difference.values.into_iter().flatten();
            let (before, after) = (values.next()?, values.next()?);
            Some(format!("{}: {before} became {after}", difference.what))
        };
        differences(&[earlier, self]).into_iter().filter_map(unlike).collect()
    }
}

/// The facts that are known to differ between some of these runs. A fact that a run does not say is no difference.
pub(crate) fn differences(runs: &[&Facts]) -> Vec<RunDifference> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs.iter().flat_map(|run| &run.0) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let difference = |what: &str| {
        let values: Vec<Option<String>> =
            runs.iter().map(|run| run.value(what).map(str::to_owned)).collect();
        let mut known = values.iter().flatten();
        let first = known.next()?;
        known
            .any(|other| other != first)
            .then(|| RunDifference { what: what.to_owned(), values: values.clone() })
    };
    names.into_iter().filter_map(difference).collect()
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Copies => "copies",
        Mode::WorkersTotal => "threads, a fixed total of work",
        Mode::WorkersPerWorker => "threads, work for each",
        Mode::Service => "a service",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(list: &[(&str, Option<&str>)]) -> Facts {
        Facts(
            list.iter()
                .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
                .collect(),
        )
    }

    #[test]
    fn what_a_run_does_not_say_is_no_difference() {
        let new = facts(&[("kernel", Some("6.2")), ("microcode", Some("0x1"))]);
        let old = facts(&[("kernel", Some("6.1")), ("microcode", None)]);
        let found = differences(&[&old, &new]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].what, "kernel");
        assert_eq!(new.changes_since(&old), ["kernel: 6.1 became 6.2"]);
        assert!(!new.agree_with(&old));
        assert!(facts(&[("kernel", Some("6.1"))]).agree_with(&old));
    }
}
