//! The user's request to stop, as something that a waiting loop can wait for, too.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Becomes readable once the user wants to stop, and stays so.
#[derive(Debug)]
pub struct Interrupt(UnixStream);

impl Interrupt {
    /// An interrupt and the end to write a byte to, from a signal handler for instance.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn new() -> io::Result<(Self, UnixStream)> {
        let (reader, writer) = UnixStream::pair()?;
        Ok((Self(reader), writer))
    }

    /// A second handle of the interrupt, for another that waits.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// True if the user wants to stop.
    pub fn is_raised(&self) -> bool {
        let mut poll = libc::pollfd {
            fd: std::os::fd::AsRawFd::as_raw_fd(&self.0),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd; returns at once.
        unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
