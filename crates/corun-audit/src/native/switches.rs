//! Who ran on each CPU when, from the kernel's records of context switches.
//!
//! One event for each CPU is opened once and stays: opening makes the kernel patch its own code.

use std::collections::BTreeSet;

use corun_machine::evidence::{SwitchRecords, TaskSwitch, switch_records};
use corun_machine::kernel_clock::now_ns;

use crate::timeline::Interval;

/// Room for the records of one load: six thousand switches of a CPU.
const BUFFER: usize = 512 * 1024;

/// The events, one for each CPU.
pub(super) struct Switches {
    cpus: Vec<(u32, SwitchRecords)>,
    begun_ns: u64,
    ended_ns: u64,
}

impl Switches {
    /// Opens them.
    ///
    /// # Errors
    /// Why they cannot be opened, or would not distinguish idle CPUs from busy ones.
    pub(super) fn open(cpus: &[u32]) -> Result<Self, String> {
        let records = switch_records(cpus.iter().copied(), BUFFER)?;
        let cpus = cpus.iter().copied().zip(records).collect();
        Ok(Self { cpus, begun_ns: 0, ended_ns: 0 })
    }

    /// Begins to record.
    pub(super) fn begin(&mut self) {
        self.begun_ns = now_ns();
        for (_, records) in &mut self.cpus {
            let _ = records.enable();
        }
    }

    /// Ends recording.
    pub(super) fn end(&mut self) {
        self.ended_ns = now_ns();
        for (_, records) in &mut self.cpus {
            let _ = records.disable();
        }
    }

    /// Adds what other processes than `own` ran, in times from `start_ns` on, and returns the CPUs that
    /// were not seen: none of their tasks changed, or records were lost.
    pub(super) fn finish(
        &mut self,
        own: &BTreeSet<u32>,
        start_ns: u64,
        intervals: &mut Vec<Interval>,
    ) -> Vec<u32> {
        let mut unseen = Vec::new();
        for (cpu, records) in &mut self.cpus {
            let mut switches = Vec::new();
            let are_whole = records.drain(|switch| switches.push(switch));
            if switches.is_empty() || !are_whole {
                unseen.push(*cpu);
                continue;
            }
            let others = foreign(&switches, own, [self.begun_ns, self.ended_ns]);
            intervals.extend(others.into_iter().map(|[from_ns, to_ns]| Interval {
                cpu: *cpu,
                from_ns: from_ns.saturating_sub(start_ns),
                to_ns: to_ns.saturating_sub(start_ns),
            }));
        }
        unseen
    }
}

/// When processes other than `own` and the idle task (0) had the CPU, in the span that was recorded.
fn foreign(
    switches: &[TaskSwitch],
    own: &BTreeSet<u32>,
    [begun, ended]: [u64; 2],
) -> Vec<[u64; 2]> {
    let mut intervals = Vec::new();
    let mut since = begun;
    let mut last = None;
    let is_foreign = |process: u32| process != 0 && !own.contains(&process);
    for switch in switches {
        match switch.is_out {
            true => {
                if is_foreign(switch.process) {
                    intervals.push([since, switch.at_ns]);
                }
                last = None;
            }
            false => last = Some(switch.process),
        }
        since = switch.at_ns;
    }
    if last.is_some_and(is_foreign) {
        intervals.push([since, ended]);
    }
    intervals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(at_ns: u64, process: u32, is_out: bool) -> TaskSwitch {
        TaskSwitch { at_ns, is_out, process, thread: process, other_thread: 0 }
    }

    #[test]
    fn strangers_are_neither_the_loads_own_nor_the_idle_task() {
        let own = BTreeSet::from([7]);
        let switches = [
            switch(10, 5, true),
            switch(11, 0, false),
            switch(20, 0, true),
            switch(20, 7, false),
            switch(30, 7, true),
            switch(31, 6, false),
            switch(40, 6, true),
            switch(40, 9, false),
        ];
        assert_eq!(foreign(&switches, &own, [2, 50]), [[2, 10], [31, 40], [40, 50]]);
        assert_eq!(foreign(&switches[..6], &own, [2, 50]), [[2, 10], [31, 50]]);
        assert_eq!(foreign(&[], &own, [0, 9]), [[0_u64; 2]; 0]);
    }
}
