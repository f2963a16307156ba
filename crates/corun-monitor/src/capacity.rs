//! The capacity that was used, from how long each number of siblings was busy.
//!
//! Let w(k) be the work done a second by a core with k busy logical CPUs, in units of what one does alone: w(0) = 0,
//! w(1) = 1 and w(S) = Y, the SMT yield. A core that had k of them busy for the share p(k) of the time did
//! sum p(k) w(k) / Y of what it can do. For S = 2 this is p(1)/Y + p(2): with Y = 2 what the kernel reports, with
//! Y = 1 the share of time in which the core was not idle. Between one and S siblings, w is taken as straight.
//!
//! Source: IBM's SMT utilisation of z/OS and POWER (PURR) attributes capacity in the same way, with a measured Y.

use corun_record::{CapacityUse, CoreActivity, YieldRange};

/// The work a second of a core of `width` logical CPUs with `busy` of them busy, where one alone does 1.
pub fn work_rate(busy: usize, width: usize, smt_yield: f64) -> f64 {
    match (busy, width) {
        (0, _) => 0.0,
        (_, 0 | 1) => 1.0,
        _ => 1.0 + (smt_yield - 1.0) * (busy - 1) as f64 / (width - 1) as f64,
    }
}

/// The share of their capacity that these cores used; a core without siblings has a yield of 1.
pub fn capacity_use(cores: &[CoreActivity], yields: YieldRange) -> CapacityUse {
    let used = |smt_yield: f64| {
        let (mut done, mut possible) = (0.0, 0.0);
        for core in cores {
            let width = core.busy_siblings.len().saturating_sub(1);
            let rate = |busy| work_rate(busy, width, smt_yield.min(width as f64));
            done += core.busy_siblings.iter().enumerate().map(|(k, p)| p * rate(k)).sum::<f64>();
            possible += rate(width);
        }
        if possible > 0.0 { (done / possible).clamp(0.0, 1.0) } else { 0.0 }
    };
    let cpus = cores.iter().flat_map(|core| &core.cpus);
    let count = cpus.clone().count().max(1) as f64;
    let (one, other) = (used(yields.low), used(yields.high));
    CapacityUse {
        reported: cpus.map(corun_record::CpuActivity::busy).sum::<f64>() / count,
        used_low: one.min(other),
        used_high: one.max(other),
        yields,
    }
}
