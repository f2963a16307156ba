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
    to: RenamedTo,
}

/// What gives the result of a renamed load.
#[derive(Debug, Clone, Copy)]
pub(super) struct RenamedTo {
    /// The micro-op that gives the store's data.
    pub(super) data: u64,
    /// Cycles after that.
    pub(super) later: u8,
}

/// An instruction that enters the back end.
struct Entering<'a> {
    lowered: &'a DecodedInstruction,
    queued: &'a Queued,
    /// Its first micro-op.
    first: u64,
    renamed_load: Option<RenamedLoad>,
}

impl Entering<'_> {
    /// The producer of the result of its micro-op with this number, and how many cycles after that it can be used.
    #[inline]
    fn producer(&self, own: u8) -> (u64, i16) {
        match self.renamed_load {
            Some(load) if load.own == own => (load.to.data, load.to.later.into()),
            _ => (self.first + u64::from(own), 0),
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
        self.allocator.keep_turns();
        let first = self.threads[index].next;
        let mut entering = Entering { lowered, queued, first, renamed_load: None };
        // Most have one micro-op, for which everything else of the loop is known.
        if let [uop] = &lowered.uops[..] {
            self.begin_uop(index, &mut entering, (0, uop));
        } else {
            for own in (0..).zip(&lowered.uops) {
                self.begin_uop(index, &mut entering, own);
            }
        }
        let thread = &mut self.threads[index];
        thread.write_results(&entering);
        if queued.is_mispredicted && !is_update {
            thread.fetcher.await_branch(thread.next - 1);
        }
        if !lowered.digest.is_plain {
            thread.hold_back(lowered, queued, is_update, self.now);
        }
        thread.stack_moved |= lowered.moves_stack_pointer;
        thread.enter_rob(lowered, queued, is_update);
    }

    /// Puts the next micro-op of an instruction in flight, by its number there: it takes the entry of its scheduler, and is
    /// woken where it has its operands already.
    #[inline(always)]
    fn begin_uop(&mut self, index: usize, entering: &mut Entering<'_>, (own, uop): (u8, &Uop)) {
        let Self { parameters, threads, wheel, ports, scheduler_used, allocator, age, .. } = self;
        let (now, thread) = (self.now, &mut threads[index]);
        let Entering { lowered, queued, .. } = *entering;
        let port = usize::from(allocator.ports[usize::from(own)]) % MAX_PORTS;
        let sequence = thread.next;
        thread.next += 1;
        *age += 1;
        let in_flight = thread.in_flight_uops.begin(sequence, &uop.begins);
        in_flight.age = *age;
        in_flight.ready = now + parameters.penalties.issue_delay;
        in_flight.instruction = queued.block << 6 ^ queued.instruction;
        in_flight.port = port as u8;
        if queued.is_wrong {
            in_flight.kind = Kind::Compute;
        }
        if parameters.port_map.of_port[port].binds_late {
            thread.in_flight_uops.allow(sequence, uop.ports);
        }
        thread.wait_for_sources(uop, sequence, entering);
        if uop.kind.is_access() {
            if queued.is_wrong {
                thread.load_wrongly(lowered, uop, queued, sequence);
            } else if let Some(to) =
                thread.access(parameters, lowered, uop, queued.values, sequence)
            {
                entering.renamed_load = Some(RenamedLoad { own, to });
            }
        }
        let in_flight = thread.in_flight_uops.at(sequence);
        if in_flight.pending == 0 {
            wheel.call(now, in_flight.ready.max(now + 1), Handle::new(index, sequence));
        }
        if uop.ports != 0 {
            if parameters.port_map.counts {
                ports[parameters.set_of(index, port)].counts.give(port as u8);
            }
            let scheduler = usize::from(parameters.port_map.of_port[port].scheduler) % MAX_PORTS;
            scheduler_used[scheduler] += 1;
            thread.scheduler_used[scheduler] += 1;
        }
    }
}

impl<F: InstructionSource> Thread<F> {
    /// Lets a micro-op wait for what it reads: registers, and results of its own instruction.
    #[inline(always)]
    fn wait_for_sources(&mut self, uop: &Uop, sequence: u64, entering: &Entering<'_>) {
        let Self { registers, head, in_flight_uops, .. } = self;
        let producers = uop.sources.iter().map(|source| match *source {
            Source::Register(register, late) => (registers[register.index()], -i16::from(late)),
            Source::Own(own) => entering.producer(own),
        });
        in_flight_uops.wait_for_all(sequence, producers.filter(|(producer, _)| producer >= head));
    }

    /// Maps the registers that an instruction writes to what gives their values.
    #[inline]
    fn write_results(&mut self, entering: &Entering<'_>) {
        match entering.lowered.effect {
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
                for (own, uop) in (0..).zip(&entering.lowered.uops) {
                    let (producer, later) = entering.producer(own);
                    // What comes later is merged or extended by another micro-op.
                    debug_assert!(later == 0 || uop.results.is_empty());
                    for register in &uop.results {
                        self.registers[register.index()] = producer;
                    }
                    if self.move_elimination.has_places() {
                        uop.results.iter().for_each(|one| self.move_elimination.write(*one));
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
