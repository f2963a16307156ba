//! Processes that descend from the commands that corun starts, also those that leave their parent,
//! process group and session: after a command has ended, nothing of it runs beside the next one.
//!
//! Each command gets a [`Mark`] that all its descendants inherit, and a control group where one can be
//! made. Where orphans are adopted (corun is their subreaper), it is seen at once whether there are
//! any. A watchdog ends what is marked should corun be killed.

mod group;
mod mark;
mod scan;
mod watchdog;

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corun_files::TaskStat;
use group::Group;
pub use mark::Mark;

/// Time that killed processes may take to end before they are named as still running.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest pause between two checks whether they have ended.
const PAUSE_MS: i32 = 20;

/// A process that a command left running when it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The name that the kernel shows (`comm`).
    pub name: String,
    /// Process id.
    pub process: i32,
    /// True if corun ended it; false for one that it may not end, or that did not end in time.
    pub ended: bool,
}

/// One spawn at a time carries the mark as a limit of corun itself.
static SPAWNING: Mutex<()> = Mutex::new(());

/// Starts a process that is part of no command, without a mark even while another thread starts a command.
///
/// # Errors
/// If it cannot be started.
pub fn spawn_unmarked(command: &mut Command) -> io::Result<Child> {
    let _one = SPAWNING.lock().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

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
        let is_watched = watchdog::ensure();
        let adopts = orphans == Orphans::Adopted;
        // SAFETY: sets an attribute of this process. A kernel without it leaves orphans to init,
        // where the mark still finds them.
        let set = unsafe {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(adopts), 0, 0, 0)
        };
        ADOPTS.store(adopts && set == 0, Ordering::Release);
        // Without the watchdog a group would stay behind a corun that is killed.
        if is_watched { Self::next().with_group() } else { Self::next() }
    }

    /// A mark without a control group, for a command that runs in corun's place: should corun be killed, the watchdog ends
    /// all of it, and what it leaves running at its end is the user's ([`release`](Self::release)).
    pub fn for_user() -> Self {
        watchdog::ensure();
        Self::next()
    }

    /// Leaves what any command of this corun has left running to the user.
    pub fn release(self) {
        watchdog::dismiss();
    }

    /// Forks a child that has the mark and is in its control group from its beginning; 0 in the child.
    ///
    /// # Errors
    /// If the system refuses another process.
    ///
    /// # Safety
    /// The child may make system calls only, as after `fork` in a process with other threads; the C
    /// library does not know of the fork.
    pub unsafe fn fork(self) -> io::Result<i32> {
        let into_group = self.group().and_then(|group| {
            // SAFETY: the caller vouches for what the child does.
            unsafe { fork_into(group.folder()) }
        });
        let is_in_group = into_group.is_some();
        // SAFETY: as above.
        let child = into_group.unwrap_or_else(|| unsafe { libc::fork() });
        match child {
            -1 => return Err(io::Error::last_os_error()),
            // Entering a group takes the kernel most of a millisecond, being born in one nothing.
            0 if is_in_group => self.limit(),
            0 => self.apply(),
            _ => {}
        }
        Ok(child)
    }

    /// Spawns a command that has the mark from its beginning, without a step between fork and exec
    /// (which would make the standard library copy corun's whole address space). For that reason it
    /// does not enter the control group.
    ///
    /// # Errors
    /// If the command cannot be started.
    pub fn spawn(self, command: &mut Command) -> io::Result<Child> {
        let _one = SPAWNING.lock().unwrap_or_else(PoisonError::into_inner);
        let own = mark::soft_limit(0);
        self.limit();
        let child = command.spawn();
        if let Some(own) = own {
            mark::set_soft_limit(own);
        }
        child
    }

    /// Ends every process in the control group or with this mark, and collects those that corun has
    /// adopted; returns those that had not ended. To be called once, when the command itself has been
    /// collected.
    ///
    /// Where orphans are adopted and the command left none, this reads one small file.
    pub fn end_all(self) -> Vec<Leftover> {
        self.end(None)
    }

    /// As [`end_all`](Self::end_all), for a command whose process has ended and is not collected yet.
    pub fn end_all_but(self, command: i32) -> Vec<Leftover> {
        self.end(Some(command))
    }

    fn end(self, command: Option<i32>) -> Vec<Leftover> {
        let mut found = self.group().map(Group::end).unwrap_or_default();
        let begun = Instant::now();
        let is_left = |process: i32| Some(process) != command && self.is_on(process);
        while may_be_left(is_left) {
            let living = round(is_left, &mut found);
            if living.is_empty() {
                break;
            }
            if begun.elapsed() > PATIENCE {
                for leftover in found.iter_mut().filter(|it| living.contains(&it.process)) {
                    leftover.ended = false;
                }
                break;
            }
        }
        found
    }
}

/// Kills and collects once; returns which processes had not ended a moment later.
fn round(is_left: impl Fn(i32) -> bool, found: &mut Vec<Leftover>) -> Vec<i32> {
    let mut dying = Vec::new();
    let mut living = Vec::new();
    for process in scan::all().filter(|&process| is_left(process)) {
        let Some(stat) = Stat::of(process) else { continue };
        if stat.has_ended {
            collect(process);
            continue;
        }
        if found.iter().all(|known| known.process != process) {
            found.push(Leftover { name: stat.name, process, ended: true });
        }
        living.push(process);
        if let Some(handle) = open_handle(process).filter(|_| is_left(process)) {
            kill(&handle);
            dying.push(handle);
        }
    }
    wait_for(&dying, PAUSE_MS);
    living.retain(|&process| {
        let is_there = is_left(process);
        is_there && Stat::of(process).is_some_and(|stat| !stat.has_ended || collect(process))
    });
    living
}

/// True if a child of corun is left: the first ancestor below corun of every process that the command
/// left. Without adoption, or where the kernel does not list children, there may be.
fn may_be_left(is_left: impl Fn(i32) -> bool) -> bool {
    if !ADOPTS.load(Ordering::Acquire) {
        return true;
    }
    let own = std::process::id();
    let path = format!("/proc/self/task/{own}/children");
    corun_files::kernel_text(path).map_or(true, |children| {
        let mut numbers =
            children.split_ascii_whitespace().filter_map(|number| number.parse().ok());
        numbers.any(is_left)
    })
}

/// Fields of a process's `stat`.
struct Stat {
    name: String,
    has_ended: bool,
}

impl Stat {
    /// Without `/proc` the name is not known.
    #[expect(clippy::disallowed_methods, reason = "a name in the kernel's file may be no text")]
    fn of(process: i32) -> Option<Self> {
        match fs::read(format!("/proc/{process}/stat")) {
            Ok(stat) => Self::parse(&stat),
            Err(_) => Self::without_files(process),
        }
    }

    /// State by the kernel without files: whether there is such a process, and whether it has ended.
    fn without_files(process: i32) -> Option<Self> {
        let has_ended = wait_for(&[open_handle(process)?], 0);
        Some(Self { name: format!("process {process}"), has_ended })
    }

    fn parse(stat: &[u8]) -> Option<Self> {
        let stat = TaskStat::parse(stat)?;
        Some(Self { name: stat.name().into_owned(), has_ended: stat.has_ended() })
    }
}

/// `CLONE_INTO_CGROUP` of `linux/sched.h` (Linux 5.7), which does not fit the type that libc gives it.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Forks into the control group with this folder: `None` where the kernel does not know how, or
/// does not let this user; 0 in the child.
///
/// # Safety
/// As for [`Mark::fork`].
unsafe fn fork_into(group: i32) -> Option<i32> {
    // SAFETY: plain data, of which zero is a valid value.
    let mut how: libc::clone_args = unsafe { std::mem::zeroed() };
    how.flags = CLONE_INTO_CGROUP;
    how.exit_signal = libc::SIGCHLD as u64;
    how.cgroup = u64::try_from(group).ok()?;
    let length = size_of::<libc::clone_args>();
    // SAFETY: the kernel reads arguments of this length; the child has a copy of all memory.
    let child = unsafe { libc::syscall(libc::SYS_clone3, std::ptr::from_ref(&how), length) };
    i32::try_from(child).ok().filter(|child| *child >= 0)
}

/// Waits until the first of these processes has ended, at most so long; returns whether one has.
fn wait_for(processes: &[OwnedFd], patience_ms: i32) -> bool {
    let entry =
        |it: &OwnedFd| libc::pollfd { fd: it.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<_> = processes.iter().map(entry).collect();
    // SAFETY: a valid array of live descriptors.
    unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, patience_ms) > 0 }
}

/// Kills the process that now has this number. Makes system calls only.
fn kill_process(process: i32) {
    // SAFETY: signals a process by its number.
    unsafe { libc::kill(process, libc::SIGKILL) };
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
    use std::ffi::CString;
    use std::io::Read;
    use std::path::Path;
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
    fn what_has_ended_by_itself_was_not_left_running() {
        let mark = Mark::prepare(Orphans::Adopted);
        // SAFETY: the child makes system calls only.
        let child = unsafe { mark.fork() }.unwrap();
        if child == 0 {
            // SAFETY: the grandchild ends at once; it is waited for without being collected, and stays a zombie.
            unsafe {
                let grandchild = libc::fork();
                if grandchild == 0 {
                    libc::_exit(0);
                }
                let mut what: libc::siginfo_t = std::mem::zeroed();
                let how = libc::WEXITED | libc::WNOWAIT;
                libc::_exit(libc::waitid(libc::P_PID, grandchild as u32, &raw mut what, how));
            }
        }
        assert_eq!(wait(child), 0);
        assert_eq!(mark.end_all(), []);
    }

    #[test]
    fn only_what_has_this_mark_is_ended() {
        let (other, started) = run("setsid sleep 600 >/dev/null & echo $!");
        assert_eq!(run("exit 0").0.end_all(), []);
        assert!(is_running(started[0]));
        assert!(other.end_all().iter().any(|it| it.process == started[0]));
        assert!(!is_running(started[0]));
    }

    /// Becomes a shell with a script, in a child that has the mark and its control group.
    fn fork(script: &str) -> Mark {
        let mark = Mark::prepare(Orphans::Adopted);
        let text = CString::new(script).unwrap();
        let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), text.as_ptr(), std::ptr::null()];
        // SAFETY: the child makes two system calls.
        let child = unsafe { mark.fork() }.unwrap();
        if child == 0 {
            // SAFETY: the arguments end with null, each with NUL.
            unsafe {
                libc::execv(c"/bin/sh".as_ptr(), arguments.as_ptr());
                libc::_exit(127);
            }
        }
        assert_eq!(wait(child), 0, "{script}");
        mark
    }

    /// Waits for a child made by `fork`: its status as the kernel gives it, 0 if it ended well.
    fn wait(child: libc::pid_t) -> i32 {
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        status
    }

    /// Numbers that a script writes to `FILE`.
    fn numbers(file: &Path) -> Vec<i32> {
        let text = std::fs::read_to_string(file).unwrap();
        text.split_ascii_whitespace().map(|it| it.parse().unwrap()).collect()
    }

    #[test]
    fn a_child_without_its_mark_is_ended_with_the_control_group() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        let mark = fork(&format!(
            "setsid prlimit --rttime=1000000:1000000 sleep 600 </dev/null >/dev/null 2>&1 & \
             echo $! >{}; until prlimit --rttime -p $! 2>/dev/null | grep -q '1000000 *1000000'; do :; done",
            list.display()
        ));
        let left = mark.end_all();
        let started = numbers(&list);
        if mark.group().is_none() {
            // Here no control group can be made: what has taken off its mark is not found.
            kill_process(started[0]);
            return;
        }
        assert!(left.iter().any(|it| it.process == started[0] && it.ended), "{left:?}");
        assert!(!is_running(started[0]));
    }

    #[test]
    fn a_name_may_hold_brackets() {
        let stat = Stat::parse(b"7 (a) Z (b)) S 1 7").unwrap();
        assert_eq!((stat.name.as_str(), stat.has_ended), ("a) Z (b)", false));
        assert!(Stat::parse(b"7 (sh) Z 1").unwrap().has_ended);
        assert!(Stat::parse(b"").is_none());
    }

    #[test]
    fn without_files_a_process_has_a_number_and_an_end() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = child.id().cast_signed();
        let seen = Stat::without_files(process).unwrap();
        assert_eq!((seen.name, seen.has_ended), (format!("process {process}"), false));
        child.kill().unwrap();
        assert!(wait_for(&[open_handle(process).unwrap()], -1));
        assert!(Stat::without_files(process).unwrap().has_ended);
        child.wait().unwrap();
    }
}
