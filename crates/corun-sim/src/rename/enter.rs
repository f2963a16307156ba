//! An instruction that has its places enters the back end: its micro-ops go in flight, and later instructions find its
//! results.

use corun_trace::Form;

use crate::core::entries::{Buffer, Entries};
use crate::core::in_flight::Handle;
use crate::core::thread::{Queued, Renamed, Thread};
use crate::core::{Core, InstructionSource};
use crate::execute::ports::MAX_PORTS;
use crate::uops::{DecodedInstruction, Effect, Kind, Source, Uop};

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

impl<F: InstructionSource> Core<F> {
    /// Renames an instruction that has been allocated.
    pub(super) fn rename_instruction(
        &mut self,
        index: usize,
        lowered: &DecodedInstruction,
        queued: &Queued,
        is_update: bool,
    ) {
        let Self { parameters, threads, wheel, ports, scheduler_used, allocator, age, .. } = self;
        let (now, thread) = (self.now, &mut threads[index]);
        allocator.keep_turns();
        let first = thread.next;
        let earliest = now + parameters.penalties.issue_delay;
        let instruction = queued.block << 6 ^ queued.instruction;
        let mut renamed_load: Option<RenamedLoad> = None;
        let begun = lowered.digest.begins.iter().zip(&allocator.ports);
        for (own, (uop, (begin, &port))) in (0..).zip(lowered.uops.iter().zip(begun)) {
            let sequence = thread.next;
            thread.next += 1;
            *age += 1;
            let in_flight = thread.in_flight_uops.begin(sequence, begin);
            (in_flight.age, in_flight.ready) = (*age, earliest);
            (in_flight.instruction, in_flight.port) = (instruction, port);
            if queued.is_wrong {
                in_flight.kind = Kind::Compute;
            }
            thread.wait_for_sources(uop, sequence, first, renamed_load);
            if !uop.kind.is_access() {
            } else if queued.is_wrong {
                thread.load_wrongly(lowered, uop, queued, sequence);
            } else if let Some(data) =
                thread.access(parameters, lowered, uop, queued.values, sequence)
            {
                renamed_load = Some(RenamedLoad { own, data });
            }
            let in_flight = thread.in_flight_uops.at(sequence);
            if in_flight.pending == 0 {
                let at = in_flight.ready.max(now + 1);
                wheel.call(now, at, Handle::new(index, sequence));
            }
            if uop.ports != 0 {
                let port = usize::from(port) % MAX_PORTS;
                ports[parameters.set_of(index, port)].counts.give(port as u8);
                let scheduler = usize::from(parameters.port_map.of_port[port].scheduler);
                scheduler_used[scheduler] += 1;
                thread.scheduler_used[scheduler] += 1;
            }
        }
        thread.write_results(lowered, first, renamed_load);
        if queued.is_mispredicted && !is_update {
            thread.fetcher.await_branch(thread.next - 1);
        }
        if !lowered.digest.is_plain {
            thread.hold_back(lowered, queued, is_update, now);
        }
        thread.stack_moved |= lowered.moves_stack_pointer;
        thread.enter_rob(lowered, queued, is_update);
    }
}

impl<F: InstructionSource> Thread<F> {
    /// Lets a micro-op wait for what it reads: registers, and results of its own instruction.
    #[inline]
    fn wait_for_sources(
        &mut self,
        uop: &Uop,
        sequence: u64,
        first: u64,
        renamed_load: Option<RenamedLoad>,
    ) {
        let Self { registers, head, in_flight_uops, .. } = self;
        let producers = uop.sources.iter().map(|source| match *source {
            Source::Register(register, late) => (registers[register.index()], -i16::from(late)),
            Source::Own(own) => (RenamedLoad::producer(renamed_load, first, own), 0),
        });
        in_flight_uops.wait_for_all(sequence, producers.filter(|(producer, _)| producer >= head));
    }

    /// Maps the registers that an instruction writes to what gives their values.
    #[inline]
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
        self.is_held |= lowered.is_serializing && !is_update;
    }

    /// Takes an instruction's entries of the reorder buffer, the register files and the load queue.
    #[inline]
    fn enter_rob(&mut self, lowered: &DecodedInstruction, queued: &Queued, is_update: bool) {
        let entries = lowered.digest.held + Entries::of(Buffer::Rob, queued.slots.into());
        self.entries += entries;
        self.rob.push_back(Renamed {
            queued: *queued,
            end: self.next,
            entries,
            stores: if queued.is_wrong { 0 } else { lowered.stores },
            instructions: u8::from(!is_update),
            is_serializing: lowered.is_serializing,
        });
    }
}
