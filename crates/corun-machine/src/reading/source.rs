//! Reading with complaints: what cannot be read or understood becomes a finding and `None`.

use std::collections::HashMap;
use std::fmt::{Display, Write as _};

use crate::finding::Findings;
use crate::{CpuSet, CpuSetError, FileError, FindingKind, SystemFiles};

/// Folder in which the kernel describes its CPUs, below the root.
pub(super) const CPU_FOLDER: &str = "sys/devices/system/cpu";

/// The files of a system and what was odd about them.
pub(super) struct Source<'a, F> {
    pub(super) files: &'a mut F,
    pub(super) findings: Findings,
    path: String,
}

impl<'a, F: SystemFiles> Source<'a, F> {
    pub(super) fn new(files: &'a mut F) -> Self {
        Self { files, findings: Findings::default(), path: String::new() }
    }

    /// The text of a file; `None`, silently, where it is missing or empty.
    pub(super) fn text(&mut self, path: &str) -> Option<&str> {
        match self.files.read(path) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(FileError::Missing) => None,
            Err(error) => {
                let kind = FindingKind::UnreadableFile;
                self.findings.add(kind, path, error.to_string(), &CpuSet::new());
                None
            }
        }
    }

    /// The text of a file in the folder of a CPU.
    pub(super) fn cpu_text(&mut self, cpu: u32, name: impl Display) -> Option<&str> {
        self.path.clear();
        let _ = write!(self.path, "{CPU_FOLDER}/cpu{cpu}/{name}");
        match self.files.read(&self.path) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(FileError::Missing) => None,
            Err(error) => {
                let kind = FindingKind::UnreadableFile;
                self.findings.add(kind, of_each(name), error.to_string(), &CpuSet::from([cpu]));
                None
            }
        }
    }

    /// A set of CPUs or NUMA nodes in the list form.
    pub(super) fn list(&mut self, path: &str) -> Option<CpuSet> {
        let set = CpuSet::from_list(self.text(path)?);
        set.map_err(|error| self.malformed(path, &error.to_string(), &CpuSet::new())).ok()
    }

    /// A set of CPUs in the mask form.
    pub(super) fn mask(&mut self, path: &str) -> Option<CpuSet> {
        let set = CpuSet::from_mask(self.text(path)?);
        set.map_err(|error| self.malformed(path, &error.to_string(), &CpuSet::new())).ok()
    }

    /// A number in the folder of a CPU; `None` too where the kernel says -1 for "not known".
    pub(super) fn cpu_number(&mut self, cpu: u32, name: impl Display) -> Option<u32> {
        let number = parse_number(self.cpu_text(cpu, &name)?);
        number
            .map_err(|what| self.malformed(&of_each(name), &what, &CpuSet::from([cpu])))
            .ok()
            .flatten()
    }

    pub(super) fn malformed(&mut self, file: &str, what: &str, cpus: &CpuSet) {
        self.findings.add(FindingKind::MalformedFile, file, what, cpus);
    }
}

/// The name under which findings speak of a file that every CPU has.
pub(super) fn of_each(name: impl Display) -> String {
    format!("{CPU_FOLDER}/cpu*/{name}")
}

fn parse_number(text: &str) -> Result<Option<u32>, String> {
    match text.parse::<i64>() {
        Ok(number) => Ok(u32::try_from(number).ok()),
        Err(_) => Err(format!("expected a number, found `{text}`")),
    }
}

/// Reads one kind of CPU set from the folders of many CPUs.
///
/// Kernels have named and formed these files differently; the form that worked for the last CPU is
/// tried first. Equal texts are parsed once, and have the same [`SetId`].
pub(super) struct CpuSets {
    forms: Vec<(&'static str, Form)>,
    ids: HashMap<(Form, Box<str>), Option<SetId>>,
    sets: Vec<CpuSet>,
}

/// Names a set among those that a [`CpuSets`] has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SetId(usize);

/// The two text forms of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    List,
    Mask,
}

impl CpuSets {
    /// Sets from files of these names, the preferred first.
    pub(super) fn new(forms: &[(&'static str, Form)]) -> Self {
        Self { forms: forms.to_vec(), ids: HashMap::new(), sets: Vec::new() }
    }

    pub(super) fn get(&self, id: SetId) -> &CpuSet {
        &self.sets[id.0]
    }

    /// Reads the set of `cpu` from `folder` in the folder of that CPU.
    pub(super) fn read<F: SystemFiles>(
        &mut self,
        source: &mut Source<'_, F>,
        cpu: u32,
        folder: impl Display,
    ) -> Option<SetId> {
        for attempt in 0..self.forms.len() {
            let (name, form) = self.forms[attempt];
            let Some(text) = source.cpu_text(cpu, format_args!("{folder}/{name}")) else {
                continue;
            };
            let key = (form, Box::from(text));
            let id = match self.ids.get(&key) {
                Some(known) => *known,
                None => {
                    let parsed = parse(text, form).map_err(|error| {
                        let file = of_each(format_args!("{folder}/{name}"));
                        source.malformed(&file, &error.to_string(), &CpuSet::from([cpu]));
                    });
                    let id = parsed.ok().map(|set| {
                        self.sets.push(set);
                        SetId(self.sets.len() - 1)
                    });
                    self.ids.insert(key, id);
                    id
                }
            };
            if id.is_some() {
                self.forms.swap(0, attempt);
                return id;
            }
        }
        None
    }
}

fn parse(text: &str, form: Form) -> Result<CpuSet, CpuSetError> {
    match form {
        Form::List => CpuSet::from_list(text),
        Form::Mask => CpuSet::from_mask(text),
    }
}
