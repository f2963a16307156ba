//! The ports of the back end with what waits for them: for all threads, or for one that has its own.

use crate::core::in_flight::Handle;
use crate::core::parameters::Parameters;
use crate::execute::age_queue::AgeQueue;
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

/// Bits of the number of a port.
const PORT_BITS: u32 = PortSet::BITS.ilog2();

/// How much a port has to start, and which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Loaded(u64);

impl Loaded {
    /// The port.
    #[inline]
    pub(crate) fn port(self) -> usize {
        self.0 as usize % MAX_PORTS
    }
}

/// One set of ports.
#[derive(Debug)]
pub(crate) struct Ports {
    /// Micro-ops that have their operands, of each port, the oldest first.
    waiting: [AgeQueue; MAX_PORTS],
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
            waiting: std::array::from_fn(|_| AgeQueue::default()),
            ready: 0,
            assigned: [0; MAX_PORTS],
            counts: Counts::new(binding, parameters.port_map.loads, MAX_PORTS),
            free: [0; MAX_PORTS],
            requester: [0; MAX_PORTS],
        }
    }

    /// A micro-op has its operands.
    #[inline]
    pub(crate) fn wait(&mut self, port: usize, age: u64, handle: Handle) {
        self.waiting[port].push(age, handle);
        self.ready |= 1 << port;
    }

    /// Of some ports the one that starts a micro-op soonest which has its operands now: `given`, if it can at once.
    #[inline]
    pub(crate) fn soonest(&self, given: usize, ports: PortSet, now: u64) -> usize {
        let wait =
            |port: usize| self.free[port].saturating_sub(now) + self.waiting[port].len() as u64;
        if wait(given) == 0 {
            return given;
        }
        members(ports).min_by_key(|&port| wait(port)).unwrap_or(given)
    }

    /// Gives a micro-op another port than the one it was given.
    #[inline]
    pub(crate) fn give_instead(&mut self, given: usize, port: usize) {
        self.assigned[given] -= 1;
        self.assigned[port] += 1;
    }

    /// Whether older micro-ops wait for each of these ports, or more of them for some, so that one of this age is not
    /// selected in this cycle.
    #[inline]
    pub(crate) fn are_taken(&self, ports: PortSet, age: u64) -> bool {
        let older =
            || members(ports).map(|port| self.waiting[port].count_older(age)).sum::<usize>();
        self.ready & ports == ports && older() >= ports.count_ones() as usize
    }

    /// A micro-op was selected for a port before its operands were there.
    #[inline]
    pub(crate) fn issue_in_vain(&mut self, port: usize, now: u64) {
        self.free[port] = self.free[port].max(now) + 1;
    }

    /// The oldest that waits for a port.
    #[inline]
    pub(crate) fn oldest(&self, port: usize) -> Option<Handle> {
        self.waiting[port].first().map(|(_, handle)| handle)
    }

    /// Of some ports the one with the fewest micro-ops to start, counting a cycle in which it starts none as one; the lowest
    /// of several. The result orders ports of several sets in the same way.
    #[inline]
    pub(crate) fn least_loaded(&self, mut ports: PortSet, now: u64) -> Loaded {
        let mut least = Loaded(u64::MAX);
        // Without branches, which the simulating core would predict badly.
        while ports != 0 {
            let port = ports.trailing_zeros() as usize % MAX_PORTS;
            ports &= ports - 1;
            let load = u64::from(self.assigned[port]) + self.free[port].saturating_sub(now);
            least = least.min(Loaded(load << PORT_BITS | port as u64));
        }
        least
    }

    /// The lowest of these ports; if that is one of the contended ones, the one of them for which the oldest waits.
    #[inline]
    pub(crate) fn first(&self, ports: PortSet, contended: PortSet) -> usize {
        let lowest = ports.trailing_zeros() as usize % MAX_PORTS;
        if contended >> lowest & 1 == 0 {
            return lowest;
        }
        let age = |port: &usize| self.waiting[*port].first().map(|(age, _)| age);
        members(ports & contended).min_by_key(age).unwrap_or(lowest)
    }

    /// Takes the oldest that waits for a port.
    #[inline]
    pub(crate) fn take(&mut self, port: usize) -> Option<Handle> {
        let waiting = &mut self.waiting[port];
        let taken = waiting.pop();
        if waiting.first().is_none() {
            self.ready &= !(1 << port);
        }
        taken
    }

    /// Forgets the micro-ops that wait for a port, but for these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(Handle) -> bool) {
        for port in members(self.ready) {
            self.waiting[port].keep(&is_kept);
            if self.waiting[port].first().is_none() {
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
