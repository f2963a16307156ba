//! What fitting a model's memory to the readings of a machine costs, and how near it comes to what the machine has: a machine
//! that is a model itself, so that its figures are known.
//!
//! `cargo bench -p corun-calibrate --bench memory_fit`

use std::time::Instant;

use corun_calibrate::{ProbeRings, fit_memory};

/// Cores whose last level keeps nothing of a ring that is too large, and one whose last level keeps a part; and how much
/// others fill it, in GB/s.
const MODELS: [&str; 3] = ["zen4", "zen5", "coffee-lake"];
const OTHERS: [f64; 3] = [0.0, 2.0, 10.0];

fn main() {
    for name in MODELS {
        let base = corun_model::find(name).expect("a core of corun");
        let rings = ProbeRings::of(&base).expect("a shared last level");
        for others in OTHERS {
            let mut machine = base.clone();
            let hierarchy = &mut machine.hierarchy;
            hierarchy.l2.miss += 10;
            hierarchy.main.nanoseconds += 50.0;
            let quiet = rings.simulated(&machine);
            let l3 = machine.hierarchy.l3.as_mut().expect("a shared last level");
            l3.background_fills = others;
            let mut reading = rings.simulated(&machine);
            (reading.last_level, reading.pages) = (quiet.last_level, quiet.pages);
            let begun = Instant::now();
            let found = fit_memory(&base, rings, &[reading], false);
            let took = begun.elapsed().as_secs_f64();
            let hierarchy = &machine.hierarchy;
            println!(
                "{name:<12} {took:5.2} s; l2.miss {}, main.nanoseconds {:.0}, background_fills {others} found as:",
                hierarchy.l2.miss, hierarchy.main.nanoseconds
            );
            match found {
                Ok(found) => found.iter().for_each(|it| println!("    {} {}", it.field, it.value)),
                Err(error) => println!("    {error}"),
            }
        }
    }
}
