//! The ports of the back end with what waits for them: for all threads, or for one that has its own.

use crate::execute::age_queue::AgeQueue;
use crate::execute::port_assignment::Counts;
use crate::uops::{Handle, MAX_PORTS, PortSet};
use corun_model::PortAssignment;

/// The ports of a set, the lowest first.
#[inline]
pub(super) fn members(mut ports: PortSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (ports != 0).then(|| ports.trailing_zeros() as usize)?;
        ports &= ports - 1;
        Some(lowest)
    })
}

/// Bits of the number of a port.
const PORT_BITS: u32 = PortSet::BITS.ilog2();

/// Load of a port, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loaded(u64);

impl Loaded {
    /// The port.
    #[inline]
    pub(super) fn port(self) -> usize {
        self.0 as usize % MAX_PORTS
    }
}

/// One set of ports.
#[derive(Debug)]
pub(super) struct Ports {
    /// Micro-ops that have their operands, of each port, the oldest first.
    waiting: [AgeQueue; MAX_PORTS],
    /// The ports that any wait for.
    ready: PortSet,
    /// Micro-ops that were given each port and have not started.
    assigned: [u32; MAX_PORTS],
    /// Counts as the renamer knows them.
    counts: Counts,
    /// From when on each port takes another micro-op.
    free: [u64; MAX_PORTS],
    /// The thread whose micro-op each port took last.
    requester: [u8; MAX_PORTS],
}

impl Ports {
    /// Idle ones.
    pub(super) fn new(assignment: PortAssignment, loads: PortSet) -> Self {
        Self {
            waiting: std::array::from_fn(|_| AgeQueue::default()),
            ready: 0,
            assigned: [0; MAX_PORTS],
            counts: Counts::new(assignment, loads, MAX_PORTS),
            free: [0; MAX_PORTS],
            requester: [0; MAX_PORTS],
        }
    }

    /// A cycle of the renamer begins.
    #[inline]
    pub(super) fn begin_rename(&mut self, now: u64) {
        self.counts.begin(now);
    }

    /// The port of these for a micro-op in this place of what is renamed in a cycle; `turn` is changed by a pair of load ports.
    pub(super) fn by_place(&self, ports: PortSet, place: u32, turn: &mut bool) -> usize {
        self.counts.choose(ports, place, turn)
    }

    /// A micro-op is given a port.
    #[inline]
    pub(super) fn assign(&mut self, port: usize) {
        self.assigned[port] += 1;
    }

    /// It is given none after all.
    #[inline]
    pub(super) fn unassign(&mut self, port: usize) {
        self.assigned[port] -= 1;
    }

    /// A micro-op that was given a port is renamed.
    #[inline]
    pub(super) fn dispatch(&mut self, port: usize) {
        self.counts.give(port as u8);
    }

    /// A micro-op that has not started is squashed.
    pub(super) fn squash(&mut self, port: usize) {
        self.assigned[port] -= 1;
        self.counts.take_back(port as u8);
    }

    /// A micro-op that keeps its port from `begin` on for `busy` cycles is squashed: the port is free again.
    pub(super) fn squash_started(&mut self, port: usize, (begin, busy): (u64, u64), now: u64) {
        if self.free[port] == begin + busy {
            self.free[port] = self.free[port].min(now + 1);
        }
    }

    /// A thread's micro-op starts, and keeps its port for so many cycles.
    #[inline]
    pub(super) fn start(&mut self, port: usize, thread: usize, busy: u64, now: u64) {
        // What was selected too early may have taken its next cycles.
        self.free[port] = self.free[port].max(now) + busy;
        self.requester[port] = thread as u8;
        self.assigned[port] -= 1;
        self.counts.start(now, port);
    }

    /// A micro-op took its port for nothing, and is going to be issued again.
    pub(super) fn start_in_vain(&mut self, port: usize, now: u64) {
        self.free[port] = now + 1;
    }

    /// The thread whose micro-op a port took last.
    pub(super) fn requester(&self, port: usize) -> usize {
        self.requester[port].into()
    }

    /// The ports that any micro-op with its operands waits for.
    #[inline]
    pub(super) fn ready(&self) -> PortSet {
        self.ready
    }

    /// True if a port takes a micro-op by now.
    #[inline]
    pub(super) fn is_free(&self, port: usize, now: u64) -> bool {
        self.free[port] <= now
    }

    /// Micro-ops that were given a port and have not started.
    #[cfg(test)]
    pub(super) fn all_assigned(&self) -> u32 {
        self.assigned.iter().sum()
    }

    /// A micro-op has its operands.
    #[inline]
    pub(super) fn wait(&mut self, port: usize, age: u64, handle: Handle) {
        self.waiting[port].push(age, handle);
        self.ready |= 1 << port;
    }

    /// Of some ports the one that starts a micro-op soonest which has its operands now: `given`, if it can at once.
    #[inline]
    pub(super) fn soonest(&self, given: usize, ports: PortSet, now: u64) -> usize {
        let wait =
            |port: usize| self.free[port].saturating_sub(now) + self.waiting[port].len() as u64;
        if wait(given) == 0 {
            return given;
        }
        members(ports).min_by_key(|&port| wait(port)).unwrap_or(given)
    }

    /// Gives a micro-op another port than the one it was given.
    #[inline]
    pub(super) fn give_instead(&mut self, given: usize, port: usize) {
        self.assigned[given] -= 1;
        self.assigned[port] += 1;
    }

    /// True if older micro-ops wait for each of these ports, or more of them for some, so that one of this age is not
    /// selected in this cycle.
    #[inline]
    pub(super) fn are_taken(&self, ports: PortSet, age: u64) -> bool {
        let older =
            || members(ports).map(|port| self.waiting[port].count_older(age)).sum::<usize>();
        self.ready & ports == ports && older() >= ports.count_ones() as usize
    }

    /// A micro-op was selected for a port before its operands were there.
    #[inline]
    pub(super) fn issue_in_vain(&mut self, port: usize, now: u64) {
        self.free[port] = self.free[port].max(now) + 1;
    }

    /// The oldest that waits for a port.
    #[inline]
    pub(super) fn oldest(&self, port: usize) -> Option<Handle> {
        self.waiting[port].first().map(|(_, handle)| handle)
    }

    /// Of some ports the one with the fewest micro-ops to start, counting a cycle in which it starts none as one; the lowest
    /// of several. The result orders ports of several sets in the same way.
    #[inline]
    pub(super) fn least_loaded(&self, mut ports: PortSet, now: u64) -> Loaded {
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
    pub(super) fn first(&self, ports: PortSet, contended: PortSet) -> usize {
        let lowest = ports.trailing_zeros() as usize % MAX_PORTS;
        if contended >> lowest & 1 == 0 {
            return lowest;
        }
        let age = |port: &usize| self.waiting[*port].first().map(|(age, _)| age);
        members(ports & contended).min_by_key(age).unwrap_or(lowest)
    }

    /// Takes the oldest that waits for a port.
    #[inline]
    pub(super) fn take(&mut self, port: usize) -> Option<Handle> {
        let waiting = &mut self.waiting[port];
        let taken = waiting.pop();
        if waiting.first().is_none() {
            self.ready &= !(1 << port);
        }
        taken
    }

    /// Forgets the micro-ops that wait for a port, but for these.
    pub(super) fn keep(&mut self, is_kept: impl Fn(Handle) -> bool) {
        for port in members(self.ready) {
            self.waiting[port].keep(&is_kept);
            if self.waiting[port].first().is_none() {
                self.ready &= !(1 << port);
            }
        }
    }

    /// The next cycle in which a port takes something that waits for it.
    pub(super) fn next_event(&self) -> Option<u64> {
        members(self.ready).map(|port| self.free[port]).min()
    }
}
