//! The ports: each starts the oldest operation that has its operands.

use super::flight::{Flight, Handle};
use super::{Core, Feed};
use crate::code::Kind;
use crate::memory::{Memory, Reply, Request};
use crate::model::LINE;

/// What memory still takes in this cycle.
struct Rates {
    loads: u32,
    vector_loads: u32,
    stores: u32,
    vector_stores: u32,
}

impl Rates {
    /// Takes one off, if there is one.
    fn take(&mut self, kind: Kind, is_vector: bool) -> bool {
        let (all, vectors) = match kind {
            Kind::Compute | Kind::StoreData(_) => return true,
            Kind::Load(_) => (&mut self.loads, &mut self.vector_loads),
            Kind::StoreAddress(_) => (&mut self.stores, &mut self.vector_stores),
        };
        if *all == 0 || (is_vector && *vectors == 0) {
            return false;
        }
        *all -= 1;
        *vectors -= u32::from(is_vector && *vectors > 0);
        true
    }
}

impl<F: Feed> Core<F> {
    pub(super) fn execute(&mut self, memory: &mut Memory) {
        self.gather_due();
        let mut rates = Rates {
            loads: self.parameters.load_rate - self.tags.repeat(self.parameters.load_rate),
            vector_loads: self.parameters.vector_load_rate,
            stores: self.parameters.store_rate,
            vector_stores: self.parameters.vector_store_rate,
        };
        let mut ports = self.ready_ports;
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            ports &= ports - 1;
            if self.port_free[port] > self.now {
                continue;
            }
            let Some(&(_, handle)) = self.waiting[port].front() else { continue };
            let flight = self.flight(handle);
            if !rates.take(flight.kind, flight.is_vector) {
                continue;
            }
            self.waiting[port].pop_front();
            if self.waiting[port].is_empty() {
                self.ready_ports &= !(1 << port);
            }
            self.start(handle, port, memory);
        }
    }

    /// What has its operands from this cycle on.
    fn gather_due(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take(self.now, &mut due);
        let mut next = 0;
        while let Some(&handle) = due.get(next) {
            next += 1;
            self.is_active = true;
            let flight = self.flight(handle);
            if flight.ports == 0 {
                let done = self.now + u64::from(flight.latency);
                self.finish(handle, done, Some(&mut due));
                continue;
            }
            let (port, age) = (usize::from(flight.port), flight.age);
            let waiting = &mut self.waiting[port];
            match waiting.back() {
                Some((youngest, _)) if *youngest > age => {
                    let place = waiting.partition_point(|(other, _)| *other < age);
                    waiting.insert(place, (age, handle));
                }
                _ => waiting.push_back((age, handle)),
            }
            self.ready_ports |= 1 << port;
        }
        due.clear();
        self.due = due;
    }

    fn start(&mut self, handle: Handle, port: usize, memory: &mut Memory) {
        let now = self.now;
        let flight = self.threads[handle.thread()].flights.get_mut(handle);
        flight.waited = now.saturating_sub(flight.ready) as u32;
        let (kind, latency) = (flight.kind, u64::from(flight.latency) + u64::from(flight.extra));
        let done = match kind {
            Kind::Compute | Kind::StoreData(_) => now + latency,
            Kind::Load(_) => self.load_now(handle, latency, memory),
            Kind::StoreAddress(_) => {
                self.touch(handle, memory, Memory::own);
                now + latency
            }
        };
        let flight = self.threads[handle.thread()].flights.get_mut(handle);
        self.port_free[port] = now + u64::from(flight.busy.max(1));
        self.assigned[port] -= 1;
        self.counts.start(now, port);
        self.scheduler_used[usize::from(self.parameters.ports[port].scheduler)] -= 1;
        self.is_active = true;
        self.finish(handle, done, None);
    }

    /// When a load that starts now is done.
    fn load_now(&mut self, handle: Handle, latency: u64, memory: &mut Memory) -> u64 {
        let (now, thread) = (self.now, handle.thread());
        let &Flight { address, is_forwarded, .. } = self.flight(handle);
        // What a store hands over never misses.
        let ready = if is_forwarded { now } else { self.touch(handle, memory, Memory::load) };
        let pages = self.threads[thread].pages;
        if pages.are_one() && self.tags.is_of_use() {
            return self.tags.load(address, pages.physical(address), now, ready + latency);
        }
        ready + latency
    }

    /// Asks memory for every line that an operation touches. Returns when the last one is there.
    fn touch(
        &mut self,
        handle: Handle,
        memory: &mut Memory,
        ask: fn(&mut Memory, Request, u64) -> Reply,
    ) -> u64 {
        let &Flight { address, span, instruction, .. } = self.flight(handle);
        let (now, line) = (self.now, u64::from(LINE));
        let mut ready = now;
        let (mut at, end) = (address, address.wrapping_add(span.into()));
        while at < end {
            let request = self.request(handle.thread(), instruction.into(), at);
            let reply = ask(memory, request, now);
            let flight = self.threads[handle.thread()].flights.get_mut(handle);
            flight.origin = flight.origin.max(reply.origin);
            ready = ready.max(reply.ready);
            at = (at / line + 1).wrapping_mul(line);
        }
        ready
    }

    /// Tells those that wait for a result when it comes. What can start in this very cycle goes to
    /// `due`.
    fn finish(&mut self, handle: Handle, done: u64, mut due: Option<&mut Vec<Handle>>) {
        let (now, wheel) = (self.now, &mut self.wheel);
        let thread = handle.thread();
        self.threads[thread].flights.finish(handle, done, |consumer, ready| {
            let consumer = Handle::new(thread, consumer.into());
            match &mut due {
                Some(due) if ready <= now => due.push(consumer),
                _ => wheel.call(now, ready.max(now + 1), consumer),
            }
        });
    }
}
