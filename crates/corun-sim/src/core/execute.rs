//! The ports: each starts the oldest operation that has its operands.

use super::flight::Handle;
use super::{Core, Feed};
use crate::code::Kind;

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
    pub(super) fn execute(&mut self) {
        self.gather_due();
        let mut rates = Rates {
            loads: self.parameters.load_rate - self.tags.repeat(self.parameters.load_rate),
            vector_loads: self.parameters.vector_load_rate,
            stores: self.parameters.store_rate,
            vector_stores: self.parameters.vector_store_rate,
        };
        for port in 0..self.waiting.len() {
            if self.port_free[port] > self.now {
                continue;
            }
            let Some(&(_, handle)) = self.waiting[port].front() else { continue };
            let flight = self.flight(handle);
            if !rates.take(flight.kind, flight.is_vector) {
                continue;
            }
            self.waiting[port].pop_front();
            self.start(handle, port);
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
            let place = waiting.iter().rposition(|(other, _)| *other < age).map_or(0, |at| at + 1);
            waiting.insert(place, (age, handle));
        }
        due.clear();
        self.due = due;
    }

    fn start(&mut self, handle: Handle, port: usize) {
        let now = self.now;
        let flight = self.threads[handle.thread()].flights.get_mut(handle);
        flight.waited = now.saturating_sub(flight.ready) as u32;
        let mut done = now + u64::from(flight.latency) + u64::from(flight.extra);
        if matches!(flight.kind, Kind::Load(_)) && self.tags.is_of_use() {
            let linear = flight.address;
            let physical = self.threads[handle.thread()].feed.physical(linear);
            done = self.tags.load(linear, physical, now, done);
        }
        let flight = self.threads[handle.thread()].flights.get_mut(handle);
        self.port_free[port] = now + u64::from(flight.busy.max(1));
        self.assigned[port] -= 1;
        self.counts.start(now, port);
        self.scheduler_used[usize::from(self.parameters.ports[port].scheduler)] -= 1;
        self.is_active = true;
        self.finish(handle, done, None);
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
