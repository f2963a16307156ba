//! The state of each task, from its result files, the attempts that began, and Slurm's queue.
//!
//! An answer counts before the queue, since a finished job leaves the queue after some minutes, and a job that lost
//! its node may have written its answer before.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{FleetCounts, FleetFate, FleetNode, FleetStatus, FleetTask, shown};

use crate::error::FleetError;
use crate::layout::{Attempt, Directory, TaskResult};
use crate::plan::Plan;
use crate::results::{self, CampaignFiles};
use crate::slurm::{self, Queue, QueuedTask, SlurmCommands};

/// The files of a campaign, and the queue where it may matter: Slurm is installed, and the campaign was not run here alone.
///
/// # Errors
/// If the directory cannot be read.
pub fn look(
    plan: &Plan,
    directory: &Directory,
) -> Result<(CampaignFiles, Option<Queue>), FleetError> {
    let found = results::read(plan, directory)?;
    // A Slurm that is installed and not configured takes a minute to say so.
    if !found.attempts.is_empty() && found.attempts.iter().all(|it| it.job.is_none()) {
        return Ok((found, None));
    }
    let queue = match slurm::queue(&SlurmCommands, &plan.campaign) {
        Err(FleetError::NoCommand { .. }) => None,
        queue => Some(queue?),
    };
    // Again: a task that ended in between has its result.
    Ok((results::read(plan, directory)?, queue))
}

/// The state of a campaign; without a queue (`None`) tasks run by no Slurm.
pub fn status(
    plan: &Plan,
    directory: &Directory,
    found: &CampaignFiles,
    queue: Option<&Queue>,
) -> FleetStatus {
    let facts = Facts::of(directory, found, queue);
    let (mut tasks, mut nodes, mut open) = (FleetCounts::default(), BTreeMap::new(), Vec::new());
    for number in plan.numbers() {
        let Some(planned) = plan.tasks.get(number as usize) else { continue };
        let TaskState { fate, node, reason } = facts.fate(number);
        let node = node.or_else(|| planned.node.clone());
        tasks.add(fate);
        let name = node.clone().unwrap_or_else(|| "any".to_owned());
        let row = nodes.entry(name.clone()).or_insert_with(|| FleetNode {
            node: name,
            tasks: FleetCounts::default(),
            reasons: Vec::new(),
        });
        row.tasks.add(fate);
        if matches!(fate, FleetFate::Failed | FleetFate::Missing)
            && let Some(reason) = &reason
            && !row.reasons.contains(reason)
        {
            row.reasons.push(reason.clone());
        }
        if fate != FleetFate::Done {
            open.push(FleetTask {
                task: number,
                node,
                program: planned.program.clone(),
                fate,
                reason,
            });
        }
    }
    FleetStatus {
        campaign: plan.campaign.clone(),
        name: plan.name.clone(),
        directory: shown(directory.path()),
        tasks,
        nodes: nodes.into_values().collect(),
        open,
        collected: None,
        remarks: remarks(found, queue, &facts),
    }
}

/// Facts known, by task.
struct Facts<'a> {
    done: BTreeMap<u32, &'a TaskResult>,
    /// The last result of a task that failed.
    failed: BTreeMap<u32, &'a TaskResult>,
    /// The last attempt that began.
    begun: BTreeMap<u32, &'a Attempt>,
    queued: BTreeMap<u32, &'a QueuedTask>,
}

/// A fate, the node where it happened, and why.
struct TaskState {
    fate: FleetFate,
    node: Option<String>,
    reason: Option<String>,
}

impl<'a> Facts<'a> {
    fn of(directory: &Directory, found: &'a CampaignFiles, queue: Option<&'a Queue>) -> Self {
        let (mut failed, mut begun, mut queued) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for result in found.results.iter().filter(|it| !it.is_done()) {
            keep_last(&mut failed, result.attempt.task, result, |it| &it.ended);
        }
        for attempt in &found.attempts {
            keep_last(&mut begun, attempt.task, attempt, |it| &it.started);
        }
        if let Some(Queue::Tasks(tasks)) = queue {
            for task in tasks {
                // A task that was submitted again may have an ended job beside the new one.
                let rank = |it: &QueuedTask| (it.is_active(), it.job);
                let kept = queued.entry(task.task).or_insert(task);
                if rank(task) > rank(kept) {
                    *kept = task;
                }
            }
        }
        Self { done: results::counted(directory, found), failed, begun, queued }
    }

    fn fate(&self, task: u32) -> TaskState {
        let queued = self.queued.get(&task);
        if let Some(done) = self.done.get(&task) {
            return TaskState {
                fate: FleetFate::Done,
                node: Some(done.attempt.node.clone()),
                reason: None,
            };
        }
        if let Some(queued) = queued.filter(|it| it.is_active()) {
            let fate = if queued.is_waiting() { FleetFate::Waiting } else { FleetFate::Running };
            return TaskState { fate, node: queued.node.clone(), reason: queued.reason.clone() };
        }
        let begun = self.begun.get(&task);
        if let Some(failed) = self.failed.get(&task) {
            let is_last = begun.is_none_or(|it| it.started <= failed.ended);
            if is_last {
                let node = Some(failed.attempt.node.clone());
                return TaskState { fate: FleetFate::Failed, node, reason: failed.failure.clone() };
            }
        }
        let slurm = queued.map(|it| format!("Slurm says {}", it.in_words()));
        let reason = match (begun, slurm) {
            (Some(begun), slurm) => {
                let beginning = format!("began on {} and left no result", begun.node);
                slurm.map_or_else(|| beginning.clone(), |it| format!("{beginning}; {it}"))
            }
            (None, Some(slurm)) => format!("never began; {slurm}"),
            (None, None) => "never began, and no job of it is known".to_owned(),
        };
        let node =
            begun.map(|it| it.node.clone()).or_else(|| queued.and_then(|it| it.node.clone()));
        TaskState { fate: FleetFate::Missing, node, reason: Some(reason) }
    }
}

fn keep_last<'a, T>(
    kept: &mut BTreeMap<u32, &'a T>,
    task: u32,
    new: &'a T,
    time: impl Fn(&T) -> &String,
) {
    let old = kept.entry(task).or_insert(new);
    if time(new) >= time(old) {
        *old = new;
    }
}

fn remarks(found: &CampaignFiles, queue: Option<&Queue>, facts: &Facts<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(Queue::Unknown(reason)) = queue {
        remarks.push(format!(
            "Slurm does not answer ({reason}): tasks that wait or run are counted as missing."
        ));
    }
    for (name, reason) in &found.damaged {
        remarks.push(format!("results/{name} is damaged and does not count: {reason}."));
    }
    let differing: BTreeSet<String> = facts
        .done
        .values()
        .filter_map(|it| {
            Some(format!("{}: {}.", it.attempt.node, it.attempt.cpus_differ.as_ref()?))
        })
        .collect();
    remarks.extend(differing);
    remarks
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::campaign::Campaign;
    use crate::plan::Facts;

    /// Six tasks that any node may run.
    fn plan() -> Plan {
        let text = "format = \"corun-campaign\"\nversion = 1\nname = \"it\"\nrepeats = 6\n\
                    [[program]]\nworkload = \"fib\"\n";
        Plan::of(&Campaign::from_toml("it.toml", text).unwrap(), Facts::default()).unwrap()
    }

    fn attempt(task: u32, name: &str, node: &str, minute: u32) -> Attempt {
        Attempt {
            campaign: String::new(),
            task,
            attempt: name.to_owned(),
            node: node.to_owned(),
            job: Some("7".to_owned()),
            started: format!("2026-01-01T00:{minute:02}:00.000Z"),
            online_cpus: "0-1".to_owned(),
            allowed_cpus: "0-1".to_owned(),
            cpus_differ: None,
        }
    }

    fn result(attempt: Attempt, failure: Option<&str>) -> TaskResult {
        TaskResult {
            format: TaskResult::FORMAT.to_owned(),
            version: TaskResult::VERSION,
            ended: attempt.started.replace(":00.", ":30."),
            attempt,
            failure: failure.map(str::to_owned),
            document: failure.is_none().then(|| RawValue::from_string("{}".to_owned()).unwrap()),
        }
    }

    fn queued(task: u32, job: u64, state: &str, node: Option<&str>) -> QueuedTask {
        QueuedTask {
            task,
            job,
            state: state.to_owned(),
            reason: None,
            node: node.map(str::to_owned),
            exit: None,
        }
    }

    fn said(found: &CampaignFiles, queue: Option<&Queue>) -> Vec<String> {
        let directory = Directory::new("/nowhere".into());
        let status = status(&plan(), &directory, found, queue);
        assert_eq!(status.tasks.total(), 6);
        let of_nodes: u32 = status.nodes.iter().map(|it| it.tasks.total()).sum();
        assert_eq!(of_nodes, 6);
        let task = |it: &FleetTask| {
            let node = it.node.as_deref().unwrap_or("-");
            format!("{} {:?} on {node}: {}", it.task, it.fate, it.reason.as_deref().unwrap_or("-"))
        };
        status.open.iter().map(task).chain(status.remarks).collect()
    }

    #[test]
    fn a_task_has_the_fate_that_its_files_and_the_queue_mean() {
        let found = CampaignFiles {
            attempts: vec![
                attempt(0, "7-0", "n1", 1),
                attempt(0, "7-1", "n2", 3),
                attempt(2, "9-0", "n3", 1),
                attempt(3, "9-0", "n4", 1),
                attempt(3, "9-1", "n1", 5),
            ],
            results: vec![
                // An answer counts whatever failed before and whatever runs now.
                result(attempt(0, "7-0", "n1", 1), Some("interrupted")),
                result(attempt(0, "7-1", "n2", 3), None),
                result(attempt(1, "8-0", "n1", 1), Some("no such program")),
                // A later attempt began and left nothing.
                result(attempt(3, "9-0", "n4", 1), Some("interrupted")),
            ],
            damaged: vec![("00005.7-0.json".to_owned(), "EOF".to_owned())],
        };
        let queue = Queue::Tasks(vec![
            queued(0, 12, "RUNNING", Some("n4")),
            queued(2, 9, "NODE_FAIL", Some("n3")),
            queued(3, 9, "CANCELLED", Some("n1")),
            queued(4, 9, "FAILED", Some("n1")),
            queued(4, 10, "PENDING", None),
        ]);
        insta::assert_snapshot!(said(&found, Some(&queue)).join("\n"));
    }

    #[test]
    fn without_an_answer_from_slurm_files_decide_and_that_is_said() {
        let found = CampaignFiles {
            attempts: vec![attempt(2, "9-0", "n3", 1)],
            ..CampaignFiles::default()
        };
        let queue = Queue::Unknown("timed out".to_owned());
        let said = said(&found, Some(&queue));
        assert_eq!(said[2], "2 Missing on n3: began on n3 and left no result");
        assert!(said[6].starts_with("Slurm does not answer (timed out)"), "{said:?}");
    }
}
