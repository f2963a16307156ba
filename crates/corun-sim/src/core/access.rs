//! Loads and stores as they are renamed: what they find in the store queue, and what they wait for there.

use corun_trace::{Direction, Form};

use crate::core::InstructionSource;
use crate::core::thread::Thread;
use crate::frontend::Queued;
use crate::lsq::{Load, RenamedTo, Search, Store};
use crate::parameters::Parameters;
use crate::uops::{DecodedInstruction, Handle, InFlightUop, Kind, Memory as Place, NEVER, Uop};

impl<F: InstructionSource> Thread<F> {
    /// Records in the load and store queues which bytes a micro-op touches. Returns what gives a load's result in its place,
    /// if it is renamed to a store's data.
    pub(super) fn access(
        &mut self,
        parameters: &Parameters,
        lowered: &DecodedInstruction,
        uop: &Uop,
        values: u32,
        sequence: u64,
    ) -> Option<RenamedTo> {
        match uop.kind {
            Kind::Compute | Kind::StoreData(_) => None,
            Kind::Load(memory) => {
                let at = self.values.first(lowered, values, memory);
                let place = &lowered.memory[usize::from(memory)];
                self.note_pointer(parameters, place, uop, sequence);
                self.load(parameters, lowered, place, at, sequence)
            }
            Kind::StoreAddress(memory) | Kind::StreamAddress(memory) => {
                let at = self.values.first(lowered, values, memory);
                self.store(&lowered.memory[usize::from(memory)], at, sequence);
                None
            }
        }
    }

    /// Notes if a load gives an address as it comes, and if its own address came so, from the cache: that is faster.
    fn note_pointer(&mut self, parameters: &Parameters, place: &Place, uop: &Uop, sequence: u64) {
        if parameters.load_store.pointer_chasing_gain == 0 || uop.is_vector {
            return;
        }
        let base = place.registers[0].filter(|_| place.is_near);
        let producer = base.map_or(0, |base| self.registers.producer(base));
        let is_fast = |from: &InFlightUop| from.is_pointer && !from.is_forwarded;
        let is_chased = producer >= self.rob.head() && is_fast(self.rob.uop_at(producer));
        let saved = if is_chased { parameters.load_store.pointer_chasing_gain } else { 0 };
        let is_pointer = place.size >= 4 && !uop.results.is_empty();
        self.rob.chase_pointer(sequence, is_pointer, saved);
    }

    /// Source of a load in the store queue. Returns what gives its result in its place, if the load is renamed to a
    /// store's data.
    fn load(
        &mut self,
        parameters: &Parameters,
        lowered: &DecodedInstruction,
        place: &Place,
        at: u32,
        sequence: u64,
    ) -> Option<RenamedTo> {
        let bytes = u64::from(place.size);
        let (linear, span) = self.values.touched(place, at);
        let count = self.values.at(at);
        if parameters.load_store.early_issue {
            self.rob.forward_once_issued(sequence, 0, 0);
        }
        match place.form {
            Form::Single => {}
            Form::Lanes => {
                self.rob.gather_lanes(sequence, count.clamp(1, 64) as u16);
                if count == 0 {
                    return None;
                }
            }
            Form::Repeated => {
                let cycles = (count >> 1).saturating_mul(bytes) / 32;
                self.rob.add_latency(sequence, cycles.min(1 << 14) as u16);
            }
        }
        self.rob.set_address(sequence, linear, span);
        if lowered.is_locked || place.direction == Direction::Prefetch {
            self.rob.set_firm(sequence);
        }
        let line = parameters.load_store.line_shift;
        let address = self.pages.physical(linear);
        if address >> line != address.wrapping_add(bytes.max(1) - 1) >> line {
            self.rob.add_latency(sequence, parameters.penalties.load_split as u16);
        }
        if lowered.is_locked {
            self.rob.hold_back(sequence, self.stores.gathered_until());
            let youngest = self.stores.youngest()?;
            self.wait_for_cache(youngest, sequence, 0);
            return None;
        }
        let instruction = self.rob.uop_at(sequence).instruction;
        let versions = self.registers.versions(place.registers);
        let load = Load { place, linear, address, instruction, versions };
        match self.stores.search(&load, &parameters.load_store) {
            Search::Miss => {
                if parameters.penalties.alias > 0 && self.stores.has_alias(address, place.size) {
                    self.rob.add_latency(sequence, parameters.penalties.alias);
                }
                let bits = parameters.load_store.line_alias;
                if let Some(store) = bits.and_then(|bits| self.stores.excluding(linear, bits)) {
                    self.await_commit(store, sequence, 0);
                }
                None
            }
            Search::Blocked(store) => {
                self.wait_for_cache(store, sequence, parameters.penalties.forwarding_failure);
                None
            }
            Search::Renamed(to) => {
                self.rob.set_forwarded(sequence);
                Some(to)
            }
            Search::Forwarded(data) => {
                self.forward(parameters, data, sequence);
                None
            }
        }
    }

    /// Lets a load wait for the micro-op that hands a store's data over.
    fn forward(&mut self, parameters: &Parameters, data: u64, sequence: u64) {
        let rates = &parameters.load_store;
        self.rob.set_forwarded(sequence);
        let in_flight = self.rob.uop_at(sequence);
        let (forwarding, plain) = if in_flight.is_vector {
            (rates.vector_forwarding, rates.vector_load_latency)
        } else if rates.pointer_chasing_gain > 0 {
            (rates.forwarding, in_flight.latency.into())
        } else {
            (rates.forwarding, rates.load_latency)
        };
        if data < self.rob.head() {
            return;
        }
        let mut later = forwarding as i16 - plain as i16;
        if later <= 0 && rates.pointer_chasing_gain > 0 && self.rob.uop_at(data).done == NEVER {
            // It starts after the store's data at the earliest.
            self.rob.set_latency(sequence, forwarding as u16 - 1);
            later = 1;
        }
        if rates.early_issue {
            self.rob.forward_once_issued(sequence, data, later);
        } else {
            self.rob.wait_for(sequence, std::iter::once((data, later)));
        }
    }

    /// Lets a load on a wrong path ask memory for what its instruction loads at another time, if that is known and no
    /// store on its way has it.
    pub(super) fn load_wrongly(
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
        let at = self.values.first(lowered, queued.values, memory);
        let (linear, span) = self.values.touched(place, at);
        if self.stores.has_overlap(self.pages.physical(linear), place.size) {
            return;
        }
        self.rob.set_address(sequence, linear, span);
        self.rob.load_wrongly(sequence, uop.kind);
    }

    /// Lets a load get its bytes from the cache, once a store has reached that.
    fn wait_for_cache(&mut self, store: u64, sequence: u64, longer: u32) {
        self.rob.set_forwarded(sequence);
        self.await_commit(store, sequence, longer);
    }

    fn await_commit(&mut self, store: u64, sequence: u64, longer: u32) {
        self.rob.await_event(sequence);
        let handle = Handle::new(self.requester.thread.into(), sequence);
        self.stores.await_commit(store, handle, longer);
    }

    fn store(&mut self, place: &Place, at: u32, sequence: u64) {
        let (linear, span) = self.values.touched(place, at);
        let offset = self.pages.offset(linear);
        self.rob.set_address(sequence, linear, span);
        let &InFlightUop { instruction, kind, .. } = self.rob.uop_at(sequence);
        let streams = matches!(kind, Kind::StreamAddress(_));
        let versions = self.registers.versions(place.registers);
        self.stores.push(Store {
            address: self.pages.physical(linear),
            linear,
            offset,
            size: place.size,
            streams,
            instruction,
            name: place.name,
            is_on_stack: place.is_on_stack,
            is_general: place.is_general,
            renamed_later: place.renamed_later,
            versions,
            // The micro-op after that of the address hands it over.
            data: sequence + 1,
        });
    }
}
