//! The sieve of Eratosthenes as the original has it: every prime's multiples are crossed out, with no
//! end at the square root, in a table of a byte a number.

use super::super::descriptor;
use crate::in_memory::opaque;
use crate::workload::{Workload, anywhere, default_kernels};
use crate::{Kernel, Tag};

pub(in super::super) static SIEVE: Workload = Workload {
    descriptor: &descriptor(
        "aim9/sieve",
        "the primes below 1,000,000, in a table of a byte a number",
        &[Tag::StoreThroughput, Tag::CacheCapacity],
        ["a sieve of 1,000,000 numbers", "sieves"],
        1.0,
        "sieves/s",
    ),
    unavailable: anywhere,
    prepare: default_kernels::<Sieve>,
};

const NUMBERS: usize = 1_000_000;

/// Sieves in a call of the original, after which it counts.
const PER_CALL: u64 = 5;

struct Sieve {
    table: Box<[u8]>,
    counted: u64,
}

impl Default for Sieve {
    fn default() -> Self {
        Self { table: vec![0; NUMBERS].into(), counted: 0 }
    }
}

impl Kernel for Sieve {
    fn reset(&mut self) {
        self.table.fill(0);
        self.counted = 0;
    }

    fn run(&mut self, operations: u64) {
        self.counted = 0;
        let table: &mut [u8; NUMBERS] = (&mut *self.table).try_into().expect("as long as that");
        for sieve in 1..=operations {
            cross_out(table);
            if sieve % PER_CALL == 0 {
                self.counted += left(table);
            }
        }
    }

    /// The primes, and 0 and 1, that were counted, and those in the table of the last sieve.
    fn check(&self) -> u64 {
        self.counted + left(&self.table)
    }
}

/// As in the original, one variable ends the inner loop and another finds the place.
#[inline(never)]
fn cross_out(table: &mut [u8; NUMBERS]) {
    table.fill(1);
    for number in 2..NUMBERS {
        if table[number] == 1 {
            let (mut end, mut multiple) = (2 * number as u64, 2 * number as u64);
            while end < NUMBERS as u64 {
                table[multiple as usize] = 0;
                multiple = opaque(multiple + number as u64);
                end += number as u64;
            }
        }
    }
}

/// Number of numbers that are not crossed out, one after the other.
fn left(table: &[u8]) -> u64 {
    table.iter().fold(0, |count, &byte| opaque(count + u64::from(byte == 1)))
}
