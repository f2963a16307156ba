//! The register map of one thread (register alias table), with the stack engine that keeps its own copy of the pointer.

use crate::rename::move_elimination::MoveElimination;
use crate::uops::{DecodedInstruction, Effect, REGISTERS, RegisterId, Uop};
use corun_model::CoreModel;

/// For each register the micro-op that gives it; one that is no longer in flight is done.
#[derive(Debug, Clone)]
pub(crate) struct RegisterMap {
    producers: [u64; REGISTERS],
    /// Registers that share a value.
    move_elimination: MoveElimination,
    /// The stack engine's pointer differs from the back end's.
    stack_moved: bool,
}

impl RegisterMap {
    /// Of a thread of which nothing is in flight.
    pub(crate) fn of(model: &CoreModel) -> Self {
        Self {
            producers: [0; REGISTERS],
            move_elimination: MoveElimination::new(model.back.elimination.move_slots.as_ref()),
            stack_moved: false,
        }
    }

    /// The micro-op that gives a register.
    #[inline]
    pub(crate) fn producer(&self, register: RegisterId) -> u64 {
        self.producers[register.index()]
    }

    /// The values of its registers that an address is made of.
    pub(crate) fn versions(&self, of: [Option<RegisterId>; 2]) -> [u64; 2] {
        of.map(|register| register.map_or(0, |register| self.producer(register)))
    }

    /// A cycle of the renamer begins.
    pub(crate) fn begin(&mut self, now: u64) {
        self.move_elimination.begin(now);
    }

    /// The instruction, or what is executed in its place: a move that cannot be eliminated.
    #[inline]
    pub(crate) fn executed<'c>(&self, lowered: &'c DecodedInstruction) -> &'c DecodedInstruction {
        match (lowered.effect, &lowered.executed) {
            (Effect::Move(to, _), Some(executed)) if !self.move_elimination.has_place(to) => {
                executed
            }
            _ => lowered,
        }
    }

    /// Maps the registers that an instruction writes to the `producer` of the results of each of its micro-ops, by their
    /// numbers there.
    #[inline]
    pub(crate) fn write_results(
        &mut self,
        lowered: &DecodedInstruction,
        producer: impl Fn(u8, &Uop) -> u64,
    ) {
        match lowered.effect {
            Effect::Nothing => {}
            Effect::Zero(registers) => {
                for one in registers.iter().flatten() {
                    self.producers[one.index()] = 0;
                    self.move_elimination.write(*one);
                }
            }
            Effect::Move(to, from) => {
                self.producers[to.index()] = self.producers[from.index()];
                self.move_elimination.share(to, from);
            }
            Effect::Exchange(one, other) => {
                self.producers.swap(one.index(), other.index());
                [one, other].into_iter().for_each(|register| self.move_elimination.write(register));
            }
            Effect::Uops => {
                for (own, uop) in (0..).zip(&lowered.uops) {
                    let producer = producer(own, uop);
                    for register in &uop.results {
                        self.producers[register.index()] = producer;
                    }
                    if self.move_elimination.has_places() {
                        uop.results.iter().for_each(|one| self.move_elimination.write(*one));
                    }
                }
            }
        }
        self.stack_moved |= lowered.moves_stack_pointer;
    }

    /// The stack engine must give the back end its pointer before this instruction.
    #[inline]
    pub(crate) fn needs_stack_update(&self, lowered: &DecodedInstruction) -> bool {
        self.stack_moved && lowered.uses_stack_pointer
    }

    /// It has done so.
    pub(crate) fn update_stack(&mut self) {
        self.stack_moved = false;
    }

    /// Nothing is in flight any more.
    pub(crate) fn clear(&mut self) {
        self.producers.fill(0);
        self.move_elimination.forget();
        self.stack_moved = false;
    }
}
