//! A program on a simulated core.

use corun_record::{Record, Simulation};

use super::{heading, limits, wrapped};
use crate::figures::grouped;
use crate::top_down::Category;

/// Components below this share of all cycles are left out of the text.
const MIN_SHARE: f64 = 0.000_5;

/// The simulation as text for a terminal of this many columns.
pub fn simulation_to_terminal(
    Record { caveats, body: simulation, .. }: &Record<Simulation>,
    columns: u16,
) -> String {
    let Simulation { core, pages, .. } = simulation;
    let title = format!("{} on {}", simulation.command.join(" "), core.title);
    let mut text = heading(&title, core, *pages, caveats, columns);
    let speed = format!(
        "{} instructions in {} cycles: IPC {:.3}, {:.6} s at {} GHz",
        grouped(simulation.instructions),
        grouped(simulation.cycles),
        simulation.ipc,
        simulation.seconds,
        simulation.ghz,
    );
    text += &format!("\n{}\n", wrapped(&speed, columns));
    let per_thousand = |number: u64| 1e3 * number as f64 / simulation.instructions.max(1) as f64;
    text += &format!("{:.2} branch MPKI\n", per_thousand(simulation.mispredicts));
    let requests = simulation.requests.by_name().into_iter().filter(|(_, number)| *number > 0);
    let requests: Vec<String> =
        requests.map(|(name, number)| format!("{:.2} {name}", per_thousand(number))).collect();
    if !requests.is_empty() {
        let all = format!("{}, per 1000 instructions", requests.join(", "));
        text += &wrapped(&all, columns);
        text.push('\n');
    }
    text += &stack(simulation);
    text += "\nMean occupancy, entries:\n";
    for (name, mean) in &simulation.occupancy {
        text += &format!("  {name:<20}{mean:>6.1}\n");
    }
    text + &limits(caveats, columns)
}

/// The cycle stack by top-down category.
fn stack(simulation: &Simulation) -> String {
    let all = simulation.cycles.max(1) as f64;
    let shares: Vec<(&str, f64)> =
        simulation.stack.iter().map(|(name, cycles)| (name.as_str(), cycles / all)).collect();
    let mut text = "\nCycle stack (top-down, in issue slots):\n".to_owned();
    for category in Category::ALL {
        let parts = || shares.iter().filter(|(name, _)| Category::of(name) == category);
        let sum: f64 = parts().map(|(_, share)| share).sum();
        if sum < MIN_SHARE {
            continue;
        }
        text += &format!("  {:<24}{:>6.1} %\n", category.name(), 100.0 * sum);
        let large = parts().filter(|(name, share)| *share >= MIN_SHARE && *name != category.name());
        for (name, share) in large {
            text += &format!("    {name:<22}{:>6.1} %\n", 100.0 * share);
        }
    }
    text
}
