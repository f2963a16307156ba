//! Refusals to switch SMT, asked before anything is touched.
//!
//! The words of `smt/control` and who may write them: the kernel's
//! `Documentation/ABI/testing/sysfs-devices-system-cpu`.

use std::io;
use std::path::Path;

use corun_record::SmtState;

use super::access::{SwitchOptions, system_files, unfinished};
use super::cpus::{self, CONTROL, online_file};
use super::error::SwitchError;
use super::runtime::Runtime;
use super::snapshot::{Snapshot, state};
use super::system::text;
use super::{cpusets, tasks};
use crate::boot_line::{self, BootLine};
use crate::{CpuSet, Machine, RootFiles, SmtControl};

/// Checks whether SMT can be switched here and by this user.
///
/// # Errors
/// Why it cannot.
pub fn check() -> Result<(), SwitchError> {
    let mut files = system_files()?;
    let machine = Machine::from_files(&mut files).ok_or(SwitchError::NoMachine)?;
    refuse(&mut files, &machine)
}

/// True if it takes a switch to have SMT in `wanted`; changes nothing.
///
/// # Errors
/// If there is no SMT to speak of, a switch is needed and not possible here or for this user, or
/// another corun is switching or has died while it did.
pub fn is_needed(wanted: SmtState, options: &SwitchOptions) -> Result<bool, SwitchError> {
    let mut files = system_files()?;
    let runtime = Runtime::of_system();
    if unfinished(&runtime)?.is_some() {
        match runtime.is_locked() {
            Some(Some(outer)) if tasks::is_ancestor(&outer) => {
                let is_there = is_there(&mut files, wanted)?;
                return if is_there { Ok(false) } else { Err(SwitchError::Nested(outer)) };
            }
            Some(holder) if !options.wait => return Err(SwitchError::Busy(holder)),
            _ => runtime.wait_until_free(),
        }
        if let Some(state) = unfinished(&runtime)? {
            return Err(SwitchError::Unfinished(Box::new(state)));
        }
    }
    let is_there = is_there(&mut files, wanted)?;
    let machine = Machine::from_files(&mut files).ok_or(SwitchError::NoMachine)?;
    match refuse(&mut files, &machine) {
        Ok(()) => Ok(!is_there),
        Err(
            SwitchError::ForcedOff { .. }
            | SwitchError::NotRoot { .. }
            | SwitchError::ReadOnly { .. },
        ) if is_there => Ok(false),
        Err(refusal) => Err(refusal),
    }
}

/// Refuses where no write can do any good, before anything is touched.
pub(super) fn refuse(files: &mut RootFiles, machine: &Machine) -> Result<(), SwitchError> {
    let control = machine.smt.control.as_ref();
    match control {
        Some(SmtControl::ForceOff) => {
            let line = BootLine::new(&text(files, boot_line::FILE).unwrap_or_default());
            let by = line.about_siblings().into_iter().find(|argument| argument.forces_off);
            return Err(SwitchError::ForcedOff { by: by.map(|argument| argument.text) });
        }
        Some(SmtControl::NotSupported) => {
            return Err(SwitchError::NoSmt { found: "smt/control says `notsupported`".to_owned() });
        }
        Some(SmtControl::NotImplemented) => {
            let siblings = cpus::extra_siblings(machine).to_string();
            return Err(SwitchError::NotImplemented { siblings });
        }
        Some(SmtControl::Other(word)) => {
            return Err(SwitchError::NoSmt { found: format!("smt/control says `{word}`") });
        }
        Some(SmtControl::On | SmtControl::Off | SmtControl::Threads(_)) => {}
        None => {
            let all_online = machine.logical_cpus.iter().all(|cpu| cpu.online || !cpu.present);
            if cpus::extra_siblings(machine).is_empty() && all_online {
                return Err(SwitchError::NoSmt {
                    found: "no core has a second logical CPU, and there is no smt/control".into(),
                });
            }
        }
    }
    let file = match control {
        Some(_) => CONTROL.to_owned(),
        None => machine
            .logical_cpus
            .iter()
            .rev()
            .map(|cpu| online_file(cpu.id))
            .next()
            .unwrap_or_default(),
    };
    match files.open_below(&file, rustix::fs::OFlags::WRONLY) {
        Ok(_) => Ok(()),
        Err(error) => {
            let file = Path::new("/").join(file);
            Err(match io::Error::from(error).kind() {
                io::ErrorKind::ReadOnlyFilesystem => SwitchError::ReadOnly { file },
                _ => SwitchError::NotRoot { file },
            })
        }
    }
}

/// Refuses if cpusets of version 1 name siblings that go offline.
pub(super) fn refuse_damage(before: &Snapshot, siblings: &CpuSet) -> Result<(), SwitchError> {
    let sets = cpusets::that_name(&before.cpusets, siblings);
    match sets.is_empty() {
        true => Ok(()),
        false => Err(SwitchError::Cpusets {
            sets: sets.iter().map(|set| format!("/{}", set.folder)).collect(),
        }),
    }
}

fn is_there(files: &mut RootFiles, wanted: SmtState) -> Result<bool, SwitchError> {
    let machine = Machine::from_files(files).ok_or(SwitchError::NoMachine)?;
    Ok(state(&machine) == wanted)
}
