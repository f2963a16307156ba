//! System that a check may read: files, the machine that was read from them, and what was watched.

use std::str::FromStr;

use super::check::CheckUnavailable;
use super::report::Evidence;
use super::watch::Watch;
use crate::boot_line::{self, BootLine};
use crate::control_groups::{Mount, ShownGroup, mounts};
use crate::hypervisor::{self, Hypervisor};
use crate::{CpuSet, FileError, Machine, SystemFiles};

/// The folder of the CPUs, below the root.
pub(super) const CPUS: &str = "sys/devices/system/cpu";

/// So many different texts of one file are shown.
const SHOWN: usize = 8;

/// A machine under examination.
pub(super) struct System<'a> {
    files: &'a mut dyn SystemFiles,
    pub(super) machine: &'a Machine,
    watch: Option<&'a Watch>,
}

impl<'a> System<'a> {
    pub(super) fn new(
        files: &'a mut dyn SystemFiles,
        machine: &'a Machine,
        watch: Option<&'a Watch>,
    ) -> Self {
        Self { files, machine, watch }
    }

    /// The text of a file that the check cannot do without.
    pub(super) fn read(&mut self, file: &str) -> Result<Evidence, CheckUnavailable> {
        evidence(file, self.files.read(file))
    }

    /// The beginning of a file that repeats itself for each CPU.
    pub(super) fn read_start(&mut self, file: &str) -> Result<Evidence, CheckUnavailable> {
        evidence(file, self.files.read_start(file))
    }

    /// The text of a file that not every machine has.
    pub(super) fn find(&mut self, file: &str) -> Result<Option<Evidence>, CheckUnavailable> {
        match self.files.read(file) {
            Err(FileError::Missing) => Ok(None),
            Ok(_) | Err(FileError::Unreadable(_)) => self.read(file).map(Some),
        }
    }

    /// The hypervisor below the kernel.
    pub(super) fn hypervisor(&mut self) -> Hypervisor {
        hypervisor::find(self.files)
    }

    /// The names in a directory, sorted; none if it cannot be listed.
    pub(super) fn list(&mut self, directory: &str) -> Vec<String> {
        let mut names = self.files.list(directory);
        names.sort();
        names
    }

    /// The watch; a captured tree has none.
    pub(super) fn watch(&self) -> Result<&'a Watch, CheckUnavailable> {
        self.watch.ok_or_else(|| {
            CheckUnavailable::new("It has to be watched, which a captured tree cannot be.")
        })
    }

    /// The mounts of control groups.
    pub(super) fn mounts(&mut self) -> Result<Vec<Mount>, CheckUnavailable> {
        mounts(self.files).map_err(|(file, error)| cannot_read(file, error))
    }

    /// True if the topmost folder of a control group is the root of its hierarchy.
    pub(super) fn reaches_root(&mut self, group: &ShownGroup) -> Result<bool, CheckUnavailable> {
        group.reaches_root(self.files).map_err(|error| cannot_read(&group.mount.point, error))
    }

    /// The kernel's command line.
    pub(super) fn boot_line(&mut self) -> Result<BootLine, CheckUnavailable> {
        self.read(boot_line::FILE).map(|line| BootLine::new(&line.text))
    }

    /// The CPUs that a measurement may use.
    pub(super) fn cpus(&self) -> CpuSet {
        let allowed = self.machine.allowed();
        if allowed.is_empty() { self.machine.online() } else { allowed }
    }

    /// The CPUs that a measurement may use, and their online siblings.
    pub(super) fn cpus_and_siblings(&self) -> CpuSet {
        let siblings = |cpu| self.machine.cpu(cpu).map(|cpu| cpu.siblings.clone());
        let siblings: CpuSet = self
            .cpus()
            .iter()
            .filter_map(siblings)
            .flat_map(|siblings| siblings.as_slice().to_vec())
            .collect();
        siblings.intersection(&self.machine.online()).union(&self.cpus())
    }

    /// The texts of a file that every CPU has, each with the CPUs (of those that a measurement may
    /// use) that have it; none where no CPU has the file.
    pub(super) fn of_each_cpu(&mut self, name: &str) -> Result<OfEachCpu, CheckUnavailable> {
        self.of_cpus(&self.cpus(), name)
    }

    /// As [`Self::of_each_cpu`], of these CPUs.
    pub(super) fn of_cpus(
        &mut self,
        cpus: &CpuSet,
        name: &str,
    ) -> Result<OfEachCpu, CheckUnavailable> {
        let mut values: Vec<(String, CpuSet)> = Vec::new();
        for cpu in cpus.iter() {
            let Some(found) = self.find(&format!("{CPUS}/cpu{cpu}/{name}"))? else { continue };
            match values.iter_mut().find(|(text, _)| *text == found.text) {
                Some((_, cpus)) => cpus.insert(cpu),
                None => values.push((found.text, CpuSet::from([cpu]))),
            }
        }
        Ok(OfEachCpu { file: format!("{CPUS}/cpu*/{name}"), values })
    }
}

/// A file that every CPU has: its texts and the CPUs that have them.
#[derive(Debug, Clone)]
pub(super) struct OfEachCpu {
    file: String,
    pub(super) values: Vec<(String, CpuSet)>,
}

impl OfEachCpu {
    /// The only text, if all CPUs have the same.
    pub(super) fn only(&self) -> Option<&str> {
        match &self.values[..] {
            [(text, _)] => Some(text),
            _ => None,
        }
    }

    /// The texts as numbers.
    pub(super) fn numbers(&self) -> Result<Vec<(u64, CpuSet)>, CheckUnavailable> {
        let number = |(text, cpus): &(String, CpuSet)| {
            Ok((Evidence::new(self.file.clone(), text).number()?, cpus.clone()))
        };
        self.values.iter().map(number).collect()
    }

    /// The texts with their CPUs, as evidence; none where no CPU has the file.
    pub(super) fn evidence(&self) -> Option<Evidence> {
        let text = match &self.values[..] {
            [] => return None,
            [(text, _)] => text.clone(),
            several => {
                let shown = several.iter().take(SHOWN);
                let mut texts: Vec<String> =
                    shown.map(|(text, cpus)| format!("{text} (CPUs {cpus})")).collect();
                if several.len() > SHOWN {
                    texts.push(format!("and {} others", several.len() - SHOWN));
                }
                texts.join(", ")
            }
        };
        Some(Evidence::new(self.file.clone(), text))
    }
}

impl Evidence {
    pub(super) fn new(file: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    /// A word of the kernel's command line.
    pub(super) fn boot_word(word: &str) -> Self {
        Self::new(boot_line::FILE, word)
    }

    /// The text as a number.
    pub(super) fn number<N: FromStr>(&self) -> Result<N, CheckUnavailable> {
        self.text.parse().map_err(|_| self.unexpected("a number"))
    }

    /// The text is not what the kernel documents.
    pub(super) fn unexpected(&self, expected: &str) -> CheckUnavailable {
        CheckUnavailable {
            sentence: format!("Expected {expected} in /{}, found something else.", self.file),
            evidence: vec![self.clone()],
        }
    }
}

fn evidence(file: &str, text: Result<&str, FileError>) -> Result<Evidence, CheckUnavailable> {
    text.map(|text| Evidence::new(file, text)).map_err(|error| cannot_read(file, error))
}

fn cannot_read(file: &str, error: FileError) -> CheckUnavailable {
    match error {
        FileError::Missing => CheckUnavailable::new(format!("It takes /{file}, which is missing.")),
        FileError::Unreadable(why) => CheckUnavailable {
            sentence: format!("It takes /{file}, which cannot be read."),
            evidence: vec![Evidence::new(file, why)],
        },
    }
}
