//! The workload `stream` against three C programmers: portable C, C for this machine, and streaming
//! stores by intrinsics, on the same arrays.
//!
//! `cargo bench -p corun-workload --bench stream` lets all four take turns, a pass each, and compares
//! with the best of the three. The ratio of the rates must reach 0.97, lower end of its interval.

mod common;

use std::process::ExitCode;

use common::{Ratio, alternating, kernel, mean, peer, seconds};

const ROUNDS: usize = 201;
const LIMIT: f64 = 0.97;
const PORTABLE: &[&str] = &[];
const NATIVE: &[&str] = &["-march=native"];
const NONTEMPORAL: &[&str] = &["-march=native", "-DNONTEMPORAL"];

type Pass = unsafe extern "C" fn(*mut f64, *const f64, *const f64, usize);

fn main() -> ExitCode {
    let variants = [("portable", PORTABLE), ("native", NATIVE), ("nontemporal", NONTEMPORAL)];
    let mut peers = Vec::new();
    for (name, flags) in variants {
        match peer("stream.c", flags) {
            Ok(peer) => peers.push((name, peer)),
            Err(reason) => println!("no comparison with the {name} variant: {reason}"),
        }
    }
    if peers.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("GB/s of one thread, arrays of 4 last-level caches, {ROUNDS} rounds");
    println!("kernel    corun  {}  ratio to the best", names(&peers));
    let mut reached = true;
    for (name, arrays) in [("copy", 2), ("scale", 2), ("add", 3), ("triad", 3)] {
        let mut kernel = kernel("stream", &[format!("kernel={name}")]);
        let memory = kernel.memory();
        let bytes = memory.len();
        let start = memory.as_mut_ptr().cast::<f64>();
        let count = bytes / arrays / size_of::<f64>();
        let mut passes: Vec<Box<dyn FnMut() -> f64>> = Vec::new();
        passes.push(Box::new(move || seconds(|| kernel.run(bytes as u64))));
        for (_, peer) in &peers {
            // SAFETY: this is how the source declares it; `peers` outlives `passes`.
            let pass: Pass = unsafe { peer.function(name) };
            passes.push(Box::new(move || {
                // SAFETY: the kernel's memory is that many arrays of `count` numbers, one after the
                // other; the second one stands for the third where there are two.
                seconds(|| unsafe {
                    let first = start.add(count);
                    pass(start, first, first.add(if arrays == 3 { count } else { 0 }), count);
                })
            }));
        }
        let mut contenders: Vec<&mut dyn FnMut() -> f64> =
            passes.iter_mut().map(|pass| pass.as_mut() as _).collect();
        let times = alternating(ROUNDS, &mut contenders);
        let rates: Vec<f64> = times.iter().map(|times| bytes as f64 / mean(times) / 1e9).collect();
        let best = (1..rates.len()).max_by(|&a, &b| rates[a].total_cmp(&rates[b])).unwrap_or(0);
        let ratio = Ratio::of(&times[best], &times[0]);
        let row: String = rates.iter().map(|rate| format!("{rate:11.2}  ")).collect();
        println!("{name:5} {row} {ratio}  ({})", peers[best - 1].0);
        reached &= ratio.low >= LIMIT;
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn names(peers: &[(&str, common::Peer)]) -> String {
    peers.iter().map(|(name, _)| format!("{name:>11}  ")).collect()
}
