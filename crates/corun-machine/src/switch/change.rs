//! Putting SMT into a state, and verifying it.
//!
//! Through `smt/control` where the kernel has it, else CPU by CPU through `cpuN/online`
//! (`Documentation/core-api/cpu_hotplug.rst`). `forceoff` is never written: only a reboot undoes it.

use corun_record::SmtState;

use super::cpus;
use super::snapshot::{Snapshot, state};
use super::system::System;
use crate::{Machine, SmtControl};

/// Why SMT is not in the state it was put into.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The kernel refused a write.
    #[error("writing `{text}` to {file} failed: {reason}")]
    Write {
        /// The file.
        file: String,
        /// Text to be written.
        text: &'static str,
        /// Error of the kernel.
        reason: String,
    },
    /// The writes succeeded, and the state is another one.
    #[error("after writing, {file} should say `{expected}` and says `{found}`")]
    NotReached {
        /// The file.
        file: String,
        /// Expected text.
        expected: &'static str,
        /// Found text.
        found: String,
    },
    /// No CPU is left to speak of.
    #[error("after writing, the kernel describes no CPU any more")]
    NoCpus,
}

/// Puts SMT into `wanted`, where `before` is its state just before.
///
/// # Errors
/// At the first write that fails, or if reading back shows another state; something may be changed
/// by then.
pub fn change(
    system: &mut impl System,
    wanted: SmtState,
    before: &Snapshot,
) -> Result<(), ChangeError> {
    match (wanted, &before.control) {
        (SmtState::Off, Some(_)) => write(system, cpus::CONTROL, "off")?,
        (SmtState::Off, None) => {
            let machine = Machine::from_files(system).ok_or(ChangeError::NoCpus)?;
            for cpu in cpus::extra_siblings(&machine).iter() {
                write(system, &cpus::online_file(cpu), "0")?;
            }
        }
        (SmtState::On, control) => {
            if control.is_some() {
                write(system, cpus::CONTROL, "on")?;
            }
            bring_siblings_up(system, before)?;
        }
    }
    verify(system, wanted)
}

/// Brings up the siblings of every core of which a CPU was online. Which core an offline CPU belongs
/// to shows only once it is online, so whole cores that were offline come up and go down again.
fn bring_siblings_up(system: &mut impl System, before: &Snapshot) -> Result<(), ChangeError> {
    let now = cpus::online(system);
    for (&cpu, _) in now.iter().filter(|(_, online)| !**online) {
        write(system, &cpus::online_file(cpu), "1")?;
    }
    let machine = Machine::from_files(system).ok_or(ChangeError::NoCpus)?;
    let was_offline = |cpu: &u32| before.online.get(cpu) == Some(&false);
    for core in &machine.cores {
        if core.cpus.iter().all(|cpu| was_offline(&cpu)) {
            for cpu in core.cpus.iter() {
                write(system, &cpus::online_file(cpu), "0")?;
            }
        }
    }
    Ok(())
}

fn verify(system: &mut impl System, wanted: SmtState) -> Result<(), ChangeError> {
    let machine = Machine::from_files(system).ok_or(ChangeError::NoCpus)?;
    let not_reached = |file: &str, found: String| {
        Err(ChangeError::NotReached { file: file.to_owned(), expected: wanted.word(), found })
    };
    if let Some(control) = &machine.smt.control {
        let fits = match wanted {
            SmtState::On => matches!(control, SmtControl::On | SmtControl::Threads(2..)),
            SmtState::Off => matches!(control, SmtControl::Off | SmtControl::Threads(1)),
        };
        if !fits {
            return not_reached("/sys/devices/system/cpu/smt/control", control.to_string());
        }
    }
    match state(&machine) {
        found if found == wanted => Ok(()),
        found => not_reached("the list of online siblings", found.to_string()),
    }
}

fn write(system: &mut impl System, file: &str, text: &'static str) -> Result<(), ChangeError> {
    system.write(file, text).map_err(|error| ChangeError::Write {
        file: format!("/{file}"),
        text,
        reason: error.to_string(),
    })
}
