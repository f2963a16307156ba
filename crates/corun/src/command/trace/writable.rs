//! Destination of a trace: standard output, a pipe, or a file that is there once it is complete.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use corun_files::{Output, is_descriptor};
use corun_record::shown;
use corun_trace::format::{Closing, end_early};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::problem::Problem;

/// A place that has been found writable.
pub(super) struct Writable {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    /// Standard output, a pipe, a device: written as it is.
    Direct(File),
    Whole(Output),
}

impl Writable {
    /// Opens the place that `path` names; `-` is standard output.
    pub(super) fn open(path: &Path) -> Result<Self, Problem> {
        let is_direct = is_descriptor(path) || (path.exists() && !path.is_file());
        let kind = match path {
            path if path == Path::new("-") => standard_output().map(Kind::Direct),
            path if is_direct => as_it_is(path).map(Kind::Direct),
            path => Output::create(path).map(Kind::Whole),
        };
        let kind = kind.map_err(|error| unwritable(path, &error))?;
        Ok(Self { path: path.to_owned(), kind })
    }

    /// File that the trace is written to.
    pub(super) fn writer(&self) -> Result<File, Problem> {
        let file = match &self.kind {
            Kind::Direct(file) => file,
            Kind::Whole(output) => output.file(),
        };
        file.try_clone().map_err(|error| unwritable(&self.path, &error))
    }

    /// True if this is a pipe whose reader has gone away (`head`): it has seen enough.
    pub(super) fn has_lost_its_reader(&self) -> bool {
        let Kind::Direct(file) = &self.kind else { return false };
        let mut polled = [PollFd::new(file, PollFlags::OUT)];
        let is_known = poll(&mut polled, Some(&Timespec::default())).is_ok();
        is_known && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    }

    /// The trace is complete: it takes its place.
    pub(super) fn finish(self) -> Result<(), Problem> {
        match self.kind {
            Kind::Direct(_) => Ok(()),
            Kind::Whole(output) => output.finish().map_err(|error| unwritable(&self.path, &error)),
        }
    }

    /// Keeps what can be read of a trace that could not be finished, at its place if nothing was there, else
    /// beside it; returns where, in a sentence.
    pub(super) fn keep_part(self, why: &str) -> String {
        const NOTHING: &str = "Nothing of it was kept.";
        let Kind::Whole(output) = self.kind else {
            return "What was written there may lack its end.".to_owned();
        };
        let ended = output.file().try_clone();
        let ended = ended.and_then(|file| end_early(file, &Closing::failed(why.to_owned())));
        if !matches!(ended, Ok(1..)) {
            return NOTHING.to_owned();
        }
        let mut target = output.target().to_owned();
        if target.exists() {
            target.as_mut_os_string().push(".partial");
        }
        match output.finish_as(&target) {
            Ok(()) => format!("What was recorded up to then can be read: {}.", shown(&target)),
            Err(_) => NOTHING.to_owned(),
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    let next_step = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Make room, or give another file with -o."
        }
        io::ErrorKind::FileTooLarge => "Allow longer files (ulimit -f), or record less.",
        _ => "Name a file in a folder that you may write to, or `-` for standard output.",
    };
    Problem::failed(format!("could not write {}: {error}", shown(path)), next_step)
}

#[expect(clippy::disallowed_methods, reason = "a trace is no text; it goes to a file or a program")]
fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().flush()?;
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

#[expect(clippy::disallowed_methods, reason = "this is the way to what is open already")]
fn as_it_is(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}
