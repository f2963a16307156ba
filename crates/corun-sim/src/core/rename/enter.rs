//! An instruction that has its places enters the back end: its micro-ops go in flight, and later instructions find its
//! results.

use corun_trace::Form;

use crate::core::{Core, InstructionSource};
use crate::frontend::Queued;
use crate::lsq::RenamedTo;
use crate::retire::{Dispatched, Renamed};
use crate::uops::{Buffer, DecodedInstruction, Entries, Handle, Source, Uop};

/// A load whose result is a store's data (memory renaming).
#[derive(Debug, Clone, Copy)]
struct RenamedLoad {
    /// Number among the micro-ops of its instruction.
    own: u8,
    to: RenamedTo,
}

/// An instruction that enters the back end.
struct Entering<'a> {
    lowered: &'a DecodedInstruction,
    queued: &'a Queued,
    /// First micro-op.
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
        self.schedulers.keep_turns();
        let first = self.threads[index].rob.next();
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
        thread.registers.write_results(lowered, |own, uop| {
            let (producer, later) = entering.producer(own);
            // What comes later is merged or extended by another micro-op.
            debug_assert!(later == 0 || uop.results.is_empty());
            producer
        });
        if queued.is_mispredicted && !is_update {
            thread.mispredicted = Some((queued.block, queued.instruction));
            thread.fetcher.await_branch(thread.rob.next() - 1);
        }
        if !lowered.digest.is_plain {
            self.pause(index, lowered, queued);
        }
        let rob = &mut self.threads[index].rob;
        rob.push(Renamed {
            queued: *queued,
            end: rob.next(),
            // Of the reorder buffer, the register files and the load queue.
            entries: lowered.digest.held + Entries::of(Buffer::Rob, queued.slots.into()),
            stores: if queued.is_wrong { 0 } else { lowered.stores },
            instructions: u8::from(!is_update),
            is_serializing: lowered.is_serializing,
        });
    }

    /// Puts the next micro-op of an instruction in flight, by its number there: it takes the entry of its scheduler, and is
    /// woken where it has its operands already.
    #[inline(always)]
    fn begin_uop(&mut self, index: usize, entering: &mut Entering<'_>, (own, uop): (u8, &Uop)) {
        let Self { parameters, threads, schedulers, .. } = self;
        let (now, thread) = (self.now, &mut threads[index]);
        let Entering { lowered, queued, .. } = *entering;
        let port = schedulers.allocated(own);
        let dispatched = Dispatched {
            age: schedulers.dispatch(index, port, uop.ports != 0),
            ready: now + parameters.penalties.issue_delay,
            instruction: queued.block << 6 ^ queued.instruction,
            port: port as u8,
            is_wrong: queued.is_wrong,
        };
        let sequence = thread.rob.dispatch(&uop.begins, dispatched);
        if schedulers.binds_late(port) {
            thread.rob.allow(sequence, uop.ports);
        }
        let registers = &thread.registers;
        let producers = uop.sources.iter().map(|source| match *source {
            Source::Register(register, late) => (registers.producer(register), -i16::from(late)),
            Source::Own(own) => entering.producer(own),
        });
        thread.rob.wait_for(sequence, producers);
        if uop.kind.is_access() {
            if queued.is_wrong {
                thread.load_wrongly(lowered, uop, queued, sequence);
            } else if let Some(to) =
                thread.access(parameters, lowered, uop, queued.values, sequence)
            {
                entering.renamed_load = Some(RenamedLoad { own, to });
            }
        }
        let in_flight = thread.rob.uop_at(sequence);
        if in_flight.pending == 0 {
            schedulers.call(now, in_flight.ready, Handle::new(index, sequence));
        }
    }

    /// Lets a thread rename nothing for the time of an instruction that pauses it.
    fn pause(&mut self, index: usize, lowered: &DecodedInstruction, queued: &Queued) {
        let (now, thread) = (self.now, &mut self.threads[index]);
        let cycles = match (&lowered.repetition, lowered.memory.first()) {
            (Some(repetition), Some(place)) if place.form == Form::Repeated => {
                repetition.cycles(thread.values.at(queued.values) >> 1, place.size.into())
            }
            _ => lowered.pauses.into(),
        };
        if cycles > 0 {
            thread.paused = now + cycles;
        }
    }
}
