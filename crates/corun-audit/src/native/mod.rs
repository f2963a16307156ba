//! The machine itself: loads run in processes of their own, and the work of other tasks is known from the
//! kernel's context switches where they may be seen, else by its accounts.

mod accounts;
mod document;
mod facts;
mod groups;
mod process;
mod script;
mod server;
mod switches;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use corun_machine::kernel_clock;
use corun_measure::execution::Interrupt;
use corun_record::EvidenceSource;

use crate::audit::{ObserveError, System};
use crate::load::Load;
use crate::timeline::{Interval, Others, TaskLog, Timeline, seconds};
use accounts::Accounts;
use process::RunningProcess;
use switches::Switches;

pub use facts::facts;
pub use server::{SUBCOMMAND, serve_as_load};

/// From the order to the common start: time for the processes to hear of it.
const LEAD_NS: u64 = 20_000_000;

/// The machine that corun runs on.
pub struct Native {
    begun: Instant,
    interrupt: Interrupt,
    cpus: Vec<u32>,
    switches: Result<Switches, String>,
    /// The CPU time that others had while loads ran, and all there was, in seconds.
    others_s: f64,
    all_s: f64,
}

impl Native {
    /// Gets ready to run loads and to see what others do on `cpus`; `may_open_events` lets it see
    /// context switches.
    pub fn new(interrupt: Interrupt, cpus: Vec<u32>, may_open_events: bool) -> Self {
        let switches = match may_open_events {
            true => Switches::open(&cpus),
            false => Err("performance events were not to be opened".to_owned()),
        };
        Self { begun: Instant::now(), interrupt, cpus, switches, others_s: 0.0, all_s: 0.0 }
    }

    /// The source of the times of other tasks.
    fn evidence_source(&self) -> EvidenceSource {
        match self.switches {
            Ok(_) => EvidenceSource::ContextSwitches,
            Err(_) => EvidenceSource::Accounts,
        }
    }

    /// Why context switches cannot be seen; `None` where they can.
    fn why_no_switches(&self) -> Option<&str> {
        self.switches.as_ref().err().map(String::as_str)
    }

    /// The share of the CPUs' time that others had while loads ran; 0 before the first.
    pub fn others_share(&self) -> f64 {
        if self.all_s > 0.0 { self.others_s / self.all_s } else { 0.0 }
    }

    fn others(&mut self, processes: &BTreeSet<u32>, start_ns: u64, seen: &LoadReading) -> Others {
        let mut others = Others::default();
        let unseen = match &mut self.switches {
            Ok(switches) => switches.finish(processes, start_ns, &mut others.intervals),
            Err(_) => self.cpus.clone(),
        };
        for &cpu in &self.cpus {
            let time = seen.after.since(&seen.before, cpu);
            let own_s: f64 = seen.tasks.iter().map(|task| task.cpu_on_s(cpu)).sum();
            let own_s = own_s + seen.after.of_reader_since(&seen.before, cpu);
            let others_s = if unseen.contains(&cpu) { (time.busy_s - own_s).max(0.0) } else { 0.0 };
            others.unplaced_s.insert(cpu, others_s + time.steal_s);
        }
        others.intervals.retain_mut(|interval| within(interval, seen.length_ns));
        others
    }
}

/// Readings before, during and after a load.
struct LoadReading<'a> {
    before: Accounts,
    after: Accounts,
    tasks: &'a [TaskLog],
    length_ns: u64,
}

/// Cuts a interval off at the load's end; whether anything is left.
fn within(interval: &mut Interval, length_ns: u64) -> bool {
    interval.to_ns = interval.to_ns.min(length_ns);
    interval.from_ns < interval.to_ns
}

impl System for Native {
    fn observe(&mut self, load: &Load) -> Result<Timeline, ObserveError> {
        if self.interrupt.is_raised() {
            return Err(ObserveError::Interrupted);
        }
        let mut length_ns = load.length_ns();
        let mut processes = load
            .processes
            .iter()
            .map(|process| RunningProcess::start(process, &self.interrupt))
            .collect::<Result<Vec<_>, _>>()?;
        for process in &mut processes {
            process.until_ready()?;
        }
        let ids: BTreeSet<u32> = processes.iter().map(RunningProcess::id).collect();
        if let Ok(switches) = &mut self.switches {
            switches.begin();
        }
        let before = Accounts::now();
        let start_ns = kernel_clock::now_ns() + LEAD_NS;
        for process in &mut processes {
            process.go(start_ns)?;
        }
        let mut tasks = Vec::new();
        if load.has_work() {
            for process in &mut processes {
                tasks.extend(process.logs(Duration::from_nanos(length_ns))?);
            }
            length_ns = kernel_clock::now_ns().saturating_sub(start_ns);
        } else {
            kernel_clock::sleep_until(start_ns + length_ns);
        }
        let after = Accounts::now();
        if let Ok(switches) = &mut self.switches {
            switches.end();
        }
        if !load.has_work() {
            for process in &mut processes {
                tasks.extend(process.logs(Duration::from_nanos(length_ns))?);
            }
        }
        drop(processes);
        let seen = LoadReading { before, after, tasks: &tasks, length_ns };
        let others = self.others(&ids, start_ns, &seen);
        self.others_s += others.on_all_s(&self.cpus, 0, length_ns);
        self.all_s += seconds(length_ns) * self.cpus.len() as f64;
        Ok(Timeline { length_ns, tasks, others })
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}
