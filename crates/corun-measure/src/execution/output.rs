//! Output of a worker: kept in memory, so that it need not be read while time is taken.
//!
//! Standard output and errors of one worker go to one memory file, in the order written. A worker
//! that writes without end loses its oldest lines, never the newest.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// More than this is cut away from the front while the worker runs, in bytes.
const KEEP: u64 = 16 << 20;

/// The captured output of one worker.
pub(crate) struct Capture(File);

impl Capture {
    /// An empty capture.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: memfd_create takes a C string and returns a new descriptor or -1.
        let raw = unsafe { libc::memfd_create(c"corun-output".as_ptr(), libc::MFD_CLOEXEC) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor. Appending makes writes land at the end after a truncation.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(raw) });
        // SAFETY: sets a status flag of an open descriptor.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(file))
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.0.set_len(0)
    }

    /// Forgets the oldest part when there is too much.
    pub(crate) fn trim(&self) {
        if self.0.metadata().is_ok_and(|metadata| metadata.len() > KEEP) {
            let tail = self.tail(KEEP as usize / 16);
            let _ = self.0.set_len(0);
            let _ = io::Write::write_all(&mut &self.0, tail.as_bytes());
        }
    }

    /// At most the last `most` bytes, as text.
    pub(crate) fn tail(&self, most: usize) -> String {
        let length = self.0.metadata().map_or(0, |metadata| metadata.len());
        let start = length.saturating_sub(most as u64);
        let mut bytes = vec![0; (length - start) as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.0.read_at(&mut bytes[filled..], start + filled as u64) {
                Ok(0) | Err(_) => break,
                Ok(count) => filled += count,
            }
        }
        bytes.truncate(filled);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Everything that was kept.
    pub(crate) fn text(&self) -> String {
        self.tail(KEEP as usize * 2)
    }
}

impl AsFd for Capture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The end of a sentence about a worker that failed: the last lines that it wrote.
pub(super) fn last_lines(output: &str) -> String {
    if output.trim().is_empty() {
        return "; it wrote nothing".to_owned();
    }
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let tail = &lines[lines.len().saturating_sub(10)..];
    format!("; its last lines:\n    {}", tail.join("\n    "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_newest_lines_survive_a_flood() {
        let capture = Capture::new().unwrap();
        let line = [b'x'; 4096];
        for _ in 0..(KEEP / 4096 + 10) {
            (&capture.0).write_all(&line).unwrap();
        }
        (&capture.0).write_all(b"\nthe last line").unwrap();
        capture.trim();
        assert!(capture.tail(100).ends_with("the last line"));
        assert!(capture.text().len() as u64 <= KEEP);
        (&capture.0).write_all(b"\nafter").unwrap();
        assert!(capture.text().ends_with("the last line\nafter"));
    }
}
