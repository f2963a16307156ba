//! What the kernel's own work costs: parameters, measured by `corun bench` or given by hand.

/// Costs in nanoseconds of work alone on a core. Without any, hand calculations come out exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Changing from one task to another: `lmbench/context-switch` of 2 processes without data.
    pub switch: u64,
    /// Filling the caches of another core behind the same last-level cache.
    pub refill: u64,
    /// Filling caches behind another last-level cache.
    pub refill_far: u64,
    /// Waking another task, paid by who wakes it.
    pub wake_up: u64,
    /// Until an idle CPU begins that another CPU tells to: an interrupt, and leaving the idle state.
    pub interrupt: u64,
    /// For each runnable task that a decision looks at, with the lock of the run queue held: 0 but on
    /// kernels that search all of them (Linux up to 2.4).
    pub search: u64,
}

impl Costs {
    /// The names by which users give costs, with what they mean.
    pub const NAMES: [(&str, &str); 6] = [
        ("switch", "changing from one task to another"),
        ("refill", "filling the caches of another core behind the same last-level cache"),
        ("refill-far", "filling caches behind another last-level cache"),
        ("wake-up", "waking another task, paid by who wakes it"),
        ("interrupt", "until an idle CPU begins that another CPU tells to"),
        ("search", "for each runnable task that is looked at (ht-2.4), with the queue locked"),
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

    /// The names and values of all.
    pub fn list(mut self) -> Vec<(&'static str, u64)> {
        let value =
            |(name, _): (&'static str, _)| (name, self.get_mut(name).copied().unwrap_or_default());
        Self::NAMES.into_iter().map(value).collect()
    }
}
