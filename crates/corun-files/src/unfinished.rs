//! Temporary names that are removed when a signal ends corun: those of files that had to have one before
//! they were complete.
//!
//! A signal handler may neither lock nor allocate, so names lie in a table of pointers.

use std::ffi::{CString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::signals::signals_to_handle;

/// More than corun ever makes at once.
const MAX_FILES: usize = 64;
static NAMES: [AtomicPtr<c_char>; MAX_FILES] = [const { AtomicPtr::new(null_mut()) }; MAX_FILES];
static HANDLED_ELSEWHERE: AtomicBool = AtomicBool::new(false);
static HANDLERS: Once = Once::new();

/// A file that is removed unless it is forgotten.
#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
    /// Place in the table, if there was one.
    place: Option<usize>,
}

impl Unfinished {
    fn new(path: &Path) -> Self {
        HANDLERS.call_once(handle_signals);
        let place = CString::new(path.as_os_str().as_bytes()).ok().and_then(|name| {
            let name = name.into_raw();
            let free = |place: &AtomicPtr<c_char>| {
                place.compare_exchange(null_mut(), name, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            };
            let place = NAMES.iter().position(free);
            if place.is_none() {
                // SAFETY: `into_raw` made it, and nothing else has it.
                drop(unsafe { CString::from_raw(name) });
            }
            place
        });
        Self { path: path.to_owned(), place }
    }

    /// File that `make` makes at `path`. The name is noted before: a signal between the two would leave the file.
    pub(crate) fn made<T>(
        path: &Path,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Self)> {
        let unfinished = Self::new(path);
        match make() {
            Ok(made) => Ok((made, unfinished)),
            Err(error) => {
                // What is there belongs to another process.
                unfinished.forget();
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file has its own name now, or is gone.
    pub(crate) fn forget(mut self) {
        self.take();
    }

    /// True if it was still to be removed.
    fn take(&mut self) -> bool {
        let Some(place) = self.place.take() else { return false };
        // The few bytes stay: a handler of another thread may be reading them.
        !NAMES[place].swap(null_mut(), Ordering::SeqCst).is_null()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.take() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Removes all files that have a temporary name. May be called by a signal handler that then ends the
/// process.
pub fn remove_unfinished() {
    for name in &NAMES {
        let name = name.swap(null_mut(), Ordering::SeqCst);
        if !name.is_null() {
            // SAFETY: a string that ends with NUL and is never freed; unlink is async-signal-safe.
            unsafe { libc::unlink(name) };
        }
    }
}

/// Says that signals have handlers that end the program in order: they alone decide what is removed.
pub fn are_handled_elsewhere() {
    HANDLED_ELSEWHERE.store(true, Ordering::SeqCst);
}

fn handle_signals() {
    for signal in signals_to_handle(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM]) {
        let end = move || {
            if !HANDLED_ELSEWHERE.load(Ordering::SeqCst) {
                remove_unfinished();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        };
        // SAFETY: what it calls is async-signal-safe.
        let _ = unsafe { signal_hook::low_level::register(signal, end) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a child, which ends by the signal.
    #[test]
    fn a_signal_removes_what_has_a_temporary_name() {
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            if crate::is_signal_ignored(signal) {
                // As `nohup` starts programs: the signal ends nothing.
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(".corun-test");
            std::fs::write(&path, "half").unwrap();
            // Here, since a child of a process with threads may not allocate.
            let kept = Unfinished::new(&path);
            // SAFETY: the child raises a signal, which ends it, and does nothing else.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // Those of other tests are not the child's.
                let others =
                    NAMES.iter().enumerate().filter(|(place, _)| Some(*place) != kept.place);
                others.for_each(|(_, name)| name.store(null_mut(), Ordering::SeqCst));
                // SAFETY: see above.
                unsafe {
                    libc::raise(signal);
                    libc::_exit(0);
                }
            }
            let mut status = 0;
            // SAFETY: waits for the child.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == signal, "{status:#x}");
            assert!(!path.exists(), "{signal}");
            kept.forget();
        }
    }
}
