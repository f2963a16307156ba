//! One use of the switch, from taking the lock to giving everything back.
//!
//! The order is what makes it safe: lock, check, start the watchdog, write down, change, verify; and
//! whatever ends the use (its normal end, an error, a panic, a signal, SIGKILL) leads to restoring,
//! here or in the watchdog.

use std::io;
use std::time::SystemTime;

use corun_files::boot_id;
use corun_record::SmtState;

use super::access::{SwitchOptions, held, system_files, take_lock, this_process, unfinished};
use super::change::change;
use super::cpus::{self, CONTROL};
use super::error::SwitchError;
use super::refusal::{refuse, refuse_damage};
use super::restore::restore;
use super::runtime::{FORMAT, Holder, Lock, Runtime, State, VERSION, unknown_boot};
use super::snapshot::Snapshot;
use super::system::text;
use super::watchdog::Watchdog;
use crate::{CpuSet, Machine, RootFiles};

/// SMT in the hands of this process: however it ends, everything comes back as it was.
#[derive(Debug)]
pub struct SmtSwitch {
    files: RootFiles,
    runtime: Runtime,
    before: Snapshot,
    now: SmtState,
    /// State of the kernel right after the last change.
    seen: SmtFiles,
    watchdog: Option<Watchdog>,
    /// Dropped last: until then no other process switches.
    _lock: Lock,
}

impl SmtSwitch {
    /// Takes the lock, starts the watchdog and writes down how everything is; changes nothing yet.
    ///
    /// # Errors
    /// If SMT cannot be switched here, by this user, or now.
    pub fn begin(options: &SwitchOptions) -> Result<Self, SwitchError> {
        let mut files = system_files()?;
        let machine = Machine::from_files(&mut files).ok_or(SwitchError::NoMachine)?;
        refuse(&mut files, &machine)?;
        let runtime = Runtime::of_system();
        let holder = this_process();
        let lock = take_lock(&runtime, options.wait, &holder)?;
        if let Some(state) = unfinished(&runtime)? {
            return Err(SwitchError::Unfinished(Box::new(state)));
        }
        held(&runtime)?;
        // Another corun may have switched while this one waited.
        let machine = Machine::from_files(&mut files).ok_or(SwitchError::NoMachine)?;
        let before = Snapshot::take(&mut files, &machine);
        if !options.repair_cpusets {
            refuse_damage(&before, &cpus::taken_by_off(&mut files, &machine))?;
        }
        let now = before.smt;
        let not_written = |source| SwitchError::State { file: runtime.folder().to_owned(), source };
        let state = written_down(before.clone(), holder).map_err(not_written)?;
        // First, so that a corun that dies right after writing leaves no file behind.
        let mut watchdog = Watchdog::start(&runtime, &lock).map_err(SwitchError::Watchdog)?;
        if let Err(source) = runtime.begin(&state) {
            // What is half written must not look like something to undo.
            let _ = runtime.finish();
            watchdog.dismiss();
            return Err(not_written(source));
        }
        watchdog.begin();
        let seen = SmtFiles::now(&mut files);
        Ok(Self { files, runtime, before, now, seen, watchdog: Some(watchdog), _lock: lock })
    }

    /// The state SMT was found in.
    pub fn found(&self) -> SmtState {
        self.before.smt
    }

    /// The CPUs that are online now.
    pub fn online(&mut self) -> CpuSet {
        Machine::from_files(&mut self.files).map(|machine| machine.online()).unwrap_or_default()
    }

    /// The online CPUs that SMT off takes away; asked for with SMT on.
    pub fn taken_by_off(&mut self) -> CpuSet {
        let machine = Machine::from_files(&mut self.files);
        machine.map(|machine| cpus::taken_by_off(&mut self.files, &machine)).unwrap_or_default()
    }

    /// Checks whether everything is as this switch has left it.
    ///
    /// # Errors
    /// If another process has switched SMT or a CPU meanwhile.
    pub fn verify(&mut self) -> Result<(), SwitchError> {
        match SmtFiles::now(&mut self.files) {
            now if now == self.seen => Ok(()),
            now => {
                Err(SwitchError::Disturbed { left: self.seen.to_string(), found: now.to_string() })
            }
        }
    }

    /// Puts SMT into `wanted`, and returns whether that took a switch. The state it was found in is
    /// exactly what was found, CPUs that were offline by hand included.
    ///
    /// # Errors
    /// If it did not work; everything is then as it was found, as far as that worked.
    pub fn set(&mut self, wanted: SmtState) -> Result<bool, SwitchError> {
        if wanted == self.now {
            return Ok(false);
        }
        if wanted == self.before.smt {
            self.undo()?;
        } else if let Err(source) = change(&mut self.files, wanted, &self.before) {
            self.undo()?;
            return Err(SwitchError::RolledBack { wanted, source });
        }
        self.now = wanted;
        self.seen = SmtFiles::now(&mut self.files);
        Ok(true)
    }

    /// Has this process group ended, should corun die.
    pub fn watch_group(&mut self, group: u32) {
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.watch_group(group);
        }
    }

    /// The process group has ended.
    pub fn forget_group(&mut self, group: u32) {
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.forget_group(group);
        }
    }

    /// Brings everything back.
    ///
    /// # Errors
    /// If not everything came back; what to undo stays written down.
    pub fn restore(mut self) -> Result<(), SwitchError> {
        self.end()
    }

    /// Leaves SMT as it is until [`restore_left`](super::restore_left) is called for.
    ///
    /// # Errors
    /// If that cannot be written down; then everything is brought back.
    pub fn keep(mut self) -> Result<(), SwitchError> {
        self.runtime.keep(&self.before).map_err(|source| SwitchError::State {
            file: self.runtime.folder().to_owned(),
            source,
        })?;
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
        Ok(())
    }

    fn undo(&mut self) -> Result<(), SwitchError> {
        let left = restore(&mut self.files, &self.before);
        if !left.is_empty() {
            return Err(SwitchError::NotRestored(left));
        }
        self.now = self.before.smt;
        Ok(())
    }

    /// Restores and lets the watchdog go, once.
    fn end(&mut self) -> Result<(), SwitchError> {
        let Some(watchdog) = self.watchdog.take() else { return Ok(()) };
        let undone = self.undo().and_then(|()| {
            self.runtime.finish().map_err(|source| SwitchError::NotForgotten {
                folder: self.runtime.folder().to_owned(),
                source,
            })
        });
        watchdog.dismiss();
        undone
    }
}

impl Drop for SmtSwitch {
    /// For errors and panics on the way; what does not come back stays written down, and the next
    /// corun says so.
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Contents of the two files that show a switch by another process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SmtFiles {
    control: String,
    online: String,
}

impl SmtFiles {
    fn now(files: &mut RootFiles) -> Self {
        let control = text(files, CONTROL).unwrap_or_else(|| "missing".to_owned());
        Self { control, online: text(files, cpus::ONLINE).unwrap_or_default() }
    }
}

impl std::fmt::Display for SmtFiles {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "smt/control `{}` and CPUs {} online", self.control, self.online)
    }
}

fn written_down(before: Snapshot, by: Holder) -> io::Result<State> {
    Ok(State {
        format: FORMAT.to_owned(),
        version: VERSION,
        boot: boot_id().ok_or_else(unknown_boot)?,
        taken: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        by,
        before,
    })
}
