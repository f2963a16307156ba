//! A captured machine in memory: a quarter of a million small files are slow on a disk.

use std::collections::{BTreeMap, BTreeSet};

use corun_machine::{FileError, SystemFiles};

/// Files by their paths below the root.
#[derive(Default)]
pub(crate) struct CapturedFiles(BTreeMap<String, String>);

impl CapturedFiles {
    pub(crate) fn insert(&mut self, path: String, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_matches(|byte: char| byte == '\0' || byte.is_whitespace());
        self.0.insert(path, text.to_owned());
    }

    /// The NUMA nodes without a single CPU in their masks, found without corun's readers.
    pub(crate) fn memory_only(&self) -> BTreeSet<u32> {
        let nodes = self.below("sys/devices/system/node/");
        let number = |(path, mask): (&str, &str)| {
            let (node, file) = path.split_once('/')?;
            let none = !mask.contains(|digit: char| digit.is_ascii_hexdigit() && digit != '0');
            (file == "cpumap" && none).then(|| node.strip_prefix("node")?.parse().ok()).flatten()
        };
        nodes.filter_map(number).collect()
    }

    /// Files below a folder, their paths relative to it.
    fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .range(folder.to_owned()..)
            .map_while(move |(path, text)| Some((path.strip_prefix(folder)?, text.as_str())))
    }
}

impl SystemFiles for CapturedFiles {
    fn read(&mut self, path: &str) -> Result<&str, FileError> {
        self.0.get(path).map(String::as_str).ok_or(FileError::Missing)
    }

    fn list(&mut self, directory: &str) -> Vec<String> {
        let folder = format!("{directory}/");
        let mut names: Vec<String> = self
            .below(&folder)
            .filter_map(|(path, _)| path.split('/').next().map(str::to_owned))
            .collect();
        names.dedup();
        names
    }
}
