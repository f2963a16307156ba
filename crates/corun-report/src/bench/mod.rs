//! Several workloads side by side, and the memory hierarchy: what `corun bench` shows.

mod catalogue;
#[cfg(test)]
pub(crate) mod examples;
mod memory_hierarchy;
mod plot;
mod table;

pub use catalogue::{describe_workload, list_workloads};
pub use memory_hierarchy::{HierarchySweep, memory_hierarchy};
pub use table::{bench_to_terminal, caveats, table};

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{Bench, WorkloadNotPossible};

use crate::prose;
use crate::terminal::{NO_BREAK, wrap};

/// Remarks on what could not be laid out, what gave no run, and that the rest is missing where the bench was cut short.
fn ends(bench: &Bench, columns: u16) -> String {
    let mut text = String::new();
    let not_possible: BTreeSet<String> = bench.runs.iter().flat_map(prose::not_possible).collect();
    if !not_possible.is_empty() {
        text.push_str("\nNot possible here:\n");
    }
    for line in not_possible {
        text.push_str(&wrap(&format!("- {line}"), "  ", columns));
    }
    if !bench.not_possible.is_empty() {
        text.push_str("\nNot run:\n");
    }
    for WorkloadNotPossible { workload, parameters, reason, next_step } in &bench.not_possible {
        let name = name(workload, parameters, bench);
        text.push_str(&wrap(&format!("- {name}: {reason}. {next_step}"), "  ", columns));
    }
    if bench.ending.is_interrupted() {
        let shown = match bench.runs.is_empty() {
            true => "no workload was finished",
            false => "what was finished is shown, and what comes after it was not run",
        };
        text.push_str(&format!("\nPARTIAL RESULT: interrupted; {shown}.\n"));
    }
    text
}

/// A workload with those parameters in which its measurements differ.
pub fn name(workload: &str, parameters: &BTreeMap<String, String>, bench: &Bench) -> String {
    let of_runs = bench.runs.iter().map(|run| (&run.workload.name, &run.workload.parameters));
    let of_missing = bench.not_possible.iter().map(|it| (&it.workload, &it.parameters));
    let others: Vec<_> =
        of_runs.chain(of_missing).filter(|it| it.0 == workload).map(|it| it.1).collect();
    let differs = |(name, value): &(&String, &String)| {
        others.iter().any(|other| other.get(*name) != Some(*value))
    };
    let differing = parameters.iter().filter(differs);
    let differing = differing.map(|(name, value)| format!(" {name}={value}"));
    format!("{workload}{}", differing.collect::<String>())
}

/// A cell that is not broken into lines.
fn whole(text: String) -> String {
    text.replace(' ', NO_BREAK)
}
