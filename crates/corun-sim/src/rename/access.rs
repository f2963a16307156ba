//! Loads and stores as they are renamed: what they find in the store queue, and what they wait for there.

use corun_trace::{Direction, Form};

use crate::core::InstructionSource;
use crate::core::in_flight::{Handle, InFlightUop, NEVER};
use crate::core::parameters::Parameters;
use crate::core::thread::{Queued, Thread};
use crate::lsq::predictive_forwarding::Before;
use crate::lsq::store_queue::{Overlap, Store};
use crate::rename::enter::RenamedTo;
use crate::uops::{DecodedInstruction, Kind, Memory as Place, RegisterId, Uop};
use corun_model::MemoryRenaming;

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

    /// What a load waits for in the store queue. Returns what gives its result in its place, if the load is renamed to a
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
                let is_of_size = match parameters.load_store.renamed_parts {
                    true => store.size >= place.size,
                    false => store.size == place.size,
                };
                if place.may_be_renamed && store.is_general {
                    let is_foreseen = self.pairs.meet(in_flight.instruction, before);
                    if is_foreseen || is_renamed && is_of_size {
                        in_flight.is_forwarded = true;
                        return Some(RenamedTo { data, later: store.renamed_later });
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
            is_general: place.is_general,
            renamed_later: place.renamed_later,
            versions,
            // The micro-op after that of the address hands it over.
            data: sequence + 1,
            granted: None,
            waiting: Vec::new(),
        });
    }
}

/// Which values of its registers an address is made of.
fn versions(registers: &[u64; crate::uops::REGISTERS], of: [Option<RegisterId>; 2]) -> [u64; 2] {
    of.map(|register| register.map_or(0, |register| registers[register.index()]))
}
