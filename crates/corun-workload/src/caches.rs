//! Sizes as multiples of caches, `4xL3`: a workload that is to miss a cache, or to fit it, must do so on
//! every machine. What is recorded is the number of bytes that it came to here.

use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::quantity::{parse_count, parse_size};

/// Data caches as most machines have them, for machines that do not report theirs.
const USUAL: [u64; 3] = [32 << 10, 1 << 20, 32 << 20];

/// Reads `NxLEVEL`, `LEVEL` being `L1`, `L2` or `L3`, as bytes on the machine below `root`.
pub(crate) fn parse_multiple(text: &str, root: &Path) -> Option<u64> {
    let (count, level) = text.split_once(['x', 'X'])?;
    let level = match level.to_ascii_uppercase().as_str() {
        "L1" => 1,
        "L2" => 2,
        "L3" => 3,
        _ => return None,
    };
    parse_count(count)?.checked_mul(size(level, root))
}

/// The last-level cache that the first CPU uses, in bytes.
pub(crate) fn last_level(root: &Path) -> u64 {
    size(3, root)
}

/// The data cache of this level that the first CPU uses, in bytes; where there is no such level, the
/// one before it.
fn size(level: usize, root: &Path) -> u64 {
    let indices = (0..10).map(|index| {
        let folder = format!("sys/devices/system/cpu/cpu{}/cache/index{index}", first_cpu());
        let read =
            |name| corun_files::kernel_text(root.join(&folder).join(name)).unwrap_or_default();
        [read("level"), read("type"), read("size")]
    });
    let data = indices.filter_map(|[level, kind, size]| {
        let level = level.trim().parse::<usize>().ok()?;
        (kind.trim() != "Instruction").then_some((level, parse_size(size.trim())?))
    });
    let reported = data.filter(|&(found, size)| found <= level && size > 0).max_by_key(|it| it.0);
    reported.map_or(USUAL[level - 1], |(_, size)| size)
}

/// The first logical CPU that this process may use.
fn first_cpu() -> usize {
    let allowed = sched_getaffinity(None).ok();
    let first = allowed.and_then(|set| (0..CpuSet::MAX_CPU).find(|&cpu| set.is_set(cpu)));
    first.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(caches: &[[&str; 3]]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (index, texts) in caches.iter().enumerate() {
            let folder = format!("sys/devices/system/cpu/cpu{}/cache/index{index}", first_cpu());
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in ["level", "type", "size"].iter().zip(texts) {
                fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        }
        root
    }

    #[test]
    fn sizes_follow_the_machine() {
        let caches = [["1", "Data", "48K"], ["1", "Instruction", "64K"], ["2", "Unified", "2048K"]];
        let root = machine(&caches);
        let parse = |text| parse_multiple(text, root.path());
        assert_eq!(parse("1xL1"), Some(48 << 10));
        assert_eq!(parse("2xl2"), Some(4 << 20));
        assert_eq!(parse("4xL3"), Some(8 << 20), "no third level: the second");
        assert_eq!([parse("4xL4"), parse("xL1"), parse("L1"), parse("1e19xL2")], [None; 4]);
    }

    #[test]
    fn a_machine_that_reports_no_caches_has_the_usual_ones() {
        let root = machine(&[]);
        assert_eq!(parse_multiple("2xL3", root.path()), Some(64 << 20));
    }
}
