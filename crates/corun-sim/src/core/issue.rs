//! The issue stage: each port starts the oldest micro-op that has its operands.

use crate::core::{Core, InstructionSource};
use crate::execute::Producer;
use crate::memory::{Memory, Reply, Request, lines};
use crate::uops::{Handle, InFlightUop, Kind, NEVER};

impl<F: InstructionSource> Core<F> {
    /// Starts what has its operands, its port and its part of the cycle's bandwidth.
    pub(super) fn execute(&mut self, memory: &mut Memory) {
        self.gather_due();
        self.load_store.begin(&self.parameters.load_store);
        for set in 0..self.schedulers.sets() {
            let Self { threads, schedulers, load_store, now, .. } = self;
            let most = load_store.most_accesses();
            let selected = schedulers.select(set, most, *now, |handle| {
                let thread = handle.thread();
                load_store.take_bandwidth(thread, threads[thread].rob.uop(handle))
            });
            for port in selected.ports() {
                self.start(set, port, memory);
            }
        }
    }

    /// Lets micro-ops that have their operands from this cycle on wait for their ports.
    fn gather_due(&mut self) {
        let mut due = self.schedulers.take_due(self.now);
        self.is_active |= !due.is_empty();
        let mut next = 0;
        while let Some(&handle) = due.get(next) {
            next += 1;
            let Self { threads, schedulers, now, .. } = self;
            let rob = &mut threads[handle.thread()].rob;
            let in_flight = rob.uop(handle);
            if in_flight.done != NEVER {
                // It was squashed.
                continue;
            }
            if in_flight.has_port {
                let allowed = || rob.allowed(handle);
                let (port, collides) = schedulers.await_port(handle, in_flight, allowed, *now);
                rob.bind(handle, port, collides);
            } else {
                let done = *now + u64::from(in_flight.latency);
                self.finish(handle, done, Some(&mut due));
            }
        }
        self.schedulers.clear_due(due);
    }

    /// Starts the oldest micro-op that waits for a port.
    fn start(&mut self, set: usize, port: usize, memory: &mut Memory) {
        let Some(handle) = self.schedulers.take(set, port) else { return };
        self.is_active = true;
        if self.is_early(handle) {
            self.schedulers.issue_in_vain(set, port, self.now);
            return;
        }
        let (now, index) = (self.now, handle.thread());
        let &InFlightUop { kind, latency, extra, busy, .. } =
            self.threads[index].rob.issue(handle, now);
        let latency = u64::from(latency) + u64::from(extra);
        self.schedulers.issue(set, port, index, busy, now);
        let done = match kind {
            Kind::Compute | Kind::StoreData(_) => now + latency,
            Kind::Load(_) if self.must_wait(handle, memory) => return,
            Kind::Load(_) => self.load_now(handle, latency + self.alias_beside(handle), memory),
            Kind::StoreAddress(_) => {
                self.touch(handle, memory, Memory::read_for_ownership);
                self.find_line(handle, now + latency)
            }
            Kind::StreamAddress(_) => {
                self.touch(handle, memory, Memory::locate);
                now + latency
            }
        };
        self.finish(handle, done, None);
    }

    /// True if a load is issued before the store whose bytes it gets has handed them over: then it has taken its port for
    /// nothing, and is issued again when they are there.
    fn is_early(&mut self, handle: Handle) -> bool {
        if !self.parameters.load_store.early_issue {
            return false;
        }
        let &InFlightUop { kind, is_forwarded, .. } = self.in_flight(handle);
        let rob = &mut self.threads[handle.thread()].rob;
        let is_of_store = is_forwarded && matches!(kind, Kind::Load(_));
        if !(is_of_store && rob.wait_for_data(handle, self.now)) {
            return false;
        }
        let &InFlightUop { pending, ready, .. } = rob.uop(handle);
        if pending == 0 {
            self.schedulers.call(self.now, ready, handle);
        }
        true
    }

    /// When a load that starts now is done.
    pub(super) fn load_now(&mut self, handle: Handle, latency: u64, memory: &mut Memory) -> u64 {
        let &InFlightUop { is_forwarded, is_firm, .. } = self.in_flight(handle);
        // What a store hands over never misses.
        let ready = if is_forwarded { self.now } else { self.touch(handle, memory, Memory::load) };
        let done = ready + latency;
        if is_forwarded || is_firm { done } else { self.find_line(handle, done) }
    }

    /// When an access that would be `done` is, where the first level finds lines by their linear addresses.
    fn find_line(&mut self, handle: Handle, done: u64) -> u64 {
        let &InFlightUop { address, kind, .. } = self.in_flight(handle);
        let (pages, is_load) = (self.threads[handle.thread()].pages, matches!(kind, Kind::Load(_)));
        done + self.load_store.find_line(address, pages, is_load, self.now)
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
            self.load_store.await_translation(at, is_load, &mut reply, now);
            let evicted = (reply.ready > ready).then_some(reply.evicted);
            ready = ready.max(reply.ready);
            self.threads[handle.thread()].rob.note_line(handle, reply.origin, evicted);
        }
        ready
    }

    /// Wakes the micro-ops that wait for a result. What can start in this very cycle goes to `due`.
    pub(super) fn finish(&mut self, handle: Handle, done: u64, mut due: Option<&mut Vec<Handle>>) {
        let Self { parameters, threads, schedulers, now, .. } = self;
        let thread = handle.thread();
        let rob = &mut threads[thread].rob;
        let &InFlightUop { collides, age, .. } = rob.uop(handle);
        // What was renamed long after it finds it still waiting, and is not woken by it.
        let collides_before = collides.then(|| age + u64::from(parameters.widths.dispatch));
        let producer = Producer { done, collides_before };
        rob.finish(handle, done, |consumer, uop| {
            let consumer = Handle::new(thread, consumer.into());
            schedulers.wake(consumer, uop, producer, &mut due, *now);
        });
    }
}
