//! More code than the core's instruction caches hold, run straight through or jumped about in:
//! what large programs do to the front end, and two of them on one core to each other.
//!
//! The code is made for the purpose: blocks of one cache line that add constants to registers.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod code;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod elsewhere;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::num::NonZeroUsize;

use memmap2::MmapMut;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

#[cfg(target_arch = "aarch64")]
use self::aarch64 as architecture;
use self::code::{BLOCK, Code};
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use self::elsewhere as architecture;
#[cfg(target_arch = "x86_64")]
use self::x86_64 as architecture;
use crate::ended::end;
use crate::{
    Choice, Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, Workload, WorkloadError,
    memory,
};

pub(super) static WORKLOAD: Workload = Workload { descriptor: &ABOUT, unavailable, prepare };

static ABOUT: Descriptor = Descriptor {
    name: "icache",
    summary: "runs more code than the instruction caches hold, 64 bytes at a time",
    tags: &[Tag::InstructionFetch],
    parameters: &[SIZE, ORDER],
    operation: "a block of 64 bytes of code",
    counted: "blocks",
    ..Descriptor::PLAIN
};

/// The default is beyond every first-level instruction cache and every cache of decoded
/// instructions, and within the second level.
const SIZE: Parameter = Parameter {
    name: "size",
    summary: "how much code each worker runs before it starts again",
    default: "256KiB",
    domain: Domain::Size { least: BLOCK as u64, most: 64 << 20, multiple_of: BLOCK as u64 },
};

const ORDER: Parameter = Parameter {
    name: "order",
    summary: "which block follows which",
    default: "random",
    domain: Domain::Choice(&[
        Choice { value: "random", summary: "each jumps to another one anywhere in the code" },
        Choice { value: "sequential", summary: "the next in memory, without a jump" },
    ]),
};

fn unavailable() -> Option<String> {
    if !architecture::IS_KNOWN {
        return Some("corun can make machine code for x86-64 and aarch64 only".into());
    }
    let refusal = MmapMut::map_anon(1).and_then(MmapMut::make_exec).err()?;
    Some(format!("the system does not let memory that was written become code: {refusal}"))
}

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    if let Some(reason) = unavailable() {
        return Err(WorkloadError::Unavailable { workload: ABOUT.name, reason });
    }
    let size = parameters.number(&SIZE)?;
    memory::ensure_available(ABOUT.name, size.saturating_mul(workers.get() as u64))?;
    let is_random = parameters.choice(&ORDER)? == "random";
    Job::of_each((0..workers.get()).map(|_| {
        let memory = Some(memory::map(ABOUT.name, size)?);
        Ok(IcacheKernel { memory, is_random, code: None, sum: 0 })
    }))
}

struct IcacheKernel {
    /// Memory of the code, until the first reset writes it.
    memory: Option<MmapMut>,
    is_random: bool,
    code: Option<Code>,
    sum: u32,
}

impl Kernel for IcacheKernel {
    fn reset(&mut self) {
        self.sum = 0;
        if let Some(memory) = self.memory.take() {
            let order = order(memory.len() / BLOCK, self.is_random);
            let code = Code::write(memory, order);
            let refused = "the system does not let memory that was written become code";
            self.code = Some(code.unwrap_or_else(|error| end(refused, error)));
        }
    }

    fn run(&mut self, operations: u64) {
        let Some(code) = &self.code else { return };
        for _ in 0..operations / code.blocks() {
            self.sum = self.sum.wrapping_add(code.run_last(code.blocks()));
        }
        self.sum = self.sum.wrapping_add(code.run_last(operations % code.blocks()));
    }

    /// The sum, modulo 2^32, of all constants that were added.
    fn check(&self) -> u64 {
        self.sum.into()
    }
}

/// Place in memory of each block, counted in blocks, from the first to run to the last.
fn order(blocks: usize, is_random: bool) -> Vec<u32> {
    let mut order: Vec<u32> = (0..blocks as u32).collect();
    if is_random {
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(0));
    }
    order
}
