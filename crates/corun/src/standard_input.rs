//! Whether a program that corun runs several times can read standard input each time.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

/// Whether standard input is a pipe or a socket, so that a second run could not read what the first one did.
pub(crate) fn is_used_up() -> bool {
    // Without /proc, /dev/stdin does not exist, so the descriptor itself is asked.
    let input = io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let kind = input.and_then(|input| Ok(input.metadata()?.file_type()));
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}
