//! Finding names in a tree of folders: half of them are there, the others are made and removed.
//!
//! The tree and the lists have the original's shape (eight folders, up to five levels deep, with 40
//! files each; 57 names to look up and 43 to make, in 75 slots in random order). Reading and shuffling
//! the lists is not credited, so `prepare` does it, once; the original does it in each call.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use nix::errno::Errno;

use super::at::{creat, stat, unlink};
use super::descriptor;
use super::random::Random;
use crate::ended::end;
use crate::scratch::Scratch;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Job, Kernel, Parameters, Tag, Tally, WorkloadError};

/// A search is one slot of the lists: a name is looked up, or one is made and removed, or both, or
/// (in every tenth, about) neither.
pub(super) static SEARCH: Workload = Workload {
    descriptor: &Descriptor {
        // The folders and the root, a block each; empty files need none.
        disk_bytes: 24 * 4096,
        tallies: &[Tally { counted: "names looked up" }, Tally { counted: "files made" }],
        ..descriptor(
            "aim9/disk_src",
            "stat of names in a tree of folders; creat, close, unlink of others",
            &[Tag::SystemCalls],
            ["a search", "searches"],
            1.0,
            "searches/s",
        )
    },
    unavailable: anywhere,
    prepare,
};

/// The folders that hold files.
const FOLDERS: [&str; 8] = [
    ".",
    "bin",
    "home/first",
    "usr/share/doc/tools",
    "home/second/project/source",
    "var/spool/mail/queue",
    "home/second/backup/tools/compress",
    "home/third/system/source/manual/commands",
];

/// Files in each folder.
const FILES: usize = 40;

const SLOTS: usize = 75;
const LOOKED_UP: usize = 57;
const MADE: usize = 43;

fn prepare(_: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let scratch = Arc::new(Scratch::new(SEARCH.descriptor, workers)?);
    let root = scratch.path();
    Job::of_each((0..workers.get()).map(|worker| {
        let tree = worker.to_string();
        make_tree(&root.join(&tree)).map_err(|error| scratch.refused(error))?;
        let mut random = Random::new();
        Ok(Search {
            scratch: Arc::clone(&scratch),
            found: shuffled(LOOKED_UP, &mut random, |folder, number| {
                // Spread over the folder, as far from one another as they can be.
                path(&tree, folder, &format!("file{:02}", (5 * number + 4) % FILES))
            }),
            made: shuffled(MADE, &mut random, |folder, number| {
                path(&tree, folder, &format!("new{number}"))
            }),
            next: 0,
            tallies: [0; 2],
        })
    }))
}

fn make_tree(root: &Path) -> io::Result<()> {
    fs::create_dir(root)?;
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        fs::create_dir_all(&folder)?;
        for file in 0..FILES {
            File::create_new(folder.join(format!("file{file:02}")))?;
        }
    }
    Ok(())
}

fn path(tree: &str, folder: &str, name: &str) -> CString {
    CString::new(format!("{tree}/{folder}/{name}")).expect("the names hold no zero bytes")
}

/// Names in turn from all folders, and empty slots, after five passes of random swaps.
fn shuffled(
    names: usize,
    random: &mut Random,
    name: impl Fn(&str, usize) -> CString,
) -> [Option<CString>; SLOTS] {
    let mut slots = std::array::from_fn(|slot| {
        let (folder, number) = (FOLDERS[slot % FOLDERS.len()], slot / FOLDERS.len());
        (slot < names).then(|| name(folder, number))
    });
    for slot in (0..SLOTS).cycle().take(5 * SLOTS) {
        slots.swap(slot, random.next() as usize % SLOTS);
    }
    slots
}

struct Search {
    scratch: Arc<Scratch>,
    /// The names to look up.
    found: [Option<CString>; SLOTS],
    /// The names to make.
    made: [Option<CString>; SLOTS],
    next: usize,
    tallies: [u64; 2],
}

impl Search {
    fn slot(&mut self) -> Result<(), Errno> {
        if let Some(name) = &self.found[self.next] {
            stat(&self.scratch, name)?;
            self.tallies[0] += 1;
        }
        if let Some(name) = &self.made[self.next] {
            drop(creat(&self.scratch, name)?);
            unlink(&self.scratch, name)?;
            self.tallies[1] += 1;
        }
        self.next = (self.next + 1) % SLOTS;
        Ok(())
    }
}

impl Kernel for Search {
    fn reset(&mut self) {
        (self.next, self.tallies) = (0, [0; 2]);
    }

    /// # Panics
    /// If the tree is gone, or the file system takes no more names.
    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            self.slot().unwrap_or_else(|error| end("a name cannot be found or made", error));
        }
    }

    fn tallies(&self) -> Vec<u64> {
        self.tallies.to_vec()
    }

    /// The names looked up, and those made.
    fn check(&self) -> u64 {
        self.tallies[0] << 32 | self.tallies[1]
    }
}
