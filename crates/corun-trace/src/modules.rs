//! The files that a traced process has its code from.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// So often a process's mappings are read at most: a program that loads libraries without end is not slowed down by that.
const MOST_READ: u32 = 256;

/// A part of a file in the memory of a traced process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// The file, or the kernel's name for what is none (`[vdso]`).
    pub path: String,
    /// Address of its first byte.
    pub address: u64,
    /// Bytes of it.
    pub size: u64,
    /// Place of the first byte in the file.
    pub offset: u64,
}

impl Module {
    /// True if it has this address.
    pub fn holds(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|it| it < self.size)
    }
}

/// The mappings of a process, read when it runs code at a place that was not known.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    /// By their begin. Memory of no file has an empty path.
    known: BTreeMap<u64, (Module, IsUsed)>,
    reads: u32,
}

type IsUsed = bool;

impl Mappings {
    /// The process of this task runs code here.
    pub(crate) fn note(&mut self, task: u32, address: u64) {
        if !self.mark(address) && self.reads < MOST_READ {
            self.read(task);
            self.mark(address);
        }
    }

    /// Reads the mappings of a task's process; nothing of one that has ended already.
    pub(crate) fn read(&mut self, task: u32) {
        self.reads += 1;
        let file = Path::new("/proc").join(task.to_string()).join("maps");
        self.learn(&corun_files::kernel_text(file).unwrap_or_default());
    }

    /// The files that code was run of.
    pub(crate) fn into_used(self) -> Vec<Module> {
        let used = self.known.into_values().filter(|(it, is_used)| *is_used && !it.path.is_empty());
        used.map(|(it, _)| it).collect()
    }

    /// Says whether it is known what lies there.
    fn mark(&mut self, address: u64) -> bool {
        let before = self.known.range_mut(..=address).next_back();
        let found = before.filter(|(_, (module, _))| module.holds(address));
        found.is_some_and(|(_, (_, is_used))| {
            *is_used = true;
            true
        })
    }

    fn learn(&mut self, maps: &str) {
        for module in maps.lines().filter_map(module) {
            let is_used = self.known.get(&module.address).is_some_and(|(_, is_used)| *is_used);
            if !is_used {
                self.known.insert(module.address, (module, false));
            }
        }
    }
}

/// A line of `/proc/PID/maps` (proc_pid_maps(5)).
fn module(line: &str) -> Option<Module> {
    let mut fields = line.splitn(6, ' ');
    let (range, _, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let path = fields.nth(2).unwrap_or_default().trim_start();
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (begin, end) = range.split_once('-')?;
    let address = number(begin)?;
    let size = number(end)?.checked_sub(address)?;
    // A thread's stack has a name, too.
    let is_file = path.starts_with('/') || path == "[vdso]";
    let path = if is_file { path } else { "" }.to_owned();
    Some(Module { path, address, size, offset: number(offset)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
555555554000-555555556000 r--p 00000000 fd:00 12 /tmp/a program
555555556000-555555559000 r-xp 00002000 fd:00 12                         /tmp/a program
7ffff7d00000-7ffff7d10000 rwxp 00000000 00:00 0 
7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn the_files_that_code_is_run_of_are_known_by_their_mappings() {
        let mut mappings = Mappings::default();
        mappings.learn(MAPS);
        assert!(mappings.mark(0x5555_5555_6000) && mappings.mark(0x7fff_f7d0_8000));
        assert!(mappings.mark(0x7fff_f7fc_2fff) && !mappings.mark(0x7fff_f7fc_3000));
        // Another file comes to lie where code was run.
        mappings.learn("555555556000-555555557000 r-xp 00000000 fd:00 13 /tmp/other");
        let used = mappings.into_used();
        let of = |path: &str, address, size, offset| Module {
            path: path.to_owned(),
            address,
            size,
            offset,
        };
        let program = of("/tmp/a program", 0x5555_5555_6000, 0x3000, 0x2000);
        assert_eq!(used, [program, of("[vdso]", 0x7fff_f7fc_1000, 0x2000, 0)]);
    }

    #[test]
    fn mappings_are_read_when_code_is_run_at_a_place_that_is_not_known() {
        let mut mappings = Mappings::default();
        let here: fn() = mappings_are_read_when_code_is_run_at_a_place_that_is_not_known;
        let address = here as usize;
        (0..3).for_each(|_| mappings.note(std::process::id(), address as u64));
        assert_eq!(mappings.reads, 1);
        let used = mappings.into_used();
        let own = std::env::current_exe().unwrap();
        assert_eq!(used.iter().map(|it| Path::new(&it.path)).collect::<Vec<_>>(), [own]);
    }
}
