//! Processes that descend from the commands that corun starts, also those that leave their parent,
//! process group and session: after a command has ended, nothing of it runs beside the next one.
//!
//! Each command gets a [`Mark`] that all its descendants inherit. Where orphans are adopted (corun is
//! their subreaper), it is seen at once whether there are any. A watchdog ends what is marked should
//! corun be killed.

mod mark;
mod scan;
mod watchdog;

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use mark::Mark;

/// How long killed processes may take to end before they are named as still running.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest pause between two looks at whether they have ended.
const PAUSE_MS: i32 = 20;

/// A process that a command left running when it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The name that the kernel shows (`comm`).
    pub name: String,
    /// Its process id.
    pub process: i32,
    /// Whether corun ended it; false for one that it may not end, or that did not end in time.
    pub ended: bool,
}

/// One spawn at a time carries the mark as a limit of corun itself.
static SPAWNING: Mutex<()> = Mutex::new(());

/// Who the parent of a command's orphans becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphans {
    /// This process: whether there are any costs one small file to read.
    Adopted,
    /// init. For a process that waits for all its children, as one that traces does.
    Left,
}

static ADOPTS: AtomicBool = AtomicBool::new(false);

impl Mark {
    /// A mark that no other command has, ready to be given to one; the watchdog is there from now on.
    pub fn prepare(orphans: Orphans) -> Self {
        // First, or the watchdog would be adopted.
        watchdog::ensure();
        let adopts = orphans == Orphans::Adopted;
        // SAFETY: sets an attribute of this process. A kernel without it leaves orphans to init,
        // where the mark still finds them.
        let set = unsafe {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(adopts), 0, 0, 0)
        };
        ADOPTS.store(adopts && set == 0, Ordering::Release);
        Self::next()
    }

    /// Spawns a command that has the mark from its beginning, without a step between fork and exec
    /// (which would make the standard library copy corun's whole address space).
    ///
    /// # Errors
    /// If the command cannot be started.
    pub fn spawn(self, command: &mut Command) -> io::Result<Child> {
        let _one = SPAWNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let own = mark::soft_limit(0);
        self.apply();
        let child = command.spawn();
        if let Some(own) = own {
            mark::set_soft_limit(own);
        }
        child
    }

    /// Ends every process with this mark, and collects those that corun has adopted. To be called
    /// when the command itself has been collected.
    ///
    /// Where orphans are adopted and the command left none, this reads one small file.
    pub fn end_all(self) -> Vec<Leftover> {
        let mut found: Vec<Leftover> = Vec::new();
        let begun = Instant::now();
        while self.may_be_left() {
            let living = self.round(&mut found);
            if living.is_empty() {
                break;
            }
            if begun.elapsed() > PATIENCE {
                for leftover in &mut found {
                    leftover.ended = !living.contains(&leftover.process);
                }
                break;
            }
        }
        found
    }

    /// Kills and collects once; returns which processes had not ended a moment later.
    fn round(self, found: &mut Vec<Leftover>) -> Vec<i32> {
        let mut dying = Vec::new();
        let mut living = Vec::new();
        for process in scan::all().filter(|&process| self.is_on(process)) {
            let Some(stat) = Stat::of(process) else { continue };
            if found.iter().all(|known| known.process != process) {
                found.push(Leftover { name: stat.name, process, ended: true });
            }
            if stat.has_ended {
                collect(process);
                continue;
            }
            living.push(process);
            if let Some(handle) = open_handle(process).filter(|_| self.is_on(process)) {
                kill(&handle);
                dying.push(libc::pollfd {
                    fd: handle.as_raw_fd(),
                    events: libc::POLLIN,
                    revents: 0,
                });
                std::mem::forget(handle);
            }
        }
        // SAFETY: a valid array of descriptors, opened above and closed below.
        unsafe {
            libc::poll(dying.as_mut_ptr(), dying.len() as libc::nfds_t, PAUSE_MS);
            for entry in &dying {
                libc::close(entry.fd);
            }
        }
        living.retain(|&process| {
            let is_there = self.is_on(process);
            is_there && Stat::of(process).is_some_and(|stat| !stat.has_ended || collect(process))
        });
        living
    }

    /// Whether a child of corun has the mark: the first ancestor below corun of every process that
    /// the command left. Without adoption, or where the kernel does not list children, there may be.
    fn may_be_left(self) -> bool {
        if !ADOPTS.load(Ordering::Acquire) {
            return true;
        }
        let own = std::process::id();
        let path = format!("/proc/self/task/{own}/children");
        corun_files::kernel_text(path).map_or(true, |children| {
            let numbers =
                children.split_ascii_whitespace().filter_map(|number| number.parse().ok());
            numbers.into_iter().any(|process| self.is_on(process))
        })
    }
}

/// What a process's `stat` says.
struct Stat {
    name: String,
    has_ended: bool,
}

impl Stat {
    #[expect(clippy::disallowed_methods, reason = "a name in the kernel's file may be no text")]
    fn of(process: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{process}/stat")).ok()?)
    }

    /// The name stands in brackets and may hold anything.
    fn parse(stat: &[u8]) -> Option<Self> {
        let stat = String::from_utf8_lossy(stat);
        let (before, fields) = stat.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let state = fields.trim_start().chars().next()?;
        Some(Self { name: name.to_owned(), has_ended: matches!(state, 'Z' | 'X' | 'x') })
    }
}

/// Collects a child that has ended; false (nothing is left to wait for) in any case.
fn collect(process: i32) -> bool {
    // SAFETY: waits for a process of this number only, and does not block.
    unsafe { libc::waitpid(process, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
    false
}

fn open_handle(process: i32) -> Option<OwnedFd> {
    // SAFETY: returns a new close-on-exec descriptor or -1.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    // SAFETY: a fresh descriptor.
    (raw >= 0).then(|| unsafe { OwnedFd::from_raw_fd(raw as i32) })
}

fn kill(handle: &OwnedFd) {
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: signals the process of a live descriptor; it may have ended.
    unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), libc::SIGKILL, no_info, 0)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Stdio;

    /// Runs a shell script to its end, with a mark; the script's output is what it started.
    fn run(script: &str) -> (Mark, Vec<i32>) {
        let mark = Mark::prepare(Orphans::Adopted);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = mark.spawn(&mut command).unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        (mark, text.split_ascii_whitespace().map(|it| it.parse().unwrap()).collect())
    }

    fn is_running(process: i32) -> bool {
        Stat::of(process).is_some_and(|stat| !stat.has_ended)
    }

    #[test]
    fn a_command_that_leaves_nothing_has_no_leftovers() {
        assert_eq!(run("exit 0").0.end_all(), []);
    }

    #[test]
    fn children_in_sessions_of_their_own_are_ended() {
        let ways = [
            "sleep 600 >/dev/null & echo $!",
            "setsid sleep 600 >/dev/null & echo $!",
            "setsid sh -c 'sleep 600 >/dev/null & echo $!'",
            "(setsid sh -c 'setsid sleep 600 >/dev/null & echo $!' &)",
            "env -i setsid nohup sleep 600 >/dev/null 2>&1 & echo $!",
            "(cd /; exec 2>&-; setsid sh -c 'trap \"\" TERM HUP INT; echo $$; exec sleep 600 >/dev/null' &)",
        ];
        for way in ways {
            let (mark, started) = run(way);
            assert_eq!(started.len(), 1, "{way}");
            let left = mark.end_all();
            assert!(!left.is_empty() && left.iter().all(|it| it.ended), "{way}: {left:?}");
            assert!(!is_running(started[0]), "{way}");
        }
    }

    #[test]
    fn only_what_has_this_mark_is_ended() {
        let (other, started) = run("setsid sleep 600 >/dev/null & echo $!");
        assert_eq!(run("exit 0").0.end_all(), []);
        assert!(is_running(started[0]));
        assert!(other.end_all().iter().any(|it| it.process == started[0]));
        assert!(!is_running(started[0]));
    }

    #[test]
    fn a_name_may_hold_brackets() {
        let stat = Stat::parse(b"7 (a) Z (b)) S 1 7").unwrap();
        assert_eq!((stat.name.as_str(), stat.has_ended), ("a) Z (b)", false));
        assert!(Stat::parse(b"7 (sh) Z 1").unwrap().has_ended);
        assert!(Stat::parse(b"").is_none());
    }
}
