//! Makes the picture of the README: `corun threads` on two cores with two siblings each, under QEMU.
//!
//! `cargo run -p corun-guest-tests --example first-screen -- FILE.svg`. Siblings share a host CPU, so what a second
//! worker on a core does is known: nothing.

use std::error::Error;

use corun_guest_tests::{Guest, Host, Scenario, Shape};

/// As a user who may not open performance events, as the tests of yields do.
const SCRIPT: &str = "
    echo 3 >/proc/sys/kernel/perf_event_paranoid
    su nobody -c 'corun threads --workload fib --param granularity=128 --practical 10% --max-time 90s --quiet --seed 1 \
        --svg /results/svg --json /results/json' >/results/text
";

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("expected a file for the picture")?;
    let host = Host::get()?;
    let guest = Guest::new(Shape { sockets: 1, cores: 2, threads: 2 }).pins(&[0, 0, 1, 1]);
    let outcome = guest.boot(host, &Scenario::new(SCRIPT))?;
    std::fs::write(&path, outcome.text("svg"))?;
    if let Some(json) = std::env::args().nth(2) {
        std::fs::write(json, outcome.text("json"))?;
    }
    print!("{}", outcome.text("text"));
    Ok(())
}
