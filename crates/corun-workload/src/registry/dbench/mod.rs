//! A file server's work without the network: the requests of its clients, as dbench 4 (Tridgell 1999
//! to 2007) makes them of a load file. A worker is a client, with a folder of its own.
//!
//! The system calls are the original's for each request; reading the load is none of them, since it is
//! read beforehand. Times of the recording are not waited for.

mod files;

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::load::{self, Load, Rehearsal, Replay};
use crate::scratch::Scratch;
use crate::{Descriptor, Job, Parameters, Tag, Workload, WorkloadError};
use files::FileClient;

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    // Of corun's own load; another one's is counted when it is read.
    disk_bytes: 8 << 20,
    ..load::descriptor(
        "dbench",
        "a file server's requests as system calls, replayed from a load file",
        &[Tag::SystemCalls],
    )
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let load = Load::of(ABOUT.name, parameters)?;
    let Rehearsal { most_bytes, mismatch } = load.rehearse();
    if let Some(mismatch) = mismatch {
        return Err(WorkloadError::MistakenLoad(mismatch));
    }
    let scratch = Scratch::with_room(&ABOUT, workers, most_bytes, load.longest_file())?;
    let scratch = Arc::new(scratch);
    Job::of_each((0..workers.get()).map(|worker| {
        let client = FileClient::new(&load, &scratch, worker)?;
        Ok(Replay::new(Arc::clone(&load), client))
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::LoadMismatch;
    use crate::load::Client;

    #[test]
    fn the_own_load_needs_no_more_room_than_is_said() {
        let most = Load::own().rehearse().most_bytes;
        assert!((ABOUT.disk_bytes / 2..=ABOUT.disk_bytes).contains(&most), "{most}");
    }

    /// First mismatch of two passes on a disk.
    fn replayed(load: &Arc<Load>) -> Option<LoadMismatch> {
        let scratch = Scratch::with_room(&ABOUT, NonZeroUsize::MIN, 1 << 20, 1 << 20).unwrap();
        let mut client = FileClient::new(load, &Arc::new(scratch), 0).unwrap();
        client.reset().unwrap();
        ["", " when the load is replayed again"].into_iter().find_map(|pass| {
            client.begin_pass();
            let mut mismatch = load.lines.iter().find_map(|line| client.request(line).err())?;
            mismatch.found.push_str(pass);
            Some(mismatch)
        })
    }

    /// A load of those lines that can be read.
    fn readable(lines: &[String]) -> Option<(Vec<String>, Arc<Load>)> {
        let mut kept = Vec::new();
        let mut load = None;
        for line in lines {
            kept.push(line.clone());
            match Load::parse("test", &kept.join("\n")) {
                Ok(read) => load = Some(read),
                Err(_) => _ = kept.pop(),
            }
        }
        Some((kept, Arc::new(load?)))
    }

    /// Texts that match a regular expression.
    fn text(expression: String) -> impl Strategy<Value = String> {
        proptest::string::string_regex(&expression).unwrap()
    }

    const PATH: &str = r#""\\(a|b|a\\c|a\\c\\d|b\\e)""#;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Each mismatch is corrected, until there is none.
        #[test]
        fn a_rehearsal_ends_like_a_replay(lines in proptest::collection::vec(
            prop_oneof![
                4 => text(format!("NTCreateX {PATH} [01] [1256] [123] (0x0|0x0|0xC0000035)")),
                2 => "(Close|Flush|QUERY_FILE_INFORMATION) [123] 0x0",
                2 => "WriteX [123] (0|5000) 70 70 0x0",
                2 => "ReadX [123] (0|5040) 70 (70|30) 0x0",
                1 => text(format!("Rename {PATH} {PATH} 0x0")),
                3 => text(format!("(Mkdir|Rmdir|Unlink|Deltree) {PATH} 0x0")),
            ],
            1..24,
        )) {
            let mut lines = lines;
            while let Some((kept, load)) = readable(&lines) {
                let rehearsed = load.rehearse().mismatch;
                prop_assert_eq!(&rehearsed, &replayed(&load), "{}", kept.join("\n"));
                let Some(LoadMismatch { line, .. }) = rehearsed else { break };
                lines = kept;
                match lines[line as usize - 1].strip_suffix("0x0") {
                    Some(request) => lines[line as usize - 1] = format!("{request}0xC0000001"),
                    None => drop(lines.remove(line as usize - 1)),
                }
            }
        }
    }
}
