//! `corun capacity`: how much of what this machine can do is used at each utilisation that the kernel reports.

use std::path::{Path, PathBuf};
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
use super::work::{Share, SurroundingArguments, WorkArguments};
use crate::exports::{Exports, Form};
use crate::interruption;
use crate::keeping::{Keeper, KeepingBlocks};
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
    context: SurroundingArguments,
    #[command(flatten)]
    design: DesignArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// What is predicted instead of measured.
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
struct DesignArguments {
    /// Use C cores at most; by default all that this process may use
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..))]
    cores: Option<u32>,
    /// Use cores of this type only, on a machine that has several
    #[arg(long, value_name = "TYPE")]
    core_type: Option<String>,
    /// Stop at an interim analysis when the intervals at 50 % are no wider than ± this
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = values::percentage)]
    target: f64,
    /// Begin no block of runs that would end later than this; of a prediction, about how long it may take
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = values::duration)]
    max_time: Duration,
    /// Run exactly this many blocks, without interim analyses
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    blocks: Option<u32>,
    /// Run every arm this often before the first block, not counted
    #[arg(long, value_name = "N", default_value_t = 1)]
    warmup: u32,
    /// The seed of every random order (default: a fresh one, recorded)
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How long one run of a built-in kernel should take
    #[arg(long, value_name = "TIME", default_value = "200ms", conflicts_with = "command")]
    #[arg(value_parser = values::duration)]
    sample_time: Duration,
}

/// The outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    /// Say the answer alone
    #[arg(long)]
    brief: bool,
    /// Write everything as JSON (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the points of the curves as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the curves as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
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
    let progress = CurveProgress::new(request.run.max_time, arguments.output.quiet);
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
    let (exports, predictions) =
        predict::predicted(&request, machine, arguments.output.quiet, open)?;
    let prediction = predictions.first().expect("a core is predicted on");
    let model = arguments.prediction.model.as_ref().unwrap_or(&prediction.core.model);
    let smt_width = corun_model::find(model)?.smt_width;
    let cores = usable_cores(machine).len() as u32;
    let cores = arguments.design.cores.map_or(cores, |most| most.min(cores)).max(1);
    let curve = predicted_curve(prediction, PredictedMachine { cores, smt_width });
    exports.write(&curve, |it| arguments.output.shown(it), Record::to_json)?;
    Ok(code(ended(&curve)))
}

/// What the exit code says of a curve.
fn ended(curve: &Record<CapacityCurve>) -> Exit {
    match curve.ending.is_interrupted() || curve.body.answer.is_none() {
        true => Exit::Interrupted,
        false => Exit::Done,
    }
}

impl Arguments {
    /// Whether the curve is predicted: it is asked for, or this machine has nothing to measure the siblings on.
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
                sample_time: self.design.sample_time,
                sizes_programs: false,
            },
            None => self.work.request(&self.context, self.design.sample_time)?,
        };
        let run = Request {
            prepare: self.work.preparation(&self.context)?,
            steady: self.work.steady || is_restarted(&work),
            work,
            cores: self.design.cores,
            core_type: self.design.core_type.clone(),
            placements: Vec::new(),
            skip_impossible: false,
            smt_switch: false,
            timeout: self.context.timeout,
            target: self.design.target,
            practical: 0.02,
            max_time: self.design.max_time,
            blocks: self.design.blocks,
            warmup: self.design.warmup,
            seed: self.design.seed,
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
            seed: self.design.seed.unwrap_or(usual.seed),
            max_time: self.design.max_time,
            standard_input: standard_input::for_several_runs(),
            ..usual
        })
    }
}

/// Whether workers are processes that are started again until all have a counted window, so that as many CPUs are busy
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
            (self.json.as_deref(), Record::to_json as Form<Record<CapacityCurve>>),
            (self.csv.as_deref(), corun_report::capacity_to_csv),
            (self.svg.as_deref(), corun_page::capacity_to_svg),
        ])
    }

    fn shown(&self, curve: &Record<CapacityCurve>) -> String {
        match self.brief {
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
