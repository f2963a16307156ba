//! The folder in which a switch under way is written down, and the lock that keeps it alone.
//!
//! A state file is complete or not there at all: written beside, flushed, renamed, and the folder
//! flushed too. It lives in `/run`, which a reboot empties, as a reboot brings SMT back.
#![expect(clippy::disallowed_methods, reason = "the files are corun's own, for the next corun")]

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use corun_files::{BOOT_ID, boot_id};
use corun_record::read_json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;

/// Content of a state file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Always `corun-smt-state`.
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The kernel's name for this boot: a reboot makes the file meaningless.
    pub boot: String,
    /// When the snapshot was taken, UTC, RFC 3339.
    pub taken: String,
    /// Who switched.
    pub by: Holder,
    /// State before the switch.
    pub before: Snapshot,
}

/// The `format` of a state file.
pub(super) const FORMAT: &str = "corun-smt-state";
/// The `version` that this program writes.
pub(super) const VERSION: u32 = 1;

/// A corun that switches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Process id of the holder.
    pub process: u32,
    /// Command line of the holder.
    pub command: String,
}

/// The folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    folder: PathBuf,
}

/// The lock; held until dropped, by this process or a watchdog that inherited it.
#[derive(Debug)]
pub struct Lock(File);

/// Why the lock was not had.
#[derive(Debug)]
pub enum LockError {
    /// Another corun has it; who, if it said so.
    Held(Option<Holder>),
    /// It cannot be had at all.
    Io(io::Error),
}

/// The state file of a switch that has to be undone, below the root.
pub const UNFINISHED: &str = "run/corun/smt-unfinished.json";

const LOCK: &str = "smt-switch.lock";
const UNFINISHED_NAME: &str = "smt-unfinished.json";
const HELD: &str = "smt-held.json";

impl Runtime {
    /// The folder of this system.
    pub fn of_system() -> Self {
        Self::at(Path::new("/run/corun"))
    }

    /// Another folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The folder's path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the change that has to be undone.
    pub fn unfinished_file(&self) -> PathBuf {
        self.folder.join(UNFINISHED_NAME)
    }

    /// The file of the change that stays.
    pub fn held_file(&self) -> PathBuf {
        self.folder.join(HELD)
    }

    /// Takes the lock, or waits for it.
    ///
    /// # Errors
    /// If another has it and this is not to wait, or the folder cannot be used.
    pub fn lock(&self, wait: bool, holder: &Holder) -> Result<Lock, LockError> {
        self.make_folder().map_err(LockError::Io)?;
        let path = self.folder.join(LOCK);
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open().map_err(LockError::Io)?;
        if wait {
            file.lock().map_err(LockError::Io)?;
        } else {
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => LockError::Held(self.holder()),
                TryLockError::Error(error) => LockError::Io(error),
            })?;
        }
        let text = serde_json::to_string(holder).unwrap_or_default();
        let written = file.set_len(0).and_then(|()| file.rewind());
        written.and_then(|()| file.write_all(text.as_bytes())).map_err(LockError::Io)?;
        Ok(Lock(file))
    }

    /// Process that has the lock now, if one has, and which one, if it wrote that.
    pub fn is_locked(&self) -> Option<Option<Holder>> {
        let file = File::open(self.folder.join(LOCK)).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(self.holder()),
            _ => None,
        }
    }

    /// Waits until the lock is free.
    pub fn wait_until_free(&self) {
        if let Ok(file) = File::open(self.folder.join(LOCK)) {
            let _ = file.lock_shared();
        }
    }

    /// The change that has to be undone, if there is one.
    ///
    /// # Errors
    /// If its file cannot be read or understood.
    pub fn unfinished(&self) -> io::Result<Option<State>> {
        load(&self.folder.join(UNFINISHED_NAME))
    }

    /// The change that was asked to stay until it is restored, if there is one.
    ///
    /// # Errors
    /// If its file cannot be read or understood.
    pub fn held(&self) -> io::Result<Option<State>> {
        load(&self.folder.join(HELD))
    }

    /// Writes down what has to be undone.
    ///
    /// # Errors
    /// If the file system reports an error; then no file is there.
    pub fn begin(&self, state: &State) -> io::Result<()> {
        let path = self.folder.join(UNFINISHED_NAME);
        let beside = self.folder.join(format!("{UNFINISHED_NAME}.new"));
        let text = serde_json::to_vec_pretty(state)?;
        let written = File::create(&beside).and_then(|mut file| {
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written.and_then(|()| self.flush())
    }

    /// The change is to stay: how it was before, `before`, is what a later restoring goes back to,
    /// unless an earlier change is still in force.
    ///
    /// # Errors
    /// If the file system reports an error; then the change is still one that has to be undone.
    pub fn keep(&self, before: &Snapshot) -> io::Result<()> {
        // Where SMT was found as it had been before the earlier change, that was undone by hand.
        let in_force = |earlier: &State| earlier.before.smt != before.smt;
        if self.held()?.is_some_and(|earlier| in_force(&earlier)) {
            return self.finish();
        }
        fs::rename(self.folder.join(UNFINISHED_NAME), self.folder.join(HELD))?;
        // Renamed it is; only a loss of power could still undo that, and would empty the folder.
        let _ = self.flush();
        Ok(())
    }

    /// The change was undone.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn finish(&self) -> io::Result<()> {
        remove(&self.folder.join(UNFINISHED_NAME))?;
        self.flush()
    }

    /// The change that was to stay was undone.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn let_go(&self) -> io::Result<()> {
        remove(&self.folder.join(HELD))?;
        self.flush()
    }

    /// Readable by all users: any corun says what one of them has left.
    fn make_folder(&self) -> io::Result<()> {
        if !self.folder.is_dir() {
            fs::create_dir_all(&self.folder)?;
            fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        match File::open(&self.folder) {
            // With the folder everything in it is gone.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            folder => folder?.sync_all(),
        }
    }

    fn holder(&self) -> Option<Holder> {
        let mut text = String::new();
        File::open(self.folder.join(LOCK)).ok()?.read_to_string(&mut text).ok()?;
        let holder: Holder = read_json(&text).ok()?;
        // Somebody else may have the lock without having said so yet.
        Path::new("/proc").join(holder.process.to_string()).exists().then_some(holder)
    }
}

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn load(path: &Path) -> io::Result<Option<State>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let state: State = read_json(&text)?;
    if state.format != FORMAT || state.version > VERSION {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "it is {} version {}, not {FORMAT} up to {VERSION}",
                state.format, state.version
            ),
        ));
    }
    of_this_boot(state, boot_id())
}

/// The state, if it was written down in this boot.
fn of_this_boot(state: State, now: Option<String>) -> io::Result<Option<State>> {
    let now = now.ok_or_else(unknown_boot)?;
    Ok(Some(state).filter(|state| state.boot == now))
}

/// Compares the boot of a state file with this one; a boot that is unknown equals none.
pub(super) fn unknown_boot() -> io::Error {
    let sentence = format!(
        "expected the identifier of this boot in /{BOOT_ID}, found none that can be read; without it corun cannot know \
         whether SMT was switched in this boot"
    );
    io::Error::new(io::ErrorKind::Unsupported, sentence)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use corun_record::SmtState;

    use super::*;

    fn runtime() -> (tempfile::TempDir, Runtime) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::at(&folder.path().join("corun"));
        fs::create_dir(runtime.folder()).unwrap();
        (folder, runtime)
    }

    fn holder(process: u32) -> Holder {
        Holder { process, command: format!("corun {process}") }
    }

    fn own() -> u32 {
        std::process::id()
    }

    fn state(process: u32) -> State {
        State {
            format: FORMAT.to_owned(),
            version: VERSION,
            boot: boot_id().expect("a boot has an identifier"),
            taken: "2026-01-01T00:00:00Z".to_owned(),
            by: holder(process),
            before: Snapshot {
                smt: SmtState::On,
                control: Some(crate::SmtControl::Threads(4)),
                online: BTreeMap::from([(1, true), (2, false)]),
                irqs: BTreeMap::from([(9, "0-3".to_owned())]),
                cpusets: Vec::new(),
                tasks: Vec::new(),
            },
        }
    }

    #[test]
    fn what_is_written_down_is_read_back_until_it_is_finished() {
        let (_folder, runtime) = runtime();
        assert_eq!(runtime.unfinished().unwrap(), None);
        runtime.begin(&state(1)).unwrap();
        assert_eq!(runtime.unfinished().unwrap(), Some(state(1)));
        runtime.finish().unwrap();
        assert_eq!(runtime.unfinished().unwrap(), None);
        runtime.finish().unwrap();
    }

    #[test]
    fn of_several_changes_that_stay_the_first_records_how_it_was() {
        let (_folder, runtime) = runtime();
        let off = Snapshot { smt: SmtState::Off, ..state(2).before };
        for (process, before) in [(1, state(1).before), (2, off)] {
            runtime.begin(&state(process)).unwrap();
            runtime.keep(&before).unwrap();
        }
        assert_eq!(runtime.held().unwrap(), Some(state(1)));
        assert_eq!(runtime.unfinished().unwrap(), None);
        // Somebody has undone it by hand.
        runtime.begin(&state(3)).unwrap();
        runtime.keep(&state(3).before).unwrap();
        assert_eq!(runtime.held().unwrap(), Some(state(3)));
        runtime.let_go().unwrap();
        assert_eq!(runtime.held().unwrap(), None);
    }

    #[test]
    fn a_state_of_another_boot_means_nothing() {
        let (_folder, runtime) = runtime();
        runtime.begin(&State { boot: "another".to_owned(), ..state(1) }).unwrap();
        assert_eq!(runtime.unfinished().unwrap(), None);
        let of = |boot: &str, now: Option<&str>| {
            of_this_boot(State { boot: boot.to_owned(), ..state(1) }, now.map(str::to_owned))
        };
        assert!(of("one", Some("one")).unwrap().is_some());
        assert!(of("", Some("one")).unwrap().is_none());
        for unknown in [of("", None), of("one", None)] {
            assert!(unknown.unwrap_err().to_string().contains("boot_id"));
        }
    }

    #[test]
    fn what_is_no_state_is_an_error_and_stays() {
        let (_folder, runtime) = runtime();
        let later = State { version: VERSION + 1, ..state(1) };
        for text in [b"half a fi".to_vec(), serde_json::to_vec(&later).unwrap()] {
            let path = runtime.folder().join(UNFINISHED_NAME);
            fs::write(&path, text).unwrap();
            assert!(runtime.unfinished().is_err());
            assert!(path.exists());
        }
    }

    #[test]
    fn the_lock_is_had_by_one_who_says_who_it_is() {
        let (_folder, runtime) = runtime();
        assert!(runtime.is_locked().is_none());
        let lock = runtime.lock(false, &holder(own())).unwrap();
        assert!(matches!(
            runtime.lock(false, &holder(own())),
            Err(LockError::Held(Some(found))) if found == holder(own())
        ));
        assert_eq!(runtime.is_locked(), Some(Some(holder(own()))));
        drop(lock);
        assert!(runtime.is_locked().is_none());
        let _lock = runtime.lock(true, &holder(own())).unwrap();
        assert_eq!(runtime.is_locked(), Some(Some(holder(own()))));
    }
}
