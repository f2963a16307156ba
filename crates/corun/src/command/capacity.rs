//! `corun capacity`: how much of what this machine can do is used at each utilisation that the kernel reports.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use corun_machine::Machine;
use corun_measure::cores::usable_cores;
use corun_measure::execution::names_workers;
use corun_measure::experiment::Observer;
use corun_measure::{Request, StandaloneRequest, WorkRequest, WorkSize, works_together};
use corun_monitor::{CapacityMeasurement, CapacityRequest, PredictedMachine, predicted_curve};
use corun_predict::{PredictRequest, ProgramRequest};
use corun_record::{Arm, CapacityCurve, Document, Exit, Record};

use super::predict;
use super::traced::WORK_TIME;
use super::work::{ContextArguments, Share, WorkArguments};
use crate::exports::{Exports, Form};
use crate::interruption;
use crate::keeping::{Keeper, KeepingBlocks};
use crate::options::{
    BlockArguments, CoreArguments, CsvFile, DesignArguments, JsonFile, ProgressArguments, SvgFile,
    ViewArguments,
};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::{standard_input, terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: WorkArguments,
    /// Run a mix of built-in workloads (fib,stream): each logical CPU always runs the same one, siblings different ones
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Workload")]
    #[arg(conflicts_with_all = ["command", "workload", "parameters", "throughput"])]
    mix: Vec<String>,
    #[command(flatten)]
    prediction: PredictionArguments,
    #[command(flatten)]
    context: ContextArguments,
    #[command(flatten)]
    precision: PrecisionArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Arguments of a predicted curve.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
struct PredictionArguments {
    /// Predict the curve of as many cores of this model, a name of `corun models list` or a file that ends in .toml [default:
    /// measured here, or this host's model where no core has siblings]
    #[arg(long, value_name = "MODEL", conflicts_with = "mix")]
    model: Option<String>,
    /// Measure also where no core has siblings: the curve of cores alone
    #[arg(long, conflicts_with = "model")]
    measure: bool,
}

/// Duration and precision.
#[derive(Debug, Args)]
#[command(next_help_heading = "Duration and precision")]
struct PrecisionArguments {
    #[command(flatten)]
    cores: CoreArguments,
    /// Stop at an interim analysis when the intervals at 50 % are no wider than ± this
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = values::percentage)]
    target: f64,
    #[command(flatten)]
    blocks: BlockArguments,
    #[command(flatten)]
    design: DesignArguments<2>,
}

/// The outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    #[command(flatten)]
    view: ViewArguments,
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    csv: CsvFile,
    #[command(flatten)]
    svg: SvgFile,
    #[command(flatten)]
    progress: ProgressArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    arguments.precision.cores.confine()?;
    let machine = Machine::read(Path::new("/"))?;
    match arguments.is_predicted(&machine) {
        true => predicted(arguments, &machine),
        false => measured(arguments, &machine),
    }
}

fn measured(arguments: &Arguments, machine: &Machine) -> Result<ExitCode, Problem> {
    let request = arguments.request()?;
    let exports = arguments.output.open()?;
    if request.mix.is_empty() {
        request.run.check()?;
    }
    let interrupt = interruption::on_signals()?;
    let measurement = CapacityMeasurement::prepare(&request, machine, interrupt)?;
    let progress = CurveProgress::new(request.run.max_time, arguments.output.progress.quiet);
    let mut progress = KeepingBlocks::new(progress, Keeper::new::<Record<CapacityCurve>>());
    let arms = measurement.design().arms();
    progress.begin_part(&measurement.started(), measurement.workload(), arms);
    let outcome = measurement.run(&mut progress as &mut dyn Observer);
    let (progress, keeper) = progress.into_parts();
    progress.0.finish();
    let (curve, failure) = outcome?;
    exports.kept_by(keeper).write(&curve, |it| arguments.output.shown(it), Record::to_json)?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    Ok(code(ended(&curve)))
}

/// The curve that a predicted yield gives the cores of this machine.
fn predicted(arguments: &Arguments, machine: &Machine) -> Result<ExitCode, Problem> {
    let request = arguments.prediction_request()?;
    let open = || arguments.output.open();
    let (exports, predictions) = {
        let quiet = arguments.output.progress.quiet;
        predict::predicted(&request, machine, quiet, !quiet, open)?
    };
    let prediction = predictions.first().expect("a core is predicted on");
    let model = arguments.prediction.model.as_ref().unwrap_or(&prediction.core.model);
    let smt_width = corun_model::find(model)?.smt_width;
    let cores = usable_cores(machine).len() as u32;
    let cores = arguments.precision.cores.cores.map_or(cores, |most| most.min(cores)).max(1);
    let curve = predicted_curve(prediction, PredictedMachine { cores, smt_width });
    exports.write(&curve, |it| arguments.output.shown(it), Record::to_json)?;
    Ok(code(ended(&curve)))
}

/// Exit code of a curve.
fn ended(curve: &Record<CapacityCurve>) -> Exit {
    match curve.ending.is_interrupted() || curve.body.answer.is_none() {
        true => Exit::Interrupted,
        false => Exit::Done,
    }
}

impl Arguments {
    /// True if the curve is predicted: it is asked for, or this machine has nothing to measure the siblings on.
    fn is_predicted(&self, machine: &Machine) -> bool {
        let has_siblings = || usable_cores(machine).iter().any(|core| core.cpus.len() > 1);
        let can_be = self.mix.is_empty() && !self.prediction.measure;
        self.prediction.model.is_some() || (can_be && !has_siblings())
    }

    /// From what was typed to what is wanted; starts nothing.
    fn request(&self) -> Result<CapacityRequest, Problem> {
        if let Some(Some(copies)) = self.work.copies {
            return Err(Problem::usage(
                format!(
                    "expected `--copies` without a number, found {copies}: one to as many as there are logical CPUs run"
                ),
                "Leave the number out; `--cores C` limits the cores.",
            ));
        }
        let work = match self.mix.first() {
            Some(first) => WorkRequest::Workload {
                name: first.clone(),
                parameters: Vec::new(),
                copies: true,
                sample_time: self.precision.design.sample_time,
                sizes_programs: false,
            },
            None => self.work.request(&self.context, self.precision.design.sample_time)?,
        };
        let run = Request {
            prepare: self.work.preparation(&self.context)?,
            steady: self.work.steady || is_restarted(&work),
            work,
            cores: self.precision.cores.cores,
            core_type: self.precision.cores.core_type.clone(),
            placements: Vec::new(),
            listed: Vec::new(),
            skip_impossible: false,
            smt_switch: false,
            timeout: self.context.timeout,
            target: self.precision.target,
            practical: 0.02,
            max_time: self.precision.design.max_time,
            blocks: self.precision.blocks.blocks,
            warmup: self.precision.design.warmup,
            seed: self.precision.design.seed,
        };
        Ok(CapacityRequest { run, mix: self.mix.clone() })
    }

    /// The prediction of the yield of the same program in the same context.
    fn prediction_request(&self) -> Result<PredictRequest, Problem> {
        let program = match &self.work.workload {
            Some(name) => ProgramRequest::Workload(StandaloneRequest {
                name: name.clone(),
                parameters: self.work.parameters.clone(),
                workers: None,
                size: WorkSize::Time(WORK_TIME),
            }),
            None => self.work.traced(&self.context)?,
        };
        let usual = PredictRequest::new(program);
        Ok(PredictRequest {
            models: self.prediction.model.iter().cloned().collect(),
            per_worker: self.work.work == Share::PerWorker,
            seed: self.precision.design.seed.unwrap_or(usual.seed),
            max_time: self.precision.design.max_time,
            standard_input: standard_input::for_several_runs(),
            ..usual
        })
    }
}

/// True if workers are processes that are started again until all have a counted window, so that as many CPUs are busy
/// all the time as are to be.
fn is_restarted(work: &WorkRequest) -> bool {
    match work {
        WorkRequest::Command(command) => {
            command.throughput.is_none() && !names_workers(&command.argv, &command.environment)
        }
        WorkRequest::Workload { name, .. } => !works_together(name),
        WorkRequest::Service(_) => false,
    }
}

impl OutputArguments {
    fn open(&self) -> Result<Exports<Record<CapacityCurve>>, Problem> {
        Exports::open([
            (self.json.path(), Record::to_json as Form<Record<CapacityCurve>>),
            (self.csv.path(), corun_report::capacity_to_csv),
            (self.svg.path(), corun_page::capacity_to_svg),
        ])
    }

    fn shown(&self, curve: &Record<CapacityCurve>) -> String {
        match self.view.brief {
            true => corun_report::capacity_in_brief(curve, terminal::width()),
            false => corun_report::capacity_to_terminal(curve, terminal::width()),
        }
    }
}

/// The course of a curve: how much of the time is used up.
struct CurveProgress(StepProgress);

impl CurveProgress {
    fn new(max_time: Duration, quiet: bool) -> Self {
        let line = StepProgress::new(quiet);
        line.ends_before(max_time);
        line.ends_at(max_time);
        Self(line)
    }
}

impl Observer for CurveProgress {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, _: Duration) {
        let block = block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1));
        self.0.show(format!("{block}: {}", arm.id));
    }
}
