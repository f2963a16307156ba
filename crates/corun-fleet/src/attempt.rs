//! Running one task on a node: the travelling corun measures, and its document becomes a result file.
//!
//! The measurement is a process of its own, so that whatever ends it (a signal, no memory) leaves a result that
//! says so. Signals that end the job are passed on to that process: it ends in order, and the result is still written.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use corun_machine::{Affinity, CpuSet, Machine};
use corun_record::{
    AnyDocument, EndReason, Ending, ThreadVerdict, json_text, on_one_line, shortened, shown,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::binary;
use crate::child;
use crate::error::FleetError;
use crate::layout::{Attempt, Directory, TaskResult, attempt_file};
use crate::plan::{Plan, SmtArm, Task};
use crate::results;
use crate::submission::write;

/// Why a task has no answer that a signal ended.
const STOPPED: &str = "the job was asked to end: cancelled, or out of time";
/// The most characters of the error message of a failed measurement.
const MAX_REASON: usize = 600;

/// Runner of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    /// The name of the attempt.
    pub attempt: String,
    /// The node.
    pub node: String,
    /// Slurm's job id.
    pub job: Option<String>,
}

impl Runner {
    /// The job of Slurm that this process belongs to.
    ///
    /// # Errors
    /// If it belongs to none.
    pub fn of_slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Self, FleetError> {
        let job = variable("SLURM_JOB_ID").ok_or_else(|| {
            FleetError::Task(
                "expected a job of Slurm, found no SLURM_JOB_ID in the environment".to_owned(),
            )
        })?;
        let restarts = variable("SLURM_RESTART_COUNT").unwrap_or_else(|| "0".to_owned());
        let node = variable("SLURMD_NODENAME").unwrap_or_else(|| host(Path::new("/")));
        Ok(Self { attempt: format!("{job}-{restarts}"), node, job: Some(job) })
    }

    /// This machine, for a task that starts now.
    pub fn local() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let attempt = format!("local-{}-{}", std::process::id(), now.as_millis());
        Self { attempt, node: host(Path::new("/")), job: None }
    }
}

fn host(root: &Path) -> String {
    let name = corun_files::kernel_text(root.join("proc/sys/kernel/hostname")).unwrap_or_default();
    Some(name.trim()).filter(|it| !it.is_empty()).unwrap_or("unknown").to_owned()
}

/// End of a task.
#[derive(Debug)]
pub enum TaskEnd {
    /// It has an answer of an earlier attempt, and was not run again.
    DoneBefore,
    /// The result is on the disk.
    Ended(Box<TaskResult>),
}

/// Runs a task, and writes its result.
///
/// # Errors
/// If there is no such task, or the directory cannot be written: then nothing is measured, or the result lies in the
/// folder for temporary files, which the error names.
pub fn run(
    plan: &Plan,
    directory: &Directory,
    number: u32,
    runner: Runner,
    is_stopped: &AtomicBool,
) -> Result<TaskEnd, FleetError> {
    let task = plan.tasks.get(number as usize).ok_or_else(|| {
        FleetError::Task(format!("expected a task below {}, found {number}", plan.tasks.len()))
    })?;
    let found = results::read(plan, directory)?;
    if results::counted(directory, &found).contains_key(&number) {
        return Ok(TaskEnd::DoneBefore);
    }
    let machine = Machine::read(Path::new("/"))?;
    let is_local = runner.job.is_none();
    let allowed = cpus(&machine, task.smt, is_local);
    let attempt = Attempt {
        campaign: plan.campaign.clone(),
        task: number,
        attempt: runner.attempt,
        node: runner.node,
        job: runner.job,
        started: now(),
        online_cpus: machine.online().to_string(),
        allowed_cpus: allowed.to_string(),
        cpus_differ: cpus_differ(&machine, task.smt, &allowed),
    };
    let file = attempt_file(number, &attempt.attempt);
    write(&directory.attempts().join(&file), &json_text(&attempt))?;
    let mask = (is_local && allowed != machine.allowed()).then(|| Affinity::new(&allowed));
    let (failure, document) = match binary::sha256(&directory.binary()) {
        Ok(found) if found == plan.binary_sha256 => {
            measured(plan, &directory.binary(), task, mask, is_stopped)
        }
        Ok(found) => {
            let expected = &plan.binary_sha256;
            (Some(format!("expected a corun with SHA-256 {expected}, found {found}")), None)
        }
        Err(error) => (Some(error.to_string()), None),
    };
    let result = TaskResult {
        format: TaskResult::FORMAT.to_owned(),
        version: TaskResult::VERSION,
        attempt,
        ended: now(),
        failure,
        document,
    };
    kept(&result, &directory.results().join(&file))?;
    Ok(TaskEnd::Ended(Box::new(result)))
}

/// Writes a result. One that cannot be written where it belongs is not lost.
fn kept(result: &TaskResult, path: &Path) -> Result<(), FleetError> {
    let text =
        serde_json::to_string(result).map_err(|error| FleetError::Task(error.to_string()))? + "\n";
    let Err(error) = write(path, &text) else { return Ok(()) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let rescued = std::env::temp_dir().join(format!("corun-{}-{name}", result.attempt.campaign));
    write(&rescued, &text)?;
    Err(FleetError::Task(format!(
        "{error}; the result is in {} on {}: copy it to {}",
        shown(&rescued),
        result.attempt.node,
        shown(path)
    )))
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// The CPUs of the task: under Slurm those that it gave; here those that the arm means.
fn cpus(machine: &Machine, smt: SmtArm, is_local: bool) -> CpuSet {
    match smt {
        SmtArm::Nomultithread if is_local => one_of_each_core(machine, &machine.allowed()),
        _ => machine.allowed(),
    }
}

/// The first CPU of each core among these.
fn one_of_each_core(machine: &Machine, cpus: &CpuSet) -> CpuSet {
    let first = |core: &corun_machine::Core| core.cpus.intersection(cpus).first();
    machine.cores.iter().filter_map(first).collect()
}

/// Mistake in the CPUs that Slurm gave: all online ones are expected, or one of each core.
fn cpus_differ(machine: &Machine, smt: SmtArm, allowed: &CpuSet) -> Option<String> {
    let online = machine.online();
    let (expected, what) = match smt {
        SmtArm::On => (online.len(), "all online CPUs"),
        SmtArm::Nomultithread => (one_of_each_core(machine, &online).len(), "one CPU of each core"),
    };
    let of_each_core = one_of_each_core(machine, allowed).len();
    let is_right = allowed.len() == expected && (smt == SmtArm::On || of_each_core == expected);
    (!is_right).then(|| {
        format!("expected {what} ({expected} of {online}), found that the task may use {allowed}")
    })
}

type Measured = (Option<String>, Option<Box<RawValue>>);

/// The document of a measurement, and why it is not the whole answer.
fn measured(
    plan: &Plan,
    corun: &Path,
    task: &Task,
    mask: Option<Affinity>,
    is_stopped: &AtomicBool,
) -> Measured {
    let mut command = Command::new(corun);
    command.args(&task.arguments).current_dir(&plan.folder).stdin(Stdio::null());
    if let Some(mask) = mask {
        // SAFETY: `apply` allocates nothing.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, move || mask.apply(0))
        };
    }
    let output = match child::output(&mut command, is_stopped) {
        Ok(output) => output,
        Err(_) if is_stopped.load(Ordering::SeqCst) => return (Some(STOPPED.to_owned()), None),
        Err(error) => {
            let folder = shown(&plan.folder);
            return (Some(format!("corun could not be started in {folder}: {error}")), None);
        }
    };
    let document = String::from_utf8(output.stdout)
        .ok()
        .filter(|text| matches!(AnyDocument::from_json(text), Ok(it) if !matches!(it, AnyDocument::Other { .. })))
        .and_then(|text| RawValue::from_string(text.trim().to_owned()).ok());
    let said = on_one_line(&shortened(String::from_utf8_lossy(&output.stderr).trim(), MAX_REASON));
    let failure = match (output.status.success(), &document) {
        (true, Some(_)) => None,
        (true, None) => Some("corun wrote no document".to_owned()),
        // What the signal did to the measured program is no news.
        (false, _) if is_stopped.load(Ordering::SeqCst) => {
            return (Some(STOPPED.to_owned()), document);
        }
        // A search that could not decide has come to its end all the same.
        (false, Some(document)) if is_undecided(document) => None,
        // The document says better than a status why it ended before its answer.
        (false, Some(document)) => Some(ending(document).unwrap_or_else(|| ended(output.status))),
        (false, None) => Some(ended(output.status)),
    };
    (failure.map(|it| if said.is_empty() { it } else { format!("{it}: {said}") }), document)
}

/// True if a document is a search for a number of threads that could not tell the best ones apart.
fn is_undecided(document: &RawValue) -> bool {
    let Ok(AnyDocument::Threads(sweep)) = AnyDocument::from_json(document.get()) else {
        return false;
    };
    sweep.body.answer.is_some_and(|answer| answer.verdict == ThreadVerdict::Undecided)
}

/// Why the measurement of a document ended before its answer.
fn ending(document: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Ended {
        ending: Ending,
    }
    let Ended { ending } = serde_json::from_str(document.get()).ok()?;
    let is_early =
        matches!(ending.reason, EndReason::TimeUp | EndReason::Interrupted | EndReason::Failed);
    is_early.then(|| on_one_line(&shortened(&ending.sentence, MAX_REASON)))
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("corun ended with status {code}"),
        (None, Some(libc::SIGKILL)) => {
            "corun was killed (SIGKILL: no memory left, or the job was ended)".to_owned()
        }
        (None, signal) => format!("corun was ended by signal {}", signal.unwrap_or(0)),
    }
}
