//! A small process that outlives corun for a moment, to give the machine back if corun dies.
//!
//! It is started before the change, holds one end of a socket and a share of the lock, and does
//! nothing until that socket closes. Then it ends the process groups it was given, and restores.
//! A session of its own keeps the terminal's signals away from it.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::restore::restore;
use super::runtime::{Lock, Runtime, State};
use crate::RootFiles;

/// The hidden subcommand that a watchdog runs.
pub const SUBCOMMAND: &str = "smt-watchdog";

const READY: &[u8] = b"ready\n";
/// Time limit for its start.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running watchdog.
#[derive(Debug)]
pub(super) struct Watchdog {
    child: Child,
    line: UnixStream,
}

impl Watchdog {
    /// Starts one and waits until it is there.
    ///
    /// # Errors
    /// If corun cannot start itself.
    pub(super) fn start(runtime: &Runtime, lock: &Lock) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let lock = std::os::fd::AsFd::as_fd(lock).as_raw_fd();
        let mut command = Command::new(corun()?);
        command
            .arg0("corun")
            .args([SUBCOMMAND.as_ref(), runtime.folder().as_os_str()])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null());
        // SAFETY: only async-signal-safe calls between fork and exec: a session of its own, and a
        // share of the lock that stays open.
        unsafe {
            command.pre_exec(move || {
                if libc::setsid() < 0 || libc::fcntl(lock, libc::F_SETFD, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn()?;
        // The command keeps the watchdog's end open.
        drop(command);
        let mut watchdog = Self { child, line };
        let mut ready = [0; READY.len()];
        watchdog.line.set_read_timeout(Some(PATIENCE))?;
        if let Err(error) = watchdog.line.read_exact(&mut ready) {
            watchdog.dismiss();
            return Err(error);
        }
        Ok(watchdog)
    }

    /// It is written down what has to be undone.
    pub(super) fn begin(&mut self) {
        self.send("begun\n");
    }

    /// Has it end this process group, should corun die.
    pub(super) fn watch_group(&mut self, group: u32) {
        self.send(&format!("group {group}\n"));
    }

    /// The process group has ended.
    pub(super) fn forget_group(&mut self, group: u32) {
        self.send(&format!("gone {group}\n"));
    }

    /// Lets it go: there is nothing to restore any more.
    pub(super) fn dismiss(mut self) {
        // Even if it is stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// A watchdog that is gone hears nothing; corun restores by itself all the same.
    fn send(&mut self, line: &str) {
        let _ = self.line.write_all(line.as_bytes());
    }
}

/// corun's own executable, even if its file was replaced meanwhile.
fn corun() -> io::Result<PathBuf> {
    let own = Path::new("/proc/self/exe");
    std::fs::read_link(own)?;
    Ok(own.to_owned())
}

/// Be the watchdog: serves its standard input until corun lets it go or dies, and returns whether
/// nothing is left to restore.
pub fn serve_as_watchdog(folder: &Path) -> bool {
    // SAFETY: sets the disposition of plain signals.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    // SAFETY: descriptor 0 is the socket that corun gave this process, used by nothing else.
    let line = unsafe { <UnixStream as std::os::fd::FromRawFd>::from_raw_fd(0) };
    let Ok(mut answer) = line.try_clone() else { return false };
    if answer.write_all(READY).is_err() {
        return false;
    }
    let runtime = Runtime::at(folder);
    // Kept in mind too: the file may be removed.
    let mut state = None;
    let mut groups: Vec<i32> = Vec::new();
    for line in BufReader::new(line).lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("group", group)) => groups.extend(group.parse::<i32>().ok()),
            Some(("gone", gone)) => groups.retain(|group| Ok(*group) != gone.parse()),
            _ => state = runtime.unfinished().ok().flatten(),
        }
    }
    for group in groups.into_iter().filter(|group| *group > 1) {
        // SAFETY: signals a process group that corun made and had not yet seen the end of.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    undo(&runtime, state)
}

/// Restores what a dead corun has left; whether nothing is left to do.
fn undo(runtime: &Runtime, known: Option<State>) -> bool {
    let Ok(mut files) = RootFiles::open(Path::new("/")) else { return false };
    match known.map_or_else(|| runtime.unfinished(), |state| Ok(Some(state))) {
        Ok(None) => true,
        Ok(Some(state)) => {
            restore(&mut files, &state.before).is_empty() && runtime.finish().is_ok()
        }
        Err(_) => false,
    }
}
