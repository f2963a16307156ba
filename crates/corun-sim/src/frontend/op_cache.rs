//! Decoded micro-ops by address: what is found here is neither fetched nor decoded. The lines of a trace
//! cache continue after taken branches (Rotenberg, Bennett and Smith 1996).

use corun_model::{Constants, OpCache as Model};

/// Lines of micro-ops, each from one entry point on.
#[derive(Debug)]
pub(crate) struct OpCache {
    ways: usize,
    sets: usize,
    window_shift: u32,
    uops: u32,
    constants: Option<Constants>,
    lines: Vec<Line>,
    /// Of a trace cache, for each line.
    turns: Vec<Turns>,
    clock: u64,
}

/// A decoded instruction as the op cache takes it in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decoded {
    pub(crate) address: u64,
    /// Bytes.
    pub(crate) length: u8,
    pub(crate) uops: u32,
    /// Immediates and displacements, those of 64 bits counted twice.
    pub(crate) constants: u8,
}

/// The line that a thread is filling.
#[derive(Debug, Default)]
pub(crate) struct Filling {
    line: Option<Line>,
    turns: Turns,
}

/// Part of a line that a thread reads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading {
    /// The address after the part that is read.
    pub(crate) end: u64,
    /// Places of micro-ops that the line takes, for those or for their constants.
    pub(crate) places: u32,
    /// True if a further read of its window brings it.
    pub(crate) is_further: bool,
    /// The line, and the taken branches in it so far.
    line: u32,
    turn: u8,
}

/// Taken branches in a line: where it goes on, and the address after that part.
#[derive(Debug, Clone, Copy, Default)]
struct Turns {
    count: u8,
    parts: [(u64, u64); MAX_BRANCHES],
}

/// As in NetBurst, whose lines have two branches at most.
const MAX_BRANCHES: usize = 2;

/// Micro-ops that follow each other from one address on.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    start: u64,
    end: u64,
    uops: u32,
    constants: u32,
    used: u64,
}

impl OpCache {
    /// One of so many equal parts: of its sets if that is possible, else of its ways.
    pub(crate) fn new(model: &Model, parts: u32) -> Self {
        let by_sets = model.sets.is_multiple_of(parts);
        let (sets, ways) = if by_sets { (parts, 1) } else { (1, parts) };
        let (sets, ways) = ((model.sets / sets).max(1), (model.ways / ways).max(1));
        let (sets, ways) = (sets as usize, ways as usize);
        Self {
            ways,
            sets,
            window_shift: model.window.trailing_zeros(),
            uops: model.line,
            constants: model.constants,
            lines: vec![Line::default(); sets * ways],
            turns: if model.trace_cache { vec![Turns::default(); sets * ways] } else { Vec::new() },
            clock: 0,
        }
    }

    /// The first place of an address's set.
    fn first_of(&self, address: u64) -> usize {
        (address >> self.window_shift) as usize % self.sets * self.ways
    }

    fn place_of(&self, address: u64) -> Option<usize> {
        let first = self.first_of(address);
        let set = &self.lines[first..][..self.ways];
        let way = set.iter().position(|line| line.start == address && line.used > 0)?;
        Some(first + way)
    }

    /// The line that begins here, if there is one.
    pub(crate) fn find(&mut self, address: u64) -> Option<Reading> {
        self.clock += 1;
        let place = self.place_of(address)?;
        let line = &mut self.lines[place];
        line.used = self.clock;
        // What the microcode sequencer brings of an instruction has no place in a line.
        let places = line.uops.max(line.constants).min(self.uops);
        Some(Reading { end: line.end, places, is_further: false, line: place as u32, turn: 0 })
    }

    /// Next part of the same line after a branch to this address, if the line continues there.
    pub(crate) fn go_on(&self, reading: Reading, address: u64) -> Option<Reading> {
        let Reading { line, turn, .. } = reading;
        let turns = self.turns.get(line as usize)?;
        let &(begin, end) = turns.parts[..turns.count.into()].get(usize::from(turn))?;
        (begin == address).then_some(Reading { end, turn: turn + 1, ..reading })
    }

    /// True if a line begins here.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.place_of(address).is_some()
    }

    /// Code goes on elsewhere, which ends a line unless it is a trace.
    pub(crate) fn jump(&mut self, filling: &mut Filling) {
        if self.turns.is_empty() {
            self.finish(filling);
        }
    }

    /// Takes in a decoded instruction.
    pub(crate) fn fill(&mut self, filling: &mut Filling, decoded: Decoded) {
        let Decoded { address, uops, .. } = decoded;
        let (end, constants) = (address + u64::from(decoded.length), decoded.constants.into());
        let shift = self.window_shift;
        let is_trace = !self.turns.is_empty();
        let joins = |line: &Line, turns: &Turns| match is_trace {
            true => turns.end(line) == address || usize::from(turns.count) < MAX_BRANCHES,
            false => line.end == address && line.start >> shift == address >> shift,
        };
        let joined = filling.line.filter(|line| {
            joins(line, &filling.turns)
                && self.has_room(line.uops + uops, line.constants + constants)
        });
        match joined {
            Some(mut line) => {
                line.uops += uops;
                line.constants += constants;
                filling.turns.extend(&mut line, address, end);
                filling.line = Some(line);
            }
            None => {
                self.finish(filling);
                filling.line = Some(Line { start: address, end, uops, constants, used: 0 });
            }
        }
    }

    /// True if a line holds so many micro-ops with so many constants.
    fn has_room(&self, uops: u32, constants: u32) -> bool {
        let more = match self.constants {
            Some(Constants { most, .. }) if constants > most => return false,
            Some(Constants { free, .. }) => constants.saturating_sub(free).div_ceil(2),
            None => 0,
        };
        uops + more <= self.uops
    }

    /// Puts the line that is being filled in its place.
    pub(crate) fn finish(&mut self, filling: &mut Filling) {
        let Filling { line: Some(line), turns } = std::mem::take(filling) else { return };
        self.clock += 1;
        let first = self.first_of(line.start);
        let place = self.place_of(line.start).unwrap_or_else(|| {
            let ways = first..first + self.ways;
            ways.min_by_key(|&place| self.lines[place].used).unwrap_or(first)
        });
        self.lines[place] = Line { used: self.clock, ..line };
        if let Some(held) = self.turns.get_mut(place) {
            *held = turns;
        }
    }
}

impl Reading {
    /// The part with other addresses.
    pub(crate) fn at(self, end: u64) -> Self {
        Self { end, ..self }
    }
}

impl Turns {
    /// The address after the last part.
    fn end(&self, line: &Line) -> u64 {
        self.parts[..self.count.into()].last().map_or(line.end, |&(_, end)| end)
    }

    /// Adds what lies between these addresses: the last part is extended, or another begins.
    fn extend(&mut self, line: &mut Line, address: u64, end: u64) {
        if self.end(line) == address {
            match self.parts[..self.count.into()].last_mut() {
                Some(part) => part.1 = end,
                None => line.end = end,
            }
        } else {
            self.parts[usize::from(self.count)] = (address, end);
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::op_cache::*;

    /// Lines that so many instructions one after the other take, the first with most of the constants.
    fn lines(cache: &mut OpCache, uops: u32, constants: u32) -> u32 {
        let (mut filling, mut count) = (Filling::default(), 0);
        for number in 0..uops {
            let own = constants / uops + u32::from(number < constants % uops);
            let address = 0x1000 + 4 * u64::from(number);
            let decoded = Decoded { address, length: 4, uops: 1, constants: own as u8 };
            cache.fill(&mut filling, decoded);
            count += u32::from(filling.line.is_some_and(|line| line.start == address));
        }
        count
    }

    /// As measured on Zen 3: code that needs a second line takes a cycle more.
    #[test]
    fn constants_take_room_in_a_line() {
        let model = corun_model::find("zen3").unwrap();
        let mut cache = OpCache::new(model.front.op_cache.as_ref().unwrap(), 1);
        let fits = [(8, 0), (8, 4), (7, 6), (6, 8), (5, 8), (4, 7)];
        assert!(fits.iter().all(|&(uops, constants)| lines(&mut cache, uops, constants) == 1));
        let too_much = [(9, 0), (8, 5), (7, 7), (6, 9), (5, 9)];
        assert!(too_much.iter().all(|&(uops, constants)| lines(&mut cache, uops, constants) == 2));
        let without = corun_model::find("ivy-bridge").unwrap();
        let mut cache = OpCache::new(without.front.op_cache.as_ref().unwrap(), 1);
        assert_eq!(lines(&mut cache, 6, 12), 1);
    }
}
