//! The ports: each starts the oldest micro-op that has its operands.

mod age_queue;
pub(crate) mod ports;
pub(crate) mod wheel;

use crate::core::in_flight::{Handle, InFlightUop, NEVER};
use crate::core::parameters::Parameters;
use crate::core::{Core, InstructionSource};
use crate::execute::ports::MAX_PORTS;
use crate::lsq::agu::AguBandwidth;
use crate::lsq::banks::Banks;
use crate::lsq::operands::lines;
use crate::memory::{Memory, Reply, Request};
use crate::uops::Kind;

/// What memory still takes in this cycle.
#[derive(Debug, Clone, Copy)]
struct Rates {
    loads: u32,
    vector_loads: u32,
    stores: u32,
    vector_stores: u32,
}

impl Rates {
    /// Takes one off, if there is one; of vectors as many as the accesses that a wide one is, or all.
    fn take(&mut self, kind: Kind, is_vector: bool, accesses: u16, whole: &Self) -> bool {
        let (all, vectors, most) = match kind {
            Kind::Compute | Kind::StoreData(_) => return true,
            Kind::Load(_) => (&mut self.loads, &mut self.vector_loads, whole.vector_loads),
            Kind::StoreAddress(_) | Kind::StreamAddress(_) => {
                (&mut self.stores, &mut self.vector_stores, whole.vector_stores)
            }
        };
        let wanted = if is_vector { u32::from(accesses).min(most).max(1) } else { 0 };
        if *all == 0 || *vectors < wanted {
            return false;
        }
        *all -= 1;
        *vectors -= wanted;
        true
    }
}

/// What a cycle can still begin.
struct Left {
    /// What it could when it began.
    whole: Rates,
    common: Rates,
    /// Of each thread, where some have rates of their own.
    own: Vec<Rates>,
    banks: Banks,
}

/// Ports in the order in which they start something.
struct Chosen {
    ports: [u8; MAX_PORTS],
    count: usize,
}

impl Parameters {
    /// Whether a thread does such a thing without regard to its siblings.
    fn has_own_rate(&self, kind: Kind) -> bool {
        match kind {
            Kind::Compute | Kind::StoreData(_) => false,
            Kind::Load(_) => self.load_store.own_loads,
            Kind::StoreAddress(_) | Kind::StreamAddress(_) => self.load_store.own_stores,
        }
    }
}

impl<F: InstructionSource> Core<F> {
    pub(crate) fn execute(&mut self, memory: &mut Memory) {
        self.gather_due();
        let (load_rate, store_rate) =
            (self.parameters.load_store.load_rate, self.parameters.load_store.store_rate);
        let (repeated_loads, repeated_stores) = self.repeats.take(load_rate, store_rate);
        let rates = Rates {
            loads: load_rate - repeated_loads,
            vector_loads: self.parameters.load_store.vector_load_rate,
            stores: store_rate - repeated_stores,
            vector_stores: self.parameters.load_store.vector_store_rate,
        };
        self.agus.iter_mut().for_each(AguBandwidth::begin);
        let has_own = self.parameters.load_store.own_loads || self.parameters.load_store.own_stores;
        let mut left = Left {
            whole: rates,
            common: rates,
            own: if has_own { vec![rates; self.threads.len()] } else { Vec::new() },
            banks: Banks::new(self.parameters.load_store.banks),
        };
        for set in 0..self.ports.len() {
            if self.ports[set].ready != 0 {
                let chosen = self.choose(set, &mut left);
                for &port in &chosen.ports[..chosen.count] {
                    self.start(set, usize::from(port) % MAX_PORTS, memory);
                }
            }
        }
    }

    /// The ports of a set that start their oldest micro-op in this cycle.
    fn choose(&mut self, set: usize, left: &mut Left) -> Chosen {
        let Self { parameters, threads, agus, .. } = self;
        let (now, ports) = (self.now, &self.ports[set]);
        let Left { whole, common, own, banks } = left;
        let mut chosen = Chosen { ports: [0; MAX_PORTS], count: 0 };
        let mut ready = ports.ready;
        // Where memory does not take as many loads as have their addresses, the oldest are first.
        let loads = ready & parameters.port_map.loads;
        let taken = whole.vector_loads.min(whole.loads);
        let contended = if loads.count_ones() > taken { loads } else { 0 };
        while ready != 0 {
            let port = ports.first(ready, contended);
            ready &= !(1 << port);
            if ports.free[port] > now {
                continue;
            }
            let Some(handle) = ports.oldest(port) else { continue };
            let in_flight = threads[handle.thread()].in_flight_uops.get(handle);
            let &InFlightUop { kind, is_vector, address, span, busy, .. } = in_flight;
            if kind.is_access() {
                let (rates, agus) = match parameters.has_own_rate(kind) {
                    true => (&mut own[handle.thread()], &mut agus[handle.thread()]),
                    false => (&mut *common, &mut agus[0]),
                };
                if matches!(kind, Kind::Load(_)) && !banks.take(address, span.into()) {
                    continue;
                }
                if agus.is_over(kind) || !rates.take(kind, is_vector, busy, whole) {
                    continue;
                }
                agus.take(kind, span.into());
            }
            chosen.ports[chosen.count % MAX_PORTS] = port as u8;
            chosen.count += 1;
        }
        chosen
    }

    /// What has its operands from this cycle on.
    fn gather_due(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take(self.now, &mut due);
        self.is_active |= !due.is_empty();
        let mut next = 0;
        while let Some(&handle) = due.get(next) {
            next += 1;
            let Self { parameters, threads, ports, .. } = self;
            let in_flight = threads[handle.thread()].in_flight_uops.get(handle);
            if in_flight.done != NEVER {
                // It was squashed.
                continue;
            }
            if !in_flight.has_port {
                let done = self.now + u64::from(in_flight.latency);
                self.finish(handle, done, Some(&mut due));
                continue;
            }
            let &InFlightUop { age, latency, port, .. } = in_flight;
            let mut port = usize::from(port) % MAX_PORTS;
            let ports = &mut ports[parameters.set_of(handle.thread(), port)];
            let of_port = &parameters.port_map.of_port[port];
            let in_flight_uops = &mut threads[handle.thread()].in_flight_uops;
            if of_port.binds_late {
                let soonest = ports.soonest(port, in_flight_uops.allowed(handle), self.now);
                if soonest != port {
                    ports.give_instead(port, soonest);
                    port = soonest;
                    in_flight_uops.get_mut(handle).port = port as u8;
                }
            }
            ports.wait(port, age, handle);
            // What takes longer wakes others when it has been selected.
            if of_port.colliding != 0 && latency == 1 && ports.are_taken(of_port.colliding, age) {
                in_flight_uops.get_mut(handle).collides = true;
            }
        }
        due.clear();
        self.due = due;
    }

    /// Starts the oldest micro-op that waits for a port.
    fn start(&mut self, set: usize, port: usize, memory: &mut Memory) {
        let Some(handle) = self.ports[set].take(port) else { return };
        self.is_active = true;
        if self.is_early(handle) {
            self.ports[set].free[port] = self.now + 1;
            return;
        }
        let Self { parameters, threads, scheduler_used, ports, .. } = self;
        let (now, index) = (self.now, handle.thread());
        let (thread, ports) = (&mut threads[index], &mut ports[set]);
        self.issuing |= 1 << index;
        let scheduler = usize::from(parameters.port_map.of_port[port].scheduler) % MAX_PORTS;
        scheduler_used[scheduler] -= 1;
        thread.scheduler_used[scheduler] -= 1;
        let in_flight = thread.in_flight_uops.get_mut(handle);
        in_flight.waited = now.saturating_sub(in_flight.ready).min(u16::MAX.into()) as u16;
        let (kind, latency) =
            (in_flight.kind, u64::from(in_flight.latency) + u64::from(in_flight.extra));
        // What was selected too early may have taken its next cycles.
        ports.free[port] = ports.free[port].max(now) + u64::from(in_flight.busy.max(1));
        ports.requester[port] = index as u8;
        ports.assigned[port] -= 1;
        ports.counts.start(now, port);
        let done = match kind {
            Kind::Compute | Kind::StoreData(_) => now + latency,
            Kind::Load(_) if self.must_wait(handle, memory) => return,
            Kind::Load(_) => self.load_now(handle, latency + self.alias_beside(handle), memory),
            Kind::StoreAddress(_) => {
                self.touch(handle, memory, Memory::own);
                self.find_line(handle, now + latency)
            }
            Kind::StreamAddress(_) => {
                self.touch(handle, memory, Memory::locate);
                now + latency
            }
        };
        self.finish(handle, done, None);
    }

    /// Whether a load is issued before the store whose bytes it gets has handed them over: then it has taken its port for
    /// nothing, and is issued again when they are there.
    fn is_early(&mut self, handle: Handle) -> bool {
        if !self.parameters.load_store.early_issue {
            return false;
        }
        let &InFlightUop { kind, is_forwarded, .. } = self.in_flight(handle);
        if !(is_forwarded && matches!(kind, Kind::Load(_))) {
            return false;
        }
        let in_flight_uops = &mut self.threads[handle.thread()].in_flight_uops;
        if !in_flight_uops.wait_for_data(handle, self.now) {
            return false;
        }
        let &InFlightUop { pending, ready, .. } = self.in_flight(handle);
        if pending == 0 {
            self.wheel.call(self.now, ready.max(self.now + 1), handle);
        }
        true
    }

    /// When a load that starts now is done.
    pub(crate) fn load_now(&mut self, handle: Handle, latency: u64, memory: &mut Memory) -> u64 {
        let &InFlightUop { is_forwarded, is_firm, .. } = self.in_flight(handle);
        // What a store hands over never misses.
        let ready = if is_forwarded { self.now } else { self.touch(handle, memory, Memory::load) };
        let done = ready + latency;
        if is_forwarded || is_firm { done } else { self.find_line(handle, done) }
    }

    /// When an access that would be `done` is, where the first level finds lines by their linear addresses.
    fn find_line(&mut self, handle: Handle, done: u64) -> u64 {
        let &InFlightUop { address, kind, .. } = self.in_flight(handle);
        let pages = self.threads[handle.thread()].pages;
        if !(pages.are_one() && self.tags.is_of_use()) {
            return done;
        }
        let (later, repeated) = self.tags.access(address, pages.physical(address), self.now);
        // A store has its address all the same, and goes to the cache when it is retired.
        if matches!(kind, Kind::Load(_)) {
            self.repeats.add(true, repeated);
        }
        done + later
    }

    /// Asks memory for every line that a micro-op touches. Returns when the last one is there.
    fn touch(
        &mut self,
        handle: Handle,
        memory: &mut Memory,
        ask: fn(&mut Memory, Request, u64) -> Reply,
    ) -> u64 {
        let &InFlightUop { address, span, instruction, kind, .. } = self.in_flight(handle);
        let (now, is_load) = (self.now, matches!(kind, Kind::Load(_)));
        let mut ready = now;
        for at in lines(address, span.into()) {
            let request = self.request(handle.thread(), instruction.into(), at);
            let mut reply = ask(memory, request, now);
            let (translated, repeated) = self.translations.access(at, now, reply.translation);
            if repeated > 0 {
                reply.ready = reply.ready.max(translated);
                self.repeats.add(is_load, repeated);
            }
            let in_flight = self.threads[handle.thread()].in_flight_uops.get_mut(handle);
            in_flight.origin = in_flight.origin.max(reply.origin);
            if reply.ready > ready {
                (ready, in_flight.evicted) = (reply.ready, reply.evicted);
            }
        }
        ready
    }

    /// Wakes the micro-ops that wait for a result. What can start in this very cycle goes to
    /// `due`.
    pub(crate) fn finish(&mut self, handle: Handle, done: u64, mut due: Option<&mut Vec<Handle>>) {
        let Self { parameters, threads, ports, wheel, now, .. } = self;
        let (now, thread) = (*now, handle.thread());
        let in_flight_uops = &mut threads[thread].in_flight_uops;
        let &InFlightUop { collides, age: producer, .. } = in_flight_uops.get(handle);
        // What was renamed long after it finds it still waiting, and is not woken by it.
        let together = producer + u64::from(parameters.widths.dispatch);
        in_flight_uops.finish(handle, done, |consumer, in_flight| {
            let consumer = Handle::new(thread, consumer.into());
            let &InFlightUop { ready, port, has_port, age, .. } = in_flight;
            let port = usize::from(port) % MAX_PORTS;
            if collides
                && has_port
                && ready == done
                && age < together
                && parameters.port_map.of_port[port].colliding != 0
            {
                ports[parameters.set_of(thread, port)].issue_in_vain(port, now);
            }
            match &mut due {
                Some(due) if ready <= now => due.push(consumer),
                _ => wheel.call(now, ready.max(now + 1), consumer),
            }
        });
    }
}
