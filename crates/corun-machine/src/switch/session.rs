//! One use of the switch, from taking the lock to giving everything back.
//!
//! The order is what makes it safe: lock, look, start the watchdog, write down, change, verify; and
//! whatever ends the use (its normal end, an error, a panic, a signal, SIGKILL) leads to restoring,
//! here or in the watchdog.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use corun_record::SmtState;

use super::change::change;
use super::cpus::{self, CONTROL, online_file};
use super::error::SwitchError;
use super::restore::restore;
use super::runtime::{FORMAT, Holder, Lock, LockError, Runtime, State, VERSION, boot};
use super::snapshot::{Snapshot, state};
use super::system::text;
use super::watchdog::Watchdog;
use super::{cpusets, tasks};
use crate::boot_line::{self, BootLine};
use crate::{CpuSet, Machine, RootFiles, SmtControl};

/// How a use of the switch is to go.
#[derive(Debug, Clone, Default)]
pub struct SwitchOptions {
    /// Go on although cpusets of version 1 lose CPUs: they are put back afterwards.
    pub repair_cpusets: bool,
    /// Wait for another corun that is switching.
    pub wait: bool,
}

/// SMT in the hands of this process: however it ends, everything comes back as it was.
#[derive(Debug)]
pub struct SmtSwitch {
    files: RootFiles,
    runtime: Runtime,
    before: Snapshot,
    now: SmtState,
    /// What the kernel said right after the last change.
    seen: Seen,
    watchdog: Option<Watchdog>,
    /// Dropped last: until then nobody else switches.
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
        // First, so that a corun that dies right after writing leaves no file behind.
        let mut watchdog = Watchdog::start(&runtime, &lock).map_err(SwitchError::Watchdog)?;
        if let Err(source) = runtime.begin(&written_down(before.clone(), holder)) {
            // What is half written must not look like something to undo.
            let _ = runtime.finish();
            watchdog.dismiss();
            return Err(SwitchError::State { file: runtime.folder().to_owned(), source });
        }
        watchdog.begin();
        let seen = Seen::now(&mut files);
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

    /// Looks whether everything is as this switch has left it.
    ///
    /// # Errors
    /// If somebody else has switched SMT or a CPU meanwhile.
    pub fn verify(&mut self) -> Result<(), SwitchError> {
        match Seen::now(&mut self.files) {
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
        self.seen = Seen::now(&mut self.files);
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

    /// Leaves SMT as it is until [`restore_left`] is called for.
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

/// What [`restore_left`] has undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The state SMT is in now.
    pub smt: SmtState,
    /// Whether a corun that died had left it.
    pub was_unfinished: bool,
}

/// Brings back what corun has left switched: by `smt off` or `smt on`, or by dying.
///
/// # Errors
/// If there is nothing to bring back, this user may not, or not everything came back.
pub fn restore_left(options: &SwitchOptions) -> Result<Restored, SwitchError> {
    let mut files = system_files()?;
    let runtime = Runtime::of_system();
    if unfinished(&runtime)?.or(held(&runtime)?).is_none() && runtime.is_locked().is_none() {
        return Err(SwitchError::NothingToRestore);
    }
    let machine = Machine::from_files(&mut files).ok_or(SwitchError::NoMachine)?;
    refuse(&mut files, &machine)?;
    let _lock = take_lock(&runtime, options.wait, &this_process())?;
    let (unfinished, held) = (unfinished(&runtime)?, held(&runtime)?);
    let was_unfinished = unfinished.is_some();
    // What is held was there before what was not finished, unless somebody had undone it by hand.
    let in_force = |held: &State| {
        unfinished.as_ref().is_none_or(|unfinished| held.before.smt != unfinished.before.smt)
    };
    let oldest = held.filter(in_force).or(unfinished).ok_or(SwitchError::NothingToRestore)?;
    let left = restore(&mut files, &oldest.before);
    if !left.is_empty() {
        return Err(SwitchError::NotRestored(left));
    }
    runtime.finish().and_then(|()| runtime.let_go()).map_err(|source| {
        SwitchError::NotForgotten { folder: runtime.folder().to_owned(), source }
    })?;
    Ok(Restored { smt: oldest.before.smt, was_unfinished })
}

/// Whether it takes a switch to have SMT in `wanted`; changes nothing.
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

/// The state SMT was in before `smt off` or `smt on` was asked for, while that change stays.
pub fn held_from() -> Option<SmtState> {
    let state = Runtime::of_system().held().ok().flatten()?;
    Some(state.before.smt)
}

/// Looks whether SMT can be switched here and by this user.
///
/// # Errors
/// Why it cannot.
pub fn check() -> Result<(), SwitchError> {
    let mut files = system_files()?;
    let machine = Machine::from_files(&mut files).ok_or(SwitchError::NoMachine)?;
    refuse(&mut files, &machine)
}

fn is_there(files: &mut RootFiles, wanted: SmtState) -> Result<bool, SwitchError> {
    let machine = Machine::from_files(files).ok_or(SwitchError::NoMachine)?;
    Ok(state(&machine) == wanted)
}

/// What tells whether somebody else has switched: two small files.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    control: String,
    online: String,
}

impl Seen {
    fn now(files: &mut RootFiles) -> Self {
        let control = text(files, CONTROL).unwrap_or_else(|| "missing".to_owned());
        Self { control, online: text(files, cpus::ONLINE).unwrap_or_default() }
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "smt/control `{}` and CPUs {} online", self.control, self.online)
    }
}

fn system_files() -> Result<RootFiles, SwitchError> {
    RootFiles::open(Path::new("/")).map_err(|_| SwitchError::NoMachine)
}

/// Refuses where no write can do any good, before anything is touched.
fn refuse(files: &mut RootFiles, machine: &Machine) -> Result<(), SwitchError> {
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
fn refuse_damage(before: &Snapshot, siblings: &CpuSet) -> Result<(), SwitchError> {
    let sets = cpusets::that_name(&before.cpusets, siblings);
    match sets.is_empty() {
        true => Ok(()),
        false => Err(SwitchError::Cpusets {
            sets: sets.iter().map(|set| format!("/{}", set.folder)).collect(),
        }),
    }
}

fn take_lock(runtime: &Runtime, wait: bool, holder: &Holder) -> Result<Lock, SwitchError> {
    // Waiting for an ancestor would never end: it waits for this process.
    if let Some(outer) = runtime.is_locked().flatten().filter(tasks::is_ancestor) {
        return Err(SwitchError::Nested(outer));
    }
    runtime.lock(wait, holder).map_err(|error| match error {
        LockError::Held(holder) => SwitchError::Busy(holder),
        LockError::Io(source) => SwitchError::State { file: runtime.folder().to_owned(), source },
    })
}

fn unfinished(runtime: &Runtime) -> Result<Option<State>, SwitchError> {
    runtime
        .unfinished()
        .map_err(|source| SwitchError::Unreadable { file: runtime.unfinished_file(), source })
}

fn held(runtime: &Runtime) -> Result<Option<State>, SwitchError> {
    runtime.held().map_err(|source| SwitchError::Unreadable { file: runtime.held_file(), source })
}

fn written_down(before: Snapshot, by: Holder) -> State {
    State {
        format: FORMAT.to_owned(),
        version: VERSION,
        boot: boot(),
        taken: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        by,
        before,
    }
}

fn this_process() -> Holder {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    Holder { process: std::process::id(), command: words.collect::<Vec<_>>().join(" ") }
}
