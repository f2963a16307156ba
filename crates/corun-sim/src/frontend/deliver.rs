//! Instructions on their way into the micro-op queue, and from one step to the next.

use crate::frontend::Fetcher;
use crate::frontend::branch::Outcome;
use crate::frontend::path::Place;
use crate::frontend::queue::{Queued, UopQueue};
use crate::frontend::structures::{Budget, Code, Front};
use crate::frontend::values::Values;
use crate::parameters::Parameters;
use crate::sharing::Requester;
use crate::uops::{DecodedBlock, DecodedInstruction};

impl Fetcher {
    /// The instruction that is fetched next.
    #[inline]
    pub(crate) fn next<'c>(&self, blocks: &'c [DecodedBlock]) -> Option<&'c DecodedInstruction> {
        let place = self.path.current.as_ref()?;
        Some(&blocks[place.step.block as usize].instructions[place.instruction as usize])
    }

    /// Puts the instructions into the queue that the present line of the op cache gives and that have room, but for the last
    /// one of a step. Returns whether there are any.
    pub(crate) fn take_read(
        &mut self,
        (queue, values): (&mut UopQueue, &Values),
        budget: &mut Budget,
        siblings: u32,
        parameters: &Parameters,
        blocks: &[DecodedBlock],
        now: u64,
    ) -> bool {
        let Some(place) = self.path.current.as_mut().filter(|place| !place.is_looping) else {
            return false;
        };
        if self.is_decoding || place.reading.end <= place.address {
            return false;
        }
        let instructions = &blocks[place.step.block as usize].instructions;
        let last = instructions.len().min(place.step.executed as usize).saturating_sub(1);
        let first = place.instruction;
        while place.reading.end > place.address
            && let Some(lowered) = instructions[..last].get(place.instruction as usize)
        {
            if !queue.admits(&parameters.limits.queue, siblings, lowered.slots.into()) {
                break;
            }
            let Some(given) = budget.given_with(lowered.entries(), &place.reading) else { break };
            budget.uops = given;
            let nops_share_slots = parameters.widths.nops_share_slots;
            let shares_slot = shares_slot(&mut self.admits_nop, lowered, nops_share_slots);
            queue.push(place.queued(lowered, shares_slot, now));
            place.pass(lowered, values);
        }
        let is_any = place.instruction != first;
        budget.is_first &= !is_any;
        is_any
    }

    /// Puts the next instruction into the queue. Returns the place after it if it is the last of its step.
    pub(crate) fn enqueue(
        &mut self,
        (queue, values): (&mut UopQueue, &Values),
        nops_share_slots: bool,
        blocks: &[DecodedBlock],
        now: u64,
    ) -> Option<Place> {
        let place = self.path.current.as_mut()?;
        let lowered = &blocks[place.step.block as usize].instructions[place.instruction as usize];
        let shares_slot = shares_slot(&mut self.admits_nop, lowered, nops_share_slots);
        queue.push(place.queued(lowered, shares_slot, now));
        place.pass(lowered, values);
        (place.instruction >= place.step.executed).then_some(*place)
    }

    /// Goes on with a step after `before`, whose end was predicted as `end`. Returns whether fetch ends for now.
    pub(crate) fn enter_step(
        &mut self,
        before: &Place,
        end: Option<Outcome>,
        front: &mut Front,
        (requester, space): (Requester, u64),
        resteer: u64,
        now: u64,
    ) -> bool {
        let Place { address, reading, .. } = *before;
        let Some(next) = &mut self.path.current else { return true };
        let (mut from, mut is_straight) = (next.from, next.address == address);
        if is_straight {
            next.reading = reading;
        } else if let Some(Outcome::Right { .. }) = end
            && reading.end == address
            && let Some(reading) = front.go_on(reading, next.address, space & !0xfff, requester)
        {
            // As if it were straight: neither another line, nor the bubble after the branch.
            (next.reading, from, is_straight) = (reading, 0, true);
        } else {
            self.jump(requester, front);
        }
        match end {
            Some(Outcome::Resteer) => {
                self.restart();
                self.resume = now + resteer;
                self.path.redirect(self.resume);
            }
            Some(Outcome::Mispredict) => self.awaits_branch = true,
            Some(Outcome::Right { .. }) | None if from > now => self.resume = from,
            Some(Outcome::Right { .. }) | None => return !is_straight,
        }
        true
    }

    /// Fetches what lies straight on up to the next branch, if the decoders needed no fetch in this cycle. Returns whether
    /// it did.
    pub(crate) fn fetch_ahead(
        &mut self,
        budget: &mut Budget,
        front: &Front,
        blocks: &[DecodedBlock],
        code: &mut Code<'_>,
    ) -> bool {
        let Some(Place { step, address, .. }) = self.path.current.filter(|_| self.is_decoding)
        else {
            return false;
        };
        let ahead = address + u64::from(front.fetch.ahead);
        let end = step.address + blocks[step.block as usize].bytes();
        if self.predecoder.is_some()
            || !(address..ahead).contains(&self.fetched_to)
            || self.fetched_to >= end
        {
            return false;
        }
        budget.bytes = 0;
        self.fetch_block(budget.each_fetch.into(), code).is_ok()
    }
}

impl Place {
    /// The instruction as it enters the queue in cycle `now`.
    #[inline]
    fn queued(&self, lowered: &DecodedInstruction, shares_slot: bool, now: u64) -> Queued {
        Queued {
            block: self.step.block,
            instruction: self.instruction,
            values: self.values,
            slots: lowered.slots,
            shares_slot,
            at: now + 1,
            is_mispredicted: false,
            is_wrong: false,
            has_values: true,
        }
    }
}

/// A NOP shares the slot of the instruction before it, in whichever blocks the two are; one at most does.
#[inline]
fn shares_slot(admits: &mut bool, lowered: &DecodedInstruction, nops_share_slots: bool) -> bool {
    let shares_slot = lowered.is_nop && *admits;
    *admits = nops_share_slots && !shares_slot && lowered.slots == 1;
    shares_slot
}
