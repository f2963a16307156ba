//! The files of the corpus: a `.test` file names a captured machine, hwloc's output, and options.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use bzip2::read::BzDecoder;
use corun_machine::Machine;

use crate::hwloc::captured::CapturedFiles;
use crate::hwloc::facts::Aspect;

/// One `.test` file and all that it names.
pub(crate) struct Case {
    pub name: String,
    pub machine: Machine,
    /// NUMA nodes to which the kernel assigns no CPU.
    pub memory_only: BTreeSet<u32>,
    /// hwloc's output, XML or indented text.
    pub expected: String,
    /// hwloc was asked for what the cpuset forbids, too.
    pub with_disallowed: bool,
    /// hwloc was asked to leave out caches.
    pub without_caches: bool,
    /// hwloc was asked to leave out what adds no structure.
    pub leaves_out: bool,
}

/// All cases, by name.
pub(crate) fn cases(folder: &Path) -> Vec<Case> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().map(str::to_owned))
        .filter_map(|name| name.strip_suffix(".test").map(str::to_owned))
        .collect();
    names.sort();
    let mut captured = BTreeMap::new();
    names.into_iter().map(|name| case(folder, name, &mut captured)).collect()
}

/// The aspects of cases in which corun deliberately differs from hwloc: `CASE ASPECT REASON`.
pub(crate) fn exceptions(text: &str) -> BTreeSet<(String, Aspect)> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parse = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (name, aspect, reason) = (words.next()?, words.next()?, words.next()?);
        let aspect = Aspect::ALL.into_iter().find(|known| format!("{known:?}") == aspect)?;
        (!reason.trim().is_empty()).then(|| (name.to_owned(), aspect))
    };
    lines.map(|line| parse(line).unwrap_or_else(|| panic!("CASE ASPECT REASON: {line}"))).collect()
}

fn case(folder: &Path, name: String, captured: &mut BTreeMap<PathBuf, CapturedFiles>) -> Case {
    let test = fs::read_to_string(folder.join(format!("{name}.test"))).unwrap();
    let value = |key: &str| {
        test.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
    };
    let options: Vec<&str> = value("options").unwrap_or_default().split(' ').collect();
    let source = folder.join(value("source").unwrap());
    let expected = fs::read(folder.join(value("target").unwrap())).unwrap();
    let captured = captured.entry(source).or_insert_with_key(|source| unpack(source));
    Case {
        machine: Machine::from_files(captured).unwrap(),
        memory_only: captured.memory_only(),
        expected: String::from_utf8_lossy(&expected).into_owned(),
        with_disallowed: options.contains(&"--disallowed"),
        without_caches: options.contains(&"--no-caches"),
        leaves_out: options.contains(&"--merge") || options.contains(&"all:structure"),
        name,
    }
}

/// True if corun may read this file. The rest, such as thousands of memory blocks, takes only time.
fn is_read(path: &str) -> bool {
    let folders = ["proc/", "sys/devices/system/", "sys/fs/cgroup/", "dev/", "cgroup/"];
    folders.iter().any(|folder| path.starts_with(folder)) && !path.contains("/memory")
}

/// Unpacks a captured machine, whose tree lies in a folder of its own.
fn unpack(archive: &Path) -> CapturedFiles {
    let mut files = CapturedFiles::default();
    let mut archive = tar::Archive::new(BzDecoder::new(File::open(archive).unwrap()));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path: PathBuf = entry.path().unwrap().components().skip(1).collect();
        let path = path.to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        if is_read(&path) && entry.read_to_end(&mut bytes).is_ok() {
            files.insert(path, &bytes);
        }
    }
    files
}
