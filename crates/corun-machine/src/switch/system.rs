//! Actions of the switch on a system, beside reading: behind a trait, so that a simulated kernel
//! can be switched, interrupted at any step and inspected.

use std::io;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::{Affinity, CpuSet, RootFiles, SystemFiles};

/// A system whose SMT can be switched.
pub trait System: SystemFiles {
    /// Writes `text` to an existing file of the kernel, in one call.
    ///
    /// # Errors
    /// Text of the kernel.
    fn write(&mut self, path: &str, text: &str) -> io::Result<()>;

    /// Sets the affinity mask of a task (a thread, in the kernel's words).
    ///
    /// # Errors
    /// Text of the kernel.
    fn set_affinity(&mut self, task: u32, cpus: &CpuSet) -> io::Result<()>;

    /// Lets a moment pass before something is tried again.
    fn pause(&mut self);
}

impl System for RootFiles {
    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        let file = self.open_below(path, OFlags::WRONLY)?;
        match rustix::io::write(&file, text.as_bytes())? {
            written if written == text.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    fn set_affinity(&mut self, task: u32, cpus: &CpuSet) -> io::Result<()> {
        if !self.is_live() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let task = i32::try_from(task).map_err(|_| io::ErrorKind::InvalidInput)?;
        Affinity::new(cpus).apply(task)
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The text of a file; `None` where it is missing, unreadable or empty.
pub(super) fn text(files: &mut impl SystemFiles, path: &str) -> Option<String> {
    files.read(path).ok().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The names in a directory that are numbers, ascending.
pub(super) fn numbers(files: &mut impl SystemFiles, directory: &str) -> Vec<u32> {
    let names = files.list(directory);
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}
