//! The message on a worker that did not start, or did not end as it should.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;

use corun_record::Arm;

use super::binders::on_command_line;
use super::error::ExecutionError;
use super::kernel_worker::Refusal;
use super::output::Capture;
use super::start_barrier::{Slot, Stage};
use super::work::{Command, Task, Work};

/// Bytes of output searched for its last lines.
const TAIL: usize = 4096;

/// True if a process ended as it should.
pub(super) fn succeeded(work: &Work, status: ExitStatus) -> bool {
    status.code() == Some(expected_exit(work))
}

/// Why a worker of process `process` did not start, if it says so in its slot.
pub(super) fn of_start(
    work: &Work,
    arm: &Arm,
    process: usize,
    slot: &Slot,
) -> Option<ExecutionError> {
    let stage = Stage::from_number(slot.failed_stage.load(Ordering::Acquire))?;
    let error = match slot.errno.load(Ordering::Acquire) {
        0 => io::Error::other("the kernel gave it other CPUs"),
        errno => io::Error::from_raw_os_error(errno),
    };
    let stage = match (stage, work.task.command()) {
        (Stage::Redirect, _) => "redirect a worker's input and output".to_owned(),
        (Stage::Affinity, _) => match arm.cpus.chunks(work.threads(arm)).nth(process) {
            Some(cpus) => format!("pin a worker to CPU {cpus:?}"),
            None => "give a worker the affinity that corun was started with".to_owned(),
        },
        (Stage::Threads, _) => "start the threads of a built-in kernel".to_owned(),
        (Stage::Directory, Some(Command { directory, .. })) => {
            let path = directory.clone().unwrap_or_default();
            return Some(ExecutionError::Directory { path, error });
        }
        (Stage::Exec, Some(command)) => {
            let program = command.argv.first().cloned().unwrap_or_default();
            return Some(ExecutionError::Execute { program, error });
        }
        (Stage::Directory | Stage::Exec, None) => {
            let program = work.task.program().unwrap_or_default().into();
            return Some(ExecutionError::Execute { program, error });
        }
    };
    Some(ExecutionError::Start { stage, error })
}

/// A process that ended otherwise than expected.
pub(super) fn of_end(
    work: &Work,
    arm: &Arm,
    process: usize,
    status: ExitStatus,
    capture: &Capture,
) -> ExecutionError {
    let worker = process * work.threads(arm);
    if let (Task::Kernel(_), Some(code)) = (&work.task, status.code())
        && let Some(Refusal { reason, next_step, exit }) = Refusal::read(code, &capture.tail(TAIL))
    {
        return ExecutionError::Unprepared { arm: arm.id.clone(), worker, reason, next_step, exit };
    }
    ExecutionError::Failed {
        arm: arm.id.clone(),
        worker,
        expected: format!("exit status {}", expected_exit(work)),
        found: match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => match corun_machine::memory_death(signal) {
                Some(why) => format!("death by signal {signal} ({why})"),
                None => format!("death by signal {signal}"),
            },
            (None, None) => "an unknown end".to_owned(),
        },
        output: capture.tail(TAIL),
        next_step: match work.task.command() {
            Some(command) => after_failure(&on_command_line(command)).into(),
            None => {
                "See whether the system ended it for lack of memory (dmesg); else please report this."
                    .into()
            }
        },
    }
}

/// Advice about a command that failed: one that asks for CPUs outside its place may be refused, and succeeds by itself.
fn after_failure(binders: &[String]) -> String {
    let by_itself =
        "Make the command succeed by itself first; `--expect-exit N` accepts another status.";
    match binders {
        [] => by_itself.to_owned(),
        binders => format!(
            "corun chooses the CPUs, and the command asks for some by itself: {}. {by_itself}",
            binders.join(", ")
        ),
    }
}

fn expected_exit(work: &Work) -> i32 {
    work.task.command().map_or(0, |command| command.expected_exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_what_asks_for_other_cpus() {
        assert!(after_failure(&[]).starts_with("Make the command succeed"));
        let said = after_failure(&["numactl (leave it out)".to_owned()]);
        assert!(said.contains("by itself: numactl (leave it out). Make the command"), "{said}");
    }
}
