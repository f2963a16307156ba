//! The memory and the threads that a process can still get here, so that asking for too much ends in
//! an error and not in the kernel's killing of some process.

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, geteuid, getrlimit};

use crate::WorkloadError;
use crate::peer::Peer;

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
/// most the limit of the process's control groups; `None` where the kernel does not report it.
///
/// Source: the kernel's documents proc(5) (`MemAvailable`), cgroup-v2 (`memory.max`) and cgroup-v1
/// memory (`memory.limit_in_bytes`).
pub(crate) fn memory(root: &Path) -> Option<u64> {
    let groups = corun_files::kernel_text(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().filter_map(|line| limit(line, root));
    limits.chain(free(root)).min()
}

fn free(root: &Path) -> Option<u64> {
    let reported = corun_files::kernel_text(root.join("proc/meminfo")).ok()?;
    let line = reported.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
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
    groups.filter_map(|group| number(&root.join(mount).join(group).join(file))).min()
}

/// Refuses more threads, processes included, than can be started here, by all copies together.
pub(crate) fn ensure_threads(workload: &'static str, threads: u64) -> Result<(), WorkloadError> {
    let needed = threads.saturating_mul(COPIES.load(Ordering::Relaxed) as u64);
    let root = Path::new("/");
    // The limit of a user counts what runs already, which is not known; root is not bound by it.
    let of_user = getrlimit(Resource::Nproc).current.filter(|_| !geteuid().is_root());
    match self::threads(root).into_iter().chain(of_user).min() {
        Some(free) if free < needed => Err(WorkloadError::NoThreads { workload, needed, free }),
        _ => Ok(()),
    }
}

/// Starts as many processes as the workers together will, `processes` each, and ends them: a refusal
/// is better heard before anything is pinned and timed.
pub(crate) fn ensure_processes(
    workload: &'static str,
    processes: u64,
    workers: NonZeroUsize,
) -> Result<(), WorkloadError> {
    let all = processes.saturating_mul(workers.get() as u64);
    let started: Result<Vec<Peer>, _> = (0..all).map(|_| Peer::fork(wait)).collect();
    started.map(drop).map_err(no_processes(workload, processes))
}

fn wait() {
    // SAFETY: sleeps until a signal comes.
    unsafe { libc::pause() };
}

/// The message on a process that the system does not start, of so many for each worker.
pub(crate) fn no_processes(
    workload: &'static str,
    processes: u64,
) -> impl FnOnce(io::Error) -> WorkloadError {
    move |source| WorkloadError::NoProcesses { workload, processes, source }
}

/// Threads that can still be started below `root`; `None` where the kernel does not report it.
///
/// Source: the kernel's documents proc(5) (`loadavg`, `sys/kernel`) and cgroup-v2 (`pids.max`).
fn threads(root: &Path) -> Option<u64> {
    let groups = corun_files::kernel_text(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().flat_map(|line| {
        let (mount, path) = match line.splitn(3, ':').collect::<Vec<_>>()[..] {
            ["0", "", path] => ("sys/fs/cgroup", path),
            [_, "pids", path] => ("sys/fs/cgroup/pids", path),
            _ => return Vec::new(),
        };
        let groups = Path::new(path.trim_start_matches('/')).ancestors();
        let free = groups.filter_map(|group| {
            let group = root.join(mount).join(group);
            Some(
                number(&group.join("pids.max"))?
                    .saturating_sub(number(&group.join("pids.current"))?),
            )
        });
        free.collect()
    });
    let of_kernel = ["threads-max", "pid_max"].into_iter().filter_map(|file| {
        let most = number(&root.join("proc/sys/kernel").join(file))?;
        Some(most.saturating_sub(running(root)?))
    });
    of_groups.chain(of_kernel).min()
}

/// The threads that there are: the number after the slash.
fn running(root: &Path) -> Option<u64> {
    let load = corun_files::kernel_text(root.join("proc/loadavg")).ok()?;
    load.split_once('/')?.1.split(' ').next()?.parse().ok()
}

/// The number in a file; `None` where there is another word, such as `max`.
fn number(file: &Path) -> Option<u64> {
    corun_files::kernel_text(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const MEMINFO: &str =
        "MemTotal:       2048 kB\nMemFree:         1 kB\nMemAvailable:   1024 kB\n";

    fn available(files: &[(&str, &str)]) -> Option<u64> {
        memory(tree(files).path())
    }

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn threads_are_limited_by_the_kernel_and_by_groups() {
        let mut files = vec![
            ("proc/loadavg", "0.10 0.20 0.30 1/250 4711\n"),
            ("proc/sys/kernel/threads-max", "4250\n"),
            ("proc/sys/kernel/pid_max", "32768\n"),
        ];
        assert_eq!(threads(tree(&files).path()), Some(4000));
        files.push(("proc/self/cgroup", "3:pids:/old\n0::/slice/scope\n"));
        files.push(("sys/fs/cgroup/slice/scope/pids.max", "max\n"));
        assert_eq!(threads(tree(&files).path()), Some(4000));
        files.push(("sys/fs/cgroup/slice/pids.max", "1000\n"));
        files.push(("sys/fs/cgroup/slice/pids.current", "990\n"));
        assert_eq!(threads(tree(&files).path()), Some(10));
        files.push(("sys/fs/cgroup/pids/old/pids.max", "5\n"));
        files.push(("sys/fs/cgroup/pids/old/pids.current", "6\n"));
        assert_eq!(threads(tree(&files).path()), Some(0));
        assert_eq!(threads(tree(&[]).path()), None);
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
