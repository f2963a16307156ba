//! The workload `chase` against a C programmer, on the same pointers: the latency of each size from
//! 16 KiB to eight last-level caches.
//!
//! `cargo bench -p corun-workload --bench ladder` lets both take turns; each begins far from where
//! the other one was, so that neither finds the caches filled for it. At every size the interval of
//! the ratio must lie within 3 % of 1.

mod common;

use std::process::ExitCode;

use common::{Ratio, kernel, mean, paired, peer, seconds};

const ROUNDS: usize = 3001;
const LIMIT: f64 = 0.03;
const SMALLEST: usize = 16 << 10;

/// Long enough for the clock, short enough that whatever else the machine does hits both sides.
const SECONDS: f64 = 3e-4;

type Chase = unsafe extern "C" fn(*const u8, u64) -> *const u8;

fn main() -> ExitCode {
    let peer = match peer("chase.c", &["-march=native"]) {
        Ok(peer) => peer,
        Err(reason) => {
            println!("no comparison with C: {reason}");
            return ExitCode::SUCCESS;
        }
    };
    // SAFETY: this is how the source declares it; `peer` lives to the end.
    let chase: Chase = unsafe { peer.function("chase") };
    let most = kernel("chase", &[]).memory().len();
    println!("ns a load, {ROUNDS} rounds");
    println!("     size     corun         C  ratio");
    let mut reached = true;
    let mut size = SMALLEST;
    while size <= most {
        let mut kernel = kernel("chase", &[format!("size={size}")]);
        let elements = (size / 64) as u64;
        // SAFETY: the kernel's memory begins with a pointer of its cycle.
        let opposite = unsafe { chase(kernel.memory().as_ptr(), elements / 2) };
        let loads = loads_of_a_turn(|loads| kernel.run(loads));
        kernel.reset();
        let mut cursor = opposite;
        let (ours, theirs) = paired(
            ROUNDS,
            || seconds(|| kernel.run(loads)),
            // SAFETY: the pointers form a cycle.
            || seconds(|| cursor = unsafe { chase(cursor, loads) }),
        );
        let ratio = Ratio::of(&ours, &theirs);
        let nanoseconds = |times| mean(times) / loads as f64 * 1e9;
        let (one, other) = (nanoseconds(&ours), nanoseconds(&theirs));
        println!("{:5} KiB {one:9.3} {other:9.3}  {ratio}", size >> 10);
        reached &= ratio.low >= 1.0 - LIMIT && ratio.high <= 1.0 + LIMIT;
        size *= 2;
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn loads_of_a_turn(mut follow: impl FnMut(u64)) -> u64 {
    let mut loads = 1000;
    while seconds(|| follow(loads)) < SECONDS {
        loads += loads / 4;
    }
    loads
}
