//! A traced program's output is thrown away, since the prediction is what the user wants to see.
#![expect(clippy::disallowed_methods, reason = "nothing is written")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// While it lives, what this process and those that it starts write to standard output is lost.
pub(crate) struct Silence(OwnedFd);

impl Silence {
    pub(crate) fn begin() -> io::Result<Self> {
        let shown = io::stdout().as_fd().try_clone_to_owned()?;
        replace_standard_output(&File::options().write(true).open("/dev/null")?.into())?;
        Ok(Self(shown))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // Nothing can be shown; a later write to standard output fails, too.
        let _ = replace_standard_output(&self.0);
    }
}

fn replace_standard_output(by: &OwnedFd) -> io::Result<()> {
    rustix::stdio::dup2_stdout(by).map_err(Into::into)
}
