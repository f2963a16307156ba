//! Costs of the kernel's own work: parameters, measured by `corun bench` or given by hand.

use corun_record::{Bench, Metric, Observation};

/// Costs in nanoseconds of work alone on a core. Without any, hand calculations come out exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Changing from one task to another: `lmbench/context-switch` of 2 processes without data.
    pub switch: u64,
    /// Filling the caches of another core with the same last-level cache.
    pub refill: u64,
    /// Filling caches below another last-level cache.
    pub refill_far: u64,
    /// Waking another task, paid by who wakes it.
    pub wake_up: u64,
    /// Until an idle CPU that another CPU interrupts begins to run: the interrupt, and leaving the idle state.
    pub interrupt: u64,
    /// For each runnable task that a decision examines, with the lock of the run queue held: 0 but on
    /// kernels that search all of them (Linux up to 2.4).
    pub search: u64,
}

impl Costs {
    /// The names by which users give costs, with what they mean.
    pub const NAMES: [(&str, &str); 6] = [
        ("switch", "changing from one task to another"),
        ("refill", "filling the caches of another core with the same last-level cache"),
        ("refill-far", "filling caches below another last-level cache"),
        ("wake-up", "waking another task, paid by who wakes it"),
        ("interrupt", "until an idle CPU that another CPU interrupts begins to run"),
        ("search", "for each runnable task that is examined (ht-2.4), with the queue locked"),
    ];

    /// The cost of this name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "switch" => &mut self.switch,
            "refill" => &mut self.refill,
            "refill-far" => &mut self.refill_far,
            "wake-up" => &mut self.wake_up,
            "interrupt" => &mut self.interrupt,
            "search" => &mut self.search,
            _ => return None,
        })
    }

    /// Takes the costs that a bench measured; whether there were any. Of `lmbench/context-switch` of one
    /// worker: a switch without data, and with the most data that it has, what filling the caches takes;
    /// of `lmbench/pipe-latency`, a round trip, half of it less a switch: waking the other.
    pub fn learn(&mut self, bench: &Bench) -> bool {
        let figures = |workload: &'static str| {
            let runs = bench.runs.iter().filter(move |run| run.workload.name == workload);
            runs.filter_map(|run| {
                let is_figure = |seen: &&Observation| {
                    seen.metric == Metric::Figure && seen.arm == "single" && seen.unit == "us"
                };
                let figure = run.observations.iter().find(is_figure)?.estimate.value;
                let has_data = run.workload.parameters.get("size").is_some_and(|size| size != "0");
                Some((has_data, (figure.max(0.0) * 1e3).round() as u64))
            })
        };
        let mut has_any = false;
        let switches = || figures("lmbench/context-switch");
        if let Some((_, switch)) = switches().find(|(has_data, _)| !has_data) {
            (self.switch, has_any) = (switch, true);
        }
        if let Some(filled) = switches().filter(|it| it.0).map(|(_, time)| time).max() {
            let refill = filled.saturating_sub(self.switch);
            (self.refill, self.refill_far, has_any) = (refill, refill, true);
        }
        if let Some((_, round_trip)) = figures("lmbench/pipe-latency").next() {
            (self.wake_up, has_any) = ((round_trip / 2).saturating_sub(self.switch), true);
        }
        has_any
    }

    /// The names and values of all.
    pub fn list(mut self) -> Vec<(&'static str, u64)> {
        let value =
            |(name, _): (&'static str, _)| (name, self.get_mut(name).copied().unwrap_or_default());
        Self::NAMES.into_iter().map(value).collect()
    }
}
