//! A file server's work without the network: the requests of its clients, as dbench 4 (Tridgell 1999
//! to 2007) makes them of a load file. A worker is a client, with a folder of its own.
//!
//! The system calls are the original's for each request; reading the load is none of them, since it is
//! read beforehand. Times of the recording are not waited for.

mod files;

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::load::{LOAD, Load, Replay};
use crate::scratch::Scratch;
use crate::{About, Job, Mode, Parameters, Tag, Tally, Usual, Workload, WorkloadError};
use files::FileClient;

pub(super) struct Dbench;

static ABOUT: About = About {
    name: "dbench",
    summary: "a file server's requests as system calls, replayed from a load file",
    tags: &[Tag::SystemCalls],
    parameters: &[LOAD],
    operation: "a request",
    counted: "requests",
    default_mode: Mode::Copies,
    usual: Usual::Siblings,
    line_sharing: None,
    // Of corun's own load; another one's is counted when it is read.
    disk_bytes: 8 << 20,
    least_operations: 1000,
    row: None,
    tallies: &[Tally { counted: "bytes" }],
    subtracts: None,
};

impl Workload for Dbench {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(
        &self,
        parameters: &Parameters,
        workers: NonZeroUsize,
    ) -> Result<Job, WorkloadError> {
        let load = Load::of(ABOUT.name, parameters)?;
        let scratch = Scratch::with_room(&ABOUT, workers, load.most_bytes(), load.longest_file())?;
        let scratch = Arc::new(scratch);
        Job::of_each((0..workers.get()).map(|worker| {
            let client = FileClient::new(&load, &scratch, worker)?;
            Ok(Replay::new(Arc::clone(&load), client))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_load_needs_no_more_room_than_is_said() {
        let most = Load::own().most_bytes();
        assert!((ABOUT.disk_bytes / 2..=ABOUT.disk_bytes).contains(&most), "{most}");
    }
}
