//! The ports of the back end with what waits for them: for all threads, or for one that has its own.

use std::collections::VecDeque;

use crate::core::in_flight::Handle;
use crate::core::parameters::Parameters;
use crate::rename::port_assignment::Counts;
use crate::uops::PortSet;
use corun_model::PortAssignment;

/// As many ports as a set of them can name, and no fewer than a core has schedulers.
pub(crate) const MAX_PORTS: usize = PortSet::BITS as usize;

/// The ports of a set, the lowest first.
#[inline]
pub(crate) fn members(mut ports: PortSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (ports != 0).then(|| ports.trailing_zeros() as usize)?;
        ports &= ports - 1;
        Some(lowest)
    })
}

/// One set of ports.
#[derive(Debug)]
pub(crate) struct Ports {
    /// Micro-ops that have their operands, of each port, the oldest first.
    pub(crate) waiting: [VecDeque<(u64, Handle)>; MAX_PORTS],
    /// The ports that any wait for.
    pub(crate) ready: PortSet,
    /// Micro-ops that were given each port and have not started.
    pub(crate) assigned: [u32; MAX_PORTS],
    /// The same as the renamer knows it.
    pub(crate) counts: Counts,
    /// From when on each port takes another micro-op.
    pub(crate) free: [u64; MAX_PORTS],
    /// The thread whose micro-op each port took last.
    pub(crate) requester: [u8; MAX_PORTS],
}

impl Ports {
    /// Idle ones.
    pub(crate) fn new(binding: PortAssignment, parameters: &Parameters) -> Self {
        Self {
            waiting: std::array::from_fn(|_| VecDeque::new()),
            ready: 0,
            assigned: [0; MAX_PORTS],
            counts: Counts::new(binding, parameters.port_map.loads, MAX_PORTS),
            free: [0; MAX_PORTS],
            requester: [0; MAX_PORTS],
        }
    }

    /// A micro-op has its operands.
    pub(crate) fn wait(&mut self, port: usize, age: u64, handle: Handle) {
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

    /// Micro-ops that a port has to start, and cycles before it starts any.
    #[inline]
    pub(crate) fn load(&self, port: usize, now: u64) -> u64 {
        u64::from(self.assigned[port]) + self.free[port].saturating_sub(now)
    }

    /// The lowest of these ports; if that is one of the contended ones, the one of them for which the oldest waits.
    #[inline]
    pub(crate) fn first(&self, ports: PortSet, contended: PortSet) -> usize {
        let lowest = ports.trailing_zeros() as usize;
        if contended >> lowest & 1 == 0 {
            return lowest;
        }
        let age = |port: &usize| self.waiting[*port].front().map(|(age, _)| *age);
        members(ports & contended).min_by_key(age).unwrap_or(lowest)
    }

    /// Takes the oldest that waits for a port.
    pub(crate) fn take(&mut self, port: usize) {
        self.waiting[port].pop_front();
        if self.waiting[port].is_empty() {
            self.ready &= !(1 << port);
        }
    }

    /// Forgets the micro-ops that wait for a port, but for these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(Handle) -> bool) {
        for port in members(self.ready) {
            self.waiting[port].retain(|(_, handle)| is_kept(*handle));
            if self.waiting[port].is_empty() {
                self.ready &= !(1 << port);
            }
        }
    }

    /// The next cycle in which a port takes something that waits for it.
    pub(crate) fn next_event(&self) -> Option<u64> {
        members(self.ready).map(|port| self.free[port]).min()
    }
}

impl Parameters {
    /// How many sets of ports there are for so many threads: one for all, and those of single threads.
    pub(crate) fn sets_of_ports(&self, threads: usize) -> usize {
        if self.port_map.own == 0 { 1 } else { 1 + threads }
    }

    /// The set in which a thread uses a port.
    #[inline]
    pub(crate) fn set_of(&self, thread: usize, port: usize) -> usize {
        if self.port_map.own == 0 || self.port_map.own >> port & 1 == 0 { 0 } else { 1 + thread }
    }
}
