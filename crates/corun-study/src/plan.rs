//! From an experiment and a machine to a step that can be run here, or the reason why it cannot.
//!
//! Pure: the same machine gives the same plan, which `corun study show` prints and `run` follows.

use std::time::Duration;

use corun_machine::{CpuSet, Machine};
use corun_measure::cores::{Core, core_types, usable_cores, why_no_siblings};
use corun_measure::layout::{Layout, LayoutError, LayoutRequest};
use corun_measure::{Request, WorkRequest};
use corun_record::{Metric, Placement, SmtState};
use corun_workload::Parameters;

use crate::arm::StudyArm;
use crate::confinement::confined;
use crate::experiment::{Experiment, Rerun, SmtNeed};
use crate::figure::Figure;
use crate::study::Study;

/// Why seconds have no counterpart.
pub(crate) const UNKNOWN_WORK: &str =
    "the publication does not say how much work it timed, so only ratios can be compared";
/// Why an arm with the other state of SMT does not run.
const NOT_SWITCHED: &str = "SMT is switched only with --smt-switch";

/// The machine that a study is to run on.
#[derive(Debug, Clone, Copy)]
pub struct Host<'a> {
    /// As it is.
    pub machine: &'a Machine,
    /// As it is with SMT on, where SMT may be switched.
    pub with_smt_on: Option<&'a Machine>,
}

/// An experiment as it is run here.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyStep {
    /// Use of SMT.
    pub setting: Setting,
    /// The logical CPUs that everything is kept on.
    pub confine: Option<CpuSet>,
    /// The arms of the study.
    pub arms: Vec<PlannedArm>,
    /// Runs of one block, A/A included.
    pub runs_a_block: u32,
    placements: Vec<Placement>,
    cores: Option<u32>,
    core_type: Option<String>,
}

/// The size of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub blocks: u32,
    pub sample_time: Duration,
    pub max_time: Duration,
    pub timeout: Duration,
}

/// Use of SMT by a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Nothing.
    AsFound,
    /// The whole step runs in this state.
    Whole(SmtState),
    /// It is switched off and on as an outer factor.
    Cycles,
}

/// An arm of the study on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedArm {
    /// As the study names it.
    pub arm: StudyArm,
    /// Id in the run, or why it cannot run.
    pub id: Result<String, String>,
}

impl Study {
    /// Plan of each experiment on a machine, or why nothing of it is possible there.
    pub fn plans(&self, host: &Host) -> Vec<Result<StudyStep, String>> {
        let plan_of = |(index, experiment): (usize, &Experiment)| {
            if let Some(shares) = &experiment.shares {
                shares.places(host.machine)?;
            }
            let rerun = experiment.rerun.as_ref().map_err(Clone::clone)?;
            let step = plan(rerun, host)?;
            self.is_worth_running(index, rerun, &step).map(|()| step)
        };
        self.experiments.iter().enumerate().map(plan_of).collect()
    }

    /// Checks that a step measures the counterpart of any figure.
    fn is_worth_running(
        &self,
        index: usize,
        rerun: &Rerun,
        step: &StudyStep,
    ) -> Result<(), String> {
        let runs = |wanted: Option<StudyArm>| {
            let runs = |it: &PlannedArm| Some(it.arm) == wanted && it.id.is_ok();
            wanted.is_none() || step.arms.iter().any(runs)
        };
        let figures = self.figures.iter().filter(|figure| figure.experiment == Some(index));
        let is_reported =
            |figure: &Figure| figure.metric != Metric::Makespan || rerun.work_per_worker.is_some();
        if figures.filter(|it| is_reported(it)).any(|it| runs(it.arm) && runs(it.against)) {
            return Ok(());
        }
        let refused = step.arms.iter().find_map(|arm| arm.id.clone().err());
        Err(refused.unwrap_or_else(|| UNKNOWN_WORK.to_owned()))
    }
}

/// Plans an experiment on a machine.
///
/// # Errors
/// Why nothing of it is possible here, as a sentence.
pub(crate) fn plan(rerun: &Rerun, host: &Host) -> Result<StudyStep, String> {
    check_workload(rerun)?;
    let (setting, machine) = setting(rerun.smt, host)?;
    let confine = rerun.confine.map(|part| part.cpus(machine)).transpose()?;
    let confined = confine.as_ref().map(|cpus| confined(machine, cpus));
    let machine = confined.as_ref().unwrap_or(machine);
    let mut cores = usable_cores(machine);
    let core_type = widest_type(&cores);
    cores.retain(|core| core_type.is_none() || core.core_type == core_type);
    let no_siblings = why_no_siblings(machine, &cores);
    let used = rerun.cores.map_or(cores.len(), |wanted| cores.len().min(wanted as usize));
    let count = used as u32;
    let logical_cpus = cores[..used].iter().map(|core| core.cpus.len() as u32).sum();
    let placement = |arm: &StudyArm| arm.placement(count, logical_cpus);
    let refusals: Vec<Option<String>> =
        rerun.arms.iter().map(|arm| refusal(arm, rerun, setting, machine)).collect();
    let allowed = rerun.arms.iter().zip(&refusals).filter(|(_, refused)| refused.is_none());
    let placements = distinct(allowed.map(|(arm, _)| placement(arm)));
    if placements.is_empty() {
        return Err(refusals.into_iter().flatten().next().unwrap_or_default());
    }
    let is_switched = setting == Setting::Cycles;
    let layout = Layout::new(
        &cores,
        &LayoutRequest {
            placements: placements.clone(),
            listed: Vec::new(),
            skip_impossible: true,
            cores: rerun.cores,
            core_type: core_type.clone(),
            variant: None,
            taken_by_smt_off: is_switched.then(|| taken_by_smt_off(&cores)),
            no_siblings,
        },
    )
    .map_err(|error| format!("the study file's `{}`: {error}", field_of(&error)))?;
    let arms = rerun.arms.iter().zip(refusals).map(|(arm, refused)| {
        let wanted = |found: &&corun_record::Arm| {
            found.placement == placement(arm)
                && found.twin_of.is_none()
                && found.smt == is_switched.then(|| arm.smt())
        };
        let id = match (refused, layout.arms.iter().find(wanted)) {
            (Some(reason), _) => Err(reason),
            (None, Some(found)) => Ok(found.id.clone()),
            (None, None) => Err(impossible(&layout, placement(arm))),
        };
        PlannedArm { arm: *arm, id }
    });
    Ok(StudyStep {
        setting,
        confine,
        arms: arms.collect(),
        runs_a_block: layout.arms.len() as u32,
        placements,
        cores: rerun.cores,
        core_type,
    })
}

impl StudyStep {
    /// The measurement of this step.
    pub(crate) fn request(&self, rerun: &Rerun, sizes: &Sizes, seed: Option<u64>) -> Request {
        Request {
            work: WorkRequest::Workload {
                name: rerun.workload.clone(),
                parameters: given(rerun),
                copies: false,
                sample_time: sizes.sample_time,
                sizes_programs: true,
            },
            cores: self.cores,
            core_type: self.core_type.clone(),
            placements: self.placements.clone(),
            listed: Vec::new(),
            skip_impossible: true,
            steady: false,
            timeout: Some(sizes.timeout),
            prepare: None,
            smt_switch: self.setting == Setting::Cycles,
            target: 0.01,
            practical: 0.02,
            max_time: sizes.max_time,
            blocks: Some(sizes.blocks),
            warmup: 1,
            seed,
        }
    }
}

/// Each placement once, in the order in which they come first.
fn distinct(placements: impl Iterator<Item = Placement>) -> Vec<Placement> {
    placements.fold(Vec::new(), |mut distinct, placement| {
        if !distinct.contains(&placement) {
            distinct.push(placement);
        }
        distinct
    })
}

/// The field of an experiment that asks for what there is not.
fn field_of(error: &LayoutError) -> &'static str {
    match error {
        LayoutError::TooManyCores { .. } => "cores",
        _ => "arms",
    }
}

fn given(rerun: &Rerun) -> Vec<String> {
    rerun.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn check_workload(rerun: &Rerun) -> Result<(), String> {
    let Ok(workload) = corun_workload::find(&rerun.workload) else {
        return Err(format!("this corun has no workload `{}`", rerun.workload));
    };
    Parameters::parse(workload.descriptor(), given(rerun)).map_err(|error| error.to_string())?;
    match workload.unavailable() {
        Some(reason) => Err(format!("workload `{}` cannot run: {reason}", rerun.workload)),
        None => Ok(()),
    }
}

/// Setting of SMT, and the machine as it then is.
fn setting<'a>(need: SmtNeed, host: &Host<'a>) -> Result<(Setting, &'a Machine), String> {
    let cores = usable_cores(host.machine);
    match (need, has_siblings(&cores), host.with_smt_on) {
        (SmtNeed::Switched, _, Some(machine)) => Ok((Setting::Cycles, machine)),
        (SmtNeed::On, false, Some(machine)) => Ok((Setting::Whole(SmtState::On), machine)),
        (SmtNeed::On, false, None) => Err(why_no_siblings(host.machine, &cores)),
        (SmtNeed::Off, true, Some(machine)) => Ok((Setting::Whole(SmtState::Off), machine)),
        (SmtNeed::Off, true, None) => Err(NOT_SWITCHED.to_owned()),
        _ => Ok((Setting::AsFound, host.machine)),
    }
}

/// Why an arm does not run although its step does.
fn refusal(arm: &StudyArm, rerun: &Rerun, setting: Setting, machine: &Machine) -> Option<String> {
    if rerun.smt != SmtNeed::Switched || setting == Setting::Cycles {
        return None;
    }
    let cores = usable_cores(machine);
    match (arm.smt(), has_siblings(&cores)) {
        (SmtState::On, false) => Some(why_no_siblings(machine, &cores)),
        (SmtState::Off, true) => Some(NOT_SWITCHED.to_owned()),
        _ => None,
    }
}

fn impossible(layout: &Layout, placement: Placement) -> String {
    let refused = layout.not_possible.iter().find(|refused| refused.placement == placement);
    refused
        .map_or_else(|| "it cannot run with SMT off".to_owned(), |refused| refused.reason.clone())
}

fn has_siblings(cores: &[Core]) -> bool {
    cores.iter().any(|core| core.cpus.len() > 1)
}

/// The core type with the most siblings, on a machine that has several.
fn widest_type(cores: &[Core]) -> Option<String> {
    let width = |core_type: &Option<String>| {
        let of_type = cores.iter().filter(|core| core.core_type == *core_type);
        of_type.map(|core| core.cpus.len()).max()
    };
    let types = core_types(cores);
    let widest = types.iter().rev().max_by_key(|core_type| width(core_type))?;
    (types.len() > 1).then(|| widest.clone()).flatten()
}

/// All logical CPUs but the first of each core.
fn taken_by_smt_off(cores: &[Core]) -> CpuSet {
    cores.iter().flat_map(|core| core.online_siblings.iter().skip(1).copied()).collect()
}
