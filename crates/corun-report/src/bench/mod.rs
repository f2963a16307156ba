//! Several workloads side by side, and the memory pyramid: what `corun bench` shows.

mod catalogue;
#[cfg(test)]
mod examples;
mod plot;
mod pyramid;
mod table;

pub use catalogue::{describe, list};
pub use pyramid::{Pyramid, pyramid};
pub use table::bench_to_terminal;

use corun_record::{Bench, Missing};

use crate::terminal::wrap;

/// What gave no run, and that the rest is missing where the bench was cut short.
fn ends(bench: &Bench, columns: u16) -> String {
    let mut text = String::new();
    if !bench.missing.is_empty() {
        text.push_str("\nNot run:\n");
    }
    for Missing { workload, reason, next_step, .. } in &bench.missing {
        text.push_str(&wrap(&format!("- {workload}: {reason}. {next_step}"), "  ", columns));
    }
    if bench.interrupted {
        text.push_str("\nPARTIAL RESULT: interrupted; what was finished is shown.\n");
    }
    text
}
