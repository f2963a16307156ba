//! Activities added up, as counters that only grow.
//!
//! A rate of a counter of seconds is a share of time over whatever window a query asks for, and no interval between two
//! scrapes is lost, as it would be with the latest share alone.

use std::collections::BTreeMap;

use corun_record::{Activity, CapacityUse, CoBusyEvidence};

use super::cgroups::{Cgroups, Seconds};

/// Totals of a machine since the exporter started.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    pub(super) observed_s: f64,
    pub(super) cores: BTreeMap<u32, CoreTotals>,
    pub(super) capacity: CapacitySeconds,
    pub(super) cgroups: Option<Cgroups>,
    /// Reading of the last interval alone.
    pub(super) last: Option<Last>,
    pub(super) failures: u64,
}

/// A core. It is kept while it is offline, so that its counters do not start at 0 when it comes back.
#[derive(Debug, Clone, Default)]
pub(super) struct CoreTotals {
    pub(super) package: Option<u32>,
    /// Seconds with 0, 1, ... of its logical CPUs busy.
    pub(super) busy_s: Vec<f64>,
    /// Busy seconds of each of its logical CPUs, as the kernel reports them.
    pub(super) cpus: BTreeMap<u32, f64>,
}

/// Seconds of the whole machine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CapacitySeconds {
    pub(super) reported: f64,
    pub(super) used_low: f64,
    pub(super) used_high: f64,
}

/// The figures of the last interval that are not added up.
#[derive(Debug, Clone)]
pub(super) struct Last {
    pub(super) capacity: CapacityUse,
    pub(super) co_busy: CoBusyEvidence,
    pub(super) tasks_not_seen: u64,
    pub(super) tasks_hidden: bool,
}

impl Totals {
    /// Nothing yet; with at most this many control groups, or none.
    pub fn new(cgroups: usize) -> Self {
        let cgroups = (cgroups > 0).then(|| Cgroups::new(cgroups));
        Self { cgroups, ..Self::default() }
    }

    /// Adds an interval.
    pub fn add(&mut self, activity: &Activity) {
        let interval_s = positive(activity.interval_s);
        let seconds = |share: f64| positive(share) * interval_s;
        self.observed_s += interval_s;
        for core in &activity.cores {
            let totals = self.cores.entry(core.core).or_default();
            totals.package = core.package;
            let width = totals.busy_s.len().max(core.busy_siblings.len());
            totals.busy_s.resize(width, 0.0);
            for (total, &share) in totals.busy_s.iter_mut().zip(&core.busy_siblings) {
                *total += seconds(share);
            }
            for cpu in &core.cpus {
                *totals.cpus.entry(cpu.cpu).or_default() += seconds(cpu.busy());
            }
        }
        let used = &activity.capacity;
        self.capacity.reported += seconds(used.reported);
        self.capacity.used_low += seconds(used.used_low);
        self.capacity.used_high += seconds(used.used_high);
        if let Some(cgroups) = &mut self.cgroups {
            for task in &activity.tasks {
                let Some(group) = &task.cgroup else { continue };
                let used = seconds(task.used());
                let co_busy = used * positive(task.beside_busy.unwrap_or(0.0));
                cgroups.add(group, Seconds { used, co_busy }, self.observed_s);
            }
        }
        self.last = Some(Last {
            capacity: used.clone(),
            co_busy: activity.co_busy.clone(),
            tasks_not_seen: activity.tasks_not_seen,
            tasks_hidden: activity.tasks_hidden,
        });
    }

    /// Counts an interval that could not be read: counters stand, and what the last interval was is not known.
    pub fn add_failure(&mut self) {
        self.failures += 1;
        self.last = None;
    }
}

/// A counter never falls, and is a number.
fn positive(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use corun_record::{CoreActivity, CpuActivity};

    use super::*;

    fn core(busy_siblings: &[f64]) -> CoreActivity {
        let cpu = |cpu| CpuActivity { cpu, user: 0.25, ..CpuActivity::default() };
        let cpus = (0..busy_siblings.len() as u32 - 1).map(cpu).collect();
        CoreActivity { core: 3, package: Some(1), cpus, busy_siblings: busy_siblings.to_vec() }
    }

    fn interval(seconds: f64, cores: Vec<CoreActivity>) -> Activity {
        Activity { interval_s: seconds, cores, ..Activity::default() }
    }

    #[test]
    fn intervals_count_by_their_length() {
        let mut totals = Totals::new(0);
        totals.add(&interval(2.0, vec![core(&[0.5, 0.25, 0.25])]));
        totals.add(&interval(4.0, vec![core(&[0.0, 0.0, 1.0])]));
        assert_eq!(totals.observed_s, 6.0);
        assert_eq!(totals.cores[&3].busy_s, [1.0, 0.5, 4.5]);
        assert_eq!(totals.cores[&3].cpus[&1], 1.5);
    }

    #[test]
    fn a_core_that_loses_a_sibling_keeps_its_seconds() {
        let mut totals = Totals::new(0);
        totals.add(&interval(1.0, vec![core(&[0.0, 0.0, 1.0])]));
        totals.add(&interval(1.0, vec![core(&[0.0, 1.0])]));
        totals.add(&interval(1.0, Vec::new()));
        assert_eq!(totals.cores[&3].busy_s, [0.0, 1.0, 1.0]);
    }

    #[test]
    fn figures_without_sense_let_no_counter_fall() {
        let mut totals = Totals::new(0);
        totals.add(&interval(1.0, vec![core(&[1.0, 0.0, 0.0])]));
        totals.add(&interval(1.0, vec![core(&[-1.0, f64::NAN, f64::INFINITY])]));
        totals.add(&interval(-1.0, vec![core(&[1.0, 1.0, 1.0])]));
        assert_eq!(totals.cores[&3].busy_s, [1.0, 0.0, 0.0]);
        assert_eq!(totals.observed_s, 2.0);
    }
}
