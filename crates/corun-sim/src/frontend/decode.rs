//! Source of the next instruction: the op cache, or the instruction cache through the decoders.

use crate::frontend::Fetcher;
use crate::frontend::op_cache::Decoded;
use crate::frontend::predecoder::Bytes;
use crate::frontend::structures::{Budget, Code, Front};
use crate::uops::DecodedInstruction;
use corun_model::{Decoder, LINE};

impl Fetcher {
    /// True if the instruction still fits into what this cycle brings.
    pub(crate) fn admit(
        &mut self,
        lowered: &DecodedInstruction,
        budget: &mut Budget,
        front: &mut Front,
        code: &mut Code<'_>,
    ) -> bool {
        let Some(place) = &mut self.path.current else { return false };
        let address = place.address;
        let uops = lowered.entries();
        if place.is_looping {
            let used = budget.looped + uops;
            let has_room = used <= front.looping || budget.looped == 0;
            budget.looped = if has_room { used } else { budget.looped };
            return has_room;
        }
        // Where in a page it lies chooses its set in every process.
        let space = code.request.pages.space() & !0xfff;
        if let (Some(cache), Some(model)) = (&mut front.decoded, &front.op_cache) {
            if place.reading.end <= address {
                let cache = cache.of(code.request.requester);
                match cache.find(address ^ space) {
                    Some(mut reading) => {
                        if self.is_decoding {
                            cache.finish(&mut self.filling);
                            self.is_decoding = false;
                            if !budget.is_first {
                                return false;
                            }
                            budget.is_first = true;
                        }
                        if budget.width == 0 {
                            return false;
                        }
                        let window = address / u64::from(model.window);
                        let reads = &mut self.window_reads;
                        if let Err(until) =
                            reads.find(window, &mut reading, code.now, budget, model)
                        {
                            self.resume = until;
                            return false;
                        }
                        let is_other = budget.window.is_some_and(|first| first != window);
                        let is_full = budget.lines == 0 && !reading.is_further;
                        if is_full || model.one_window && is_other {
                            return false;
                        }
                        reads.take(&reading);
                        budget.lines -= u32::from(!reading.is_further);
                        budget.window = Some(window);
                        place.reading = reading.at(reading.end ^ space);
                    }
                    None if !self.is_decoding => {
                        self.is_decoding = true;
                        self.resume = code.now + u64::from(model.switch);
                        self.fetched_to = 0;
                        self.restart();
                        return false;
                    }
                    None => {}
                }
            }
            if !self.is_decoding {
                let Some(given) = budget.given_with(uops, &place.reading) else { return false };
                budget.uops = given;
                budget.is_first = false;
                return true;
            }
        }
        let is_decoded = if self.predecoder.is_some() {
            self.decode_queued(address, lowered, budget, front, code)
        } else {
            self.decode(address, lowered, budget, front, code)
        };
        if !is_decoded {
            return false;
        }
        if let Some(cache) = &mut front.decoded {
            let cache = cache.of(code.request.requester);
            let DecodedInstruction { length, constants, .. } = *lowered;
            let decoded = Decoded { address: address ^ space, length, uops, constants };
            cache.fill(&mut self.filling, decoded);
        }
        true
    }

    /// Fetches the next so many bytes, or returns when their line will be there.
    pub(crate) fn fetch_block(&mut self, bytes: u64, code: &mut Code<'_>) -> Result<(), u64> {
        let last = self.fetched_to + bytes - 1;
        let line = last / u64::from(LINE);
        if line != self.line {
            self.line = line;
            let reply = code.line(last);
            self.line_ready = reply.ready;
            if reply.ready > code.now && reply.evicted.cycles > 0 {
                self.evicted = (reply.ready, reply.evicted);
            }
        }
        if self.line_ready > code.now {
            return Err(self.line_ready);
        }
        self.fetched_to += bytes;
        Ok(())
    }

    /// Fetch goes on elsewhere.
    pub(crate) fn restart(&mut self) {
        self.fetched_to = 0;
        self.window_reads.jump();
        if let Some(predecoder) = &mut self.predecoder {
            predecoder.restart();
        }
    }

    /// True if the decoders take the instruction from the predecoder in this cycle.
    fn decode_queued(
        &mut self,
        address: u64,
        lowered: &DecodedInstruction,
        budget: &mut Budget,
        front: &mut Front,
        code: &mut Code<'_>,
    ) -> bool {
        let (now, requester) = (code.now, code.request.requester);
        let Some(predecoder) = &mut self.predecoder else { return true };
        let (last, evicted) = (&mut self.line, &mut self.evicted);
        let missed = |address: u64| {
            let line = address / u64::from(LINE);
            if std::mem::replace(last, line) == line {
                return 0;
            }
            let reply = code.line(address);
            if reply.evicted.cycles > 0 {
                *evicted = (reply.ready, reply.evicted);
            }
            reply.ready - now
        };
        let bytes = Bytes {
            address,
            length: lowered.length,
            opcode_at: lowered.opcode_at,
            has_length_changing_prefix: lowered.has_length_changing_prefix,
        };
        let ready = predecoder.ready(bytes, now, requester, &mut front.claims, missed);
        if ready > now {
            self.resume = self.resume.max(ready);
            return false;
        }
        // The second half of what the decoders see as one.
        if lowered.entries() == 0 {
            predecoder.take(now);
            return true;
        }
        let Decoder { first, others, uops: most, .. } = front.decoder;
        let slots = lowered.entries();
        let is_program = lowered.is_microcode && front.from_decoders.is_some();
        let limit = if budget.is_first { first } else { others };
        let is_last = budget.instructions == 1 && front.decoder.width > 1;
        if budget.instructions == 0
            || (!budget.is_first
                && (slots > limit || lowered.first_only || budget.decoded + slots > most))
            || (is_last && lowered.may_fuse)
        {
            return false;
        }
        predecoder.take(now);
        budget.instructions = if lowered.alone { 0 } else { budget.instructions - 1 };
        budget.decoded += slots;
        budget.is_first = false;
        if let Some(switch) = front.from_decoders.filter(|_| is_program) {
            budget.instructions = 0;
            let beyond = slots.saturating_sub(first);
            let end = front.microcode.run(requester, now + 1 + u64::from(switch), beyond);
            self.resume = end;
        }
        true
    }

    /// True if fetch and decoders bring the instruction in this cycle.
    fn decode(
        &mut self,
        address: u64,
        lowered: &DecodedInstruction,
        budget: &mut Budget,
        front: &Front,
        code: &mut Code<'_>,
    ) -> bool {
        let Decoder { first, others, uops: most, .. } = front.decoder;
        let slots = lowered.entries();
        let limit = if budget.is_first { first } else { others };
        if (budget.instructions == 0 && slots > 0)
            || (slots > limit && !budget.is_first)
            || (budget.decoded + slots > most && !budget.is_first)
        {
            return false;
        }
        let end = address + u64::from(lowered.length);
        let bytes = u64::from(budget.each_fetch);
        if address >= self.fetched_to {
            self.fetched_to = if front.fetch.aligned { address / bytes * bytes } else { address };
        }
        while end > self.fetched_to {
            if budget.bytes == 0 {
                return false;
            }
            budget.bytes = 0;
            if let Err(there) = self.fetch_block(bytes, code) {
                self.resume = there;
                return false;
            }
        }
        // The second half of what the decoders see as one takes none of them.
        budget.instructions -= u32::from(slots > 0);
        budget.decoded += slots;
        budget.is_first = false;
        let longer = front.fetch.length_changing_prefix;
        if lowered.has_length_changing_prefix && longer > 0 {
            budget.instructions = 0;
            self.resume = code.now + 1 + u64::from(longer);
        }
        true
    }
}
