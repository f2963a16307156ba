//! The schedulers of a core: micro-ops wait there for their operands, and for their ports.

use crate::execute::assigned_ports::AssignedPorts;
use crate::execute::port_map::{Port, PortMap};
use crate::execute::ports::Ports;
use crate::execute::wheel::Wheel;
use crate::parameters::Limit;
use crate::uops::{Handle, InFlightUop, MAX_PORTS, NEVER, PortSet};
use corun_model::CoreModel;

/// Schedulers and their ports, for all threads.
#[derive(Debug)]
pub(crate) struct Schedulers {
    pub(super) port_map: PortMap,
    /// The ports of all threads, and those of single ones after them.
    pub(super) sets: Vec<Ports>,
    /// Occupied entries of each scheduler, and those of each thread.
    pub(super) used: [u32; MAX_PORTS],
    pub(super) used_by: Vec<[u32; MAX_PORTS]>,
    pub(super) assigned: AssignedPorts,
    /// Micro-ops by the cycle in which they have their operands.
    wheel: Wheel,
    due: Vec<Handle>,
    /// Micro-ops in the order of their renaming, over all threads.
    age: u64,
    /// Threads, a bit each, that issued micro-ops in this cycle.
    issuing: u32,
}

/// The most loads and stores that can begin in a cycle, wide ones among them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MostAccesses {
    pub(crate) loads: u32,
    pub(crate) stores: u32,
}

/// Ports in the order in which they start their oldest micro-ops.
pub(crate) struct Selected {
    ports: [u8; MAX_PORTS],
    count: usize,
}

impl Selected {
    /// Ports of the set.
    #[inline]
    pub(crate) fn ports(&self) -> impl Iterator<Item = usize> {
        self.ports[..self.count].iter().map(|&port| usize::from(port) % MAX_PORTS)
    }
}

/// A micro-op whose result wakes others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Producer {
    pub(crate) done: u64,
    /// It was not selected when it had its operands, and what waits for it was woken all the same: micro-ops renamed before
    /// this one.
    pub(crate) collides_before: Option<u64>,
}

impl Schedulers {
    /// Empty ones of a core with so many threads.
    pub(crate) fn of(model: &CoreModel, threads: usize) -> Self {
        let port_map = PortMap::of(model, threads);
        let set = |_| Ports::new(model.back.port_assignment, port_map.loads);
        Self {
            sets: (0..port_map.sets(threads)).map(set).collect(),
            port_map,
            used: [0; MAX_PORTS],
            used_by: vec![[0; MAX_PORTS]; threads],
            assigned: AssignedPorts::new(model.back.port_assignment),
            wheel: Wheel::default(),
            due: Vec::new(),
            age: 0,
            issuing: 0,
        }
    }

    /// Names of the groups of ports.
    pub(crate) fn groups(&self) -> &[String] {
        &self.port_map.groups
    }

    /// Entries that a thread has of all schedulers.
    #[inline]
    pub(crate) fn occupied_by(&self, thread: usize) -> u32 {
        self.used_by[thread].iter().sum()
    }

    /// A scheduler without room for `wanted` more micro-ops of a thread, beside others: its limit, and what the thread has.
    pub(crate) fn without_room(
        &self,
        thread: usize,
        limits: &[Limit],
        wanted: u32,
    ) -> Option<(Limit, u32)> {
        let used = self.used_by[thread].iter().zip(&self.used);
        let is_full = |limit: &Limit, own, all| all > 0 && !limit.has_room(own, all, wanted);
        let mut all = limits.iter().zip(used);
        let (limit, (&own, _)) = all.find(|(limit, (own, all))| is_full(limit, **own, **all))?;
        Some((*limit, own))
    }

    /// A micro-op enters the back end, at its port if it needs one: returns its age.
    #[inline]
    pub(crate) fn dispatch(&mut self, thread: usize, port: usize, needs_port: bool) -> u64 {
        if needs_port {
            self.sets[self.port_map.set_of(thread, port)].dispatch(port);
            let scheduler = self.port_map.scheduler_of(port);
            self.used[scheduler] += 1;
            self.used_by[thread][scheduler] += 1;
        }
        self.age += 1;
        self.age
    }

    /// True if a micro-op is given its port once it has its operands.
    #[inline]
    pub(crate) fn binds_late(&self, port: usize) -> bool {
        self.port_map.of_port[port].binds_late
    }

    /// Calls for a micro-op in cycle `at`, when it has its operands.
    #[inline]
    pub(crate) fn call(&mut self, now: u64, at: u64, handle: Handle) {
        self.wheel.call(now, at.max(now + 1), handle);
    }

    /// The micro-ops that have their operands from this cycle on.
    #[inline]
    pub(crate) fn take_due(&mut self, now: u64) -> Vec<Handle> {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take(now, &mut due);
        due
    }

    /// Gives the list of those back.
    #[inline]
    pub(crate) fn clear_due(&mut self, mut due: Vec<Handle>) {
        due.clear();
        self.due = due;
    }

    /// A micro-op that has its operands waits for its port, or for the `allowed` one that starts it soonest. Returns the port,
    /// and whether the micro-op is not selected at once, and wakes what waits for it all the same.
    #[inline]
    pub(crate) fn await_port(
        &mut self,
        handle: Handle,
        uop: &InFlightUop,
        allowed: impl FnOnce() -> PortSet,
        now: u64,
    ) -> (u8, bool) {
        let thread = handle.thread();
        let &InFlightUop { age, latency, port, .. } = uop;
        let mut port = usize::from(port) % MAX_PORTS;
        let ports = &mut self.sets[self.port_map.set_of(thread, port)];
        let Port { binds_late, colliding, .. } = self.port_map.of_port[port];
        if binds_late {
            let soonest = ports.soonest(port, allowed(), now);
            if soonest != port {
                ports.give_instead(port, soonest);
                port = soonest;
            }
        }
        ports.wait(port, age, handle);
        // What takes longer wakes others when it has been selected.
        (port as u8, colliding != 0 && latency == 1 && ports.are_taken(colliding, age))
    }

    /// Wakes a micro-op that has its last operand. One that can start in this very cycle goes to `due`.
    #[inline]
    pub(crate) fn wake(
        &mut self,
        consumer: Handle,
        uop: &InFlightUop,
        producer: Producer,
        due: &mut Option<&mut Vec<Handle>>,
        now: u64,
    ) {
        let &InFlightUop { ready, port, has_port, age, .. } = uop;
        let port = usize::from(port) % MAX_PORTS;
        if let Some(before) = producer.collides_before
            && has_port
            && ready == producer.done
            && age < before
            && self.port_map.of_port[port].colliding != 0
        {
            let set = self.port_map.set_of(consumer.thread(), port);
            self.sets[set].issue_in_vain(port, now);
        }
        match due {
            Some(due) if ready <= now => due.push(consumer),
            _ => self.call(now, ready, consumer),
        }
    }

    /// Sets of ports.
    #[inline]
    pub(crate) fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Selects the ports of a set that start their oldest micro-op in this cycle, if that `can_issue`. Where memory takes
    /// fewer loads or stores than wait at their ports, the oldest are first: a port that is always last would never start
    /// any.
    #[inline]
    pub(crate) fn select(
        &self,
        set: usize,
        most: MostAccesses,
        now: u64,
        mut can_issue: impl FnMut(Handle) -> bool,
    ) -> Selected {
        let ports = &self.sets[set];
        let mut selected = Selected { ports: [0; MAX_PORTS], count: 0 };
        let mut ready = ports.ready();
        let beyond = |ports: PortSet, most| {
            let waiting = ready & ports;
            if waiting.count_ones() > most { waiting } else { 0 }
        };
        let contended = beyond(self.port_map.loads, most.loads)
            | beyond(self.port_map.store_addresses, most.stores);
        while ready != 0 {
            let port = ports.first(ready, contended);
            ready &= !(1 << port);
            if ports.is_free(port, now) && ports.oldest(port).is_some_and(&mut can_issue) {
                selected.ports[selected.count % MAX_PORTS] = port as u8;
                selected.count += 1;
            }
        }
        selected
    }

    /// Takes the micro-op that was selected for a port.
    #[inline]
    pub(crate) fn take(&mut self, set: usize, port: usize) -> Option<Handle> {
        self.sets[set].take(port)
    }

    /// Accounts for a micro-op that took its port in vain, and is going to be issued again.
    pub(crate) fn issue_in_vain(&mut self, set: usize, port: usize, now: u64) {
        self.sets[set].start_in_vain(port, now);
    }

    /// Issues a micro-op: it leaves its scheduler, and keeps its port for some cycles.
    #[inline]
    pub(crate) fn issue(&mut self, set: usize, port: usize, thread: usize, busy: u16, now: u64) {
        self.issuing |= 1 << thread;
        let scheduler = self.port_map.scheduler_of(port);
        self.used[scheduler] -= 1;
        self.used_by[thread][scheduler] -= 1;
        self.sets[set].start(port, thread, busy.max(1).into(), now);
    }

    /// The threads, a bit each, that issued micro-ops since this was asked last.
    #[inline]
    pub(crate) fn take_issuing(&mut self) -> u32 {
        std::mem::take(&mut self.issuing)
    }

    /// A micro-op that has not started is squashed: it gives its entry and its port back.
    pub(crate) fn squash(&mut self, thread: usize, uop: &InFlightUop) {
        if uop.has_port && uop.done == NEVER {
            let port = usize::from(uop.port);
            self.sets[self.port_map.set_of(thread, port)].squash(port);
            let scheduler = self.port_map.scheduler_of(port);
            self.used[scheduler] -= 1;
            self.used_by[thread][scheduler] -= 1;
        }
    }

    /// A micro-op that has started is squashed: a divider that works on it is free again.
    pub(crate) fn free_unit(&mut self, thread: usize, uop: &InFlightUop, now: u64) {
        if uop.has_port && uop.done != NEVER && uop.busy > 1 {
            let port = usize::from(uop.port);
            let begin = uop.done - u64::from(uop.latency + uop.extra);
            let ports = &mut self.sets[self.port_map.set_of(thread, port)];
            ports.squash_started(port, (begin, uop.busy.into()), now);
        }
    }

    /// Forgets the micro-ops that have their operands and wait for ports, but for these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(Handle) -> bool) {
        self.sets.iter_mut().for_each(|ports| ports.keep(&is_kept));
    }

    /// Forgets the micro-ops of a thread.
    pub(crate) fn clear(&mut self, thread: usize) {
        self.wheel.forget(thread);
        self.keep(|handle| handle.thread() != thread);
    }

    /// A thread's port: its group, and the thread whose micro-op it took last.
    pub(crate) fn port(&self, thread: usize, port: u8) -> (u8, usize) {
        let port = usize::from(port);
        let ports = &self.sets[self.port_map.set_of(thread, port)];
        (self.port_map.of_port[port].group, ports.requester(port))
    }

    /// The next cycle after `now` in which a micro-op has its operands or starts.
    pub(crate) fn next_event(&self, now: u64) -> Option<u64> {
        self.sets.iter().filter_map(Ports::next_event).chain(self.wheel.next(now)).min()
    }

    /// Entries and ports that are taken: none, when all programs have ended.
    #[cfg(test)]
    pub(crate) fn occupied(&self) -> u32 {
        let of_threads = self.used_by.iter().flatten().sum::<u32>();
        let assigned = self.sets.iter().map(Ports::all_assigned).sum::<u32>();
        of_threads + assigned + self.used.iter().sum::<u32>()
    }
}
