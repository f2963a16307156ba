//! How much CPU time other programs took from a guest while it ran.
//!
//! A guest's CPUs are threads of the host; other load there slows some arms of an experiment
//! and not others. So a boot says how disturbed it was, and a timed test repeats a disturbed one.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// CPU time that others used during a boot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForeignLoad {
    /// CPU time of everything but the guest, summed over the host's CPUs.
    pub foreign: Duration,
    /// How long the boot took.
    pub elapsed: Duration,
}

impl ForeignLoad {
    /// The mean number of host CPUs that others kept busy.
    pub fn cpus(self) -> f64 {
        self.foreign.as_secs_f64() / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// A measurement that has begun.
pub(crate) struct Watch {
    begun: Instant,
    busy: f64,
}

impl Watch {
    pub(crate) fn begin(root: &Path) -> io::Result<Self> {
        Ok(Self { begun: Instant::now(), busy: host_busy(root)? })
    }

    /// What everybody but the process `guest` used since the beginning.
    ///
    /// `guest` may have ended, as long as its exit status was not collected.
    pub(crate) fn end(&self, root: &Path, guest: Pid) -> io::Result<ForeignLoad> {
        let elapsed = self.begun.elapsed();
        let foreign = host_busy(root)? - self.busy - process_busy(root, guest)?;
        Ok(ForeignLoad { foreign: Duration::from_secs_f64(foreign.max(0.0)), elapsed })
    }
}

fn host_busy(root: &Path) -> io::Result<f64> {
    let text = fs::read_to_string(root.join("proc/stat"))?;
    seconds(busy_ticks(&text), "proc/stat")
}

fn process_busy(root: &Path, process: Pid) -> io::Result<f64> {
    let path = format!("proc/{}/stat", process.as_raw_nonzero());
    let text = fs::read_to_string(root.join(&path))?;
    seconds(process_ticks(&text), &path)
}

fn seconds(ticks: Option<u64>, path: &str) -> io::Result<f64> {
    let ticks = ticks.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("no CPU times found in {path}"))
    })?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The ticks of all CPUs together that were neither idle nor waiting for a disk (proc_stat(5):
/// user, nice, system, idle, iowait, irq, softirq, steal).
fn busy_ticks(stat: &str) -> Option<u64> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let ticks = fields.map(|field| field.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let total = ticks.iter().try_fold(0_u64, |sum, &more| sum.checked_add(more))?;
    Some(total - ticks.get(3)? - ticks.get(4)?)
}

/// The ticks of a process in user and kernel mode (proc_pid_stat(5): fields 14 and 15, counted
/// after the name, which may hold spaces and parentheses).
fn process_ticks(stat: &str) -> Option<u64> {
    let mut after_name = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = after_name.next()?.parse().ok()?;
    let system: u64 = after_name.next()?.parse().ok()?;
    user.checked_add(system)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn idle_and_waiting_are_not_busy() {
        assert_eq!(busy_ticks("cpu  1 20 300 9999 8888 4000 50000 600000 7 7\n"), Some(654_321));
        assert_eq!(busy_ticks("cpu  1 2 3\n"), None);
        assert_eq!(busy_ticks(""), None);
    }

    #[test]
    fn a_name_with_parentheses_moves_no_field() {
        let stat = "42 (qemu) S (x)) S 1 42 42 0 -1 4194304 9 0 0 0 250 50 0 0 20 0 3 0 100";
        assert_eq!(process_ticks(stat), Some(300));
        assert_eq!(process_ticks("42 (qemu) S 1"), None);
    }

    #[test]
    fn this_process_is_part_of_the_busy_host() {
        let root = Path::new("/");
        let own = process_busy(root, rustix::process::getpid()).unwrap();
        assert!(own <= host_busy(root).unwrap());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = (busy_ticks(&text), process_ticks(&text));
            let _ = (busy_ticks(&format!("cpu {text}")), process_ticks(&format!("1 (x) {text}")));
        }
    }
}
