//! All switches of tasks, from the kernel's own records. Each CPU has a buffer, which is emptied many times in an
//! interval.

use corun_machine::evidence::{SwitchRecords, no_switch_records, switch_records};

use super::Cores;
use super::overlap::Switch;

/// Room for the records of all CPUs, and the least and the most of one, in bytes.
const BUFFERS: usize = 64 << 20;
const BUFFER: [usize; 2] = [64 << 10, 512 << 10];
/// More switches than this in an interval are not kept.
const MOST: usize = 4_000_000;

/// The records of all cores.
pub(super) struct Switches {
    /// Those of each CPU, with its core and which of the siblings it is.
    records: Vec<(usize, u32, SwitchRecords)>,
    /// Of each core, in the order in which they were read.
    pub(super) cores: Vec<Vec<Switch>>,
    pub(super) are_lost: bool,
    /// Switches since the interval began.
    pub(super) count: usize,
    /// Capacity of a buffer, in switches.
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
        let count: usize = cores.all.iter().map(|core| core.cpus.len()).sum();
        let room = (BUFFERS / count.max(1)).clamp(BUFFER[0], BUFFER[1]);
        let room = 1 << room.ilog2();
        let places = cores.all.iter().enumerate().flat_map(|(place, core)| {
            core.cpus.iter().zip(0..).map(move |(&cpu, sibling)| (place, sibling, cpu))
        });
        let opened = switch_records(places.clone().map(|(_, _, cpu)| cpu), room);
        let opened = opened.map_err(|why| sentence(&why))?;
        let mut records: Vec<(usize, u32, SwitchRecords)> =
            places.zip(opened).map(|((place, sibling, _), it)| (place, sibling, it)).collect();
        for (_, _, it) in &mut records {
            it.enable().map_err(|error| sentence(&no_switch_records(&error)))?;
        }
        let cores = vec![Vec::new(); cores.all.len()];
        Ok(Self { records, cores, are_lost: false, count: 0, room: room / SWITCH_BYTES })
    }

    /// Takes over what the kernel has recorded; how full the fullest buffer was, as a share.
    pub(super) fn drain(&mut self) -> f64 {
        let mut most = 0;
        for (core, sibling, records) in &mut self.records {
            let before = self.count;
            let switches = &mut self.cores[*core];
            let are_whole = records.drain(|it| {
                if it.is_out {
                    self.count += 1;
                    if self.count <= MOST {
                        let (from, to) = (it.thread, it.other_thread);
                        switches.push(Switch { at_ns: it.at_ns, sibling: *sibling, from, to });
                    }
                }
            });
            self.are_lost |= !are_whole;
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

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}
