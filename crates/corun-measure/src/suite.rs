//! Several built-in workloads, one measurement after another: what `corun bench` runs.
//!
//! One that cannot run here does not stop the others, and what is finished is kept.

use std::num::NonZeroU32;
use std::time::{Duration, Instant, SystemTime};

use corun_machine::Machine;
use corun_record::{
    Actionable, Bench, Document, Ending, Exit, Placement, WorkloadNotPossible, common_caveats,
};
use corun_workload::{DefaultPlacement, Parameters, Workload};

use crate::cores::usable_cores;
use crate::execution::{ExecutionError, Interrupt};
use crate::experiment::Observer;
use crate::measurement::{MeasureError, Measurement};
use crate::request::{Request, RequestError, WorkRequest};

/// One workload of a suite.
pub struct Item {
    /// The workload.
    pub workload: &'static Workload,
    /// Parameters of the workload.
    pub parameters: Parameters,
    /// Those of them that were given, `name=value`.
    given: Vec<String>,
}

/// Design of all measurements of a suite.
#[derive(Debug, Clone)]
pub struct SuiteDesign {
    /// The placements; none: those in which each workload shows what it is about.
    pub placements: Vec<Placement>,
    /// C, the cores to use; by default all.
    pub cores: Option<NonZeroU32>,
    /// Blocks of each measurement.
    pub blocks: u32,
    /// Runs of every arm before the first block, not counted.
    pub warmup: u32,
    /// Time that one run of a kernel should take.
    pub sample_time: Duration,
    /// The longest that one sample may take.
    pub timeout: Option<Duration>,
    /// The seed of every random order; by default a fresh one for each.
    pub seed: Option<u64>,
}

/// Is notified of how a suite goes.
pub trait SuiteObserver: Observer {
    /// The item of this index is about to be measured.
    fn item_starts(&mut self, index: usize, item: &Item);
}

/// Measures every item.
///
/// Beside the bench comes the first failure that was not the machine's lack of something.
pub fn run_suite(
    items: &[Item],
    design: &SuiteDesign,
    machine: &Machine,
    interrupt: &Interrupt,
    observer: &mut dyn SuiteObserver,
) -> (Bench, Option<MeasureError>) {
    let begin = Instant::now();
    let mut bench = Bench {
        format: Bench::FORMAT.to_owned(),
        version: Bench::VERSION,
        corun_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        elapsed_s: 0.0,
        machine: None,
        ending: Ending::completed(),
        caveats: Vec::new(),
        runs: Vec::new(),
        not_possible: Vec::new(),
    };
    let mut first_failure = None;
    for (index, item) in items.iter().enumerate() {
        observer.item_starts(index, item);
        let failure = match measure(item, design, machine, interrupt, observer) {
            Ok((run, failure)) => {
                bench.ending = Ending::of(run.ending.is_interrupted());
                bench.runs.push(run);
                failure.map(MeasureError::from)
            }
            Err(MeasureError::Execution(ExecutionError::Interrupted)) => {
                bench.ending = Ending::interrupted();
                None
            }
            Err(error) => {
                bench.not_possible.push(item.without_run(&error));
                Some(error)
            }
        };
        let failure = failure.filter(|error| error.exit() != Exit::NotPossible);
        first_failure = first_failure.or(failure);
        if bench.ending.is_interrupted() {
            break;
        }
    }
    bench.machine = bench.runs.first().map(|run| run.machine.clone());
    bench.caveats = common_caveats(&bench.runs);
    bench.elapsed_s = begin.elapsed().as_secs_f64();
    (bench, first_failure)
}

fn measure(
    item: &Item,
    design: &SuiteDesign,
    machine: &Machine,
    interrupt: &Interrupt,
    observer: &mut dyn SuiteObserver,
) -> Result<(corun_record::Run, Option<ExecutionError>), MeasureError> {
    let interrupt = interrupt
        .again()
        .map_err(|error| ExecutionError::System("listen for an interruption", error))?;
    let request = item.request(design, machine);
    Measurement::prepare(&request, machine, interrupt, None)?.run(observer)
}

impl Item {
    /// The measurement of this item.
    fn request(&self, design: &SuiteDesign, machine: &Machine) -> Request {
        let descriptor = self.workload.descriptor();
        let default_placement = SuitePlacement::default_on(descriptor.default_placement, machine);
        let placing = match design.placements.is_empty() {
            true => default_placement,
            false => SuitePlacement {
                placements: design.placements.clone(),
                cores: None,
                ..default_placement
            },
        };
        Request {
            work: WorkRequest::Workload {
                name: descriptor.name.to_owned(),
                parameters: self.given.clone(),
                copies: false,
                sample_time: design.sample_time,
                sizes_programs: false,
            },
            cores: design.cores.map(NonZeroU32::get).or(placing.cores),
            core_type: None,
            placements: placing.placements,
            listed: Vec::new(),
            skip_impossible: true,
            steady: placing.steady,
            timeout: design.timeout,
            prepare: None,
            smt_switch: false,
            target: 0.01,
            practical: 0.02,
            max_time: Duration::MAX,
            blocks: Some(design.blocks),
            warmup: design.warmup,
            seed: design.seed,
        }
    }

    fn without_run(&self, error: &MeasureError) -> WorkloadNotPossible {
        WorkloadNotPossible {
            workload: self.workload.descriptor().name.to_owned(),
            parameters: self
                .parameters
                .iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            reason: error.to_string(),
            next_step: error.next_step(),
        }
    }
}

/// Placement of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SuitePlacement {
    placements: Vec<Placement>,
    cores: Option<u32>,
    steady: bool,
}

impl SuitePlacement {
    /// The placements of `default_placement` as far as this machine has siblings.
    fn default_on(default_placement: DefaultPlacement, machine: &Machine) -> Self {
        let cores = usable_cores(machine);
        let has_siblings = cores.iter().any(|core| core.cpus.len() > 1);
        let with_siblings = |alone: Placement| match has_siblings {
            true => vec![alone, Placement::Full(None)],
            false => vec![alone],
        };
        let (placements, cores) = match default_placement {
            DefaultPlacement::Alone => (vec![Placement::Single], None),
            DefaultPlacement::Siblings => (with_siblings(Placement::Spread(None)), None),
            DefaultPlacement::Switched => (with_siblings(Placement::Stacked), Some(1)),
            DefaultPlacement::Crowd => {
                let cpus: usize = cores.iter().map(|core| core.cpus.len()).sum();
                (vec![Placement::Free(u32::try_from(cpus + 1).ok())], None)
            }
        };
        Self { placements, cores, steady: default_placement == DefaultPlacement::Crowd }
    }
}

/// The items: each workload with these parameters, `name=value`, or with each of several values of
/// one, `name=value,value`; several of those make every combination.
///
/// # Errors
/// Error of the parameters of a workload.
pub fn items(
    workloads: impl IntoIterator<Item = &'static Workload>,
    parameters: &[String],
) -> Result<Vec<Item>, RequestError> {
    let combinations = combinations(parameters);
    let item = |workload: &'static Workload, given: &Vec<String>| {
        let parameters = Parameters::parse(workload.descriptor(), given)?;
        Ok(Item { workload, parameters, given: given.clone() })
    };
    let workloads = workloads.into_iter();
    workloads.flat_map(|workload| combinations.iter().map(move |it| item(workload, it))).collect()
}

/// Every choice of one value for each parameter, the last parameter changing fastest.
fn combinations(parameters: &[String]) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    for parameter in parameters {
        let (name, values) = parameter.split_once('=').unwrap_or((parameter, ""));
        let choices: Vec<String> = match parameter.contains('=') {
            true => values.split(',').map(|value| format!("{name}={value}")).collect(),
            false => vec![parameter.clone()],
        };
        let longer = |given: Vec<String>| {
            choices.clone().into_iter().map(move |choice| [&given[..], &[choice]].concat())
        };
        found = found.into_iter().flat_map(longer).collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parameters: &[&str]) -> Vec<String> {
        let given: Vec<String> = parameters.iter().map(|&text| text.to_owned()).collect();
        combinations(&given).iter().map(|it| it.join(" ")).collect()
    }

    #[test]
    fn several_values_make_every_combination() {
        assert_eq!(of(&[]), [""]);
        assert_eq!(of(&["a=1", "b=2"]), ["a=1 b=2"]);
        assert_eq!(
            of(&["a=1,2", "c=x", "b=3,4"]).join("; "),
            "a=1 c=x b=3; a=1 c=x b=4; a=2 c=x b=3; a=2 c=x b=4"
        );
        assert_eq!(
            of(&["a=1,", "b"]),
            ["a=1 b", "a= b"],
            "mistakes are for the workload to refuse"
        );
    }
}
