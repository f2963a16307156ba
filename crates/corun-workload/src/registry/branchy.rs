//! Conditional branches whose directions the predictor cannot know, or can learn: a misprediction
//! throws away work of this thread alone, and frees the core for its sibling.
//!
//! Every pattern runs the same branches; only where their directions come from differs.

use std::num::NonZeroUsize;

use crate::in_memory::opaque;
use crate::{
    Choice, Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError,
};

pub(super) static WORKLOAD: Workload = Workload::anywhere(&ABOUT, prepare);

static ABOUT: Descriptor = Descriptor {
    name: "branchy",
    summary: "conditional branches that cannot be predicted, or that can be learned",
    tags: &[Tag::BranchPrediction],
    parameters: &[PATTERN, PERIOD],
    operation: "a branch",
    counted: "branches",
    ..Descriptor::PLAIN
};

const PATTERN: Parameter = Parameter {
    name: "pattern",
    summary: "which branches are taken",
    default: "random",
    domain: Domain::Choice(&[
        Choice { value: "random", summary: "each with one chance in two, never repeating" },
        Choice { value: "biased", summary: "each with one chance in eight, never repeating" },
        Choice { value: "periodic", summary: "a random sequence of `period`, over and over" },
    ]),
};

const PERIOD: Parameter = Parameter {
    name: "period",
    summary: "length of the sequence that pattern=periodic repeats",
    default: "1000",
    domain: Domain::Count { unit: "branches", least: 1, most: 1 << 20 },
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let period = parameters.number(&PERIOD)? as usize;
    let kernel: fn(usize) -> Box<dyn Kernel> = match parameters.choice(&PATTERN)? {
        "biased" => |_| kernel(Biased::default),
        "periodic" => |period| kernel(move || Periodic::new(period)),
        _ => |_| kernel(Random::default),
    };
    Ok(Job::Kernels((0..workers.get()).map(|_| kernel(period)).collect()))
}

/// The directions of branches, 64 at a time, the lowest bit first; 1 is taken.
trait Directions: Send {
    fn next(&mut self) -> u64;
}

/// Fresh bits from SplitMix64 (Steele, Lea and Flood 2014): no history predicts the next one.
#[derive(Default)]
struct Random {
    state: u64,
}

impl Directions for Random {
    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

#[derive(Default)]
struct Biased {
    random: Random,
}

impl Directions for Biased {
    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.random.next() & self.random.next() & self.random.next()
    }
}

struct Periodic {
    /// One period, and its beginning again for as long as a word may reach beyond the end.
    sequence: Vec<u64>,
    period: usize,
    next: usize,
}

impl Periodic {
    fn new(period: usize) -> Self {
        let mut random = Random::default();
        let period_words: Vec<u64> = (0..period.div_ceil(64)).map(|_| random.next()).collect();
        let bit = |index: usize| (period_words[index / 64] >> (index % 64)) & 1;
        let words = (period + 64).div_ceil(64);
        let word = |first| (0..64).map(|i| bit((first + i) % period) << i).sum();
        Self { sequence: (0..words).map(|index| word(64 * index)).collect(), period, next: 0 }
    }
}

impl Directions for Periodic {
    #[inline(always)]
    fn next(&mut self) -> u64 {
        let (index, shift) = (self.next / 64, self.next % 64);
        let low = self.sequence[index] >> shift;
        let high = self.sequence[index + 1] << 1 << (63 - shift);
        self.next = (self.next + 64) % self.period;
        low | high
    }
}

struct BranchyKernel<New, D> {
    start: New,
    directions: D,
    taken: u64,
}

fn kernel<D: Directions + 'static>(start: impl Fn() -> D + Send + 'static) -> Box<dyn Kernel> {
    Box::new(BranchyKernel { directions: start(), start, taken: 0 })
}

impl<New: Fn() -> D + Send, D: Directions> Kernel for BranchyKernel<New, D> {
    fn reset(&mut self) {
        self.directions = (self.start)();
        self.taken = 0;
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations / 64 {
            for byte in self.directions.next().to_le_bytes() {
                self.taken += branches(byte.into(), 8);
            }
        }
        self.taken += branches(self.directions.next(), operations % 64);
    }

    /// Number of branches taken.
    fn check(&self) -> u64 {
        self.taken
    }
}

/// Goes through this many branches; eight are few enough for the compiler to put one after the
/// other. No conditional move can replace them, since what [`opaque`] hides is computed only where a
/// branch leads to it.
#[inline(always)]
fn branches(mut directions: u64, count: u64) -> u64 {
    let mut taken = 0;
    for _ in 0..count {
        if directions & 1 != 0 {
            taken = opaque(taken + 1);
        }
        directions >>= 1;
    }
    taken
}
