//! Threads that let each other in without the kernel, recorded and simulated.

use serde_json::Value;

use super::{compile_with, trace, works};
use crate::common::{Outcome, Scratch, corun};

/// Two threads that alternate; the one that waits polls for its turn.
const TURNS: &str = "
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    static TURN: AtomicUsize = AtomicUsize::new(0);
    fn work(own: usize) -> u64 {
        let mut number = 3_u64;
        for _ in 0..900 {
            while TURN.compare_exchange(own, 2, SeqCst, SeqCst).is_err() {
                std::hint::spin_loop();
            }
            for _ in 0..1000 {
                number = number.wrapping_mul(number).wrapping_add(1);
            }
            TURN.swap(1 - own, SeqCst);
        }
        number
    }
    fn main() {
        let threads = [0, 1].map(|own| std::thread::spawn(move || work(own)));
        let numbers = threads.map(|thread| thread.join().unwrap());
        assert_eq!(numbers[0], numbers[1]);
    }
";

/// Recordings of which one has to be right: a thread that another program kept from its CPU finds its turn come without
/// having polled, and nothing in that recording says that it would have waited.
const RECORDINGS: usize = 3;

#[test]
fn who_spins_until_its_turn_waits_for_it_on_other_cores_too() {
    for tracer in ["dynamorio", "qemu"].into_iter().filter(|tracer| works(tracer)) {
        let scratch = Scratch::new();
        // So that its first thread has little to do.
        compile_with(&scratch, "turns", TURNS, &["-O", "-Ctarget-feature=+crt-static"]);
        // A multiplication takes three cycles and an addition one, 1000 times in each of 1800 turns, and no thread works in
        // the other one's.
        let is_right = |cycles: &f64| (7.2e6..8.1e6).contains(cycles);
        let mut all = vec![cycles(tracer, &scratch)];
        while all.len() < RECORDINGS && !all.last().is_some_and(is_right) {
            all.push(cycles(tracer, &scratch));
        }
        assert!(all.last().is_some_and(is_right), "{tracer}: {all:?}");
    }
}

/// Cycles of the first thread on a core of its own, of one recording.
fn cycles(tracer: &str, scratch: &Scratch) -> f64 {
    let outcome = Outcome::of(trace(tracer, scratch).arg("./turns"));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{tracer}");
    let outcome = Outcome::of(
        corun(["simulate", "--quiet", "--model=zen4", "--placement=spread", "--phases=1"])
            .arg("--json=-")
            .arg(scratch.file("trace")),
    );
    assert_eq!(outcome.exit, Some(0), "{tracer}: {}", outcome.errors);
    let answer: Value = serde_json::from_str(&outcome.output).unwrap();
    let workers = answer["placements"][0]["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2, "{tracer}");
    workers[0]["cycles"][0].as_f64().unwrap()
}
