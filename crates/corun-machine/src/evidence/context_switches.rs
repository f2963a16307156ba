//! The kernel's records of context switches, a buffer for each CPU (`perf_event_open(2)`, PERF_RECORD_SWITCH_CPU_WIDE).
//!
//! They say what the tracepoint `sched:sched_switch` says, need no tracefs, and have half of its length. Opening them
//! makes the kernel patch its own code, so that one who records often opens them once.

use std::io;

use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

/// The type of a record of a switch.
pub const SWITCH: u32 = 15;
/// The type of a record that says that others were lost (`PERF_RECORD_LOST`).
pub const LOST: u32 = 2;
/// The flag of a record of a task that leaves its CPU (`PERF_RECORD_MISC_SWITCH_OUT`).
pub const SWITCHED_OUT: u16 = 1 << 13;

/// Opens a buffer of `room` bytes (a power of two) for each of these CPUs; the buffers record once they are enabled. A
/// record has the process and the thread of the task, and the time of `CLOCK_MONOTONIC`.
///
/// # Errors
/// Why they cannot be opened, or would not distinguish idle CPUs from busy ones, as a clause.
pub fn switch_records(
    cpus: impl Iterator<Item = u32>,
    room: usize,
) -> Result<Vec<Sampler>, String> {
    // In a process namespace of its own every process of another namespace looks like the idle task.
    let kernel_thread = corun_files::kernel_text("/proc/2/comm").unwrap_or_default();
    if kernel_thread.trim() != "kthreadd" {
        return Err("this process sees only some of the machine's processes".to_owned());
    }
    let samplers = cpus.map(|cpu| sampler(cpu, room)).collect::<io::Result<_>>();
    samplers.map_err(|error| no_switch_records(&error))
}

/// Why the kernel does not record switches, as a clause.
pub fn no_switch_records(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "this user may not see the context switches of others (it takes root, CAP_PERFMON or \
             kernel.perf_event_paranoid below 1)"
                .to_owned()
        }
        Some(libc::EMFILE) => {
            "fewer files may be open than there are CPUs (`ulimit -n` raises the limit)".to_owned()
        }
        _ => format!("the kernel does not report its context switches ({error})"),
    }
}

fn sampler(cpu: u32, room: usize) -> io::Result<Sampler> {
    let mut builder = Builder::new(Software::DUMMY);
    builder
        .any_pid()
        .one_cpu(cpu as usize)
        .context_switch(true)
        .sample_id_all(true)
        .sample(SampleFlag::TID | SampleFlag::TIME)
        .clockid(Clock::MONOTONIC);
    builder.build()?.sampled(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_it_takes() {
        let said = |code| no_switch_records(&io::Error::from_raw_os_error(code));
        assert!(said(libc::EACCES).contains("CAP_PERFMON"));
        assert!(said(libc::EMFILE).contains("ulimit -n"));
        assert!(said(libc::ENOENT).starts_with("the kernel does not report"));
    }
}
