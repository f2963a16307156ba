//! The scheduler model against hand calculation, against what must hold of any schedule, and against
//! what was published.

mod exact;
mod properties;
mod recorded;

use corun_sched::policy::PolicyEntry;
use corun_sched::{
    Costs, Load, Outcome, Ratio, RunInterval, ScheduleError, Settings, Slowdowns, Topology, load,
    schedule,
};

/// Without costs, with this sibling slowdown.
fn settings(topology: &str, slowdown: &str) -> Settings {
    Settings {
        topology: Topology::parse(topology).unwrap(),
        slowdowns: Slowdowns::uniform(slowdown.parse::<Ratio>().unwrap()),
        costs: Costs::default(),
        seed: 1,
        until: None,
    }
}

fn load(text: &str) -> Load {
    load::find(text, |path| std::fs::read_to_string(path)).unwrap()
}

fn run(policy: &str, load: &Load, settings: &Settings) -> (Outcome, Vec<RunInterval>) {
    run_of(policy, load, settings).unwrap()
}

fn run_of(
    policy: &str,
    load: &Load,
    settings: &Settings,
) -> Result<(Outcome, Vec<RunInterval>), ScheduleError> {
    let mut intervals = Vec::new();
    let policy = PolicyEntry::find(policy).unwrap();
    let outcome = schedule(&policy, load, settings, &mut intervals)?;
    Ok((outcome, intervals))
}
