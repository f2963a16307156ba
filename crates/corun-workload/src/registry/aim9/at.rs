//! The original's calls on names, for names in a folder of corun's own: the process does not change its
//! working directory, which its other threads have too.
//!
//! They go through the C library, as the original's do, whose share in the time is not always small.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{FileStat, Mode};
use nix::unistd::UnlinkatFlags;

/// Opens a file to write, new or emptied; all users may use it, less the process's mask.
#[inline(always)]
pub(super) fn creat(folder: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_CLOEXEC;
    nix::fcntl::openat(folder, name, flags, Mode::S_IRWXU | Mode::S_IRWXG | Mode::S_IRWXO)
}

#[inline(always)]
pub(super) fn unlink(folder: impl AsFd, name: &CStr) -> Result<(), Errno> {
    nix::unistd::unlinkat(folder, name, UnlinkatFlags::NoRemoveDir)
}

#[inline(always)]
pub(super) fn stat(folder: impl AsFd, name: &CStr) -> Result<FileStat, Errno> {
    nix::sys::stat::fstatat(folder, name, AtFlags::empty())
}
