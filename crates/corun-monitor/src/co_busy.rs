//! Co-busy time of the siblings of each core, and which tasks met there.
//!
//! Three sources, the best that is possible: all switches of tasks as the kernel records them; samples of the states
//! of threads; or only the bounds that the busy share of each sibling leaves.

mod bounds;
mod estimate;
#[cfg(test)]
mod live;
mod overlap;
mod switches;
#[cfg(test)]
mod synthetic;
mod watch;

use corun_machine::Machine;
use corun_machine::kernel_clock::{cpu_time_ns, now_ns, own_thread, sleep_until};
use corun_record::{CoBusyEvidence, CoBusyMethod};

use self::estimate::{Estimate, WIDEST};
use self::overlap::{Siblings, TaskTimes};
use self::switches::Switches;
use self::watch::Watch;
use crate::proc::{CpuUse, ProcFiles};

/// Records of switches are taken over this often, at least and at most; more often where they fill their buffers.
const DRAIN_NS: [u64; 2] = [2_000_000, 50_000_000];
/// Time after which a source that was too expensive is tried again.
const RETRY_NS: u64 = 60_000_000_000;
/// By how much switches and the kernel's accounts may differ, in shares of the interval.
const DISAGREEMENT: f64 = 0.1;
/// For each logical CPU so many threads are watched, and in all at least as many.
const WATCHED: [usize; 2] = [4, 32];

/// The cores with their online CPUs.
#[derive(Debug, Default)]
pub(crate) struct Cores {
    pub(crate) all: Vec<Core>,
    /// Of each logical CPU its core, and which of its siblings it is.
    places: Vec<Option<(usize, usize)>>,
}

/// A core with its online CPUs.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) id: u32,
    pub(crate) package: Option<u32>,
    pub(crate) cpus: Vec<u32>,
}

impl Cores {
    /// The cores of a machine with those of their CPUs that are online, in the order of the lowest; a CPU of which
    /// no core is known has one of its own.
    pub(crate) fn new(machine: &Machine, online: impl Iterator<Item = u32>) -> Self {
        let online: Vec<u32> = online.collect();
        let cpus_of = |core: &corun_machine::Core| {
            core.cpus.iter().filter(|cpu| online.binary_search(cpu).is_ok()).collect()
        };
        let mut all: Vec<Core> = machine
            .cores
            .iter()
            .map(|core| Core { id: core.id, package: core.package, cpus: cpus_of(core) })
            .filter(|core| !core.cpus.is_empty())
            .collect();
        let highest = machine.cores.iter().map(|core| core.id + 1).max().unwrap_or(0);
        let known: Vec<u32> = all.iter().flat_map(|core| core.cpus.iter().copied()).collect();
        let unknown = online.iter().filter(|cpu| !known.contains(cpu));
        all.extend(unknown.zip(highest..).map(|(&cpu, id)| Core {
            id,
            package: None,
            cpus: vec![cpu],
        }));
        all.sort_by_key(|core| core.cpus.first().copied());
        let count = online.last().map_or(0, |last| *last as usize + 1);
        let mut places = vec![None; count];
        for (core, it) in all.iter().enumerate() {
            for (sibling, &cpu) in it.cpus.iter().enumerate() {
                places[cpu as usize] = Some((core, sibling));
            }
        }
        Self { all, places }
    }

    fn place(&self, cpu: u32) -> Option<(usize, usize)> {
        self.places.get(cpu as usize).copied().flatten()
    }

    fn have_siblings(&self) -> bool {
        self.all.iter().any(|core| core.cpus.len() > 1)
    }

    /// Number of threads that are worth watching.
    pub(crate) fn watched(&self) -> usize {
        (WATCHED[0] * self.places.iter().flatten().count()).max(WATCHED[1])
    }
}

/// The source in use.
#[derive(Debug)]
pub(crate) struct CoBusy {
    source: Source,
    not_exact_because: Option<String>,
    /// When seeing every switch may be tried again; `None` if it is not wanted.
    retry_ns: Option<u64>,
    /// Cost limit of seeing every switch, as a share of a CPU.
    exact_cost: f64,
    /// Cost limit of samples, as a share of a CPU; none are taken at 0.
    sampling_cost: f64,
    spent_ns: u64,
}

#[derive(Debug)]
enum Source {
    Bounds,
    Sampled(Watch),
    Exact { switches: Switches, siblings: Vec<Siblings>, drain_ns: u64 },
}

/// Co-busy shares and task times of an interval.
#[derive(Debug)]
pub(crate) struct CoBusyReading {
    /// Of each core the shares of time with 0, 1, ... S siblings busy.
    pub(crate) cores: Vec<Vec<f64>>,
    pub(crate) evidence: CoBusyEvidence,
    pub(crate) tasks: TaskTimes,
}

impl CoBusy {
    /// A source that only has the bounds.
    pub(crate) fn none(because: &str) -> Self {
        Self {
            source: Source::Bounds,
            not_exact_because: Some(because.to_owned()),
            retry_ns: None,
            exact_cost: 0.0,
            sampling_cost: 0.0,
            spent_ns: 0,
        }
    }

    /// The best source of the live system. The costs are shares of a CPU; at 0 a source is not wanted.
    pub(crate) fn open(cores: &Cores, exact_cost: f64, sampling_cost: f64) -> Self {
        let mut found = Self {
            source: Source::Bounds,
            not_exact_because: None,
            retry_ns: (exact_cost > 0.0).then_some(0),
            exact_cost,
            sampling_cost,
            spent_ns: 0,
        };
        found.reopen(cores);
        found
    }

    /// Opens the best source for these cores.
    pub(crate) fn reopen(&mut self, cores: &Cores) {
        self.source = Source::Bounds;
        self.spent_ns = 0;
        if !cores.have_siblings() {
            self.not_exact_because = None;
            return;
        }
        let now_ns = now_ns();
        match self.retry_ns {
            Some(at_ns) if at_ns <= now_ns => match Switches::open(cores) {
                Ok(switches) => {
                    let unknown = |core: &Core| Siblings::unknown(core.cpus.len());
                    let siblings = cores.all.iter().map(unknown).collect();
                    self.source = Source::Exact { switches, siblings, drain_ns: DRAIN_NS[1] };
                    self.not_exact_because = None;
                    return;
                }
                Err(because) => {
                    self.not_exact_because = Some(because);
                    self.retry_ns = None;
                }
            },
            Some(_) => {}
            None => {
                self.not_exact_because
                    .get_or_insert_with(|| "Seeing every switch was not asked for.".to_owned());
            }
        }
        if self.sampling_cost > 0.0 {
            self.source = Source::Sampled(Watch::new(cores));
        }
    }

    /// True if threads are to be named for the next interval.
    pub(crate) fn wants_threads(&self) -> bool {
        matches!(self.source, Source::Sampled(_))
    }

    /// Begins an interval, in which these threads are watched, given with their processes.
    pub(crate) fn begin(&mut self, threads: &[(u32, u32)], cores: &Cores) {
        if let Source::Sampled(watch) = &mut self.source {
            watch.begin(threads, cores);
        }
    }

    /// Waits until then, and samples or reads switches meanwhile.
    pub(crate) fn wait(&mut self, files: &mut ProcFiles, cores: &Cores, until_ns: u64) {
        let began_ns = cpu_time_ns();
        match &mut self.source {
            Source::Bounds => sleep_until(until_ns),
            Source::Sampled(watch) => {
                watch.sample_until(files, cores, until_ns, self.sampling_cost);
            }
            Source::Exact { switches, drain_ns, .. } => loop {
                let now_ns = now_ns();
                if now_ns >= until_ns {
                    break;
                }
                sleep_until(until_ns.min(now_ns + *drain_ns));
                *drain_ns = match switches.drain() {
                    full if full > 0.25 => *drain_ns / 2,
                    full if full < 0.05 => *drain_ns * 2,
                    _ => *drain_ns,
                }
                .clamp(DRAIN_NS[0], DRAIN_NS[1]);
            },
        }
        self.spent_ns += cpu_time_ns().saturating_sub(began_ns);
    }

    /// Reading of an interval; `uses` are the uses of each core's CPUs.
    pub(crate) fn finish(
        &mut self,
        cores: &Cores,
        uses: &[Vec<CpuUse>],
        interval_ns: [u64; 2],
    ) -> CoBusyReading {
        let began_ns = cpu_time_ns();
        let length_ns = interval_ns[1].saturating_sub(interval_ns[0]);
        let mut found = match &mut self.source {
            Source::Bounds => CoBusyReading::from_bounds(uses),
            Source::Sampled(watch) => CoBusyReading::from_samples(watch.seen(), uses, length_ns),
            Source::Exact { switches, siblings, .. } => {
                switches.drain();
                let found = match switches.are_lost {
                    true => Err("Switches came faster than they could be read.".to_owned()),
                    false => from_switches(switches, siblings, cores, uses, interval_ns),
                };
                let count = switches.count;
                switches.begin(interval_ns[1]);
                let spent_ns = self.spent_ns + cpu_time_ns().saturating_sub(began_ns);
                let cost = spent_ns as f64 / length_ns.max(1) as f64;
                let per_second = count as f64 / (length_ns.max(1) as f64 / 1e9);
                let too_much = (cost > self.exact_cost).then(|| {
                    format!(
                        "Seeing each of {per_second:.0} switches a second costs {:.1} % of a CPU, more than {:.0} %.",
                        100.0 * cost,
                        100.0 * self.exact_cost
                    )
                });
                match (found, too_much) {
                    (Ok(found), None) => found,
                    (Ok(found), too_much) => {
                        self.not_exact_because = too_much;
                        found
                    }
                    (Err(because), too_much) => {
                        self.not_exact_because = Some(too_much.unwrap_or(because));
                        CoBusyReading::from_bounds(uses)
                    }
                }
            }
        };
        self.spent_ns += cpu_time_ns().saturating_sub(began_ns);
        found.evidence.cost = self.spent_ns as f64 / length_ns.max(1) as f64;
        if found.evidence.method != CoBusyMethod::Exact {
            found.evidence.not_exact_because.clone_from(&self.not_exact_because);
        }
        self.spent_ns = 0;
        self.change_source(cores);
        found
    }

    /// Leaves a source that was not good enough, or tries the best one again.
    fn change_source(&mut self, cores: &Cores) {
        let is_exact = matches!(self.source, Source::Exact { .. });
        if is_exact && self.not_exact_because.is_some() {
            self.retry_ns = Some(now_ns() + RETRY_NS);
            self.reopen(cores);
        } else if !is_exact && self.retry_ns.is_some_and(|at_ns| at_ns <= now_ns()) {
            self.reopen(cores);
        }
    }
}

impl CoBusyReading {
    fn new(estimates: Vec<Estimate>, method: CoBusyMethod, tasks: TaskTimes) -> Self {
        let error = estimates.iter().map(|it| it.error).fold(0.0, f64::max);
        let evidence = CoBusyEvidence { method, error, ..CoBusyEvidence::default() };
        Self { cores: estimates.into_iter().map(|it| it.busy_siblings).collect(), evidence, tasks }
    }

    fn from_bounds(uses: &[Vec<CpuUse>]) -> Self {
        let of = |cpus: &Vec<CpuUse>| Estimate::from_bounds(&busy(cpus));
        Self::new(uses.iter().map(of).collect(), CoBusyMethod::Bounds, TaskTimes::default())
    }

    fn from_samples(seen: &watch::CoBusySamples, uses: &[Vec<CpuUse>], length_ns: u64) -> Self {
        if seen.samples == 0 {
            return Self::from_bounds(uses);
        }
        // Where a sibling was offline in between, or there are too many, the samples do not fit.
        let of = |(cpus, counts): (&Vec<CpuUse>, &Vec<u32>)| match 1 << cpus.len().min(WIDEST)
            == counts.len()
        {
            true => Estimate::from_samples(counts, &seen.busy_by_others(cpus, length_ns)),
            false => Estimate::from_bounds(&busy(cpus)),
        };
        let estimates = uses.iter().zip(&seen.cores).map(of).collect();
        Self::new(estimates, CoBusyMethod::Sampled, seen.times(length_ns))
    }
}

/// The busy shares of a core's CPUs.
fn busy(cpus: &[CpuUse]) -> Vec<crate::proc::Range> {
    cpus.iter().map(|it| it.busy).collect()
}

/// Reading of all switches of an interval, or why they cannot be all.
fn from_switches(
    switches: &mut Switches,
    siblings: &mut [Siblings],
    cores: &Cores,
    uses: &[Vec<CpuUse>],
    [from_ns, to_ns]: [u64; 2],
) -> Result<CoBusyReading, String> {
    let length = to_ns.saturating_sub(from_ns).max(1) as f64;
    let mut tasks = TaskTimes::default();
    let mut estimates = Vec::with_capacity(uses.len());
    let (mut error, mut is_believed) = (0.0_f64, true);
    for (((core, running), switches), uses) in
        cores.all.iter().zip(siblings).zip(&mut switches.cores).zip(uses)
    {
        // Those of each CPU are in order.
        switches.sort_by_key(|switch| switch.at_ns);
        let now = &switches[..switches.partition_point(|switch| switch.at_ns <= to_ns)];
        running.reader = own_thread();
        running.begin(now, |sibling| uses.get(sibling).is_none_or(|it| it.busy.value < 0.5));
        let times = running.sweep(now, &core.cpus, [from_ns, to_ns], &mut tasks);
        if uses.len() != core.cpus.len() {
            // A sibling was offline in between.
            let estimate = Estimate::from_bounds(&busy(uses));
            error = error.max(estimate.error);
            estimates.push(estimate);
            continue;
        }
        for (it, busy_ns) in uses.iter().zip(&times.busy) {
            let share = *busy_ns as f64 / length;
            let beyond =
                (it.busy.low - it.interrupts - share).max(share - it.busy.high - it.activity.steal);
            is_believed &= beyond <= DISAGREEMENT;
            // Interrupts on an idle CPU switch no task.
            error = error.max(it.interrupts.min(1.0 - share));
        }
        let share = |ns: &u64| *ns as f64 / length;
        let busy_siblings: Vec<f64> = times.busy_siblings.iter().map(share).collect();
        estimates.push(Estimate { busy_siblings, error: 0.0 });
    }
    if !is_believed {
        return Err("Switches and the kernel's accounts of busy time differ: a CPU was offline in between, \
                    or records are missing."
            .to_owned());
    }
    let mut found = CoBusyReading::new(estimates, CoBusyMethod::Exact, tasks);
    found.evidence.error = error;
    Ok(found)
}
