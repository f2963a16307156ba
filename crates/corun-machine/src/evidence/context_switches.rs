//! The kernel's records of context switches, a buffer for each CPU (`perf_event_open(2)`, PERF_RECORD_SWITCH_CPU_WIDE).
//!
//! They say what the tracepoint `sched:sched_switch` says, need no tracefs, and have half of its length. Opening them
//! makes the kernel patch its own code, so that one who records often opens them once.

use std::io;

use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

/// The type of a record of a switch.
const SWITCH: u32 = 15;
/// The type of a record that says that others were lost (`PERF_RECORD_LOST`).
const LOST: u32 = 2;
/// The flag of a record of a task that leaves its CPU (`PERF_RECORD_MISC_SWITCH_OUT`).
const SWITCHED_OUT: u16 = 1 << 13;

/// A task leaves a CPU or comes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskSwitch {
    /// When, by `CLOCK_MONOTONIC`, in nanoseconds.
    pub at_ns: u64,
    /// True if it leaves.
    pub is_out: bool,
    /// Process; 0 is the idle task.
    pub process: u32,
    /// Thread; 0 is the idle task.
    pub thread: u32,
    /// The thread that comes after it, or that was there before it.
    pub other_thread: u32,
}

/// The records of one CPU.
pub struct SwitchRecords(Sampler);

impl SwitchRecords {
    /// Begins to record.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn enable(&mut self) -> io::Result<()> {
        self.0.enable()
    }

    /// Ends recording.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn disable(&mut self) -> io::Result<()> {
        self.0.disable()
    }

    /// Takes all records out of the buffer, in their order; whether none were lost.
    pub fn drain(&mut self, mut take: impl FnMut(TaskSwitch)) -> bool {
        let mut are_whole = true;
        while let Some(record) = self.0.next_record() {
            match record.ty() {
                SWITCH => {
                    let switch = match record.data() {
                        [bytes] => parse(bytes, record.misc()),
                        _ => parse(&record.to_contiguous(), record.misc()),
                    };
                    if let Some(switch) = switch {
                        take(switch);
                    }
                }
                LOST => are_whole = false,
                _ => {}
            }
        }
        are_whole
    }
}

/// The fields after the header: the other task's process and thread, then this one's, then the time.
fn parse(bytes: &[u8], misc: u16) -> Option<TaskSwitch> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    Some(TaskSwitch {
        at_ns: u64::from_ne_bytes(bytes.get(16..24)?.try_into().ok()?),
        is_out: misc & SWITCHED_OUT != 0,
        process: word(8)?,
        thread: word(12)?,
        other_thread: word(4)?,
    })
}

/// Opens a buffer of `room` bytes (a power of two) for each of these CPUs; the buffers record once they are enabled. A
/// record has the process and the thread of the task, and the time of `CLOCK_MONOTONIC`.
///
/// # Errors
/// Why they cannot be opened, or would not distinguish idle CPUs from busy ones, as a clause.
pub fn switch_records(
    cpus: impl Iterator<Item = u32>,
    room: usize,
) -> Result<Vec<SwitchRecords>, String> {
    // In a process namespace of its own every process of another namespace looks like the idle task.
    let kernel_thread = corun_files::kernel_text("/proc/2/comm").unwrap_or_default();
    if kernel_thread.trim() != "kthreadd" {
        return Err("this process sees only some of the machine's processes".to_owned());
    }
    let records = cpus.map(|cpu| Ok(SwitchRecords(sampler(cpu, room)?))).collect::<io::Result<_>>();
    records.map_err(|error| no_switch_records(&error))
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
    fn a_record_is_read_by_its_form() {
        let mut bytes = Vec::new();
        for field in [1_u32, 2, 3, 4] {
            bytes.extend(field.to_ne_bytes());
        }
        bytes.extend(5_u64.to_ne_bytes());
        let left = TaskSwitch { at_ns: 5, is_out: true, process: 3, thread: 4, other_thread: 2 };
        assert_eq!(parse(&bytes, SWITCHED_OUT), Some(left));
        assert_eq!(parse(&bytes, 0), Some(TaskSwitch { is_out: false, ..left }));
        assert_eq!(parse(&bytes[..23], 0), None);
    }

    #[test]
    fn a_refusal_says_what_it_takes() {
        let said = |code| no_switch_records(&io::Error::from_raw_os_error(code));
        assert!(said(libc::EACCES).contains("CAP_PERFMON"));
        assert!(said(libc::EMFILE).contains("ulimit -n"));
        assert!(said(libc::ENOENT).starts_with("the kernel does not report"));
    }
}
