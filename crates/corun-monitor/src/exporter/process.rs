//! Cost of the exporter itself.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Use by this process.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessUse {
    /// Processor time, in seconds.
    pub cpu_s: f64,
    /// Memory, in bytes; absent where it cannot be read.
    pub resident_bytes: Option<u64>,
}

impl ProcessUse {
    /// Use by this process until now.
    pub fn now() -> Self {
        let cpu_s = getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| {
            let micros = usage.user_time() + usage.system_time();
            micros.num_microseconds() as f64 / 1e6
        });
        let status = corun_files::kernel_text("/proc/self/status").ok();
        Self { cpu_s, resident_bytes: status.as_deref().and_then(resident) }
    }
}

/// `VmRSS` of proc_pid_status(5), which counts in units of 1,024 bytes.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_its_line() {
        assert_eq!(resident("VmHWM:\t  9000 kB\nVmRSS:\t   8192 kB\n"), Some(8 << 20));
        assert_eq!(resident("VmRSS:\tmuch\n"), None);
        let used = ProcessUse::now();
        assert!(used.cpu_s > 0.0 && used.resident_bytes > Some(1 << 16), "{used:?}");
    }
}
