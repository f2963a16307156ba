//! Every resource of every model: siblings notice how they share it, or corun says that they do not.

use std::collections::HashMap;

use corun_model::{CoreModel, OpCache, Policy, Resource};
use corun_sim::in_parallel;
use corun_trace::format::Trace;

use crate::made::{self, Loop, simulated};

/// Resource that a pair of programs is made to wait for; where it has a size, the second one's is two thirds of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Pair {
    /// Instructions that need nothing but a slot, beside a chain of latency.
    Renaming,
    /// Loads beside loads of which each gives the next one's address, with four instructions between.
    Uneven,
    /// Loads after an instruction that takes nothing but time.
    Pauses,
    /// Instructions that want one port.
    Port,
    /// Code that is decoded for the first time, long instructions beside short ones.
    Decoding,
    /// So many instructions of a length of which few fit into a fetch, again and again.
    Decoded(u64),
    /// Code of ten bytes, for cores whose decoders bring as many short ones as a sibling leaves to be renamed.
    DecodedLong(u64),
    /// So many instructions of two bytes, again and again.
    Dense(u64),
    /// Programs of the decoders, decoded for the first time.
    Microcode,
    /// Branches that go either way at random.
    Guesses,
    /// A load that misses, and then many of an instruction.
    Window(&'static [u8]),
    /// Code with a vector, and then comparisons of it, whose results are no vectors.
    Compared,
    /// Code that is decoded for the first time, beside code of which that holds alone.
    Cold,
    /// A loop of so many instructions, beside code that is decoded for the first time.
    Looping(u32),
    /// Jumps through so many pages, each to a line of its own.
    Code { pages: u64, jumps: u64 },
    /// Loads of so many lines, so many bytes apart; each gives the address of the next, or none does.
    Data { lines: u64, apart: u64, are_chased: bool },
    /// Loads of line after line in so many pages.
    Streams(u64),
}

// lea rcx, [rdi + 1]; mov rcx, [rbx + 8]; mov [rbx + 8], rdi; pxor xmm1, xmm0;
// imul rcx, rax;
// mov rcx, 0x0807060504030201
const REGISTERS: Pair = Pair::Window(&[0x48, 0x8d, 0x4f, 0x01]);
const LOADS: Pair = Pair::Window(&[0x48, 0x8b, 0x4b, 0x08]);
const STORES: Pair = Pair::Window(&[0x48, 0x89, 0x7b, 0x08]);
const VECTORS: Pair = Pair::Window(&[0x66, 0x0f, 0xef, 0xc8]);
const WAITING: Pair = Pair::Window(&[0x48, 0x0f, 0xaf, 0xc8]);
// mov r8d, edi: neither a register nor a scheduler
const COPIES: Pair = Pair::Window(&[0x41, 0x89, 0xf8]);
const LONG: Pair = Pair::Window(&[0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8]);

/// Bytes of an instruction of [`Pair::Decoded`].
const DECODED: u32 = 7;
/// Length of [`Pair::DecodedLong`].
const DECODED_LONG: u32 = 10;

/// Of so many bytes each, those that such a part of an op cache holds.
fn instructions(cache: &OpCache, bytes: u32, (of, all): (u32, u32)) -> u64 {
    let in_window = cache.window / bytes;
    let windows = cache.sets * cache.ways * of / all / in_window.div_ceil(cache.line);
    (windows * in_window).into()
}

impl Pair {
    /// Those that may notice how a resource is shared, the likeliest first.
    fn of(resource: &str, model: &CoreModel) -> Vec<Self> {
        let (memory, hierarchy) = (&model.memory, &model.hierarchy);
        let part = |entries: u32| u64::from(entries) * 3 / 4;
        let data = |entries: u32, are_chased| Self::Data {
            lines: part(entries),
            apart: 4096 + 64,
            are_chased,
        };
        let lines =
            |kib: u32| Self::Data { lines: part(kib * 16), apart: 64, are_chased: kib < 64 };
        let op_lines = model.front.op_cache.as_ref().map_or(0, |cache| cache.sets * cache.ways);
        let code = |entries: u32| {
            let pages = part(entries);
            Self::Code { pages, jumps: pages.max((op_lines + op_lines / 4).into()) }
        };
        let around = |entries: u32| [entries, entries * 4 / 5, entries * 5 / 4];
        match resource {
            "front.l1i" => {
                let jumps = part(model.front.l1i.kib * 16);
                vec![Self::Code { pages: 0, jumps }, Self::Dense(jumps * 32)]
            }
            "front.itlb" => around(model.front.itlb.entries).map(code).to_vec(),
            "hierarchy.code_stlb" => {
                let entries = hierarchy.code_stlb.iter().flat_map(|it| around(it.entries));
                entries.map(code).collect()
            }
            "hierarchy.stlb" => hierarchy.stlb.iter().map(|it| data(it.entries, true)).collect(),
            "memory.dtlb" => {
                let fits = |entries: u32| entries * 37 / 48;
                [memory.dtlb.entries, fits(memory.dtlb.entries)].map(|it| data(it, true)).to_vec()
            }
            // Pages of one set.
            "hierarchy.walk" => vec![Self::Data {
                lines: u64::from(memory.dtlb.entries) * 2,
                apart: 4096 * 128 + 64,
                are_chased: false,
            }],
            // As many as it holds, and as many as it holds beside the sibling's but half of it does not.
            "memory.l1d" => vec![lines(memory.l1d.kib), lines(memory.l1d.kib * 3 / 4)],
            "hierarchy.l2" | "hierarchy.fills" => {
                vec![lines(64), lines(hierarchy.l2.kib)]
            }
            "hierarchy.prefetch" => [6, 5]
                .map(|part| Self::Streams(u64::from(hierarchy.prefetch.streams) * part / 8))
                .to_vec(),
            "front.prediction" => vec![Self::Guesses],
            "front.microcode" => vec![Self::Microcode],
            // Which have too little room by halves, and both together or not.
            "front.op_cache" => {
                let caches = model.front.op_cache.iter();
                caches
                    .flat_map(|it| {
                        let short = [(3, 4), (5, 8), (9, 16), (1, 2)]
                            .map(|part| Self::Decoded(instructions(it, DECODED, part)));
                        let long = [(3, 4), (5, 8)]
                            .map(|part| Self::DecodedLong(instructions(it, DECODED_LONG, part)));
                        short.into_iter().chain(long)
                    })
                    .collect()
            }
            "front.loop_buffer" => {
                let buffers = model.front.loop_buffer.iter();
                buffers.map(|buffer| Self::Looping(buffer.uops * 3 / 4)).collect()
            }
            "front.queue" => vec![
                LONG,
                Self::Cold,
                Self::Dense(9000),
                Self::Guesses,
                Self::Uneven,
                Self::Pauses,
                Self::Decoding,
                Self::Microcode,
                STORES,
            ],
            "back.registers" => vec![REGISTERS, VECTORS],
            "memory.loads" => vec![LOADS],
            "memory.stores" => vec![STORES],
            "back.schedulers" => vec![WAITING, Self::Port],
            "back.non_scheduling_queues" => vec![Self::Compared],
            "back.rob" => vec![REGISTERS, COPIES],
            "back.dispatch" | "back.retire" => {
                vec![
                    Self::Renaming,
                    Self::Uneven,
                    Self::Pauses,
                    LONG,
                    REGISTERS,
                    Self::Decoding,
                    Self::Guesses,
                    Self::Cold,
                    Self::Dense(9000),
                    Self::Microcode,
                    Self::Port,
                ]
            }
            _ => vec![
                Self::Decoding,
                Self::Microcode,
                LONG,
                Self::Dense(9000),
                Self::Guesses,
                Self::Cold,
            ],
        }
    }

    fn programs(self) -> [Trace; 2] {
        let again = |body: &[u8], rounds: u64| Loop { body, rounds, ..Loop::default() }.trace();
        // mov rax, [rax], or mov rax, [rbx]
        let loads = |are_chased, rounds: u64, touches: &dyn Fn(u64) -> u64| {
            let touches = |round: u64| vec![touches(round)];
            let body = [0x48, 0x8b, if are_chased { 0x00 } else { 0x03 }];
            Loop { body: &body, touches: &touches, rounds, ..Loop::default() }.trace()
        };
        // Nowhere that anything is yet.
        let far = |round: u64| 0x100_0000 + (round.wrapping_mul(0x9e37_79b9) % (1 << 19)) * 64;
        let both = |size: u64| [size, size * 2 / 3];
        match self {
            Self::Renaming => [
                again(&[0x41, 0x89, 0xf8].repeat(24), 100),
                again(&[0x48, 0x0f, 0xaf, 0xc0].repeat(20), 100),
            ],
            Self::Looping(count) => [
                again(&[0x41, 0x89, 0xf8].repeat(count as usize), 100),
                again(&[0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8].repeat(800), 2),
            ],
            Self::Uneven => {
                let touches = |_: u64| vec![0x8000; 16];
                let body = [0x48, 0x8b, 0x00, 0x90, 0x90, 0x90, 0x90].repeat(16);
                let chase = Loop { body: &body, touches: &touches, rounds: 60, ..Loop::default() };
                [again(&[0x41, 0x89, 0xf8].repeat(24), 100), chase.trace()]
            }
            Self::Pauses => [24, 20].map(|count| {
                again(&[&[0xf3, 0x90][..], &[0x41, 0x89, 0xf8].repeat(count)].concat(), 40)
            }),
            Self::Port => [16, 24].map(|count| again(&[0x48, 0x6b, 0xcf, 3].repeat(count), 100)),
            Self::Guesses => [1500, 1200].map(made::guesses),
            // mov rcx, 0x0807060504030201; xchg ecx, edi
            Self::Decoding => {
                let long = [0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8].repeat(800);
                [again(&long, 2), again(&[0x89, 0xf9].repeat(2000), 2)]
            }
            // add r8, 0x11223344
            Self::Decoded(count) => both(count).map(|count| {
                let one = |at: u64| [0x49, 0x81, 0xc0 | (at as u8 % 8), 0x44, 0x33, 0x22, 0x11];
                again(&(0..count).flat_map(one).collect::<Vec<u8>>(), 8)
            }),
            // mov r8, 0x0807060504030201
            Self::DecodedLong(count) => both(count).map(|count| {
                let one = |at: u64| [0x49, 0xb8 | (at as u8 % 8), 1, 2, 3, 4, 5, 6, 7, 8];
                again(&(0..count).flat_map(one).collect::<Vec<u8>>(), 8)
            }),
            // mov ecx, edi
            Self::Dense(count) => {
                both(count).map(|count| again(&[0x89, 0xf9].repeat(count as usize), 4))
            }
            // vzeroall; nops
            Self::Microcode => [2, 5].map(|nops| {
                let one = [&[0xc5, 0xfc, 0x77][..], &[0x90].repeat(nops)].concat();
                again(&one.repeat(1000), 2)
            }),
            Self::Window(one) => [(250, 8), (170, 11)].map(|(count, rounds)| {
                let body = [&[0x48, 0x8b, 0x03][..], &one.repeat(count)].concat();
                let touched = if [LOADS, STORES].contains(&self) { count } else { 0 };
                let touches = |round: u64| [vec![far(round)], vec![0x8000; touched]].concat();
                Loop { body: &body, touches: &touches, rounds, ..Loop::default() }.trace()
            }),
            // movsd xmm1, [rbx]; ucomisd xmm1, xmm1
            Self::Compared => [(250, 8), (170, 11)].map(|(count, rounds)| {
                let compare = [0x66, 0x0f, 0x2e, 0xc9].repeat(count);
                let body = [&[0xf2, 0x0f, 0x10, 0x0b][..], &compare].concat();
                Loop { body: &body, touches: &|round| vec![far(round)], rounds, ..Loop::default() }
                    .trace()
            }),
            Self::Cold => {
                let long = [0x48, 0xb9, 1, 2, 3, 4, 5, 6, 7, 8];
                let misses = [&[0x48, 0x8b, 0x03][..], &long.repeat(200)].concat().repeat(12);
                let touches = |round: u64| (0..12).map(|place| far(12 * round + place)).collect();
                let misses =
                    Loop { body: &misses, touches: &touches, rounds: 2, ..Loop::default() };
                [misses.trace(), again(&long.repeat(2000), 2)]
            }
            Self::Code { pages, jumps } => {
                let of = |pages: u64, jumps| match pages {
                    0 => made::jumps(jumps, 4, |place| place * 64),
                    _ => made::jumps(jumps, 4, |place| {
                        place % pages * 4096 + place / pages % 64 * 64
                    }),
                };
                [of(pages, jumps), of(pages * 2 / 3, jumps * 9 / 10)]
            }
            // In an order that no prefetcher follows.
            Self::Data { lines, apart, are_chased } => both(lines).map(|lines| {
                loads(are_chased, (2 * lines).max(600), &|round| {
                    0x1000_0000 + round.wrapping_mul(7919) % lines * apart
                })
            }),
            Self::Streams(pages) => both(pages).map(|pages| {
                let place = |round: u64| round % pages * 0x2_0000 + round / pages * 64;
                loads(false, pages * 40, &|round| 0x1000_0000 + place(round))
            }),
        }
    }
}

/// Programs are made once, and simulated once with the model as it is.
#[derive(Default)]
struct ForwardingPredictor {
    programs: HashMap<Pair, [Trace; 2]>,
    /// None of a program that is over before it can be measured.
    before: HashMap<Pair, [Option<f64>; 2]>,
}

impl ForwardingPredictor {
    fn cycles(&mut self, model: &CoreModel, pair: Pair) -> [Option<f64>; 2] {
        let [one, other] = self.programs.entry(pair).or_insert_with(|| pair.programs());
        let both = simulated(model, &[one, other], "full@2", 1);
        [0, 1].map(|worker| both.cycles(worker))
    }

    fn is_noticed(&mut self, model: &CoreModel, changed: &CoreModel, pair: Pair) -> bool {
        let before = match self.before.get(&pair) {
            Some(before) => *before,
            None => {
                let before = self.cycles(model, pair);
                self.before.insert(pair, before);
                before
            }
        };
        let after = self.cycles(changed, pair);
        after != before
    }
}

/// Policies that are simulated, and yet were noticed by no pair that was tried: what one leaves of a turn
/// of retiring hardly ever is what another one waits for, since as much is renamed a turn at most; a loop that no longer fits into
/// a buffer of its own comes from an op cache that delivers as much.
fn is_rare(resource: &Resource, policy: Policy) -> bool {
    let is_own = resource.policy == Policy::Replicated;
    policy == Policy::Shared
        && (resource.name == "back.retire" || resource.name == "front.loop_buffer" && is_own)
}

/// The policies of a model's resources that no pair notices, although that is not documented, or the other way
/// round.
fn unnoticed(model: &CoreModel) -> Vec<String> {
    let mut pairs = ForwardingPredictor::default();
    let mut wrong = Vec::new();
    for resource in model.resources() {
        for policy in Policy::ALL.into_iter().filter(|policy| *policy != resource.policy) {
            let Ok(changed) = model.sharing(&resource, policy) else { continue };
            if is_rare(&resource, policy) {
                continue;
            }
            let is_documented = model.makes_no_difference(&resource.name, policy).is_some();
            let tried = Pair::of(&resource.name, model);
            let is_noticed = tried.into_iter().any(|pair| pairs.is_noticed(model, &changed, pair));
            if is_noticed == is_documented {
                wrong.push(format!("{}: {} {}", model.name, resource.name, policy.name()));
            }
        }
    }
    wrong
}

#[test]
fn every_policy_is_simulated_or_documented_to_make_no_difference() {
    let models = corun_model::designs().unwrap();
    let wrong = in_parallel(2, models.len(), |index| unnoticed(&models[index])).concat();
    assert_eq!(wrong, Vec::<String>::new());
}
