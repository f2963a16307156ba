//! The memory that a process can still get here, so that asking for too much ends in an error and
//! not in the kernel's killing of some process.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Processes that do the same as this one at the same time, this one included.
static COPIES: AtomicUsize = AtomicUsize::new(1);

/// Says that so many processes do the same as this one at the same time, so that each takes no more
/// than its share of the memory.
pub fn expect_copies(copies: NonZeroUsize) {
    COPIES.store(copies.get(), Ordering::Relaxed);
}

/// This process's share of the available memory below `root`, in bytes.
pub(crate) fn share(root: &Path) -> Option<u64> {
    memory(root).map(|bytes| bytes / COPIES.load(Ordering::Relaxed) as u64)
}

/// Bytes available to this process below `root`: what the kernel can free without swapping, and at
/// most the limit of the process's control groups; `None` where the kernel does not tell.
///
/// Source: the kernel's documents proc(5) (`MemAvailable`), cgroup-v2 (`memory.max`) and cgroup-v1
/// memory (`memory.limit_in_bytes`).
pub(crate) fn memory(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().filter_map(|line| limit(line, root));
    limits.chain(free(root)).min()
}

fn free(root: &Path) -> Option<u64> {
    let told = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The smallest limit of a group and the groups around it, of one `hierarchy:controllers:path`. A
/// container may show its own group as the root, so folders that do not exist limit nothing.
fn limit(line: &str, root: &Path) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (mount, file) = match (hierarchy, controllers) {
        ("0", "") => ("sys/fs/cgroup", "memory.max"),
        (_, "memory") => ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return None,
    };
    let groups = Path::new(path.trim_start_matches('/')).ancestors();
    let limits = groups.filter_map(|group| {
        let text = fs::read_to_string(root.join(mount).join(group).join(file)).ok()?;
        text.trim().parse().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str =
        "MemTotal:       2048 kB\nMemFree:         1 kB\nMemAvailable:   1024 kB\n";

    fn available(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        memory(root.path())
    }

    #[test]
    fn without_groups_it_is_what_the_kernel_can_free() {
        assert_eq!(available(&[("proc/meminfo", MEMINFO)]), Some(1 << 20));
        assert_eq!(available(&[("proc/meminfo", "MemAvailable: many kB\n")]), None);
        assert_eq!(available(&[]), None);
    }

    #[test]
    fn the_smallest_limit_of_the_group_and_its_parents_counts() {
        let mut files = vec![
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "1:name=systemd:/\n0::/slice/scope\n"),
            ("sys/fs/cgroup/slice/scope/memory.max", "max\n"),
        ];
        assert_eq!(available(&files), Some(1 << 20), "no limit");
        files.push(("sys/fs/cgroup/slice/memory.max", "65536\n"));
        assert_eq!(available(&files), Some(65536));
    }

    #[test]
    fn the_first_version_of_control_groups_is_read_too() {
        let files = [
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "4:memory:/a:b\n0::/\n"),
            ("sys/fs/cgroup/memory/a:b/memory.limit_in_bytes", "4096\n"),
        ];
        assert_eq!(available(&files), Some(4096));
    }
}
