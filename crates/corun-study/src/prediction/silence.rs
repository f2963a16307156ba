//! The output of a traced program is thrown away: the study is what the user wants to see.
#![expect(clippy::disallowed_methods, reason = "nothing is written")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// While it lives, what this process and those that it starts write to standard output is lost.
pub(super) struct Silence(OwnedFd);

impl Silence {
    pub(super) fn begin() -> io::Result<Self> {
        let shown = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
        Ok(Self(shown))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // Nothing can be shown; a later write to standard output fails, too.
        let _ = rustix::stdio::dup2_stdout(&self.0);
    }
}
