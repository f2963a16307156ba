//! Renaming: micro-ops take their places in the back end, and learn what they wait for.

pub(crate) mod allocation;
pub(crate) mod move_elimination;
pub(crate) mod port_assignment;

use corun_trace::Direction;

use corun_trace::Form;

use crate::core::cycle_stack::{Component, Shared};
use crate::core::in_flight::{Handle, InFlightUop, NEVER};
use crate::core::limit::Limit;
use crate::core::parameters::Parameters;
use crate::core::thread::{Queued, Renamed, SiblingEntries, Thread};
use crate::core::{Core, InstructionSource};
use crate::lsq::predictive_forwarding::Before;
use crate::lsq::store_queue::{Overlap, Store};
use crate::memory::Origin;
use crate::rename::allocation::Stall;
use crate::uops::{DecodedBlock, DecodedInstruction, Effect, Kind, Memory as Place, Source, Uop};
use corun_model::{MemoryRenaming, Policy};

/// A buffer without room for a thread, of which that has `own` entries.
struct Full {
    what: (Component, Shared),
    limit: Limit,
    own: u32,
}

/// The index of the code that holds nothing but the update of the stack pointer.
pub(crate) const STACK_UPDATE: (u32, u32) = (0, 0);

impl<F: InstructionSource> Core<F> {
    pub(crate) fn rename(&mut self) {
        let count = self.threads.len();
        for ports in &mut self.ports {
            ports.counts.begin(self.now);
        }
        let (whole, policy) =
            (self.parameters.widths.dispatch, self.parameters.widths.dispatch_policy);
        let mut width = whole;
        let turn = self.rename_turn;
        let mut is_taken = false;
        let starving = self.starving();
        let code = std::mem::take(&mut self.code);
        for place in 0..count {
            let index = turn.thread(place, count);
            let most = match policy {
                _ if starving.is_some_and(|starving| starving != index) => 0,
                Policy::Replicated => whole,
                Policy::Partitioned => (whole / self.active).max(1),
                Policy::Shared | Policy::Alternating => width,
            };
            let (used, lost_to) = self.rename_thread(index, most, &code);
            let wrong = std::mem::take(&mut self.threads[index].renamed_wrongly);
            width = match policy {
                Policy::Alternating if used > 0 => 0,
                _ => width.saturating_sub(used),
            };
            if used > 0 && !is_taken {
                self.rename_turn.take(index);
                is_taken = true;
            }
            let thread = &mut self.threads[index];
            if thread.fetcher.is_astray() {
                thread.starved = None;
                thread.stack.note(used.saturating_sub(wrong), Component::Mispredict);
            } else {
                thread.stack.note(used, lost_to);
            }
        }
        self.code = code;
    }

    /// Returns the slots used, and what the others are lost to.
    fn rename_thread(
        &mut self,
        index: usize,
        width: u32,
        code: &[DecodedBlock],
    ) -> (u32, Component) {
        let debt = self.threads[index].debt.min(width);
        self.threads[index].debt -= debt;
        let mut used = debt;
        let mut moves = self.parameters.widths.moves_a_cycle;
        let count = self.threads.len();
        self.threads[index].move_elimination.begin(self.now);
        let lacking = self.lacks_room(index);
        if lacking.as_ref().is_some_and(|full| full.own == 0) {
            // Siblings alone fill it.
            let since = self.threads[index].starved.unwrap_or(self.now);
            self.threads[index].starved = Some(since);
        }
        match lacking {
            Some(Full { what, limit, own })
                if count > 1 && limit.is_taken(own, self.parameters.widths.dispatch) =>
            {
                return (0, self.lost(index, what, own, limit.alone - own));
            }
            Some(Full { what: (full, _), .. }) => return (0, self.cause(index, full)),
            None => {}
        }
        let mut is_first = true;
        while used < width || (is_first && width == 0) {
            is_first = false;
            let thread = &self.threads[index];
            if thread.cleared > self.now {
                return (used, Component::Memory(Origin::OtherCore));
            }
            let Some(&queued) = thread.queue.front().filter(|queued| queued.at <= self.now) else {
                return (used, self.starved(index));
            };
            if thread.is_held || thread.paused > self.now {
                return (used, Component::Serializing);
            }
            let next = &code[queued.block as usize].instructions[queued.instruction as usize];
            let must_wait =
                !thread.rob.is_empty() || (next.is_draining && thread.has_stores(self.now));
            if next.is_serializing && must_wait {
                return (used, self.cause(index, Component::Serializing));
            }
            let needs_update = thread.stack_moved && next.uses_stack_pointer;
            let (block, instruction) = STACK_UPDATE;
            let update = &code[block as usize].instructions[instruction as usize];
            let lowered = self.executed(index, if needs_update { update } else { next });
            if lowered.renamed > lowered.slots
                && used > 0
                && used + u32::from(lowered.renamed) > self.parameters.widths.dispatch
            {
                // What was one micro-op until now is not torn apart over two cycles.
                return (used, Component::FrontEnd);
            }
            if let Err(stall) = self.allocate(index, lowered, used) {
                let thread = &mut self.threads[index];
                let since = thread.starved.unwrap_or(self.now);
                thread.starved =
                    (self.allocator.is_stalled_by_sibling && used == 0).then_some(since);
                let lost_to = match stall {
                    Stall::LostTo(component) => component,
                    Stall::Full(buffer) => self.cause(index, buffer),
                };
                return (used, lost_to);
            }
            self.threads[index].starved = None;
            if width == 0 {
                self.release_allocation(index, lowered);
                return (0, Component::Sibling(Shared::Dispatch));
            }
            if queued.is_wrong {
                self.keep_for_squash(index);
            }
            let is_move = matches!(lowered.effect, Effect::Move(..)) && lowered.renamed > 0;
            let shares_slot = queued.shares_slot && !needs_update;
            let slots = if shares_slot { 0 } else { lowered.renamed };
            let renamed = Queued { slots, ..queued };
            self.rename_instruction(index, lowered, &renamed, needs_update);
            self.is_active = true;
            used += u32::from(slots);
            let thread = &mut self.threads[index];
            thread.renamed_wrongly += u32::from(slots) * u32::from(queued.is_wrong);
            if needs_update {
                thread.stack_moved = false;
            } else {
                thread.queue.pop_front();
                thread.queue_used -= u32::from(queued.slots);
            }
            if is_move {
                moves -= 1;
                if moves == 0 {
                    break;
                }
            }
        }
        let is_cut = used >= width && width < self.parameters.widths.dispatch;
        let lost_to = match is_cut && self.has_next(index, code, used) {
            true => Component::Sibling(Shared::Dispatch),
            false => Component::FrontEnd,
        };
        let thread = &mut self.threads[index];
        thread.debt += used.saturating_sub(width);
        (used.min(width), lost_to)
    }

    /// Whether a thread has one more instruction to rename, and room for it.
    fn has_next(&mut self, index: usize, code: &[DecodedBlock], used: u32) -> bool {
        let thread = &self.threads[index];
        let Some(&queued) = thread.queue.front().filter(|queued| queued.at <= self.now) else {
            return false;
        };
        let next = &code[queued.block as usize].instructions[queued.instruction as usize];
        let lowered = self.executed(index, next);
        let has_room = self.allocate(index, lowered, used).is_ok();
        if has_room {
            self.release_allocation(index, lowered);
        }
        has_room
    }

    /// What has no room for all that is renamed in a cycle, where the core asks for that.
    fn lacks_room(&self, index: usize) -> Option<Full> {
        let Parameters { widths, limits, .. } = &self.parameters;
        let (whole_groups, dispatch) = (widths.whole_groups, widths.dispatch);
        let (rob, schedulers) = (limits.rob, &limits.schedulers);
        let thread = &self.threads[index];
        if !whole_groups || thread.queue.front().is_none_or(|queued| queued.at > self.now) {
            return None;
        }
        let used = &thread.scheduler_used;
        let in_rob = self.all(|thread| thread.rob_used);
        if in_rob > 0 && !rob.has_room(thread.rob_used, in_rob, dispatch) {
            let what = (Component::ReorderBuffer, Shared::ReorderBuffer);
            return Some(Full { what, limit: rob, own: thread.rob_used });
        }
        let mut all = schedulers.iter().zip(used.iter().zip(&self.scheduler_used));
        let is_full = |limit: &Limit, own, all| all > 0 && !limit.has_room(own, all, dispatch);
        let (limit, (&own, _)) = all.find(|(limit, (own, all))| is_full(limit, **own, **all))?;
        let what = (Component::Scheduler, Shared::Scheduler);
        Some(Full { what, limit: *limit, own })
    }

    /// The instruction, or what is executed in its place: a copy that cannot be eliminated.
    fn executed<'c>(
        &self,
        index: usize,
        lowered: &'c DecodedInstruction,
    ) -> &'c DecodedInstruction {
        match (lowered.effect, &lowered.executed) {
            (Effect::Move(to, _), Some(executed))
                if !self.threads[index].move_elimination.has_place(to) =>
            {
                executed
            }
            _ => lowered,
        }
    }

    /// Why there is nothing to rename.
    fn starved(&self, index: usize) -> Component {
        let thread = &self.threads[index];
        if thread.paused > self.now {
            Component::Serializing
        } else if thread.fetcher.recovers(self.now) {
            Component::Mispredict
        } else if let Some(evicted) = thread.fetcher.evicted(self.now) {
            let is_second = evicted.is_second;
            Component::Sibling(if is_second { Shared::L2 } else { Shared::L1i })
        } else if thread.fetcher.was_kept_out() {
            Component::Sibling(Shared::FrontEnd)
        } else if thread.fetcher.has_nothing() {
            let waits = thread.fetcher.waits();
            self.cause(index, if waits { Component::Waiting } else { Component::FrontEnd })
        } else {
            Component::FrontEnd
        }
    }

    /// What slots are lost to when siblings have entries of a full buffer of which the thread would have
    /// `more` beside its `own` by itself.
    ///
    /// If its oldest micro-op is a miss, that many more instructions could be under way meanwhile, and misses
    /// among them be over sooner: with misses that do not wait for each other a window of W(1 + g) instructions spares
    /// g / (1 + g) of the time that one of W takes, so that this share is the siblings'. Else a chain of short micro-ops
    /// is no sooner at its end, and the siblings are to blame until the entries would be full. Where the oldest
    /// micro-op waits for a port or a line that a sibling took, that is what counts.
    pub(crate) fn lost(
        &mut self,
        index: usize,
        (full, shared): (Component, Shared),
        own: u32,
        more: u32,
    ) -> Component {
        let cause = self.cause(index, full);
        if matches!(cause, Component::Sibling(_) | Component::Port(_)) {
            return cause;
        }
        let (rob, dispatch) = (self.parameters.limits.rob, self.parameters.widths.dispatch);
        let (now, thread) = (self.now, &mut self.threads[index]);
        let is_miss = matches!(cause, Component::Memory(origin) if origin != Origin::L1);
        if thread.sibling_entries.to.is_none_or(|head| is_miss && head != thread.head) {
            let done = thread.in_flight_uops.at(thread.head).done;
            if is_miss && done == NEVER {
                // It waits for a buffer, for a time not known yet.
                return Component::Sibling(shared);
            }
            let in_flight = thread.rob_used.max(1);
            let room = rob.alone.saturating_sub(in_flight);
            let cycles = if is_miss {
                let growth = |more: u32, own: u32| f64::from(more) / f64::from(own.max(1));
                let growth = growth(more, own).min(growth(room, in_flight));
                let left = done.saturating_sub(now);
                (left as f64 * growth / (1.0 + growth)) as u64
            } else {
                more.min(room).div_ceil(dispatch).into()
            };
            thread.sibling_entries = SiblingEntries { to: Some(thread.head), until: now + cycles };
        }
        if now < thread.sibling_entries.until { Component::Sibling(shared) } else { cause }
    }

    /// What the oldest micro-op waits for; `full` if that explains nothing.
    fn cause(&self, index: usize, full: Component) -> Component {
        let thread = &self.threads[index];
        if thread.head == thread.next {
            return full;
        }
        let oldest = thread.in_flight_uops.at(thread.head);
        if oldest.done <= self.now {
            return match thread.held_until > self.now {
                true => Component::Memory(Origin::OtherCore),
                false => full,
            };
        }
        let is_load = matches!(oldest.kind, Kind::Load(_));
        let is_evicted = oldest.evicted.cycles > 0
            && self.now.saturating_add(oldest.evicted.cycles.into()) >= oldest.done;
        let data = match (is_load, oldest.is_forwarded) {
            (true, true) => Component::Forwarding,
            (true, false) if is_evicted => Component::Sibling(match oldest.evicted.is_second {
                true => Shared::L2,
                false => Shared::L1d,
            }),
            (true, false) => Component::Memory(oldest.origin),
            (false, _) => Component::Dependency,
        };
        let has_operands = oldest.pending == 0 && oldest.ready <= self.now;
        let group = || {
            let port = usize::from(oldest.port);
            let set = &self.ports[self.parameters.set_of(index, port)];
            match usize::from(set.requester[port]) == index || self.threads.len() == 1 {
                true => Component::Port(self.parameters.port_map.of_port[port].group),
                false => Component::Sibling(Shared::Ports),
            }
        };
        if oldest.done == NEVER {
            match (has_operands, oldest.is_forwarded) {
                _ if oldest.awaits_buffer() => data,
                (true, _) if oldest.has_port => group(),
                (_, true) => Component::Forwarding,
                _ => Component::Dependency,
            }
        } else if oldest.waited >= oldest.latency && oldest.has_port {
            group()
        } else {
            data
        }
    }

    /// Renames an instruction that has been allocated: its micro-ops go in flight, and later instructions
    /// find its results.
    fn rename_instruction(
        &mut self,
        index: usize,
        lowered: &DecodedInstruction,
        queued: &Queued,
        is_update: bool,
    ) {
        self.allocator.turns_before = self.allocator.turns;
        let first = self.threads[index].next;
        let mut renamed_load: Option<RenamedLoad> = None;
        for (own, uop) in lowered.uops.iter().enumerate() {
            let sequence = self.begin_uop(index, queued, uop, self.allocator.ports[own]);
            let Self { parameters, threads, .. } = self;
            let thread = &mut threads[index];
            thread.wait_for_sources(uop, sequence, first, renamed_load);
            if queued.is_wrong {
                thread.load_wrongly(lowered, uop, queued, sequence);
            } else if let Some(data) =
                thread.access(parameters, lowered, uop, queued.values, sequence)
            {
                renamed_load = Some(RenamedLoad { own: own as u8, data });
            }
            self.enter_scheduler(index, uop, sequence);
        }
        let now = self.now;
        let thread = &mut self.threads[index];
        thread.write_results(lowered, first, renamed_load);
        if queued.is_mispredicted && !is_update {
            thread.fetcher.await_branch(thread.next - 1);
        }
        thread.hold_back(lowered, queued, is_update, now);
        thread.enter_rob(lowered, queued, is_update);
    }

    /// Puts the next micro-op of a thread in flight. Returns its sequence number.
    fn begin_uop(&mut self, index: usize, queued: &Queued, uop: &Uop, port: u8) -> u64 {
        self.age += 1;
        let earliest = self.now + self.parameters.penalties.issue_delay;
        let thread = &mut self.threads[index];
        let sequence = thread.next;
        thread.next += 1;
        let in_flight = thread.in_flight_uops.begin(sequence, self.age, earliest);
        in_flight.kind = if queued.is_wrong { Kind::Compute } else { uop.kind };
        in_flight.instruction = queued.block << 6 ^ queued.instruction;
        in_flight.is_vector = uop.is_vector;
        in_flight.has_port = uop.ports != 0;
        in_flight.port = port;
        in_flight.busy = uop.busy;
        in_flight.latency = uop.latency;
        sequence
    }

    /// Takes the scheduler entry of a micro-op, and wakes it where it has its operands already.
    fn enter_scheduler(&mut self, index: usize, uop: &Uop, sequence: u64) {
        let Self { parameters, threads, wheel, ports, scheduler_used, now, .. } = self;
        let thread = &mut threads[index];
        let in_flight = thread.in_flight_uops.at(sequence);
        let port = in_flight.port;
        if in_flight.pending == 0 {
            wheel.call(*now, in_flight.ready.max(*now + 1), Handle::new(index, sequence));
        }
        if uop.ports != 0 {
            ports[parameters.set_of(index, port.into())].counts.give(port);
            let scheduler = usize::from(parameters.port_map.of_port[usize::from(port)].scheduler);
            scheduler_used[scheduler] += 1;
            thread.scheduler_used[scheduler] += 1;
        }
    }
}

/// A load whose result is a store's data (memory renaming).
#[derive(Debug, Clone, Copy)]
struct RenamedLoad {
    /// Its number among the micro-ops of its instruction.
    own: u8,
    /// The micro-op that gives the data.
    data: u64,
}

impl RenamedLoad {
    /// The producer of what the micro-op `own` of an instruction gives, of which `first` is the first.
    fn producer(renamed: Option<Self>, first: u64, own: u8) -> u64 {
        match renamed {
            Some(load) if load.own == own => load.data,
            _ => first + u64::from(own),
        }
    }
}

impl<F: InstructionSource> Thread<F> {
    /// Lets a micro-op wait for what it reads: registers, and results of its own instruction.
    fn wait_for_sources(
        &mut self,
        uop: &Uop,
        sequence: u64,
        first: u64,
        renamed_load: Option<RenamedLoad>,
    ) {
        for source in &uop.sources {
            let (producer, extra) = match *source {
                Source::Register(register, late) => {
                    (self.registers[register.index()], -i16::from(late))
                }
                Source::Own(own) => (RenamedLoad::producer(renamed_load, first, own), 0),
            };
            if producer >= self.head {
                self.in_flight_uops.wait(sequence, producer, extra);
            }
        }
    }

    /// Records in the load and store queues which bytes a micro-op touches. Returns the micro-op that gives a
    /// load's result in its place, if it is renamed to a store's data.
    fn access(
        &mut self,
        parameters: &Parameters,
        lowered: &DecodedInstruction,
        uop: &Uop,
        values: u32,
        sequence: u64,
    ) -> Option<u64> {
        match uop.kind {
            Kind::Compute | Kind::StoreData(_) => None,
            Kind::Load(memory) => {
                let at = self.first_value(lowered, values, memory);
                let place = &lowered.memory[usize::from(memory)];
                self.note_pointer(parameters, place, uop, sequence);
                self.load(parameters, lowered, place, at, sequence)
            }
            Kind::StoreAddress(memory) | Kind::StreamAddress(memory) => {
                let at = self.first_value(lowered, values, memory);
                self.store(&lowered.memory[usize::from(memory)], at, sequence);
                None
            }
        }
    }

    /// Maps the registers that an instruction writes to what gives their values.
    fn write_results(
        &mut self,
        lowered: &DecodedInstruction,
        first: u64,
        renamed_load: Option<RenamedLoad>,
    ) {
        match lowered.effect {
            Effect::Nothing => {}
            Effect::Zero(registers) => {
                for one in registers.iter().flatten() {
                    self.registers[one.index()] = 0;
                    self.move_elimination.write(*one);
                }
            }
            Effect::Move(to, from) => {
                self.registers[to.index()] = self.registers[from.index()];
                self.move_elimination.share(to, from);
            }
            Effect::Uops => {
                for (own, uop) in (0..).zip(&lowered.uops) {
                    let producer = RenamedLoad::producer(renamed_load, first, own);
                    for register in &uop.results {
                        self.registers[register.index()] = producer;
                        self.move_elimination.write(*register);
                    }
                }
            }
        }
    }

    /// Keeps back what comes after an instruction that pauses or serialises its thread.
    fn hold_back(
        &mut self,
        lowered: &DecodedInstruction,
        queued: &Queued,
        is_update: bool,
        now: u64,
    ) {
        let pauses = match (&lowered.repetition, lowered.memory.first()) {
            (Some(repetition), Some(place)) if place.form == Form::Repeated => {
                repetition.cycles(self.value(queued.values) >> 1, place.size.into())
            }
            _ => lowered.pauses.into(),
        };
        if pauses > 0 {
            self.paused = now.saturating_add(pauses);
        }
        self.stack_moved |= lowered.moves_stack_pointer;
        self.is_held |= lowered.is_serializing && !is_update;
    }

    /// Takes an instruction's entries of the reorder buffer, the register files and the load queue.
    fn enter_rob(&mut self, lowered: &DecodedInstruction, queued: &Queued, is_update: bool) {
        self.rob_used += u32::from(queued.slots);
        for (used, wanted) in self.registers_used.iter_mut().zip(lowered.registers) {
            *used += u32::from(wanted);
        }
        self.loads_used += u32::from(lowered.loads);
        self.rob.push_back(Renamed {
            queued: *queued,
            end: self.next,
            registers: lowered.registers,
            loads: lowered.loads,
            stores: if queued.is_wrong { 0 } else { lowered.stores },
            instructions: u8::from(!is_update),
            is_serializing: lowered.is_serializing,
        });
    }

    /// Whether a load gives an address as it comes, and whether its own address came so, from the cache: that is faster.
    fn note_pointer(&mut self, parameters: &Parameters, place: &Place, uop: &Uop, sequence: u64) {
        if parameters.load_store.pointer_chasing_gain == 0 || uop.is_vector {
            return;
        }
        let base = place.registers[0].filter(|_| place.is_near);
        let producer = base.map_or(0, |base| self.registers[base.index()]);
        let is_fast = |from: &InFlightUop| from.is_pointer && !from.is_forwarded;
        let is_chased = producer >= self.head && is_fast(self.in_flight_uops.at(producer));
        let in_flight = self.in_flight_uops.at_mut(sequence);
        in_flight.is_pointer = place.size >= 4 && !uop.results.is_empty();
        if is_chased {
            in_flight.latency -= parameters.load_store.pointer_chasing_gain.min(in_flight.latency);
        }
    }

    /// What a load waits for in the store queue. Returns the micro-op that gives its result in its
    /// place, if the load is renamed to a store's data.
    fn load(
        &mut self,
        parameters: &Parameters,
        lowered: &DecodedInstruction,
        place: &Place,
        at: u32,
        sequence: u64,
    ) -> Option<u64> {
        let bytes = u64::from(place.size);
        let (linear, span) = self.touched(place, at);
        let count = self.value(at);
        if parameters.load_store.early_issue {
            self.in_flight_uops.forward(sequence, 0, 0);
        }
        let in_flight = self.in_flight_uops.at_mut(sequence);
        match place.form {
            Form::Single => {}
            Form::Lanes => {
                in_flight.busy = count.clamp(1, 64) as u16;
                if count == 0 {
                    return None;
                }
            }
            Form::Repeated => {
                in_flight.extra = ((count >> 1).saturating_mul(bytes) / 32).min(1 << 14) as u16;
            }
        }
        in_flight.touch(linear, span);
        in_flight.is_firm = lowered.is_locked || place.direction == Direction::Prefetch;
        let line = parameters.load_store.line_shift;
        let address = self.pages.physical(linear);
        if address >> line != address.wrapping_add(bytes.max(1) - 1) >> line {
            in_flight.extra += parameters.penalties.load_split as u16;
        }
        if lowered.is_locked {
            in_flight.ready = in_flight.ready.max(self.gathered.until());
            let youngest = self.stores.youngest()?;
            self.wait_for_cache(youngest, sequence, 0);
            return None;
        }
        let Some(overlap) = self.stores.overlap(address, place.size) else {
            if parameters.penalties.alias > 0 && self.stores.has_alias(address, place.size) {
                in_flight.extra += parameters.penalties.alias;
            }
            let bits = parameters.load_store.line_alias;
            if let Some(store) = bits.and_then(|bits| self.stores.excluding(linear, bits)) {
                in_flight.pending += 1;
                let handle = Handle::new(self.requester.thread.into(), sequence);
                self.stores.get_mut(store).waiting.push((handle, 0));
            }
            return None;
        };
        match overlap {
            Overlap::Part(store) => {
                self.wait_for_cache(store, sequence, parameters.penalties.forwarding_failure);
                None
            }
            // The queue is searched by linear addresses: bytes that were stored through another one wait for the cache.
            Overlap::Whole(number) if self.stores.get(number).is_synonym(address, linear) => {
                self.wait_for_cache(number, sequence, parameters.penalties.forwarding_failure);
                None
            }
            Overlap::Whole(number) => {
                let store = self.stores.get(number);
                let between = self.stores.youngest().map_or(0, |youngest| youngest - number);
                let before = Before { instruction: store.instruction, between };
                let versions = versions(&self.registers, place.registers);
                let is_same_place = store.name == place.name && store.versions == versions;
                // The front end follows the stack pointer, however it is moved.
                let is_same_on_stack =
                    store.is_on_stack && place.is_on_stack && store.linear == linear;
                let is_renamed = match parameters.load_store.renamed {
                    None => false,
                    Some(MemoryRenaming::Any) => is_same_place || is_same_on_stack,
                    Some(MemoryRenaming::Stack) => is_same_on_stack,
                };
                let data = store.data;
                if place.may_be_renamed {
                    let is_foreseen =
                        !in_flight.is_vector && self.pairs.meet(in_flight.instruction, before);
                    if is_foreseen || is_renamed && store.size == place.size {
                        in_flight.is_forwarded = true;
                        return Some(data);
                    }
                }
                let (forwarding, plain) = if in_flight.is_vector {
                    (
                        parameters.load_store.vector_forwarding,
                        parameters.load_store.vector_load_latency,
                    )
                } else {
                    let plain = if parameters.load_store.pointer_chasing_gain > 0 {
                        in_flight.latency.into()
                    } else {
                        parameters.load_store.load_latency
                    };
                    (parameters.load_store.forwarding, plain)
                };
                in_flight.is_forwarded = true;
                if data >= self.head {
                    let mut later = forwarding as i16 - plain as i16;
                    if later <= 0
                        && parameters.load_store.pointer_chasing_gain > 0
                        && self.in_flight_uops.at(data).done == NEVER
                    {
                        // It starts after the store's data at the earliest.
                        self.in_flight_uops.at_mut(sequence).latency = forwarding as u16 - 1;
                        later = 1;
                    }
                    if parameters.load_store.early_issue {
                        self.in_flight_uops.forward(sequence, data, later);
                    } else {
                        self.in_flight_uops.wait(sequence, data, later);
                    }
                }
                None
            }
        }
    }

    /// Lets a load on a wrong path ask memory for what its instruction loads at another time, if that is known and no
    /// store on its way has it.
    fn load_wrongly(
        &mut self,
        lowered: &DecodedInstruction,
        uop: &Uop,
        queued: &Queued,
        sequence: u64,
    ) {
        let Kind::Load(memory) = uop.kind else { return };
        let place = &lowered.memory[usize::from(memory)];
        if !queued.has_values || place.form != Form::Single {
            return;
        }
        let at = self.first_value(lowered, queued.values, memory);
        let (linear, span) = self.touched(place, at);
        if self.stores.overlap(self.pages.physical(linear), place.size).is_some() {
            return;
        }
        let in_flight = self.in_flight_uops.at_mut(sequence);
        in_flight.touch(linear, span);
        (in_flight.kind, in_flight.is_firm) = (uop.kind, true);
    }

    fn wait_for_cache(&mut self, store: u64, sequence: u64, longer: u32) {
        let in_flight = self.in_flight_uops.at_mut(sequence);
        in_flight.pending += 1;
        in_flight.is_forwarded = true;
        let handle = Handle::new(self.requester.thread.into(), sequence);
        self.stores.get_mut(store).waiting.push((handle, longer));
    }

    fn store(&mut self, place: &Place, at: u32, sequence: u64) {
        let (linear, span) = self.touched(place, at);
        let offset = self.pages.offset(linear);
        let in_flight = self.in_flight_uops.at_mut(sequence);
        in_flight.touch(linear, span);
        let (instruction, streams) =
            (in_flight.instruction, matches!(in_flight.kind, Kind::StreamAddress(_)));
        let versions = versions(&self.registers, place.registers);
        self.stores.push(Store {
            address: self.pages.physical(linear),
            linear,
            offset,
            size: place.size,
            streams,
            instruction,
            name: place.name,
            is_on_stack: place.is_on_stack,
            versions,
            // The micro-op after that of the address hands it over.
            data: sequence + 1,
            granted: None,
            waiting: Vec::new(),
        });
    }
}

/// Which values of its registers an address is made of.
fn versions(
    registers: &[u64; crate::uops::REGISTERS],
    of: [Option<crate::uops::RegisterId>; 2],
) -> [u64; 2] {
    of.map(|register| register.map_or(0, |register| registers[register.index()]))
}
