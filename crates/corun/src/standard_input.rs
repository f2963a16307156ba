//! Standard input of corun: kept for programs that read it several times, or left unread, which is said.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use corun_files::InputKind;
use corun_predict::StandardInput;

use crate::problem::{Problem, say};

/// The most of standard input that is kept.
const KEPT: InputKind = InputKind { name: "standard input", most: 1 << 30 };

/// True if standard input is a pipe or a socket, so that a second run could not read what the first one did.
pub(crate) fn is_used_up() -> bool {
    // Without /proc, /dev/stdin does not exist, so the descriptor itself is asked.
    let input = io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let kind = input.and_then(|input| Ok(input.metadata()?.file_type()));
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}

/// Standard input as a program that runs several times finds it.
pub(crate) fn for_several_runs() -> StandardInput {
    let input = io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let is_file = input.and_then(|input| Ok(input.metadata()?.is_file()));
    match is_used_up() {
        true => StandardInput::Pipe,
        false if is_file.unwrap_or_default() => {
            StandardInput::File(PathBuf::from(format!("/proc/{}/fd/0", std::process::id())))
        }
        false => StandardInput::Other,
    }
}

/// The file that a program is to read as its standard input: the one named, or for `-` a file without a name that
/// holds all of corun's own standard input, so that each copy reads it from the start.
///
/// # Errors
/// If standard input is longer than 1 GiB, or cannot be read or kept.
pub(crate) fn file(named: Option<&Path>) -> Result<Option<PathBuf>, Problem> {
    match named {
        Some(name) if name == Path::new("-") => kept(io::stdin().lock()).map(Some),
        Some(name) => Ok(Some(name.to_owned())),
        None => Ok(None),
    }
}

fn kept(input: impl Read) -> Result<PathBuf, Problem> {
    let file = corun_files::kept(input, KEPT).map_err(|error| {
        Problem::failed(
            format!("could not keep standard input: {error}"),
            "Write it to a file, and name that: --stdin FILE.",
        )
    })?;
    // It is there for as long as corun is; programs do not inherit it, but open it again, each at its start.
    let descriptor = file.into_raw_fd();
    Ok(PathBuf::from(format!("/proc/{}/fd/{descriptor}", std::process::id())))
}

/// True if a program runs that could read standard input and does not, and nothing was said of it.
static IS_LEFT: AtomicBool = AtomicBool::new(false);

/// Leaves standard input alone for as long as corun runs.
pub(crate) fn leave_unread() {
    IS_LEFT.store(true, Ordering::Relaxed);
    remark_on_unread_pipe();
}

/// Says once that something is in a pipe on standard input that was left alone; who writes it may be late.
pub(crate) fn remark_on_unread_pipe() {
    if IS_LEFT.load(Ordering::Relaxed) && is_used_up() && is_filled() {
        IS_LEFT.store(false, Ordering::Relaxed);
        say(
            "corun: standard input is a pipe that nothing reads; `--stdin -` gives it to every run of the \
             command",
        );
    }
}

/// True if bytes wait on standard input.
fn is_filled() -> bool {
    let mut count: libc::c_int = 0;
    // SAFETY: the call writes one integer.
    unsafe {
        libc::ioctl(io::stdin().as_raw_fd(), libc::FIONREAD, &raw mut count) == 0 && count > 0
    }
}
