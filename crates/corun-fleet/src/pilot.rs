//! The pilot run: each program once, alone, to know how long one run takes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corun_machine::descendants::{Mark, Orphans};

use crate::campaign::{Campaign, Work};
use crate::error::FleetError;

/// Runs each command once, with one thread, in the current folder; gives the time of the slowest. Built-in workloads
/// are as long as corun has them be, and are not run.
///
/// # Errors
/// If a command cannot be started or fails.
pub fn run(campaign: &Campaign) -> Result<Duration, FleetError> {
    let mut slowest = Duration::ZERO;
    for program in &campaign.programs {
        let Work::Command(words) = &program.work else { continue };
        let failed = |reason: String| FleetError::Pilot { name: program.name.clone(), reason };
        let words: Vec<String> = words.iter().map(|it| it.replace("{workers}", "1")).collect();
        let Some((name, arguments)) = words.split_first() else { continue };
        let start = Instant::now();
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Should this process be ended meanwhile, so is all that the command started.
        let mark = Mark::prepare(Orphans::Left);
        let status = mark.spawn(&mut command).and_then(|mut child| child.wait());
        mark.end_all();
        let status = status.map_err(|error| failed(error.to_string()))?;
        slowest = slowest.max(start.elapsed());
        if !status.success() {
            return Err(failed(status.to_string()));
        }
    }
    Ok(slowest)
}
