//! All switches of tasks, from the kernel's own records (`perf_event_open(2)`, PERF_RECORD_SWITCH_CPU_WIDE).
//!
//! They say what the tracepoint `sched:sched_switch` says, need no tracefs, and have half of its length. Each CPU
//! has a buffer, which is emptied many times in an interval.

use std::io;

use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use super::Cores;
use super::overlap::Switch;

/// Room for the records of all CPUs, and the least and the most of one, in bytes.
const BUFFERS: usize = 64 << 20;
const BUFFER: [usize; 2] = [64 << 10, 512 << 10];
/// More switches than this in an interval are not kept.
const MOST: usize = 4_000_000;
/// `PERF_RECORD_SWITCH_CPU_WIDE`
const SWITCH: u32 = 15;
/// `PERF_RECORD_LOST`
const LOST: u32 = 2;
/// `PERF_RECORD_MISC_SWITCH_OUT`
const OUT: u16 = 1 << 13;

/// The records of all cores.
pub(super) struct Switches {
    samplers: Vec<(usize, u32, Sampler)>,
    /// Of each core, in the order in which they were read.
    pub(super) cores: Vec<Vec<Switch>>,
    pub(super) are_lost: bool,
    /// Switches since the interval began.
    pub(super) count: usize,
    /// How many switches a buffer has room for.
    room: usize,
}

/// The bytes of a switch: a record of the task that leaves, and one of the task that comes.
const SWITCH_BYTES: usize = 64;

impl std::fmt::Debug for Switches {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Switches").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Switches {
    /// Opens the records of these cores' CPUs.
    ///
    /// # Errors
    /// Why they cannot be opened, or would not distinguish idle CPUs from busy ones, as one sentence.
    pub(super) fn open(cores: &Cores) -> Result<Self, String> {
        // In a process namespace of its own every process of another namespace looks like the idle task.
        let kernel_thread = corun_files::kernel_text("/proc/2/comm").unwrap_or_default();
        if kernel_thread.trim() != "kthreadd" {
            return Err("This process sees only some of the machine's processes.".to_owned());
        }
        let count: usize = cores.all.iter().map(|core| core.cpus.len()).sum();
        let room = (BUFFERS / count.max(1)).clamp(BUFFER[0], BUFFER[1]);
        let room = 1 << room.ilog2();
        let mut samplers = Vec::with_capacity(count);
        for (place, core) in cores.all.iter().enumerate() {
            for (sibling, &cpu) in core.cpus.iter().enumerate() {
                let sampler = sampler(cpu, room).map_err(|error| refusal(&error))?;
                samplers.push((place, sibling as u32, sampler));
            }
        }
        for (_, _, sampler) in &mut samplers {
            sampler.enable().map_err(|error| refusal(&error))?;
        }
        let cores = vec![Vec::new(); cores.all.len()];
        Ok(Self { samplers, cores, are_lost: false, count: 0, room: room / SWITCH_BYTES })
    }

    /// Takes over what the kernel has recorded; how full the fullest buffer was, as a share.
    pub(super) fn drain(&mut self) -> f64 {
        let mut most = 0;
        for (core, sibling, sampler) in &mut self.samplers {
            let before = self.count;
            while let Some(record) = sampler.next_record() {
                match record.ty() {
                    SWITCH if record.misc() & OUT != 0 => {
                        let switch = match record.data() {
                            [bytes] => parse(bytes, *sibling),
                            _ => parse(&record.to_contiguous(), *sibling),
                        };
                        self.count += 1;
                        if self.count <= MOST {
                            self.cores[*core].extend(switch);
                        }
                    }
                    LOST => self.are_lost = true,
                    _ => {}
                }
            }
            most = most.max(self.count - before);
        }
        self.are_lost |= self.count > MOST;
        most as f64 / self.room.max(1) as f64
    }

    /// Begins the next interval; what came after `to_ns` stays.
    pub(super) fn begin(&mut self, to_ns: u64) {
        self.count = 0;
        self.are_lost = false;
        for core in &mut self.cores {
            core.retain(|switch| switch.at_ns > to_ns);
        }
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

fn refusal(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "This user may not see the switches of others' tasks: that takes root, CAP_PERFMON or \
             kernel.perf_event_paranoid below 1."
                .to_owned()
        }
        Some(libc::EMFILE) => {
            "There are fewer open files than CPUs allowed: raise the limit (ulimit -n).".to_owned()
        }
        _ => format!("The kernel does not record switches of tasks: {error}."),
    }
}

/// The record of a task that leaves a CPU: the next task's process and thread, its own, and the time.
fn parse(bytes: &[u8], sibling: u32) -> Option<Switch> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let at_ns = u64::from_ne_bytes(bytes.get(16..24)?.try_into().ok()?);
    Some(Switch { at_ns, sibling, from: word(12)?, to: word(4)? })
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
        assert_eq!(parse(&bytes, 1), Some(Switch { at_ns: 5, sibling: 1, from: 4, to: 2 }));
        assert_eq!(parse(&bytes[..23], 1), None);
    }

    #[test]
    fn a_refusal_says_what_it_takes() {
        let said = refusal(&io::Error::from_raw_os_error(libc::EACCES));
        assert!(said.contains("CAP_PERFMON"), "{said}");
        let said = refusal(&io::Error::from_raw_os_error(libc::ENOENT));
        assert!(said.starts_with("The kernel does not record"), "{said}");
    }
}
