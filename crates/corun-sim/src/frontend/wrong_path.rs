//! The wrong side of a mispredicted branch: what is fetched there until the branch is executed.
//!
//! Its micro-ops take turns of the front end, slots, entries and ports from siblings, bring lines into caches, and are
//! squashed. Code is what the trace has executed, as in "instruction reconstruction" (Eyerman et al., "Simulating Wrong-Path
//! Instructions in Decoupled Functional-First Simulation", ISPASS 2023); loads go where their instructions went the last time.
//! It is followed only while siblings are active, since it takes next to nothing from its own thread, whose older micro-ops
//! go first.

use crate::core::in_flight::{Handle, NEVER, filled};
use crate::core::thread::{Queued, Thread, VALUES};
use crate::core::{Core, InstructionSource, Step};
use crate::execute::ports::MAX_PORTS;
use crate::frontend::structures::Budget;
use crate::memory::Memory;
use crate::rename::move_elimination::MoveElimination;
use crate::uops::REGISTERS;

/// Where a thread has been: the code at an address, and where it went on the last time.
#[derive(Debug)]
pub(crate) struct Visited {
    places: Box<[Visit; PLACES]>,
    last: usize,
}

#[derive(Debug, Clone, Copy)]
struct Visit {
    address: u64,
    next: u64,
    block: u32,
    executed: u32,
    /// Its first value in the ring then.
    values: u32,
}

const PLACES: usize = 1 << 11;
/// The newest values of the ring, which no step to come replaces before a wrong path has used them.
const KEPT_VALUES: u32 = VALUES as u32 / 2;
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
    pub(crate) fn visit(&mut self, step: Step, values: u32) {
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
pub(crate) struct WrongPlace {
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
    pub(crate) fn from(&self) -> Option<u64> {
        self.from
    }
}

/// What a thread had when the first micro-op of a wrong path was renamed.
#[derive(Debug)]
pub(crate) struct BeforeWrongPath {
    /// The number of that micro-op.
    next: u64,
    registers: [u64; REGISTERS],
    move_elimination: MoveElimination,
    stack_moved: bool,
}

impl<F: InstructionSource> Core<F> {
    /// Begins to fetch after a mispredicted branch what prediction says, if that is known and has been executed
    /// before; else what the program goes on with, as code of the same kind.
    pub(crate) fn enter_wrong_path(&mut self, index: usize) {
        if !self.follows_wrong_paths() {
            return;
        }
        let thread = &mut self.threads[index];
        let predicted = thread.fetcher.path.take_wrong();
        let right = thread.fetcher.path.current.map(|place| place.step.address);
        let visit = [predicted, right].into_iter().flatten().find_map(|it| thread.visited.find(it));
        thread.fetcher.wrong = visit.map(|visit| thread.begin_wrong_block(visit));
    }

    /// Whether siblings may notice.
    pub(crate) fn follows_wrong_paths(&self) -> bool {
        self.active > 1 && self.parameters.penalties.wrong_paths
    }

    /// Fetches along a wrong path, as much as the op cache (or else the decoders) would give. Returns whether that took
    /// the front end's turn.
    pub(crate) fn fetch_wrong_path(
        &mut self,
        index: usize,
        budget: &mut Budget,
        memory: &mut Memory,
    ) -> bool {
        if self.threads[index].fetcher.wrong.is_none() || !self.follows_wrong_paths() {
            return false;
        }
        let has_op_cache = self.front.op_cache.is_some();
        let most = match has_op_cache {
            true if budget.lines == 0 => 0,
            true => budget.width.saturating_sub(budget.uops),
            false => budget.instructions,
        };
        let siblings = self.all(|thread| thread.queue_used) - self.threads[index].queue_used;
        let mut taken = 0;
        while let Some(mut place) = self.threads[index].fetcher.wrong {
            if place.from.is_none() {
                let Visit { block, address, .. } = place.visit;
                place.from = Some(self.fetch_lines(index, block, address, memory));
                self.threads[index].fetcher.wrong = Some(place);
            }
            if place.from.is_some_and(|from| from > self.now) {
                break;
            }
            let thread = &mut self.threads[index];
            let instructions = &self.code[place.visit.block as usize].instructions;
            let Some(lowered) = instructions.get(place.instruction as usize) else {
                thread.fetcher.wrong = None;
                break;
            };
            let slots = u32::from(lowered.slots);
            let own = thread.queue_used;
            if taken + slots > most
                || !self.parameters.limits.queue.has_room(own, siblings + own, slots)
            {
                break;
            }
            if lowered.keeps_back() {
                thread.fetcher.wrong = None;
                break;
            }
            thread.queue.push_back(Queued {
                block: place.visit.block,
                instruction: place.instruction,
                values: place.values.unwrap_or(thread.next_value),
                slots: lowered.slots,
                shares_slot: false,
                at: self.now + 1,
                is_mispredicted: false,
                is_wrong: true,
                has_values: place.values.is_some(),
            });
            thread.queue_used += slots;
            taken += slots.max(1);
            let address = place.address + u64::from(lowered.length);
            if place.instruction + 1 < place.visit.executed {
                let instruction = place.instruction + 1;
                let after =
                    |at| lowered.memory.iter().fold(at, |at, it| thread.values_after(it, at));
                let values = place.values.map(after);
                thread.fetcher.wrong = Some(WrongPlace { instruction, address, values, ..place });
                continue;
            }
            let next = thread.visited.find(place.visit.next);
            thread.fetcher.wrong = next.map(|visit| thread.begin_wrong_block(visit));
            if place.visit.next != address {
                break;
            }
        }
        if taken > 0 {
            self.is_active = true;
            budget.uops += taken;
            budget.lines = budget.lines.saturating_sub(1);
            budget.instructions = budget.instructions.saturating_sub(taken);
        }
        taken > 0
    }

    /// Lets threads whose mispredicted branch is being executed go on rightly.
    pub(crate) fn resolve_branches(&mut self) {
        for index in 0..self.threads.len() {
            let thread = &self.threads[index];
            let Some(branch) = thread.fetcher.branch.filter(|_| thread.fetcher.awaits_branch)
            else {
                continue;
            };
            let done =
                if branch < thread.head { self.now } else { thread.in_flight_uops.at(branch).done };
            if done != NEVER {
                self.squash(index);
                let resume = done.max(self.now) + self.parameters.penalties.mispredict;
                self.threads[index].fetcher.redirect(resume);
            }
        }
    }

    /// Keeps what a thread has, unless that was done, before its first micro-op on a wrong path is renamed.
    pub(crate) fn keep_for_squash(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        if thread.before_wrong_path.is_none() {
            thread.before_wrong_path = Some(Box::new(BeforeWrongPath {
                next: thread.next,
                registers: thread.registers,
                move_elimination: thread.move_elimination.clone(),
                stack_moved: thread.stack_moved,
            }));
        }
    }

    /// Drops what a thread has of a wrong path, and takes back what was kept.
    ///
    /// Numbers of micro-ops are not used again: older ones may still wake those that are gone, which are done.
    pub(crate) fn squash(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        thread.fetcher.wrong = None;
        while let Some(queued) = thread.queue.back().filter(|queued| queued.is_wrong) {
            thread.queue_used -= u32::from(queued.slots);
            thread.queue.pop_back();
        }
        let Some(before) = thread.before_wrong_path.take() else { return };
        while let Some(&renamed) = thread.rob.back().filter(|renamed| renamed.queued.is_wrong) {
            thread.rob.pop_back();
            thread.entries -= renamed.entries;
        }
        let mut waiting = [0_u32; MAX_PORTS];
        for sequence in before.next..thread.next {
            let in_flight = thread.in_flight_uops.at_mut(sequence);
            let port = usize::from(in_flight.port);
            let ports = &mut self.ports[self.parameters.set_of(index, port)];
            if in_flight.has_port && in_flight.done == NEVER {
                waiting[port] += 1;
                ports.assigned[port] -= 1;
                ports.counts.take_back(in_flight.port);
            } else if in_flight.has_port && in_flight.busy > 1 {
                // A divider that works on it is free again.
                let begin = in_flight.done - u64::from(in_flight.latency + in_flight.extra);
                if ports.free[port] == begin + u64::from(in_flight.busy) {
                    ports.free[port] = ports.free[port].min(self.now + 1);
                }
            }
            in_flight.done = 0;
        }
        for (port, &count) in waiting.iter().enumerate() {
            let scheduler = usize::from(self.parameters.port_map.of_port[port].scheduler);
            self.scheduler_used[scheduler] -= count;
            thread.scheduler_used[scheduler] -= count;
        }
        let is_kept = |handle: Handle| {
            handle.thread() != index || thread.in_flight_uops.get(handle).done == NEVER
        };
        self.ports.iter_mut().for_each(|ports| ports.keep(is_kept));
        thread.mshr_blocked.retain(|handle| is_kept(*handle));
        let BeforeWrongPath { registers, move_elimination, stack_moved, .. } = *before;
        (thread.registers, thread.move_elimination) = (registers, move_elimination);
        (thread.stack_moved, thread.debt, thread.starved) = (stack_moved, 0, None);
        self.is_active = true;
    }
}

impl<F> Thread<F> {
    /// The first instruction of a block on a wrong path.
    fn begin_wrong_block(&self, visit: Visit) -> WrongPlace {
        // Of the right path, whose addresses a wrong one need not have, nothing is taken that is still to come.
        let right = self.fetcher.path.current.map_or(self.next_value, |place| place.values);
        let is_past = (1..=KEPT_VALUES).contains(&right.wrapping_sub(visit.values));
        let values = is_past.then_some(visit.values);
        WrongPlace { visit, instruction: 0, address: visit.address, values, from: None }
    }
}
