//! Schedules as documents: what can be scheduled, a schedule without runs yet, and who ran where.

use corun_record::{
    ListedCost, ListedLoad, ListedPolicy, LoadParameter, Schedule, ScheduledCost,
    ScheduledInterval, ScheduledMachine, ScheduledTimeline, SchedulingList,
};

use crate::engine::{RunInterval, Settings};
use crate::load::{LoadEntry, Make, Parameter};
use crate::outcome::Scheduled;
use crate::policy::PolicyEntry;
use crate::{Costs, load, policy};

/// The policies, the loads and the costs.
pub fn catalogue() -> SchedulingList {
    let policy = |it: &PolicyEntry| ListedPolicy {
        name: it.name.to_owned(),
        summary: it.summary.to_owned(),
        source: it.source.to_owned(),
    };
    let cost = |(name, meaning): (&str, &str)| ListedCost {
        name: name.to_owned(),
        meaning: meaning.to_owned(),
    };
    SchedulingList {
        policies: policy::ALL.iter().map(policy).collect(),
        loads: load::ALL.iter().map(listed_load).collect(),
        costs: Costs::NAMES.into_iter().map(cost).collect(),
    }
}

fn listed_load(load: &LoadEntry) -> ListedLoad {
    let parameter = |it: &Parameter| LoadParameter {
        name: it.name.to_owned(),
        default: it.default.to_owned(),
        meaning: it.meaning.to_owned(),
    };
    let (is_file, parameters) = match load.make {
        Make::File(_) => (true, Vec::new()),
        Make::Parameters(parameters, _) => (false, parameters.iter().map(parameter).collect()),
    };
    ListedLoad { name: load.name.to_owned(), summary: load.summary.to_owned(), is_file, parameters }
}

impl Settings {
    /// A schedule without runs: the machine by its name, and what it is scheduled with. `siblings` says
    /// what siblings do to each other.
    pub fn document(&self, machine: &str, siblings: String) -> Schedule {
        let topology = &self.topology;
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let cost =
            |(name, nanoseconds): (&str, u64)| ScheduledCost { name: name.to_owned(), nanoseconds };
        Schedule {
            simulated_machine: ScheduledMachine {
                title: format!("{machine}: {}", topology.line()),
                packages: number(topology.packages.len()),
                cores: number(topology.cores.len()),
                logical_cpus: number(topology.cpus.len()),
                smt_width: number(topology.smt_width()),
            },
            siblings,
            costs: self.costs.list().into_iter().map(cost).collect(),
            runs: Vec::new(),
            timelines: Vec::new(),
        }
    }
}

impl Scheduled<'_> {
    /// Who ran where in this run, which took so many nanoseconds.
    pub fn timeline(&self, intervals: &[RunInterval], makespan_ns: u64) -> ScheduledTimeline {
        let interval = |it: &RunInterval| ScheduledInterval {
            cpu: it.cpu,
            task: it.task,
            program: it.program,
            begin_ns: it.begin,
            end_ns: it.end,
        };
        ScheduledTimeline {
            load: self.load.name.clone(),
            policy: self.policy.clone(),
            cpus: self.topology.cpus.iter().map(|cpu| cpu.number).collect(),
            cores: self.topology.cores.clone(),
            programs: self.load.programs.iter().map(|it| it.name.clone()).collect(),
            intervals: intervals.iter().map(interval).collect(),
            makespan_ns,
        }
    }
}
