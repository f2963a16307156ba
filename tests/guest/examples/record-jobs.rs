//! Records what a real kernel does with N jobs on M CPUs: `corun audit --only jobs` on guests of three shapes.
//!
//! `cargo run -p corun-guest-tests --example record-jobs -- FOLDER` writes
//! `FOLDER/linux-VERSION-SHAPE.csv`, which the scheduler model is compared with
//! (`crates/corun-sched/tests/schedule/recorded/README.md`). It takes a quarter of an hour.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use corun_guest_tests::{Guest, Host, Scenario, Shape};

/// Two rounds are the fewest, and take minutes. Jobs of one session are no group of their own here.
const SCRIPT: &str = "
    echo 0 >/proc/sys/kernel/sched_autogroup_enabled
    corun audit --no-events --quiet --max-time 1s --only jobs --csv /results/csv
    uname -r >/results/kernel
";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("expected a folder for the records")?;
    let host = Host::get()?;
    for (cores, threads) in [(4, 1), (1, 2), (2, 2)] {
        let shape = Shape { sockets: 1, cores, threads };
        let guest = Guest::new(shape).deadline(Duration::from_secs(900));
        let outcome = guest.boot(host, &Scenario::new(SCRIPT))?;
        let kernel = outcome.text("kernel").trim();
        let version = kernel.split('-').next().unwrap_or(kernel);
        let path = Path::new(&folder).join(format!("linux-{version}-1x{cores}x{threads}.csv"));
        std::fs::write(&path, outcome.text("csv"))?;
        println!("{}", path.display());
    }
    Ok(())
}
