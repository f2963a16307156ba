//! `corun measure`: what each placement does to a program, with intervals and a verdict.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corun_machine::Machine;
use corun_machine::switch::{self, SmtSwitch};
use corun_measure::experiment::Observer;
use corun_measure::{CommandRequest, Forecaster, Measurement, Request, WorkRequest};
use corun_record::{Document, Exit, Placement, Run, SmtState};
use regex::Regex;

use super::smt::SwitchArguments;
use crate::consent;
use crate::exports::{Exports, Form};
use crate::interruption;
use crate::problem::{Problem, code};
use crate::progress::ProgressLine;
use crate::{terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    arms: ArmArguments,
    #[command(flatten)]
    smt: SmtArguments,
    #[command(flatten)]
    surroundings: SurroundingArguments,
    #[command(flatten)]
    design: DesignArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// The work to run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
struct WorkArguments {
    /// The command; `{workers}` in its arguments becomes the number of threads to use
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Run a built-in workload instead of a command (`corun bench list` shows them)
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    workload: Option<String>,
    /// Set a parameter of the workload (repeatable; see `corun bench show NAME`)
    #[arg(long = "param", value_name = "NAME=VALUE", conflicts_with = "command")]
    parameters: Vec<String>,
    /// Run a process copy for each worker (the default without `{workers}`), N of them when spread
    #[arg(long, value_name = "N", num_args = 0..=1, conflicts_with = "cores")]
    copies: Option<Option<u32>>,
    /// With `{workers}`: whether the command does a fixed total or a share for each worker
    #[arg(long, value_enum, default_value_t = Share::Total, conflicts_with = "workload")]
    work: Share,
    /// Start copies again until all have finished, so that no copy is timed beside an idle sibling
    #[arg(long)]
    steady: bool,
    /// Take throughput from the command's output: the last match of the expression's one group
    #[arg(long, value_name = "REGEX", value_parser = values::one_group)]
    #[arg(conflicts_with_all = ["steady", "workload"])]
    throughput: Option<Regex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Share {
    /// A fixed total: X = 1/T
    Total,
    /// A share for each worker: X = N/T
    PerWorker,
}

/// The placements and cores.
#[derive(Debug, Args)]
#[command(next_help_heading = "Placement")]
struct ArmArguments {
    /// Measure these placements only: single, spread, spread@N, full, full@K, packed, stacked,
    /// free, free@N
    #[arg(long, alias = "arms", value_name = "LIST", value_delimiter = ',')]
    placement: Vec<Placement>,
    /// Use C cores (of each type); by default all that this process may use
    #[arg(long, value_name = "C")]
    cores: Option<u32>,
    /// Use cores of this type only, on a machine that has several
    #[arg(long, value_name = "TYPE")]
    core_type: Option<String>,
}

/// Whether SMT itself is switched.
#[derive(Debug, Args)]
#[command(next_help_heading = "Switching SMT")]
struct SmtArguments {
    /// Also run with SMT switched off, in cycles on, off, off, on: switch gain, and yield by
    /// switching (needs root; everything comes back as it was)
    #[arg(long)]
    smt_switch: bool,
    #[command(flatten)]
    switch: SwitchArguments,
}

/// The environment of a command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Environment")]
struct SurroundingArguments {
    /// Set an environment variable (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::assignment)]
    #[arg(conflicts_with = "workload")]
    env: Vec<(String, String)>,
    /// Begin with an empty environment
    #[arg(long, conflicts_with = "workload")]
    env_clear: bool,
    /// Run in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "workload")]
    cwd: Option<PathBuf>,
    /// Read standard input from FILE; every copy reads it from the start (default: empty)
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    stdin: Option<PathBuf>,
    /// Give up when one run takes longer
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    timeout: Option<Duration>,
    /// Accept this exit status as success
    #[arg(long, value_name = "STATUS", default_value_t = 0, conflicts_with = "workload")]
    #[arg(value_parser = clap::value_parser!(i32).range(0..=255))]
    expect_exit: i32,
}

/// Duration and precision.
#[derive(Debug, Args)]
#[command(next_help_heading = "Duration and precision")]
struct DesignArguments {
    /// Stop at an interim analysis when the headline's interval is no wider than ± this
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = values::percentage)]
    target: f64,
    /// Call an effect practical from this size on
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = values::percentage)]
    practical: f64,
    /// Begin no block that would end later than this (two are always run, six with --smt-switch)
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = values::duration)]
    max_time: Duration,
    /// Run exactly this many blocks (each arm twice a block), without interim analyses
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    blocks: Option<u32>,
    /// Run every arm this often before the first block, not counted (with --smt-switch: the first
    /// arm after each switch)
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
    /// Write the whole run as JSON (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the observations as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the result as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let request = arguments.request()?;
    let exports = arguments.output.open()?;
    request.check()?;
    let interrupt = interruption::on_signals()?;
    let switch = arguments.smt.begin()?;
    let machine = Machine::read(Path::new("/"))?;
    let measurement = Measurement::prepare(&request, &machine, interrupt, switch)?;
    let mut progress =
        ProgressLine::new(Forecaster::new(&request, measurement.arms()), arguments.output.quiet);
    let outcome = measurement.run(&mut progress as &mut dyn Observer);
    progress.finish();
    let (run, failure) = outcome?;
    exports.write(&run, |run| corun_report::to_terminal(run, terminal::width()), Run::to_json)?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    Ok(code(if run.is_partial() { Exit::Interrupted } else { Exit::Done }))
}

impl OutputArguments {
    fn open(&self) -> Result<Exports<Run>, Problem> {
        Exports::open([
            (self.json.as_deref(), Run::to_json as Form<Run>),
            (self.csv.as_deref(), corun_report::to_csv),
            (self.markdown.as_deref(), corun_report::to_markdown),
        ])
    }
}

impl SmtArguments {
    /// The switch where it is asked for, with SMT on.
    fn begin(&self) -> Result<Option<SmtSwitch>, Problem> {
        if !self.smt_switch {
            return Ok(None);
        }
        switch::check()?;
        consent::to_switch(SmtState::Off, self.switch.yes)?;
        let mut switch = SmtSwitch::begin(&self.switch.options())?;
        switch.set(SmtState::On)?;
        Ok(Some(switch))
    }
}

impl Arguments {
    /// From what was typed to what is wanted; touches nothing.
    fn request(&self) -> Result<Request, Problem> {
        Ok(Request {
            work: self.work_request()?,
            // Both say how many cores a spread arm uses.
            cores: self.work.copies.flatten().or(self.arms.cores),
            core_type: self.arms.core_type.clone(),
            placements: self.arms.placement.clone(),
            skip_impossible: false,
            steady: self.work.steady,
            smt_switch: self.smt.smt_switch,
            timeout: self.surroundings.timeout,
            target: self.design.target,
            practical: self.design.practical,
            max_time: self.design.max_time,
            blocks: self.design.blocks,
            warmup: self.design.warmup,
            seed: self.design.seed,
        })
    }

    fn work_request(&self) -> Result<WorkRequest, Problem> {
        if let Some(name) = &self.work.workload {
            return Ok(WorkRequest::Workload {
                name: name.clone(),
                parameters: self.work.parameters.clone(),
                copies: self.work.copies.is_some(),
                sample_time: self.design.sample_time,
                sizes_programs: false,
            });
        }
        if self.work.command.is_empty() {
            return Err(Problem::usage(
                "expected a command after `--`, or `--workload NAME`, found neither",
                "For instance: corun measure -- bash examples/regn.sh",
            ));
        }
        let surroundings = &self.surroundings;
        let mut environment: Vec<(OsString, OsString)> =
            if surroundings.env_clear { Vec::new() } else { std::env::vars_os().collect() };
        for (name, value) in &surroundings.env {
            environment.retain(|(known, _)| known.as_os_str() != name.as_str());
            environment.push((name.into(), value.into()));
        }
        Ok(WorkRequest::Command(CommandRequest {
            argv: self.work.command.clone(),
            copies: self.work.copies.is_some(),
            per_worker: self.work.work == Share::PerWorker,
            environment,
            directory: surroundings.cwd.clone(),
            input: surroundings.stdin.clone(),
            expected_exit: surroundings.expect_exit,
            throughput: self.work.throughput.clone(),
        }))
    }
}
