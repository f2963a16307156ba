//! The ports of the back end with what waits for them: for all threads, or for one that has its own.

use std::collections::VecDeque;

use super::binding::Counts;
use super::flight::Handle;
use super::parameters::Parameters;
use crate::code::PortSet;
use crate::model::Binding;

/// One set of ports.
#[derive(Debug)]
pub(super) struct Ports {
    /// Operations that have their operands, of each port, the oldest first.
    pub(super) waiting: Vec<VecDeque<(u64, Handle)>>,
    /// The ports that any wait for.
    pub(super) ready: PortSet,
    /// Operations that were given each port and have not started.
    pub(super) assigned: Vec<u32>,
    /// The same as the renamer knows it.
    pub(super) counts: Counts,
    /// From when on each port takes another operation.
    pub(super) free: Vec<u64>,
    /// The thread whose operation each port took last.
    pub(super) user: Vec<u8>,
}

impl Ports {
    /// Idle ones.
    pub(super) fn new(binding: Binding, parameters: &Parameters) -> Self {
        let ports = parameters.ports.len();
        Self {
            waiting: vec![VecDeque::new(); ports],
            ready: 0,
            assigned: vec![0; ports],
            counts: Counts::new(binding, parameters.load_ports, ports),
            free: vec![0; ports],
            user: vec![0; ports],
        }
    }

    /// An operation has its operands.
    pub(super) fn wait(&mut self, port: usize, age: u64, handle: Handle) {
        let waiting = &mut self.waiting[port];
        match waiting.back() {
            Some((youngest, _)) if *youngest > age => {
                let place = waiting.partition_point(|(other, _)| *other < age);
                waiting.insert(place, (age, handle));
            }
            _ => waiting.push_back((age, handle)),
        }
        self.ready |= 1 << port;
    }

    /// Takes the oldest that waits for a port.
    pub(super) fn take(&mut self, port: usize) {
        self.waiting[port].pop_front();
        if self.waiting[port].is_empty() {
            self.ready &= !(1 << port);
        }
    }

    /// The next cycle in which a port takes something that waits for it.
    pub(super) fn next_event(&self) -> Option<u64> {
        let waited_for = self.waiting.iter().zip(&self.free);
        waited_for.filter(|(waiting, _)| !waiting.is_empty()).map(|(_, free)| *free).min()
    }
}

impl Parameters {
    /// How many sets of ports there are for so many threads: one for all, and those of single threads.
    pub(super) fn sets_of_ports(&self, threads: usize) -> usize {
        if self.own_ports == 0 { 1 } else { 1 + threads }
    }

    /// The set in which a thread uses a port.
    #[inline]
    pub(super) fn set_of(&self, thread: usize, port: usize) -> usize {
        if self.own_ports >> port & 1 == 0 { 0 } else { 1 + thread }
    }
}
