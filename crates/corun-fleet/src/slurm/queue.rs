//! State of a campaign's tasks in Slurm's queue.
//!
//! `squeue -t all --json` also has jobs that ended a few minutes ago. It ignores `-j`, and ends with status 0 and
//! no jobs when the controller does not answer: its `errors` then say so. Array tasks that wait are one entry.
//! From Slurm 23.02 on numbers are objects (`set`, `number`), and states are lists.

use serde_json::Value;

use super::commands::Commands;
use super::{indices, submission};
use crate::error::FleetError;

/// The queue, as far as known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queue {
    /// The tasks of the campaign that Slurm knows.
    Tasks(Vec<QueuedTask>),
    /// Why nothing is known.
    Unknown(String),
}

/// A task in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedTask {
    /// Number in the campaign.
    pub task: u32,
    /// The id of its job array.
    pub job: u64,
    /// Slurm's name of its state, such as `RUNNING`.
    pub state: String,
    /// Slurm's reason for the state, such as `Resources`; `None` where it says none.
    pub reason: Option<String>,
    /// The node it runs or ran on.
    pub node: Option<String>,
    /// Exit status, in words.
    pub exit: Option<String>,
}

/// The base states of jobs that have ended (Slurm's `enum job_states`).
const ENDED: [&str; 10] = [
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REVOKED",
];
/// The base states of jobs that have not.
const BASE: [&str; 3] = ["PENDING", "RUNNING", "SUSPENDED"];

impl QueuedTask {
    /// True if it waits or runs.
    pub fn is_active(&self) -> bool {
        self.is_waiting() || self.is_running()
    }

    /// True if it waits.
    pub fn is_waiting(&self) -> bool {
        ["PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"]
            .contains(&self.state.as_str())
    }

    /// True if it runs, or is in a state that this corun does not know: it is not submitted again.
    pub fn is_running(&self) -> bool {
        !self.is_waiting() && !ENDED.contains(&self.state.as_str())
    }

    /// State by Slurm, as a part of a sentence.
    pub fn in_words(&self) -> String {
        let details: Vec<&str> =
            [&self.reason, &self.exit].into_iter().flatten().map(String::as_str).collect();
        match details[..] {
            [] => self.state.clone(),
            _ => format!("{} ({})", self.state, details.join(", ")),
        }
    }
}

/// Asks for the tasks of a campaign.
///
/// # Errors
/// If `squeue` cannot be started.
pub fn queue(commands: &impl Commands, campaign: &str) -> Result<Queue, FleetError> {
    let arguments = ["--states=all", "--json"].map(Into::into);
    let finished = commands.run("squeue", &arguments)?;
    if !finished.is_success {
        return Ok(Queue::Unknown(finished.errors));
    }
    Ok(read(&finished.output, campaign).unwrap_or_else(Queue::Unknown))
}

fn read(text: &str, campaign: &str) -> Result<Queue, String> {
    let answer: Value =
        serde_json::from_str(text).map_err(|error| format!("squeue wrote no JSON: {error}"))?;
    if let Some(error) = answer["errors"].as_array().and_then(|it| it.first()) {
        let said = ["error", "description"].iter().find_map(|name| error[name].as_str());
        return Err(said.map_or_else(|| error.to_string(), str::to_owned));
    }
    let jobs = answer["jobs"].as_array().ok_or("squeue wrote no list of jobs")?;
    Ok(Queue::Tasks(jobs.iter().flat_map(|job| tasks(job, campaign)).collect()))
}

/// The campaign's tasks that an entry stands for.
fn tasks(job: &Value, campaign: &str) -> Vec<QueuedTask> {
    let name = job["name"].as_str().unwrap_or_default();
    let Some(first) = submission::first_task(name, campaign) else { return Vec::new() };
    let indices = match number(&job["array_task_id"]) {
        Some(index) => vec![u32::try_from(index).unwrap_or(u32::MAX)],
        None => indices::from_text(job["array_task_string"].as_str().unwrap_or_default()),
    };
    let text = |name: &str| {
        let text = job[name].as_str().unwrap_or_default();
        Some(text.to_owned()).filter(|it| !it.is_empty() && it != "None")
    };
    let state = match &job["job_state"] {
        Value::Array(states) => base_state(states.iter().filter_map(Value::as_str)),
        state => state.as_str().unwrap_or_default(),
    };
    let job_id =
        number(&job["array_job_id"]).filter(|it| *it > 0).or_else(|| number(&job["job_id"]));
    let task = |index: u32| {
        Some(QueuedTask {
            task: first.checked_add(index)?,
            job: job_id?,
            state: state.to_owned(),
            reason: text("state_reason"),
            node: text("batch_host").or_else(|| text("nodes")),
            exit: exit(&job["exit_code"]),
        })
    };
    indices.into_iter().filter_map(task).collect()
}

/// The state that counts of a base state and its flags, in any order: a job whose processes are still being ended has not
/// ended, and other flags, such as one for a node that is powered up, change nothing.
fn base_state<'a>(states: impl Iterator<Item = &'a str> + Clone) -> &'a str {
    let is_base = |state: &&str| ENDED.contains(state) || BASE.contains(state);
    let completing = states.clone().find(|state| *state == "COMPLETING");
    completing
        .or_else(|| states.clone().find(is_base))
        .or_else(|| states.clone().next())
        .unwrap_or_default()
}

/// A number, or an object that has one.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Object(fields) => {
            let is_set = fields.get("set").and_then(Value::as_bool) != Some(false);
            fields.get("number").and_then(Value::as_u64).filter(|_| is_set)
        }
        _ => value.as_u64(),
    }
}

/// Exit of a job: of a raw status as wait(2) gives it, or of an object that has code and signal.
fn exit(value: &Value) -> Option<String> {
    let (code, signal) = match value {
        Value::Object(fields) if fields.contains_key("return_code") => {
            let signal = fields.get("signal").map_or(&Value::Null, |it| {
                it.get("id").or_else(|| it.get("signal_id")).unwrap_or(&Value::Null)
            });
            (number(&value["return_code"]).unwrap_or(0), number(signal).unwrap_or(0))
        }
        _ => {
            let status = number(value)?;
            ((status >> 8) & 0xff, status & 0x7f)
        }
    };
    match (code, signal) {
        (0, 0) => None,
        (_, signal @ 1..) => Some(format!("signal {signal}")),
        (code, _) => Some(format!("exit status {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::commands::fake::Fake;
    use super::*;

    fn asked(answer: Result<&str, &str>) -> Queue {
        queue(&Fake::answering([answer]), "1a2b").unwrap()
    }

    /// As Slurm 22.05 writes them.
    const OLD: &str = r#"{"errors": [], "jobs": [
        {"job_id": 10, "array_job_id": 9, "array_task_id": 0, "array_task_string": "", "name": "corun-1a2b-1000",
         "job_state": "RUNNING", "state_reason": "None", "nodes": "n1", "batch_host": "n1", "exit_code": 0},
        {"job_id": 9, "array_job_id": 9, "array_task_id": null, "array_task_string": "1-2%2", "name": "corun-1a2b-1000",
         "job_state": "PENDING", "state_reason": "Resources", "nodes": "", "batch_host": "", "exit_code": 0},
        {"job_id": 11, "array_job_id": 11, "array_task_id": 4, "array_task_string": "", "name": "corun-1a2b-0",
         "job_state": "FAILED", "state_reason": "NonZeroExitCode", "nodes": "n2", "batch_host": "n2", "exit_code": 768},
        {"job_id": 3, "array_job_id": 3, "array_task_id": 1, "array_task_string": "", "name": "corun-other-0",
         "job_state": "RUNNING", "state_reason": "None", "nodes": "n3", "batch_host": "n3", "exit_code": 0}
    ]}"#;

    /// As Slurm 23.11 and later write them.
    const NEW: &str = r#"{"errors": [], "warnings": [], "jobs": [
        {"job_id": 10, "array_job_id": {"set": true, "infinite": false, "number": 9},
         "array_task_id": {"set": true, "infinite": false, "number": 0}, "array_task_string": "",
         "name": "corun-1a2b-1000", "job_state": ["RUNNING"], "state_reason": "None", "nodes": "n1", "batch_host": "n1",
         "exit_code": {"status": ["SUCCESS"], "return_code": {"set": true, "infinite": false, "number": 0},
         "signal": {"id": {"set": false, "infinite": false, "number": 0}, "name": ""}}},
        {"job_id": 9, "array_job_id": {"set": true, "infinite": false, "number": 9},
         "array_task_id": {"set": false, "infinite": false, "number": 0}, "array_task_string": "1-2%2",
         "name": "corun-1a2b-1000", "job_state": ["PENDING"], "state_reason": "Resources", "nodes": "",
         "exit_code": {"status": ["SUCCESS"], "return_code": {"set": true, "infinite": false, "number": 0}}},
        {"job_id": 11, "array_job_id": {"set": true, "infinite": false, "number": 11},
         "array_task_id": {"set": true, "infinite": false, "number": 4}, "array_task_string": "",
         "name": "corun-1a2b-0", "job_state": ["FAILED"], "state_reason": "NonZeroExitCode", "nodes": "n2",
         "batch_host": "n2", "exit_code": {"status": ["ERROR"], "return_code": {"set": true, "number": 3}}}
    ]}"#;

    #[test]
    fn tasks_of_the_campaign_are_found_whatever_the_version() {
        let old = asked(Ok(OLD));
        assert_eq!(old, asked(Ok(NEW)));
        let Queue::Tasks(tasks) = old else { panic!("{old:?}") };
        let said: Vec<_> = tasks.iter().map(|it| (it.task, it.job, it.in_words())).collect();
        let expected = [
            (1000, 9, "RUNNING"),
            (1001, 9, "PENDING (Resources)"),
            (1002, 9, "PENDING (Resources)"),
            (4, 11, "FAILED (NonZeroExitCode, exit status 3)"),
        ];
        assert_eq!(said, expected.map(|(task, job, words)| (task, job, words.to_owned())));
        assert_eq!(tasks.iter().filter(|it| it.is_active()).count(), 3);
    }

    #[test]
    fn the_base_state_counts_and_what_is_not_known_to_have_ended_has_not() {
        let active = |states: &str| {
            let json = NEW.replacen("[\"RUNNING\"]", states, 1);
            let Queue::Tasks(tasks) = asked(Ok(&json)) else { panic!("{json}") };
            (tasks[0].is_active(), tasks[0].state.clone())
        };
        for (states, state) in [
            (r#"["RUNNING", "CONFIGURING"]"#, "RUNNING"),
            (r#"["POWER_UP_NODE", "RUNNING"]"#, "RUNNING"),
            (r#"["RUNNING", "EXPEDITING"]"#, "RUNNING"),
            (r#"["PENDING", "REQUEUED"]"#, "PENDING"),
            (r#"["RUNNING", "A_FLAG_OF_TOMORROW"]"#, "RUNNING"),
            (r#"["COMPLETED", "COMPLETING"]"#, "COMPLETING"),
            (r#"["A_STATE_OF_TOMORROW"]"#, "A_STATE_OF_TOMORROW"),
            (r#""CONFIGURING""#, "CONFIGURING"),
        ] {
            assert_eq!(active(states), (true, state.to_owned()), "{states}");
        }
        assert_eq!(active(r#"["NODE_FAIL", "RESIZING"]"#), (false, "NODE_FAIL".to_owned()));
    }

    #[test]
    fn an_empty_list_is_no_answer_when_the_controller_is_down() {
        let down = r#"{"errors": [{"description": "RPC", "error_number": 1, "error": "Unable to contact"}], "jobs": []}"#;
        assert_eq!(asked(Ok(down)), Queue::Unknown("Unable to contact".to_owned()));
        assert_eq!(asked(Err("timed out")), Queue::Unknown("timed out".to_owned()));
        for odd in ["", "[]", "{}", r#"{"jobs": 3}"#] {
            assert!(matches!(asked(Ok(odd)), Queue::Unknown(_)), "{odd}");
        }
        assert_eq!(
            asked(Ok(r#"{"jobs": [{}, 3, {"name": "corun-1a2b-0"}]}"#)),
            Queue::Tasks(Vec::new())
        );
    }

    #[test]
    fn an_exit_status_is_that_of_wait() {
        let said = |status: u64| exit(&Value::from(status));
        assert_eq!(said(0), None);
        assert_eq!(said(768).unwrap(), "exit status 3");
        assert_eq!(said(9).unwrap(), "signal 9");
    }
}
