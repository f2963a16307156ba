//! The names in a folder and the numbers of all processes, read without allocating: the watchdog is a
//! copy of a process that may have had other threads, and must not wait for a lock of theirs.

use std::ffi::CStr;

const BUFFER: usize = 4096;

/// The names in a folder, as they are listed while this is read; none in one that cannot be opened.
pub(super) struct Names {
    folder: libc::c_int,
    entries: [u64; BUFFER / 8],
    filled: usize,
    next: usize,
}

/// The processes of `/proc`; without it, the numbers that a descendant of this one can have.
pub(super) struct Processes {
    listed: Names,
    numbers: Option<Numbers>,
}

/// All processes, or at least all numbers of those that were started after this one.
pub(super) fn all() -> Processes {
    let listed = names(libc::AT_FDCWD, c"/proc/self/..");
    let numbers = (listed.folder() < 0).then(numbers);
    Processes { listed, numbers }
}

/// Numbers of processes, which the kernel gives in ascending order and then from the beginning again.
pub(super) struct Numbers {
    next: i32,
    last: i32,
}

/// The highest number of a process (`PID_MAX_LIMIT`).
const HIGHEST: i32 = 4 << 20;

/// From this process's number up to that of a process that is started here and now.
fn numbers() -> Numbers {
    // SAFETY: asks for a number; the child ends at once, and is waited for.
    let (own, newest) = unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(0);
        }
        libc::waitpid(child, std::ptr::null_mut(), 0);
        (libc::getpid(), child)
    };
    Numbers { next: own, last: if newest > 0 { newest } else { HIGHEST } }
}

impl Iterator for Numbers {
    type Item = i32;

    fn next(&mut self) -> Option<i32> {
        if self.next == self.last {
            return None;
        }
        self.next = if self.next >= HIGHEST { 1 } else { self.next + 1 };
        Some(self.next)
    }
}

/// The names in a folder, which is opened below another one.
pub(super) fn names(above: libc::c_int, folder: &CStr) -> Names {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: opens a folder by a C string.
    let folder = unsafe { libc::openat(above, folder.as_ptr(), flags) };
    Names { folder, entries: [0; BUFFER / 8], filled: 0, next: 0 }
}

impl Names {
    /// The folder's descriptor, which lives as long as this.
    pub(super) fn folder(&self) -> libc::c_int {
        self.folder
    }

    /// The next one, and whether it is a folder; `.` and `..` are left out.
    pub(super) fn next(&mut self) -> Option<(&CStr, bool)> {
        loop {
            if self.next >= self.filled && !self.refill() {
                return None;
            }
            // `struct linux_dirent64`: inode and offset of 8 bytes each, the record's length of 2,
            // a type of 1, the name.
            let begin = self.next;
            let entry = self.bytes().get(begin..self.filled)?;
            let length = usize::from(u16::from_ne_bytes([*entry.get(16)?, *entry.get(17)?]));
            let (kind, name) = (*entry.get(18)?, entry.get(19..length)?);
            let is_itself = name.starts_with(b".\0") || name.starts_with(b"..\0");
            self.next += length;
            if !is_itself {
                let name = self.bytes().get(begin + 19..begin + length)?;
                return Some((CStr::from_bytes_until_nul(name).ok()?, kind == libc::DT_DIR));
            }
        }
    }

    /// Reads the next entries; false at the end.
    fn refill(&mut self) -> bool {
        if self.folder < 0 {
            return false;
        }
        // SAFETY: the kernel writes at most as many bytes as the buffer has.
        let read = unsafe {
            libc::syscall(libc::SYS_getdents64, self.folder, self.entries.as_mut_ptr(), BUFFER)
        };
        self.next = 0;
        self.filled = usize::try_from(read).unwrap_or(0);
        self.filled > 0
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the same memory, seen as bytes.
        unsafe { std::slice::from_raw_parts(self.entries.as_ptr().cast(), BUFFER) }
    }
}

impl Iterator for Processes {
    type Item = i32;

    fn next(&mut self) -> Option<i32> {
        if let Some(numbers) = &mut self.numbers {
            return numbers.next();
        }
        loop {
            if let Some(number) = number(self.listed.next()?.0.to_bytes()) {
                return Some(number);
            }
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        if self.folder >= 0 {
            // SAFETY: opened by `names`, closed once.
            unsafe { libc::close(self.folder) };
        }
    }
}

/// A name that is a positive number.
fn number(name: &[u8]) -> Option<i32> {
    let mut number = None;
    for &byte in name {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = i32::from(byte - b'0');
        number = Some(number.unwrap_or(0_i32).checked_mul(10)?.checked_add(digit)?);
    }
    number.filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_among_all() {
        assert!(all().any(|process| process == std::process::id().cast_signed()));
    }

    #[test]
    fn numbers_go_from_this_process_to_the_newest_around_the_end() {
        let listed = |next, last| Numbers { next, last }.collect::<Vec<_>>();
        assert_eq!(listed(7, 10), [8, 9, 10]);
        assert_eq!(listed(HIGHEST - 1, 2), [HIGHEST, 1, 2]);
        assert_eq!(listed(7, 7), [0_i32; 0]);
        let newest = numbers().last;
        assert!(newest > 0 && newest != std::process::id().cast_signed());
    }

    #[test]
    fn only_numbers_are_processes() {
        assert_eq!(number(b"123"), Some(123));
        assert_eq!(number(b"2147483647"), Some(i32::MAX));
        for other in [&b"self"[..], b"0", b"", b"12a", b"2147483648", b"."] {
            assert_eq!(number(other), None, "{other:?}");
        }
    }
}
