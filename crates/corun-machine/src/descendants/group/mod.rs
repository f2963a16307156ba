//! A control group for each command, where one can be made below corun's own: nothing gets out of it
//! by leaving its parent or session or by changing its limits, and the kernel kills all that is in it.
//!
//! Elsewhere the [`super::Mark`] alone shows what descends from a command.

mod ending;
mod place;

use std::ffi::{CStr, CString};
use std::io::Write;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ending::Membership;

use super::{
    Leftover, PATIENCE, PAUSE_MS, Stat, collect, kill, kill_process, open_handle, scan, wait_for,
};
use crate::RootFiles;

/// Prefix of the names of these groups; the mark follows in hexadecimal digits.
const PREFIX: &[u8] = b"corun-";
/// Digits of a mark's number that are the same for all commands of a corun.
const SESSION_DIGITS: usize = 8;
/// `corun-`, sixteen digits and a NUL.
const NAME: usize = PREFIX.len() + 16 + 1;
/// Levels of nested groups that are searched.
const DEEPEST: u32 = 16;

/// A group that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// The descriptor of its folder.
    folder: RawFd,
    number: u64,
}

/// The folder below which groups are made, opened; `None` where that is not possible.
pub(super) fn root() -> Option<RawFd> {
    static ROOT: OnceLock<Option<RawFd>> = OnceLock::new();
    *ROOT.get_or_init(|| {
        let mut files = RootFiles::open(Path::new("/")).ok()?;
        let own = std::process::id().to_string();
        let lists_this = |folder: &str| {
            let list = corun_files::kernel_text(format!("/{folder}/cgroup.procs"));
            list.is_ok_and(|list| list.lines().any(|line| line == own))
        };
        let folder = place::find(&mut files, lists_this)?;
        let folder = open(libc::AT_FDCWD, &CString::new(format!("/{folder}")).ok()?, FOLDER);
        if folder < 0 {
            return None;
        }
        end_abandoned(folder);
        Some(folder)
    })
}

/// Ends the groups of coruns that were killed together with their watchdogs, unless another corun has groups there: each
/// holds a lock on the folder, its watchdog does, too, and the kernel takes it back when both have ended.
fn end_abandoned(root: RawFd) {
    // SAFETY: a lock on an open folder, which the kernel gives or refuses.
    let lock = |how| unsafe { libc::flock(root, how) } == 0;
    if lock(libc::LOCK_EX | libc::LOCK_NB) {
        let begun = Instant::now();
        while end_groups(root, is_command) > 0 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(PAUSE_MS.unsigned_abs().into()));
        }
    }
    // Another one may be at it, for a moment.
    lock(libc::LOCK_SH);
}

/// True if a name is that of a command's group.
fn is_command(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|digits| {
        digits.len() == NAME - PREFIX.len() - 1
            && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

const FOLDER: libc::c_int = libc::O_RDONLY | libc::O_DIRECTORY;

impl Group {
    /// Makes a group for the command with this mark; `None` where that is not possible.
    pub(super) fn make(number: u64) -> Option<Self> {
        // After one refusal no further group is attempted.
        static REFUSED: AtomicBool = AtomicBool::new(false);
        let root = root().filter(|_| !REFUSED.load(Ordering::Relaxed))?;
        let name = name(number);
        let name = CStr::from_bytes_until_nul(&name).ok()?;
        // SAFETY: makes a folder by a C string in an open one.
        if unsafe { libc::mkdirat(root, name.as_ptr(), 0o755) } != 0 {
            REFUSED.store(true, Ordering::Relaxed);
            return None;
        }
        let folder = open(root, name, FOLDER);
        if folder < 0 {
            remove(root, name, 0);
            return None;
        }
        // Accounts of pressure for a group of its own would cost at each switch of tasks; version 1
        // would start a program when the group becomes empty, where its parent is set so.
        write(folder, c"cgroup.pressure", b"0");
        write(folder, c"notify_on_release", b"0");
        Some(Self { folder, number })
    }

    /// The descriptor of the group's folder.
    pub(super) fn folder(self) -> RawFd {
        self.folder
    }

    /// The calling process enters it; false where it may not. Usable between fork and exec.
    pub(super) fn enter(self) -> bool {
        write(self.folder, c"cgroup.procs", b"0")
    }

    /// Kills all that is in it and takes it away; returns what that was.
    pub(super) fn end(self) -> Vec<Leftover> {
        let found = ending::end(&mut Ending { group: self, begun: Instant::now() });
        // SAFETY: opened by `make`; the group is not used any more.
        unsafe { libc::close(self.folder) };
        found
    }
}

/// A group that is being ended.
struct Ending {
    group: Group,
    begun: Instant,
}

impl Membership for Ending {
    fn remove(&mut self) -> bool {
        let name = name(self.group.number);
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        root().is_none_or(|root| remove(root, name, DEEPEST))
    }

    fn members(&mut self) -> Vec<i32> {
        let mut members = Vec::new();
        each_member(self.group.folder, DEEPEST, &mut |process| members.push(process));
        members.sort_unstable();
        members.dedup();
        members
    }

    fn name(&mut self, process: i32) -> Option<String> {
        Stat::of(process).filter(|stat| !stat.has_ended).map(|stat| stat.name)
    }

    fn kill(&mut self, members: &[i32]) {
        // Somebody may have moved corun itself into the group.
        let own = std::process::id().cast_signed();
        let others = members.iter().filter(|process| **process != own);
        let handles: Vec<_> =
            others.filter_map(|&process| Some((process, open_handle(process)?))).collect();
        let is_inside = members.contains(&own);
        if is_inside || !write(self.group.folder, c"cgroup.kill", b"1") {
            // The handle was opened before this check: it is of the process that is in the group.
            let still_in = self.members();
            for (_, handle) in handles.iter().filter(|(process, _)| still_in.contains(process)) {
                kill(handle);
            }
        }
        for (process, handle) in handles {
            wait_for(&[handle], PAUSE_MS);
            collect(process);
        }
    }

    fn is_patient(&mut self) -> bool {
        self.begun.elapsed() <= PATIENCE
    }
}

/// Kills what is in the groups of a session, whose folders are below `root`, and takes them away;
/// returns how many are left. Makes system calls only.
pub(super) fn end_session(root: RawFd, session: u64) -> usize {
    let whole = name(session << (4 * SESSION_DIGITS));
    let of_session = &whole[..PREFIX.len() + SESSION_DIGITS];
    end_groups(root, |name| name.starts_with(of_session))
}

/// As [`end_session`], of the groups with such names.
fn end_groups(root: RawFd, is_ended: impl Fn(&[u8]) -> bool) -> usize {
    let mut left = 0;
    let mut names = scan::names(root, c".");
    while let Some((name, _)) = names.next() {
        if !is_ended(name.to_bytes()) || remove(root, name, DEEPEST) {
            continue;
        }
        left += 1;
        let folder = open(root, name, FOLDER);
        if folder < 0 {
            continue;
        }
        if !write(folder, c"cgroup.kill", b"1") {
            each_member(folder, DEEPEST, &mut kill_process);
        }
        // SAFETY: opened above.
        unsafe { libc::close(folder) };
    }
    left
}

/// The name of a command's group, with a NUL.
fn name(number: u64) -> [u8; NAME] {
    let mut name = [0; NAME];
    let _ = write!(&mut name[..], "corun-{number:016x}");
    name
}

/// Removes a group and those below it; false if there is a process in one of them.
fn remove(above: RawFd, name: &CStr, depth: u32) -> bool {
    // SAFETY: a C string in an open folder.
    let is_removed =
        || unsafe { libc::unlinkat(above, name.as_ptr(), libc::AT_REMOVEDIR) } == 0 || is_missing();
    if is_removed() {
        return true;
    }
    if depth == 0 {
        return false;
    }
    let mut names = scan::names(above, name);
    let folder = names.folder();
    while let Some((below, is_folder)) = names.next() {
        if is_folder {
            remove(folder, below, depth - 1);
        }
    }
    is_removed()
}

/// True if the last call failed since there is no such group.
fn is_missing() -> bool {
    // SAFETY: reads this thread's errno.
    unsafe { *libc::__errno_location() == libc::ENOENT }
}

/// Calls back with every process of a group and of the groups below it; a process may occur twice.
fn each_member(folder: RawFd, depth: u32, visit: &mut dyn FnMut(i32)) {
    let list = open(folder, c"cgroup.procs", libc::O_RDONLY);
    if list >= 0 {
        let mut buffer = [0_u8; 1024];
        let mut number = 0_i32;
        loop {
            // SAFETY: the kernel writes at most as many bytes as the buffer has.
            let got = unsafe { libc::read(list, buffer.as_mut_ptr().cast(), buffer.len()) };
            let got = usize::try_from(got).unwrap_or(0);
            for &byte in &buffer[..got] {
                if byte.is_ascii_digit() {
                    number = number.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
                } else {
                    // 0 is a process of another namespace.
                    if number > 0 {
                        visit(number);
                    }
                    number = 0;
                }
            }
            if got == 0 {
                break;
            }
        }
        // SAFETY: opened above.
        unsafe { libc::close(list) };
    }
    if depth == 0 {
        return;
    }
    let mut names = scan::names(folder, c".");
    let above = names.folder();
    while let Some((name, is_folder)) = names.next() {
        if is_folder {
            let below = open(above, name, FOLDER);
            if below >= 0 {
                each_member(below, depth - 1, visit);
                // SAFETY: opened above.
                unsafe { libc::close(below) };
            }
        }
    }
}

fn open(above: RawFd, name: &CStr, flags: libc::c_int) -> RawFd {
    // SAFETY: opens by a C string.
    unsafe { libc::openat(above, name.as_ptr(), flags | libc::O_CLOEXEC) }
}

/// Writes to a file of the kernel; false if there is none, or it refuses.
fn write(folder: RawFd, name: &CStr, text: &[u8]) -> bool {
    let file = open(folder, name, libc::O_WRONLY);
    if file < 0 {
        return false;
    }
    // SAFETY: writes a live text to a descriptor that is closed afterwards.
    unsafe {
        let written = libc::write(file, text.as_ptr().cast(), text.len());
        libc::close(file);
        usize::try_from(written) == Ok(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_a_session_are_found_by_their_names() {
        let text = |number| {
            let name = name(number);
            CStr::from_bytes_until_nul(&name).unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(text(0x4000_00ab_0000_0007), "corun-400000ab00000007");
        assert!(text(0x4000_00ab << 32).starts_with("corun-400000ab"));
    }

    #[test]
    fn groups_that_a_killed_corun_left_are_ended_once_no_other_has_any() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["corun-400000ab00000007", "corun-400000ab00000007/below", "corun-home", "x"];
        let left = || {
            let mut left = names.to_vec();
            left.retain(|name| folder.path().join(name).exists());
            left
        };
        names.iter().for_each(|name| std::fs::create_dir(folder.path().join(name)).unwrap());
        let path = CString::new(folder.path().to_str().unwrap()).unwrap();
        let open_it = || open(libc::AT_FDCWD, &path, FOLDER);
        let other = open_it();
        // SAFETY: a lock on an open folder.
        assert_eq!(unsafe { libc::flock(other, libc::LOCK_SH) }, 0);
        let own = open_it();
        end_abandoned(own);
        assert_eq!(left(), names, "those of another corun that runs");
        for folder in [own, other] {
            // SAFETY: opened above, closed once.
            unsafe { libc::close(folder) };
        }
        let next = open_it();
        // A process that another test forks holds copies of the closed folders, and with them the lock, until it executes.
        for _ in 0..100_000 {
            end_abandoned(next);
            if !folder.path().join(names[0]).exists() {
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!(left(), ["corun-home", "x"]);
        // SAFETY: opened above, closed once.
        unsafe { libc::close(next) };
    }
}
