//! The timed calls, through the C library, whose wrapper is part of what a program in C pays for a
//! system call, and so of what the original measures; the bare instruction takes less time.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::io::Errno;

/// As read(2); what was read may be less than `into` holds, and nothing at the end.
#[inline(always)]
pub(super) fn read(from: &impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    let from = from.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most as many bytes as there is room for.
    moved(unsafe { libc::read(from, into.as_mut_ptr().cast(), into.len()) })
}

/// As write(2).
#[inline(always)]
pub(super) fn write(to: &impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads as many bytes as there are.
    moved(unsafe { libc::write(to.as_fd().as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) })
}

/// As recv(2), without flags.
#[inline(always)]
pub(super) fn receive(from: &impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    let from = from.as_fd().as_raw_fd();
    // SAFETY: as for `read`.
    moved(unsafe { libc::recv(from, into.as_mut_ptr().cast(), into.len(), 0) })
}

/// As send(2), without flags.
#[inline(always)]
pub(super) fn send(to: &impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: as for `write`.
    moved(unsafe { libc::send(to.as_fd().as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) })
}

/// As open(2), for reading.
#[inline(always)]
pub(super) fn open(path: &CStr) -> Result<OwnedFd, Errno> {
    // SAFETY: the path ends with a zero byte.
    let opened = answered(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) })?;
    // SAFETY: it was opened just now, for the caller alone.
    Ok(unsafe { OwnedFd::from_raw_fd(opened as i32) })
}

/// The length that stat(2) reports.
#[inline(always)]
pub(super) fn length_at(path: &CStr) -> Result<u64, Errno> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends with a zero byte, and there is room for the answer.
    answered(unsafe { libc::stat(path.as_ptr(), found.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so it has written the answer.
    Ok(unsafe { found.assume_init_ref() }.st_size as u64)
}

/// The length that fstat(2) reports.
#[inline(always)]
pub(super) fn length_of(file: &impl AsFd) -> Result<u64, Errno> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: there is room for the answer.
    answered(unsafe { libc::fstat(file.as_fd().as_raw_fd(), found.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so it has written the answer.
    Ok(unsafe { found.assume_init_ref() }.st_size as u64)
}

/// As kill(2); signal 0 is checked, but not sent.
#[inline(always)]
pub(super) fn kill(process: libc::pid_t, signal: libc::c_int) -> Result<u64, Errno> {
    // SAFETY: touches no memory of this process; what the handler does is its author's business.
    answered(unsafe { libc::kill(process, signal) })
}

/// A value of libc's: -1 where the call failed.
#[inline(always)]
pub(super) fn answered(value: libc::c_int) -> Result<u64, Errno> {
    if value == -1 { Err(refusal()) } else { Ok(value as u64) }
}

#[inline(always)]
fn moved(value: libc::ssize_t) -> Result<usize, Errno> {
    if value == -1 { Err(refusal()) } else { Ok(value as usize) }
}

#[cold]
fn refusal() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
