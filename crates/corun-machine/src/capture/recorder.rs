//! Files that note what is read of them.

use std::collections::{BTreeMap, BTreeSet};

use super::Capture;
use crate::{CpuSet, FileError, RootFiles, SystemFiles};

/// The mounts that decide which files LXCFS stands in front of; [`RootFiles`] reads them when it is opened.
const MOUNTS: [&str; 2] = ["proc/self/mounts", "proc/mounts"];
const STATUS: &str = "proc/self/status";
const MASK: &str = "Cpus_allowed_list:";

/// Passes everything on, and keeps it.
pub(super) struct Recorder<'a> {
    files: &'a mut RootFiles,
    texts: BTreeMap<String, String>,
    folders: BTreeSet<String>,
    affinity: Option<CpuSet>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(files: &'a mut RootFiles) -> Self {
        let (texts, folders) = (BTreeMap::new(), BTreeSet::new());
        let mut recorder = Self { files, texts, folders, affinity: None };
        let _ = MOUNTS.iter().any(|table| recorder.read(table).is_ok());
        recorder
    }

    /// Capture of the files that were read, with the affinity mask that the kernel granted in place of the listed one.
    pub(super) fn into_capture(mut self) -> Capture {
        if let Some(mask) = self.affinity.take() {
            let _ = self.read(STATUS);
            let status = self.texts.remove(STATUS).unwrap_or_default();
            let others = status.lines().filter(|line| !line.starts_with(MASK));
            let lines = others.map(str::to_owned).chain([format!("{MASK}\t{mask}")]);
            self.texts.insert(STATUS.to_owned(), lines.collect::<Vec<_>>().join("\n"));
        }
        Capture { files: self.texts, folders: self.folders }
    }

    fn keep(&mut self, path: &str, text: String) -> &str {
        let kept = self.texts.entry(path.to_owned()).or_default();
        // Of a file that was read in part and whole, the whole is kept.
        if text.len() >= kept.len() {
            *kept = text;
        }
        kept
    }
}

impl SystemFiles for Recorder<'_> {
    fn read(&mut self, path: &str) -> Result<&str, FileError> {
        let text = self.files.read(path)?.to_owned();
        Ok(self.keep(path, text))
    }

    fn read_start(&mut self, path: &str) -> Result<&str, FileError> {
        let text = self.files.read_start(path)?.to_owned();
        Ok(self.keep(path, text))
    }

    fn list(&mut self, directory: &str) -> Vec<String> {
        let names = self.files.list(directory);
        self.folders.extend(names.iter().map(|name| format!("{directory}/{name}")));
        names
    }

    fn affinity(&mut self) -> Option<CpuSet> {
        self.affinity = self.files.affinity();
        self.affinity.clone()
    }
}
