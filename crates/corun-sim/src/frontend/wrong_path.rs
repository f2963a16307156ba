//! The wrong side of a mispredicted branch: what is fetched there until the branch is executed.
//!
//! Its micro-ops take turns of the front end, slots, entries and ports from siblings, bring lines into caches, and are
//! squashed. Code is what the trace has executed, as in "instruction reconstruction" (Eyerman et al., "Simulating Wrong-Path
//! Instructions in Decoupled Functional-First Simulation", ISPASS 2023); loads go where their instructions went the last time.
//! It is followed only while siblings are active, since it takes next to nothing from its own thread, whose older micro-ops
//! go first.

use crate::frontend::Fetcher;
use crate::frontend::queue::{Queued, UopQueue};
use crate::frontend::source::Step;
use crate::frontend::structures::{Budget, Code, Front};
use crate::frontend::values::Values;
use crate::parameters::Limit;
use crate::uops::{DecodedBlock, filled};

/// Code that a thread has executed: the code at an address, and where it went on the last time.
#[derive(Debug)]
pub(super) struct Visited {
    places: Box<[Visit; PLACES]>,
    last: usize,
}

#[derive(Debug, Clone, Copy)]
struct Visit {
    address: u64,
    next: u64,
    block: u32,
    executed: u32,
    /// First value in the ring then.
    values: u32,
}

const PLACES: usize = 1 << 11;
/// No code lies here.
const NOWHERE: u64 = u64::MAX;

impl Default for Visited {
    fn default() -> Self {
        let nothing = Visit { address: NOWHERE, next: NOWHERE, block: 0, executed: 0, values: 0 };
        Self { places: filled(nothing), last: 0 }
    }
}

impl Visited {
    fn place(address: u64) -> usize {
        (address ^ address >> 11 ^ address >> 22) as usize % PLACES
    }

    /// The thread goes on here, with values that begin there.
    pub(super) fn visit(&mut self, step: Step, values: u32) {
        let Step { block, address, executed } = step;
        self.places[self.last].next = address;
        self.last = Self::place(address);
        let place = &mut self.places[self.last];
        let next = if place.address == address { place.next } else { NOWHERE };
        *place = Visit { address, next, block, executed, values };
    }

    fn find(&self, address: u64) -> Option<Visit> {
        let visit = self.places[Self::place(address)];
        (visit.address == address && address != NOWHERE).then_some(visit)
    }
}

/// The next instruction on a wrong path.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrongPlace {
    visit: Visit,
    instruction: u32,
    /// After the instructions of the block before this one.
    address: u64,
    /// The first value of the instruction, if the ring still has it.
    values: Option<u32>,
    /// From when on the block can be fetched, once its lines were asked for.
    from: Option<u64>,
}

impl WrongPlace {
    /// When fetch goes on.
    pub(super) fn from(&self) -> Option<u64> {
        self.from
    }
}

impl Fetcher {
    /// Begins to fetch after a mispredicted branch what prediction says, if that is known and has been executed
    /// before; else what the program goes on with, as code of the same kind.
    pub(crate) fn enter_wrong_path(&mut self, values: &Values) {
        let predicted = self.path.take_wrong();
        let right = self.path.current.map(|place| place.step.address);
        let visit = [predicted, right].into_iter().flatten().find_map(|it| self.visited.find(it));
        self.wrong = visit.map(|visit| self.begin_wrong_block(visit, values));
    }

    /// Leaves a wrong path.
    pub(crate) fn leave_wrong_path(&mut self) {
        self.wrong = None;
    }

    /// A wrong path is being fetched.
    pub(crate) fn is_on_wrong_path(&self) -> bool {
        self.wrong.is_some()
    }

    /// Fetches along a wrong path, as much as the op cache (or else the decoders) would give. Returns whether that took
    /// the front end's turn.
    pub(crate) fn fetch_wrong_path(
        &mut self,
        (queue, values): (&mut UopQueue, &Values),
        budget: &mut Budget,
        (limit, siblings): (&Limit, u32),
        front: &mut Front,
        blocks: &[DecodedBlock],
        code: &mut Code<'_>,
    ) -> bool {
        let most = budget.wrong_path(front.op_cache.is_some());
        let mut taken = 0;
        while let Some(mut place) = self.wrong {
            let block = &blocks[place.visit.block as usize];
            if place.from.is_none() {
                place.from = Some(front.fetch_lines(block, place.visit.address, code));
                self.wrong = Some(place);
            }
            if place.from.is_some_and(|from| from > code.now) {
                break;
            }
            let Some(lowered) = block.instructions.get(place.instruction as usize) else {
                self.wrong = None;
                break;
            };
            let slots = u32::from(lowered.slots);
            if taken + slots > most || !queue.has_room(limit, siblings, slots) {
                break;
            }
            if lowered.keeps_back() {
                self.wrong = None;
                break;
            }
            queue.push(Queued {
                block: place.visit.block,
                instruction: place.instruction,
                values: place.values.unwrap_or(values.next()),
                slots: lowered.slots,
                shares_slot: false,
                at: code.now + 1,
                is_mispredicted: false,
                is_wrong: true,
                has_values: place.values.is_some(),
            });
            taken += slots.max(1);
            let address = place.address + u64::from(lowered.length);
            if place.instruction + 1 < place.visit.executed {
                let instruction = place.instruction + 1;
                let values = place.values.map(|at| values.end(lowered, at));
                self.wrong = Some(WrongPlace { instruction, address, values, ..place });
                continue;
            }
            let next = self.visited.find(place.visit.next);
            self.wrong = next.map(|visit| self.begin_wrong_block(visit, values));
            if place.visit.next != address {
                break;
            }
        }
        budget.take_wrong_path(taken);
        taken > 0
    }

    /// The first instruction of a block on a wrong path.
    fn begin_wrong_block(&self, visit: Visit, values: &Values) -> WrongPlace {
        // Of the right path, whose addresses a wrong one need not have, nothing is taken that is still to come.
        let right = self.path.current.map_or(values.next(), |place| place.values);
        let values = Values::are_kept(visit.values, right).then_some(visit.values);
        WrongPlace { visit, instruction: 0, address: visit.address, values, from: None }
    }
}
