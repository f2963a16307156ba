//! Names in a folder: files that are created, links that are removed and made again.
//!
//! The original makes the file and its links in each call and removes them at its end; none of that is
//! credited, so here the reset does it, and an operation is a pair and nothing else.

use std::ffi::CString;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::AtFlags;

use super::at::{creat, stat, unlink};
use super::descriptor;
use crate::ended::end;
use crate::scratch::Scratch;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Job, Kernel, Tag};

/// `creat` and `close`, always of the same name: the first makes the file, the others empty it.
pub(super) static CREATE: Workload = Workload {
    descriptor: &names(
        "aim9/creat-clo",
        "creat and close of the same file",
        ["a creat and close", "pairs"],
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        let scratch = Arc::new(Scratch::new(CREATE.descriptor, workers)?);
        Job::of_each((0..workers.get()).map(|worker| {
            let mut create =
                Create { scratch: Arc::clone(&scratch), name: name(worker, 0), created: 0 };
            create.pair().map_err(|error| create.scratch.refused(error))?;
            Ok(create)
        }))
    },
};

/// `unlink` and `link` of the seven further names of a file, in turn.
pub(super) static LINK: Workload = Workload {
    descriptor: &names(
        "aim9/link_test",
        "unlink and link, in turn, of seven further names of a file",
        ["an unlink and link", "pairs"],
    ),
    unavailable: anywhere,
    prepare: |_, workers| {
        let scratch = Arc::new(Scratch::new(LINK.descriptor, workers)?);
        Job::of_each((0..workers.get()).map(|worker| {
            let names = std::array::from_fn(|number| name(worker, number));
            let mut link = Link { scratch: Arc::clone(&scratch), names, next: 0, pairs: 0 };
            link.make().map_err(|error| link.scratch.refused(error))?;
            Ok(link)
        }))
    },
};

const fn names(
    name: &'static str,
    summary: &'static str,
    counted: [&'static str; 2],
) -> Descriptor {
    Descriptor {
        // The block that a file system may need for the folder.
        disk_bytes: 4096,
        ..descriptor(name, summary, &[Tag::SystemCalls], counted, 1.0, "pairs/s")
    }
}

/// The name of a worker's file or link.
fn name(worker: usize, number: usize) -> CString {
    CString::new(format!("{worker}-{number}")).expect("digits are no zero bytes")
}

struct Create {
    scratch: Arc<Scratch>,
    name: CString,
    created: u64,
}

impl Create {
    #[inline(always)]
    fn pair(&mut self) -> Result<(), Errno> {
        drop(creat(&self.scratch, &self.name)?);
        self.created += 1;
        Ok(())
    }
}

impl Kernel for Create {
    /// # Panics
    /// If the folder is gone.
    fn reset(&mut self) {
        match unlink(&self.scratch, &self.name) {
            Ok(()) | Err(Errno::ENOENT) => self.created = 0,
            Err(error) => end("the file cannot be removed", error),
        }
    }

    /// # Panics
    /// If the system creates the file no more.
    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            self.pair().unwrap_or_else(|error| end("the file cannot be created", error));
        }
    }

    /// Number of times that the file was created or emptied; with one more, it is there, and empty.
    fn check(&self) -> u64 {
        let found = stat(&self.scratch, &self.name);
        self.created + u64::from(found.is_ok_and(|file| file.st_size == 0))
    }
}

/// The names of the file, its own among them.
const NAMES: usize = 8;

struct Link {
    scratch: Arc<Scratch>,
    names: [CString; NAMES],
    /// The link whose turn it is, counted from 0.
    next: usize,
    pairs: u64,
}

impl Link {
    /// Makes the file and all of its links.
    fn make(&mut self) -> Result<(), Errno> {
        creat(&self.scratch, &self.names[0])?;
        for link in 1..NAMES {
            match self.link(link) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(error),
            }
        }
        (self.next, self.pairs) = (0, 0);
        Ok(())
    }

    fn link(&self, link: usize) -> Result<(), Errno> {
        let [file, link] = [0, link].map(|name| self.names[name].as_c_str());
        nix::unistd::linkat(&*self.scratch, file, &*self.scratch, link, AtFlags::empty())
    }

    #[inline(always)]
    fn pair(&mut self) -> Result<(), Errno> {
        let link = 1 + self.next;
        unlink(&self.scratch, &self.names[link])?;
        self.link(link)?;
        self.next = link % (NAMES - 1);
        self.pairs += 1;
        Ok(())
    }
}

impl Kernel for Link {
    /// # Panics
    /// If the folder is gone.
    fn reset(&mut self) {
        self.make().unwrap_or_else(|error| end("the links cannot be made", error));
    }

    /// # Panics
    /// If the system makes the links no more.
    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            self.pair().unwrap_or_else(|error| end("the link cannot be made again", error));
        }
    }

    /// The pairs; with one more, the file has all of its names after them.
    fn check(&self) -> u64 {
        let found = stat(&self.scratch, &self.names[0]);
        self.pairs + u64::from(found.is_ok_and(|file| usize::try_from(file.st_nlink) == Ok(NAMES)))
    }
}
