//! The numbers of all processes, read without allocating: the watchdog is a copy of a process that
//! may have had other threads, and must not wait for a lock of theirs.

const BUFFER: usize = 4096;

/// The processes of `/proc`, as they are listed while this is read; nothing without `/proc`.
pub(super) struct Processes {
    folder: libc::c_int,
    entries: [u64; BUFFER / 8],
    filled: usize,
    next: usize,
}

/// All processes.
pub(super) fn all() -> Processes {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: opens a folder by a C string.
    let folder = unsafe { libc::open(c"/proc".as_ptr(), flags) };
    Processes { folder, entries: [0; BUFFER / 8], filled: 0, next: 0 }
}

impl Processes {
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
        loop {
            if self.next >= self.filled && !self.refill() {
                return None;
            }
            // `struct linux_dirent64`: inode and offset of 8 bytes each, the record's length of 2,
            // a type of 1, the name.
            let entry = self.bytes().get(self.next..self.filled)?;
            let length = u16::from_ne_bytes([*entry.get(16)?, *entry.get(17)?]);
            let name = entry.get(19..usize::from(length))?;
            let number = number(name);
            self.next += usize::from(length);
            if number.is_some() {
                return number;
            }
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        if self.folder >= 0 {
            // SAFETY: opened by `all`, closed once.
            unsafe { libc::close(self.folder) };
        }
    }
}

/// A name that is a positive number, up to its NUL.
fn number(name: &[u8]) -> Option<i32> {
    let mut number = None;
    for &byte in name.iter().take_while(|byte| **byte != 0) {
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
    fn only_numbers_are_processes() {
        assert_eq!(number(b"123\0xx"), Some(123));
        assert_eq!(number(b"2147483647\0"), Some(i32::MAX));
        for other in [&b"self\0"[..], b"0\0", b"\0", b"12a\0", b"2147483648\0", b"."] {
            assert_eq!(number(other), None, "{other:?}");
        }
    }
}
