//! Programs that never ran, for want of a tracer: nested loops, branches, calls, and accesses to
//! arrays, structures, tables and the stack, made up from a seed and walked like an interpreter would.

use corun_trace::{Block, BlockId, Sink, ThreadId, decode};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Mixture of a program; the figures are parts of 100.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mixture {
    pub functions: usize,
    /// Segments that are loops, and that are calls; all others branch.
    pub loops: u32,
    pub calls: u32,
    /// Branches that go either way at random, the others follow a pattern.
    pub random_branches: u32,
    /// Accesses that are random, that walk arrays, and that follow a pointer; all others are on the
    /// stack.
    pub random: u32,
    pub strided: u32,
    pub pointer: u32,
}

/// By name.
pub(crate) const MIXTURES: [(&str, Mixture); 3] = [
    (
        "numeric: loops over arrays",
        Mixture {
            functions: 20,
            loops: 70,
            calls: 10,
            random_branches: 2,
            random: 2,
            strided: 85,
            pointer: 3,
        },
    ),
    (
        "general: branches, calls, structures",
        Mixture {
            functions: 400,
            loops: 25,
            calls: 30,
            random_branches: 10,
            random: 5,
            strided: 25,
            pointer: 30,
        },
    ),
    (
        "hard: random branches and addresses",
        Mixture {
            functions: 2000,
            loops: 15,
            calls: 35,
            random_branches: 40,
            random: 30,
            strided: 10,
            pointer: 30,
        },
    ),
];

/// A made-up program.
pub(crate) struct Program {
    functions: Vec<Vec<Segment>>,
    blocks: Vec<Block>,
    random: ChaCha8Rng,
    reported: u64,
    limit: u64,
    values: Vec<u64>,
}

struct Code {
    block: usize,
    places: Vec<Place>,
}

enum Segment {
    /// Runs once: the start and the end of a function.
    Straight(Code),
    /// A block that repeats itself: so often, or up to so often.
    Loop { body: Code, rounds: u32, varies: bool },
    /// A block that may skip the next.
    Branch { test: Code, body: Code, pattern: Option<u32>, turn: u32 },
    /// A block that ends in a call.
    Call { code: Code, function: usize },
}

/// Source of an operand's address.
enum Place {
    Stack(u64),
    Array { first: u64, length: u64, stride: u64, at: u64 },
    Table { first: u64, size: u64 },
    Field(u64),
}

const LOAD: &[u8] = &[0x48, 0x8b, 0x03];
const STORE: &[u8] = &[0x48, 0x89, 0x03];
const ADD: &[u8] = &[0x48, 0x01, 0xc8];
const PUSH: &[u8] = &[0x50];
const POP: &[u8] = &[0x58];
const RETURN: &[u8] = &[0xc3];

impl Program {
    pub(crate) fn new(mixture: &Mixture, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut blocks = Vec::new();
        let mut address = 0x40_1000;
        let (mut functions, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..mixture.functions {
            starts.push(address);
            let mut maker = Maker { mixture, random: &mut random, blocks: &mut blocks, address };
            functions.push(maker.function(&starts));
            address = maker.address.next_multiple_of(16);
        }
        Self { functions, blocks, random, reported: 0, limit: 0, values: Vec::new() }
    }

    /// Walks through the program until so many instructions were emitted.
    pub(crate) fn walk(&mut self, instructions: u64, sink: &mut dyn Sink) {
        let thread = sink.thread(1).unwrap();
        let mut identities = vec![None; self.blocks.len()];
        (self.reported, self.limit) = (0, instructions);
        while self.reported < self.limit {
            let function =
                self.random.random_range(self.functions.len() * 3 / 4..self.functions.len());
            self.call(function, 0x7fff_ffff_e000, sink, thread, &mut identities);
        }
    }

    fn call(
        &mut self,
        function: usize,
        stack: u64,
        sink: &mut dyn Sink,
        thread: ThreadId,
        identities: &mut [Option<BlockId>],
    ) {
        let mut segments = std::mem::take(&mut self.functions[function]);
        let object = 0x5555_0000_0000 + (self.random.next_u64() & 0xfff) * 96;
        for segment in &mut segments {
            if self.reported > self.limit {
                break;
            }
            let mut run = |program: &mut Self, code: &mut Code| {
                program.execute(code, stack, object, sink, thread, identities);
            };
            match segment {
                Segment::Straight(code) => run(self, code),
                Segment::Loop { body, rounds, varies } => {
                    let most = *rounds;
                    let rounds = if *varies { self.random.random_range(1..=most) } else { most };
                    (0..rounds).for_each(|_| run(self, body));
                }
                Segment::Branch { test, body, pattern, turn } => {
                    run(self, test);
                    *turn = (*turn + 1) % 8;
                    if pattern.map_or_else(|| self.random.random(), |bits| bits >> *turn & 1 == 1) {
                        run(self, body);
                    }
                }
                Segment::Call { code, function } => {
                    run(self, code);
                    // A function that is being run already cannot be taken a second time.
                    if !self.functions[*function].is_empty() {
                        self.call(*function, stack - 128, sink, thread, identities);
                    }
                }
            }
        }
        self.functions[function] = segments;
    }

    fn execute(
        &mut self,
        code: &mut Code,
        stack: u64,
        object: u64,
        sink: &mut dyn Sink,
        thread: ThreadId,
        identities: &mut [Option<BlockId>],
    ) {
        let block = &self.blocks[code.block];
        let identity =
            *identities[code.block].get_or_insert_with(|| sink.define(block.clone()).unwrap());
        self.values.clear();
        for place in &mut code.places {
            self.values.push(match place {
                Place::Stack(offset) => stack - *offset,
                Place::Array { first, length, stride, at } => {
                    *at = (*at + *stride) % *length;
                    *first + *at
                }
                Place::Table { first, size } => *first + ((self.random.next_u64() % *size) & !7),
                Place::Field(offset) => object + *offset,
            });
        }
        let executed = block.instructions.len() as u32;
        sink.execute(thread, identity, executed, &self.values).unwrap();
        self.reported += u64::from(executed);
    }
}

/// Makes up the code of one function.
struct Maker<'a> {
    mixture: &'a Mixture,
    random: &'a mut ChaCha8Rng,
    blocks: &'a mut Vec<Block>,
    address: u64,
}

impl Maker<'_> {
    /// A function that calls only those that start at all but the last of `starts`.
    fn function(&mut self, starts: &[u64]) -> Vec<Segment> {
        let saved = self.random.random_range(1..5);
        let stack = |offsets: Vec<u64>| offsets.into_iter().map(Place::Stack).collect::<Vec<_>>();
        let pushed = stack((0..saved).map(|index| 8 * index).collect());
        let mut segments = vec![Segment::Straight(self.block(PUSH.repeat(saved as usize), pushed))];
        for _ in 0..self.random.random_range(3..9) {
            segments.push(self.segment(starts));
        }
        let popped = stack((0..saved).rev().map(|index| 8 * index).chain([0]).collect());
        let code = [POP.repeat(saved as usize), RETURN.to_vec()].concat();
        segments.push(Segment::Straight(self.block(code, popped)));
        segments
    }

    fn segment(&mut self, starts: &[u64]) -> Segment {
        let kind = self.random.random_range(0..100);
        let (mut code, mut places) = self.body();
        if kind < self.mixture.loops {
            let back = -(code.len() as i32 + 6);
            code.extend([0x0f, 0x85]);
            code.extend(back.to_le_bytes());
            let body = self.block(code, places);
            let rounds = 1 << self.random.random_range(1..9);
            return Segment::Loop { body, rounds, varies: self.random.random_bool(0.3) };
        }
        if kind < self.mixture.loops + self.mixture.calls && starts.len() > 1 {
            let function =
                self.random.random_range(starts.len().saturating_sub(40)..starts.len() - 1);
            let next = self.address + code.len() as u64 + 5;
            code.push(0xe8);
            code.extend((starts[function].wrapping_sub(next) as i32).to_le_bytes());
            places.push(Place::Stack(64));
            return Segment::Call { code: self.block(code, places), function };
        }
        let (skipped, skipped_places) = self.body();
        code.extend([0x0f, 0x84]);
        code.extend((skipped.len() as i32).to_le_bytes());
        let test = self.block(code, places);
        let is_random = self.random.random_range(0..100) < self.mixture.random_branches;
        // Most branches go one way.
        let pattern = [0x00, 0xff, 0x00, 0xff, 0x01, 0x55][self.random.random_range(0..6)];
        let pattern = (!is_random).then_some(pattern);
        Segment::Branch { test, body: self.block(skipped, skipped_places), pattern, turn: 0 }
    }

    fn body(&mut self) -> (Vec<u8>, Vec<Place>) {
        let (mut code, mut places) = (Vec::new(), Vec::new());
        for _ in 0..self.random.random_range(2..8) {
            let instruction = match self.random.random_range(0..10) {
                0..3 => LOAD,
                3 => STORE,
                _ => ADD,
            };
            code.extend_from_slice(instruction);
            if instruction != ADD {
                let place = self.place();
                places.push(place);
            }
        }
        (code, places)
    }

    fn place(&mut self) -> Place {
        let Mixture { random, strided, pointer, .. } = *self.mixture;
        let first = 0x7f00_0000_0000 + u64::from(self.random.random::<u16>()) * 0x1_0000;
        match self.random.random_range(0..100) {
            part if part < random => {
                Place::Table { first, size: 1 << self.random.random_range(12..25) }
            }
            part if part < random + strided => {
                let stride = 1 << self.random.random_range(2..7);
                let length = stride << self.random.random_range(4..14);
                Place::Array { first, length, stride, at: 0 }
            }
            part if part < random + strided + pointer => {
                Place::Field(8 * self.random.random_range(0..12))
            }
            _ => Place::Stack(8 * self.random.random_range(0..8)),
        }
    }

    fn block(&mut self, code: Vec<u8>, places: Vec<Place>) -> Code {
        let block = decode(self.address, &code).unwrap();
        assert_eq!(block.operands.len(), places.len());
        self.address += code.len() as u64;
        self.blocks.push(block);
        Code { block: self.blocks.len() - 1, places }
    }
}
