//! Forms of a loop that a compiler, a linker or a version more could make of it.

use corun_trace::format::{Options, Trace, Writer};
use corun_trace::{Sink, decode};
use iced_x86::{
    Decoder, DecoderOptions, Encoder, Instruction, InstructionInfoFactory, OpKind, Register,
};

/// Rounds of a loop as it is, a quarter of which warms up; more where that is a walk through 64 KiB.
const ROUNDS: u64 = 2400;
const LONG: u64 = 6000;

/// A change of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// Nothing.
    AsIs,
    /// A NOP more.
    Nop,
    /// The body twice in a round.
    Twice,
    /// The body four times in a round.
    FourTimes,
    /// Registers with numbers from 8 on in place of those below, and the other way round.
    Registers,
    /// A branch more, which is never taken.
    Branch,
    /// Begins so many bytes after a line of the cache.
    Begins(u64),
}

/// A loop of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub name: String,
    from: String,
    body: String,
    closing: String,
    touches: String,
}

/// The table.
pub(super) fn rows() -> Vec<Row> {
    let text = include_bytes!("loops.csv").as_slice();
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text);
    let read = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.unwrap();
        let [name, from, body, closing, touches] = std::array::from_fn(|at| record[at].to_owned());
        Row { name, from, body, closing, touches }
    };
    reader.records().map(read).collect()
}

impl Row {
    /// Forms of the loop; a loop of another compiler level has no form but its own.
    pub(super) fn forms(&self) -> impl Iterator<Item = Form> + use<> {
        let all = [
            Form::AsIs,
            Form::Nop,
            Form::Twice,
            Form::FourTimes,
            Form::Registers,
            Form::Branch,
            Form::Begins(0x15),
            Form::Begins(0x3b),
        ];
        let count = if self.from == "gcc -O2" { 1 } else { all.len() };
        all.into_iter().take(count)
    }

    /// Name of a form, unlike all others of this loop.
    pub(super) fn label(&self, form: Form) -> String {
        match form {
            Form::AsIs => self.from.clone(),
            Form::Nop => "a NOP more".to_owned(),
            Form::Twice => "twice".to_owned(),
            Form::FourTimes => "four times".to_owned(),
            Form::Registers => "other registers".to_owned(),
            Form::Branch => "a branch more".to_owned(),
            Form::Begins(at) => format!("{at} bytes later"),
        }
    }

    /// The trace of a form.
    pub(super) fn trace(&self, form: Form) -> Trace {
        let (mut body, mut closing) = (bytes(&self.body), bytes(&self.closing));
        if form == Form::Registers {
            let all = [instructions(&body), instructions(&closing)].concat();
            let kept = implied(&all);
            body = renamed(&body, &kept);
            closing = renamed(&closing, &kept);
        }
        let copies = match form {
            Form::Twice => 2,
            Form::FourTimes => 4,
            _ => 1,
        };
        let at = 0x1000 + if let Form::Begins(bytes) = form { bytes } else { 0 };
        let once = decode(at, &body).unwrap().operands.len();
        let mut code = body.repeat(copies);
        if form == Form::Nop {
            code.push(0x90);
        }
        code.extend(&closing);
        // test rsp, rsp; jz to what lies far behind
        let exit: &[u8] = match form {
            Form::Branch => &[0x48, 0x85, 0xe4, 0x0f, 0x84, 0, 0x10, 0, 0],
            _ => &[],
        };
        let distance = -((exit.len() + code.len() + 6) as i32);
        code.extend([0x0f, 0x85]);
        code.extend(distance.to_le_bytes());
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let mut define = |at, code: &[u8]| {
            let block = decode(at, code).unwrap();
            (block.instructions.len() as u32, writer.define(block).unwrap())
        };
        let first = (!exit.is_empty()).then(|| define(at, exit));
        let (count, block) = define(at + exit.len() as u64, &code);
        let places: Vec<Place> = self.touches.split_whitespace().map(Place::of).collect();
        let thread = writer.thread(1).unwrap();
        let all = if self.touches.starts_with('c') { LONG } else { ROUNDS };
        let rounds = all / copies as u64;
        for round in 0..rounds {
            if let Some((count, block)) = first {
                writer.execute(thread, block, count, &[]).unwrap();
            }
            let mut touched = Vec::new();
            for copy in 0..copies {
                let step = round * copies as u64 + copy as u64;
                touched.extend(places[..once].iter().map(|place| place.at(step)));
                if copy + 1 == copies {
                    touched.extend(places[once..].iter().map(|place| place.at(step)));
                }
            }
            writer.execute(thread, block, count, &touched).unwrap();
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }
}

/// The addresses of a place in memory, round by round, over and over.
struct Place(Vec<u64>);

impl Place {
    fn of(text: &str) -> Self {
        let (array, rest) = text.split_at(1);
        let (begin, size) = match array {
            "a" => (0x10_0000, 4096_u64),
            "b" => (0x20_0000, 4096),
            "c" => (0x30_0000, 65536),
            _ => panic!("no array: {text}"),
        };
        let step: u64 = rest.get(1..).map_or(0, |it| it.parse().unwrap());
        let places = size.checked_div(step).unwrap_or(1);
        // In random order: a linear congruential generator whose period is the number of places.
        let random = |at: &u64| Some((at * 5 + 3) % places);
        let in_turn = |at: &u64| Some((at + 1) % places);
        let numbers: Vec<u64> = match rest.starts_with('?') {
            true => std::iter::successors(Some(0), random).take(places as usize).collect(),
            false => std::iter::successors(Some(0), in_turn).take(places as usize).collect(),
        };
        Self(numbers.into_iter().map(|number| begin + number * step).collect())
    }

    fn at(&self, round: u64) -> u64 {
        self.0[round as usize % self.0.len()]
    }
}

fn bytes(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

fn instructions(code: &[u8]) -> Vec<Instruction> {
    Decoder::with_ip(64, code, 0, DecoderOptions::NONE).into_iter().collect()
}

fn operands(instruction: &Instruction) -> Vec<Register> {
    let is_register = |at: &u32| instruction.op_kind(*at) == OpKind::Register;
    let plain =
        (0..instruction.op_count()).filter(is_register).map(|at| instruction.op_register(at));
    plain
        .chain([instruction.memory_base(), instruction.memory_index()])
        .map(Register::full_register)
        .collect()
}

/// Registers that an instruction uses and does not name.
fn implied(all: &[Instruction]) -> Vec<Register> {
    let mut factory = InstructionInfoFactory::new();
    let mut found = vec![Register::RSP];
    for instruction in all {
        let named = operands(instruction);
        let used = factory.info(instruction).used_registers().iter();
        let used = used.map(|it| it.register().full_register());
        found.extend(used.filter(|it| !named.contains(it)));
    }
    found
}

/// The code with each register's number changed by eight, but for those that are kept.
fn renamed(code: &[u8], kept: &[Register]) -> Vec<u8> {
    let numbered = |first: Register, number: u32| {
        Register::values().nth((first as u32 + number) as usize).unwrap()
    };
    let other = |register: Register| {
        let full = register.full_register();
        let first = match full {
            _ if full.is_gpr64() => Register::RAX,
            _ if full.is_zmm() => Register::ZMM0,
            _ => return register,
        };
        let opposite = numbered(first, (full as u32 - first as u32) ^ 8);
        if kept.contains(&full) || kept.contains(&opposite) {
            return register;
        }
        // Of the registers that are a part of it, the one of this size; `al` comes before `ah`.
        let is_part =
            |it: &Register| it.full_register() == opposite && it.size() == register.size();
        Register::values().find(is_part).unwrap()
    };
    let mut encoder = Encoder::new(64);
    for mut instruction in instructions(code) {
        for at in 0..instruction.op_count() {
            if instruction.op_kind(at) == OpKind::Register {
                instruction.set_op_register(at, other(instruction.op_register(at)));
            }
        }
        instruction.set_memory_base(other(instruction.memory_base()));
        instruction.set_memory_index(other(instruction.memory_index()));
        encoder.encode(&instruction, 0).unwrap();
    }
    encoder.take_buffer()
}
