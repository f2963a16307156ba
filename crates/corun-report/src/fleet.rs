//! A campaign on many nodes: its plan, and the state of each node's tasks.

use corun_record::{
    FleetCounts, FleetJob, FleetNode, FleetPlan, FleetStatus, on_lines, on_one_line,
};

use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{grid, section, wrap};

/// The most job arrays that are shown; all are in the JSON.
const MOST: usize = 20;

/// Plan of a campaign: its cost, the job arrays, and the batch script as it is submitted.
pub fn fleet_plan_to_terminal(plan: &FleetPlan, columns: u16) -> String {
    let answer = format!(
        "{} in {}, {:.2} node hours expected, {:.2} at most ({} minutes a task).",
        plural(plan.tasks as usize, "task"),
        plural(plan.jobs.len(), "job array"),
        plan.expected_node_hours,
        plan.most_node_hours,
        plan.time_limit_s.div_ceil(60),
    );
    let mut text = wrap(&answer, "", columns);
    for job in plan.jobs.iter().take(MOST) {
        let node = job.node.as_deref().unwrap_or("any node");
        let tasks = plural(job.tasks as usize, "task");
        text += &format!("\n{node}, smt {}, {tasks}:\n  {}\n", job.smt, line(job));
    }
    if plan.jobs.len() > MOST {
        let more = plural(plan.jobs.len() - MOST, "more job array");
        text += &format!("\n{}", wrap(&format!("{more}; --json has all."), "", columns));
    }
    text += "\nBatch script\n";
    for line in on_lines(&plan.script).lines() {
        text += &format!("  {line}\n");
    }
    section(&mut text, "Remarks", plan.remarks.clone(), columns);
    text
}

/// The command to copy, on one line whatever is in it.
fn line(job: &FleetJob) -> String {
    on_one_line(&shell_words::join(&job.command))
}

/// Status of a campaign: its progress, the state of each node's tasks, and what to do.
pub fn fleet_status_to_terminal(status: &FleetStatus, columns: u16) -> String {
    let mut text = wrap(&answer(status), "", columns) + "\n";
    let header = ["node", "done", "failed", "running", "waiting", "missing", "why"];
    let header = header.map(str::to_owned).to_vec();
    let rows = status.nodes.iter().map(node).collect();
    text += &format!("{}\n", grid(&Table { header, rows }, columns));
    if let Some(collected) = &status.collected {
        let said = format!(
            "{} kept in {}, {} kept before, all with the tag {}.",
            plural(collected.added as usize, "run"),
            collected.store,
            collected.known,
            collected.tag
        );
        text += &format!("\n{}", wrap(&said, "", columns));
    }
    let mut steps = Vec::new();
    if status.tasks.failed + status.tasks.missing > 0 {
        steps.push(
            "Run what failed or is missing again: corun fleet submit, with the campaign's file."
                .to_owned(),
        );
    }
    if status.collected.is_none() && status.tasks.done > 0 {
        let directory = shell_words::quote(&status.directory);
        steps.push(format!("Keep what is done: corun fleet collect {directory}"));
    }
    section(&mut text, "What to do", steps, columns);
    section(&mut text, "Remarks", status.remarks.clone(), columns);
    text
}

fn answer(status: &FleetStatus) -> String {
    let FleetCounts { done, failed, running, waiting, missing } = status.tasks;
    let others =
        [(failed, "failed"), (running, "running"), (waiting, "waiting"), (missing, "missing")];
    let others: Vec<String> = others
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let done = format!("{done} of {} done", plural(status.tasks.total() as usize, "task"));
    let name = status.name.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{name} ({}): {}.", status.campaign, [vec![done], others].concat().join(", "))
}

fn node(node: &FleetNode) -> Vec<String> {
    let FleetCounts { done, failed, running, waiting, missing } = node.tasks;
    let mut cells = vec![node.node.clone()];
    cells.extend([done, failed, running, waiting, missing].map(|it| match it {
        0 => "-".to_owned(),
        count => count.to_string(),
    }));
    let mut reasons = node.reasons.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
    if node.reasons.len() > 3 {
        reasons += &format!("; {} other reasons", node.reasons.len() - 3);
    }
    cells.push(reasons);
    cells
}

#[cfg(test)]
mod tests {
    use corun_record::FleetCollection;

    use super::*;

    fn counts(done: u32, failed: u32, running: u32, waiting: u32, missing: u32) -> FleetCounts {
        FleetCounts { done, failed, running, waiting, missing }
    }

    #[test]
    fn each_node_has_its_fate() {
        let node = |name: &str, tasks: FleetCounts, reasons: &[&str]| FleetNode {
            node: name.to_owned(),
            tasks,
            reasons: reasons.iter().map(|&it| it.to_owned()).collect(),
        };
        let status = FleetStatus {
            campaign: "1a2b3c4d".to_owned(),
            name: "two\nlines".to_owned(),
            directory: "/shared/solver.fleet".to_owned(),
            tasks: counts(5, 1, 0, 1, 1),
            nodes: vec![
                node("n1", counts(4, 0, 0, 0, 0), &[]),
                node("n2", counts(1, 1, 0, 0, 0), &["corun ended with status 1: no such program"]),
                node(
                    "n3",
                    counts(0, 0, 0, 1, 1),
                    &["began on n3 and left no result; Slurm says NODE_FAIL"],
                ),
            ],
            open: Vec::new(),
            collected: Some(FleetCollection {
                store: "/home/me/corun.db".to_owned(),
                added: 1,
                known: 4,
                tag: "fleet:1a2b3c4d".to_owned(),
            }),
            remarks: vec!["results/00003.7-0.json is damaged and does not count: EOF.".to_owned()],
        };
        let text = fleet_status_to_terminal(&status, 100);
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        for part in [
            "two lines (1a2b3c4d): 5 of 8 tasks done, 1 failed, 1 waiting, 1 missing. node done",
            " n1 4 - - - - ",
            " n2 1 1 - - - corun ended with status 1: no such program",
            " n3 - - - 1 1 began on n3 and left no result; Slurm says NODE_FAIL ",
            "1 run kept in /home/me/corun.db, 4 kept before, all with the tag fleet:1a2b3c4d.",
            "Run what failed or is missing again: corun fleet submit",
            "results/00003.7-0.json is damaged",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
