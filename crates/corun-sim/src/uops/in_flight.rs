//! Micro-ops between renaming and retirement.

use crate::memory::{Origin, SiblingEviction};
use crate::uops::kind::{Kind, PortSet};

/// Which micro-op of which thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Handle(u32);

const THREAD_SHIFT: u32 = 24;

impl Handle {
    pub(crate) fn new(thread: usize, sequence: u64) -> Self {
        Self((thread as u32) << THREAD_SHIFT | (sequence as u32) & (CAPACITY as u32 - 1))
    }

    pub(crate) fn thread(self) -> usize {
        (self.0 >> THREAD_SHIFT) as usize
    }

    fn index(self) -> usize {
        self.0 as usize % CAPACITY
    }
}

/// Micro-ops that a thread can have in flight: more than reorder buffers hold, and few enough to stay
/// in a cache of the machine that simulates.
pub(crate) const CAPACITY: usize = corun_model::MAX_IN_FLIGHT as usize;
/// Registers, own micro-ops and stores that one micro-op may wait for.
pub(crate) const MAX_SOURCES: usize = 8;
/// A list's end.
const NONE: u16 = u16::MAX;
/// Not started.
pub(crate) const NEVER: u64 = u64::MAX;

/// A micro-op in flight: as much as a line of the simulating machine's cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct InFlightUop {
    /// The cycle from which its result can be used; `NEVER` before it has started.
    pub(crate) done: u64,
    /// The cycle from which its known operands can be used.
    pub(crate) ready: u64,
    /// Place in the order of renaming over all threads.
    pub(crate) age: u64,
    /// The first byte of memory that it loads or is going to store, by its linear address.
    pub(crate) address: u64,
    /// A number for its instruction.
    pub(crate) instruction: u32,
    /// Bytes that it loads or is going to store.
    pub(crate) span: u16,
    /// Cycles for which it had its operands and no port, as far as can be counted.
    pub(crate) waited: u16,
    /// Origin of the bytes.
    pub(crate) origin: Origin,
    pub(crate) kind: Kind,
    /// True if it moves a vector.
    pub(crate) is_vector: bool,
    /// True if it needs a port that it has not left for a buffer.
    pub(crate) has_port: bool,
    /// The port it was given.
    pub(crate) port: u8,
    /// True if it was not selected when it had its operands, and what waits for it was woken all the same.
    pub(crate) collides: bool,
    /// Operands whose time is not known.
    pub(crate) pending: u8,
    pub(crate) busy: u16,
    pub(crate) latency: u16,
    /// Cycles more, because of the address.
    pub(crate) extra: u16,
    /// True if a store that has not reached the cache gives its data.
    pub(crate) is_forwarded: bool,
    /// True if no other core can come between it and what it is part of: a locked load, or a prefetch.
    pub(crate) is_firm: bool,
    /// True if it is a plain load of a general-purpose register.
    pub(crate) is_pointer: bool,
    /// Of its last cycles those that a sibling costs it which evicted its line.
    pub(crate) evicted: SiblingEviction,
    /// The first of those that wait for it: an edge.
    waiters: u16,
    /// Sources that it waits for, or has waited for.
    used_edges: u8,
}

const _: () = assert!(size_of::<InFlightUop>() == 64);

impl InFlightUop {
    /// In a place that was never used.
    pub(crate) const NOTHING: Self = Self {
        done: 0,
        ready: 0,
        age: 0,
        address: 0,
        span: 0,
        instruction: 0,
        origin: Origin::L1,
        kind: Kind::Compute,
        is_vector: false,
        has_port: false,
        port: 0,
        collides: false,
        pending: 0,
        busy: 0,
        latency: 0,
        extra: 0,
        is_forwarded: false,
        is_firm: false,
        is_pointer: false,
        waited: 0,
        evicted: SiblingEviction { cycles: 0, is_second: false },
        waiters: NONE,
        used_edges: 0,
    };

    /// A micro-op as it begins, but for when that is, where it is executed and what it waits for.
    pub(super) fn new(
        kind: Kind,
        is_vector: bool,
        has_port: bool,
        busy: u16,
        latency: u16,
    ) -> Self {
        Self { done: NEVER, kind, is_vector, has_port, busy, latency, ..Self::NOTHING }
    }

    /// True if another core that takes the line may make it a load that was too early.
    #[inline]
    pub(crate) fn is_snooped(&self) -> bool {
        matches!(self.kind, Kind::Load(_)) && !self.is_firm
    }

    /// It has left its port, and waits for a buffer of the first level's misses.
    pub(crate) fn wait_for_buffer(&mut self) {
        (self.has_port, self.origin) = (false, Origin::L2);
    }

    /// True if it does.
    #[inline]
    pub(crate) fn awaits_buffer(&self) -> bool {
        self.done == NEVER && !self.has_port && matches!(self.kind, Kind::Load(_))
    }

    /// Says which bytes it loads or is going to store.
    pub(crate) fn touch(&mut self, address: u64, span: u64) {
        self.address = address;
        self.span = span.min(u16::MAX.into()) as u16;
    }
}

/// The micro-ops in flight of one thread, a ring by sequence number.
#[derive(Debug)]
pub(crate) struct InFlightUops {
    ring: Box<[InFlightUop; CAPACITY]>,
    /// For each load that gets a store's bytes the micro-op that hands them over, and the cycles that this adds.
    forwards: Box<[(u64, i16); CAPACITY]>,
    /// The ports that each micro-op may be given, where that is done when it has its operands.
    allowed: Box<[PortSet; CAPACITY]>,
    /// For each source of each micro-op the next edge of the same producer, and the cycles it adds.
    edges: Box<[[(u16, i16); MAX_SOURCES]; CAPACITY]>,
}

impl Default for InFlightUops {
    fn default() -> Self {
        Self {
            ring: filled(InFlightUop::NOTHING),
            forwards: filled((0, 0)),
            allowed: filled(0),
            edges: filled([(NONE, 0); MAX_SOURCES]),
        }
    }
}

/// The places of a ring, made where they stay.
pub(crate) fn filled<T: Clone, const PLACES: usize>(with: T) -> Box<[T; PLACES]> {
    let places = vec![with; PLACES].into_boxed_slice();
    places.try_into().unwrap_or_else(|_| unreachable!("it has this length"))
}

impl InFlightUops {
    pub(crate) fn get(&self, handle: Handle) -> &InFlightUop {
        &self.ring[handle.index()]
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> &mut InFlightUop {
        &mut self.ring[handle.index()]
    }

    pub(crate) fn at(&self, sequence: u64) -> &InFlightUop {
        &self.ring[sequence as usize % CAPACITY]
    }

    pub(crate) fn at_mut(&mut self, sequence: u64) -> &mut InFlightUop {
        &mut self.ring[sequence as usize % CAPACITY]
    }

    /// Puts a new micro-op in its place.
    #[inline]
    pub(crate) fn begin(&mut self, sequence: u64, uop: &InFlightUop) -> &mut InFlightUop {
        let place = self.at_mut(sequence);
        *place = *uop;
        place
    }

    /// Notes the ports of a micro-op that is given one of them when it has its operands.
    #[inline]
    pub(crate) fn allow(&mut self, sequence: u64, ports: PortSet) {
        self.allowed[sequence as usize % CAPACITY] = ports;
    }

    /// The ports that were noted.
    #[inline]
    pub(crate) fn allowed(&self, handle: Handle) -> PortSet {
        self.allowed[handle.index()]
    }

    /// Lets a micro-op wait for all these, each with cycles that it adds (which may be negative).
    #[inline(always)]
    pub(crate) fn wait_for_all(
        &mut self,
        consumer: u64,
        producers: impl Iterator<Item = (u64, i16)>,
    ) {
        let consumer = consumer as usize % CAPACITY;
        let InFlightUop { mut ready, mut pending, mut used_edges, .. } = self.ring[consumer];
        for (producer, extra) in producers {
            let producer = &mut self.ring[producer as usize % CAPACITY];
            if producer.done != NEVER {
                ready = ready.max(producer.done.saturating_add_signed(extra.into()));
            } else if let Some(edge) = self.edges[consumer].get_mut(usize::from(used_edges)) {
                *edge = (producer.waiters, extra);
                producer.waiters = (consumer * MAX_SOURCES + usize::from(used_edges)) as u16;
                used_edges += 1;
                pending += 1;
            }
        }
        let in_flight = &mut self.ring[consumer];
        (in_flight.ready, in_flight.pending, in_flight.used_edges) = (ready, pending, used_edges);
    }

    /// Lets `consumer` wait for one producer more.
    pub(crate) fn wait(&mut self, consumer: u64, producer: u64, extra: i16) {
        self.wait_for_all(consumer, std::iter::once((producer, extra)));
    }

    /// Notes which micro-op hands a load's bytes over, which it is going to wait for once it is issued.
    pub(crate) fn forward(&mut self, load: u64, data: u64, extra: i16) {
        self.forwards[load as usize % CAPACITY] = (data, extra);
    }

    /// Lets a load that is issued wait for its bytes, if they are not there yet. Returns whether it does.
    pub(crate) fn wait_for_data(&mut self, load: Handle, now: u64) -> bool {
        let (data, extra) = std::mem::take(&mut self.forwards[load.index()]);
        let done = self.at(data).done;
        if data == 0 || done != NEVER && done.saturating_add_signed(extra.into()) <= now {
            return false;
        }
        self.wait(load.index() as u64, data, extra);
        true
    }

    /// Says when a micro-op is done; calls `ready` with the sequence (modulo the ring) of each that
    /// then knows when it can start.
    pub(crate) fn finish(
        &mut self,
        handle: Handle,
        done: u64,
        mut ready: impl FnMut(u32, &InFlightUop),
    ) {
        let in_flight = &mut self.ring[handle.index()];
        in_flight.done = done;
        let mut edge = std::mem::replace(&mut in_flight.waiters, NONE);
        while edge != NONE {
            let (consumer, slot) =
                (usize::from(edge) / MAX_SOURCES, usize::from(edge) % MAX_SOURCES);
            let consumer = consumer % CAPACITY;
            let in_flight = &mut self.ring[consumer];
            let (next, extra) = self.edges[consumer][slot];
            in_flight.ready = in_flight.ready.max(done.saturating_add_signed(extra.into()));
            in_flight.pending -= 1;
            if in_flight.pending == 0 {
                ready(consumer as u32, in_flight);
            }
            edge = next;
        }
    }
}
