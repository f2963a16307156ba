//! Shares of a CPU as `top` lists them: jobs that only compute on fewer CPUs, largest share first.
//!
//! They are modelled by a policy of the scheduler model on the published machine, and measured as `corun audit` does,
//! on as many CPUs of this machine.

use std::time::Duration;

use corun_audit::load::{Load, MS, Task};
use corun_audit::native::Native;
use corun_audit::{ObserveError, System};
use corun_machine::{CpuSet, Machine};
use corun_measure::cores::usable_cores;
use corun_measure::execution::Interrupt;
use corun_record::Estimate;
use corun_sched::policy::PolicyEntry;
use corun_sched::{Costs, RunInterval, Settings, Slowdowns, Topology, load, schedule};

/// Jobs on some CPUs, and over what time their shares are taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// Number of jobs.
    pub jobs: u32,
    /// The logical CPUs that they have.
    pub cpus: u32,
    /// The time that shares are taken over.
    pub over: Duration,
    pub(crate) topology: Topology,
    pub(crate) policy: PolicyEntry,
}

/// Before shares are taken the kernel has spread the jobs.
const SETTLED: Duration = Duration::from_millis(500);
/// Starting and ending a load.
const AROUND: Duration = Duration::from_millis(200);
/// Seeds of the model, and the range of them that is shown.
const SEEDS: u64 = 20;
const LEVEL: f64 = 0.9;
/// Loads that are run, where there is time.
const ROUNDS: u32 = 3;

impl Shares {
    /// The logical CPUs of this machine that the jobs are kept on: one a core where there are enough cores.
    ///
    /// # Errors
    /// If there are too few, as a sentence.
    pub(crate) fn places(&self, machine: &Machine) -> Result<CpuSet, String> {
        let cores = usable_cores(machine);
        let wanted = self.cpus as usize;
        let first = cores.iter().filter_map(|core| core.cpus.first().copied());
        let all = cores.iter().flat_map(|core| core.cpus.iter().copied());
        let chosen: CpuSet = if wanted <= cores.len() {
            first.take(wanted).collect()
        } else {
            all.take(wanted).collect()
        };
        match chosen.iter().count() {
            found if found < wanted => {
                Err(format!("it needs {wanted} logical CPUs, and {found} can be used"))
            }
            _ => Ok(chosen),
        }
    }

    /// Time to measure them well.
    pub(crate) fn time(&self) -> Duration {
        (SETTLED + self.over + AROUND) * ROUNDS
    }

    /// The measured share of each job in percent, largest first, and what others had.
    ///
    /// # Errors
    /// If the time does not suffice for one load, or the load cannot be run.
    pub(crate) fn measured(
        &self,
        cpus: &CpuSet,
        interrupt: Interrupt,
        time: Duration,
    ) -> Result<MeasuredShares, SharesError> {
        let round = SETTLED + self.over + AROUND;
        let rounds = (time.as_secs_f64() / round.as_secs_f64()).floor().min(ROUNDS.into()) as u32;
        if rounds == 0 {
            return Err(SharesError::TooShort { needed: round, left: time });
        }
        let places: Vec<u32> = cpus.iter().collect();
        let mut native = Native::new(interrupt, places.clone(), false);
        let ends = [SETTLED, SETTLED + self.over].map(|end| end.as_millis() as u64 * MS);
        let job = Task::busy(ends[0], ends[1]);
        let load = Load::of(vec![job; self.jobs as usize]).pinned_to(Some(&places));
        let mut all = Vec::new();
        for _ in 0..rounds {
            let seen = native.observe(&load)?;
            let share = |seconds: f64| seconds / self.over.as_secs_f64() * 100.0;
            all.push(ranked(seen.tasks.iter().map(|task| share(task.settled_s())).collect()));
        }
        let shares = self.by_rank(&all, |values| [values[0], values[values.len() - 1]]);
        Ok(MeasuredShares { shares, others: native.others_share() })
    }

    /// The modelled share of each job in percent, largest first.
    pub(crate) fn modelled(&self) -> Vec<Estimate> {
        let (from, length) = (SETTLED.as_nanos() as u64, self.over.as_nanos() as u64);
        let refused = |_: &std::path::Path| Err(std::io::ErrorKind::Unsupported.into());
        let work = self.over.as_secs() * 2 + 10;
        let Ok(load) = load::find(&format!("batch:jobs={},work={work}s", self.jobs), refused)
        else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for seed in 0..SEEDS {
            let settings = Settings {
                topology: self.topology.clone(),
                slowdowns: Slowdowns::none(),
                costs: Costs::default(),
                seed,
                until: Some(from + length),
            };
            let mut intervals: Vec<RunInterval> = Vec::new();
            if schedule(&self.policy, &load, &settings, &mut intervals).is_err() {
                return Vec::new();
            }
            let mut ran = vec![0_u64; self.jobs as usize];
            for interval in intervals {
                let within =
                    interval.end.min(from + length).saturating_sub(interval.begin.max(from));
                if let Some(sum) = ran.get_mut(interval.task as usize) {
                    *sum += within;
                }
            }
            let share = |nanoseconds: u64| nanoseconds as f64 / length as f64 * 100.0;
            all.push(ranked(ran.into_iter().map(share).collect()));
        }
        self.by_rank(&all, |values| {
            let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
            [at((1.0 - LEVEL) / 2.0), at((1.0 + LEVEL) / 2.0)]
        })
    }

    /// The mean of each rank over all rounds, with the range that `ends` gives of the sorted ones.
    fn by_rank(&self, all: &[Vec<f64>], ends: impl Fn(&[f64]) -> [f64; 2]) -> Vec<Estimate> {
        let of_rank = |rank: usize| {
            let mut values: Vec<f64> = all.iter().filter_map(|it| it.get(rank).copied()).collect();
            values.sort_by(f64::total_cmp);
            let value = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let [low, high] = if values.is_empty() { [value; 2] } else { ends(&values) };
            Estimate { value, low, high, level: LEVEL, blocks: values.len() as u32 }
        };
        (0..self.jobs as usize).map(of_rank).collect()
    }
}

/// Shares as they were measured.
pub(crate) struct MeasuredShares {
    /// In percent, largest first.
    pub shares: Vec<Estimate>,
    /// The part of the CPUs' time that other work had.
    pub others: f64,
}

/// Why shares were not measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SharesError {
    #[error(
        "it takes {:.0} s at least, and {:.1} s of the time allowed were left; give more with --max-time",
        needed.as_secs_f64().ceil(),
        left.as_secs_f64()
    )]
    TooShort { needed: Duration, left: Duration },
    #[error(transparent)]
    Observe(#[from] ObserveError),
}

/// Largest first.
fn ranked(mut shares: Vec<f64>) -> Vec<f64> {
    shares.sort_by(|one, other| other.total_cmp(one));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(jobs: u32, topology: &str) -> Shares {
        let topology = Topology::parse(topology).unwrap();
        let policy = PolicyEntry::find("cfs").unwrap();
        Shares { jobs, cpus: 4, over: Duration::from_secs(3), topology, policy }
    }

    #[test]
    fn modelled_shares_use_all_cpus_and_are_ranked() {
        let modelled = shares(5, "1x4x1").modelled();
        let sum: f64 = modelled.iter().map(|it| it.value).sum();
        assert!((sum - 400.0).abs() < 2.0, "{modelled:?}");
        assert!(modelled.windows(2).all(|pair| pair[0].value >= pair[1].value), "{modelled:?}");
        let two_each = shares(8, "1x4x1").modelled();
        assert!(two_each.iter().all(|it| (it.value - 50.0).abs() < 2.0), "{two_each:?}");
    }
}
