//! A System V semaphore: unlike a segment of shared memory, it cannot be removed while it is still in
//! use, so what a killed owner left is recognised by its key and removed by the next.

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use libc::{c_int, c_short};
use rustix::io::Errno;
use rustix::process::Pid;

/// The upper half of the keys of corun's semaphores; the lower half counts.
const KEYS: i32 = 0x636f;

/// Only their owner may use them.
const PERMISSIONS: c_int = 0o600;

/// A semaphore; removed when dropped.
pub(crate) struct Semaphore(c_int);

impl Semaphore {
    /// Makes a semaphore of this value.
    ///
    /// # Errors
    /// The system's, for instance if there are as many as it allows.
    pub(crate) fn new(value: u16) -> io::Result<Self> {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | PERMISSIONS;
        loop {
            // Processes begin at different places, so that they seldom meet.
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            let lower = next.wrapping_add((std::process::id() as u16).wrapping_mul(0x9e37));
            // SAFETY: takes numbers only.
            match unsafe { libc::semget(KEYS << 16 | i32::from(lower), 1, flags) } {
                -1 => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(error);
                    }
                }
                id => {
                    let semaphore = Self(id);
                    // SAFETY: this command takes a number.
                    succeed(unsafe { libc::semctl(id, 0, libc::SETVAL, c_int::from(value)) })?;
                    return Ok(semaphore);
                }
            }
        }
    }

    /// Takes one from the value, after it is positive (P).
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn wait(&self) -> io::Result<()> {
        self.change(-1)
    }

    /// Adds one to the value (V).
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn signal(&self) -> io::Result<()> {
        self.change(1)
    }

    fn change(&self, by: c_short) -> io::Result<()> {
        let mut change = libc::sembuf { sem_num: 0, sem_op: by, sem_flg: 0 };
        // SAFETY: one change is one change long.
        succeed(unsafe { libc::semop(self.0, &raw mut change, 1) })
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: this command takes no argument.
        unsafe { libc::semctl(self.0, 0, libc::IPC_RMID) };
    }
}

/// Removes the semaphores of this user that are corun's and whose owner is no more.
///
/// Source: proc(5), `/proc/sysvipc/sem`.
pub(crate) fn remove_abandoned() {
    let table = corun_files::kernel_text("/proc/sysvipc/sem").unwrap_or_default();
    let user = rustix::process::geteuid().as_raw();
    for id in table.lines().filter_map(|line| own(line, user)) {
        // SAFETY: this command takes no argument.
        let owner = unsafe { libc::semctl(id, 0, libc::GETPID) };
        // None while it is being made, or where its owner is out of sight.
        let owner = (owner > 0).then(|| Pid::from_raw(owner)).flatten();
        let is_gone = |owner| rustix::process::test_kill_process(owner) == Err(Errno::SRCH);
        if owner.is_some_and(is_gone) {
            drop(Semaphore(id));
        }
    }
}

/// The identifier in a line of the table, if the semaphore is corun's and this user's.
fn own(line: &str, user: u32) -> Option<c_int> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [key, id, permissions, number, owner, ..] = fields[..] else { return None };
    let is_own = key.parse::<i32>().ok()? >> 16 == KEYS
        && c_int::from_str_radix(permissions, 8).ok()? == PERMISSIONS
        && number == "1"
        && owner.parse::<u32>().ok()? == user;
    is_own.then(|| id.parse().ok())?
}

fn succeed(answer: c_int) -> io::Result<()> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;

    fn exists(id: c_int) -> bool {
        // SAFETY: this command takes no argument.
        unsafe { libc::semctl(id, 0, libc::GETVAL) != -1 }
    }

    #[test]
    fn only_corun_s_semaphores_of_this_user_are_its_own() {
        let line =
            |key: i32, permissions, user| format!("{key} 7 {permissions} 1 {user} 0 {user} 0 1 2");
        let key = KEYS << 16 | 5;
        assert_eq!(own(&line(key, "600", 3), 3), Some(7));
        assert_eq!(own(&line(key, "600", 3), 4), None);
        assert_eq!(own(&line(key, "666", 3), 3), None);
        assert_eq!(own(&line(0, "600", 3), 3), None);
        assert_eq!(own("key semid perms nsems uid gid cuid cgid otime ctime", 3), None);
    }

    #[test]
    fn a_semaphore_lasts_as_long_as_its_owner() {
        let semaphore = Semaphore::new(1).unwrap();
        semaphore.wait().unwrap();
        semaphore.signal().unwrap();
        let id = semaphore.0;
        remove_abandoned();
        assert!(exists(id), "its owner lives");
        drop(semaphore);
        assert!(!exists(id));
    }

    #[test]
    fn what_a_killed_owner_left_is_removed() {
        let (mut reported, mut report) = io::pipe().unwrap();
        let owner = Peer::fork(move || {
            use std::io::Write;
            let semaphore = Semaphore::new(1).unwrap();
            report.write_all(&semaphore.0.to_ne_bytes()).unwrap();
            // SAFETY: sleeps until it is killed.
            unsafe { libc::pause() };
        })
        .unwrap();
        let mut id = [0; 4];
        io::Read::read_exact(&mut reported, &mut id).unwrap();
        let id = c_int::from_ne_bytes(id);
        remove_abandoned();
        assert!(exists(id), "its owner lives");
        drop(owner);
        remove_abandoned();
        assert!(!exists(id));
    }
}
