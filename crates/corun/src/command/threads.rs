//! `corun threads`: how many workers, and where, with the lines that put it into effect.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corun_machine::{CpuLimits, Machine, RootFiles};
use corun_measure::Request;
use corun_measure::sweep::{ProcessContext, SweepObserver, SweepRequest, ThreadSearch};
use corun_record::{Arm, Document, Exit, Goal, Record, ThreadSweep, ThreadVerdict};

use super::service::ServiceArguments;
use super::work::{SurroundingArguments, WorkArguments};
use crate::exports::{Exports, Form};
use crate::interruption;
use crate::keeping::{Keeper, KeepingBlocks};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::{terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    service: ServiceArguments,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    context: SurroundingArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// What is best, and how long it is looked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
struct SearchArguments {
    /// What to make the best of
    #[arg(long, value_enum, default_value_t = GoalArgument::Throughput)]
    goal: GoalArgument,
    /// Use C cores at most; by default all that this process may use
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..))]
    cores: Option<u32>,
    /// Use cores of this type only, on a machine that has several
    #[arg(long, value_name = "TYPE")]
    core_type: Option<String>,
    /// Call numbers of workers equal that differ by less than this
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = values::percentage)]
    practical: f64,
    /// Begin no block of runs that would end later than this
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = values::duration)]
    max_time: Duration,
    /// Run one candidate this often before the first block, not counted
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GoalArgument {
    /// The most work in a second
    Throughput,
    /// The shortest run; of a service, the shortest p99
    Latency,
    /// The least energy for a unit of work, where the machine counts it
    Energy,
}

impl From<GoalArgument> for Goal {
    fn from(goal: GoalArgument) -> Self {
        match goal {
            GoalArgument::Throughput => Self::Throughput,
            GoalArgument::Latency => Self::Latency,
            GoalArgument::Energy => Self::Energy,
        }
    }
}

/// The outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    /// Say the answer alone
    #[arg(long)]
    brief: bool,
    /// Show the lines of all tools, also of those that this program or machine has no use for
    #[arg(long)]
    all_lines: bool,
    /// Write everything as JSON (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the candidates as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the result as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the tables for an article in LaTeX
    #[arg(long, value_name = "FILE")]
    latex: Option<PathBuf>,
    /// Write the bars as a picture (SVG)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let exports = arguments.output.open()?;
    let machine = Machine::read(Path::new("/"))?;
    let request = arguments.request(&machine)?;
    request.run.check()?;
    let interrupt = interruption::on_signals()?;
    let search = ThreadSearch::prepare(&request, &machine, interrupt)?;
    let progress = SweepProgress::new(request.run.max_time, arguments.output.quiet);
    let mut progress = KeepingBlocks::new(progress, Keeper::new::<Record<ThreadSweep>>());
    let outcome = search.run(&mut progress);
    let (progress, keeper) = progress.into_parts();
    progress.line.finish();
    let (sweep, failure) = outcome?;
    exports.kept_by(keeper).write(
        &sweep,
        |sweep| arguments.output.shown(sweep),
        Record::to_json,
    )?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    let verdict = sweep.body.answer.as_ref().map(|answer| answer.verdict);
    let has_answer = verdict.is_some_and(|verdict| verdict != ThreadVerdict::TooFewBlocks);
    let is_partial = sweep.ending.is_interrupted() || !has_answer;
    Ok(code(if is_partial { Exit::Interrupted } else { Exit::Done }))
}

impl Arguments {
    /// From what was typed to what is wanted; starts nothing.
    fn request(&self, machine: &Machine) -> Result<SweepRequest, Problem> {
        let search = &self.search;
        if let Some(Some(copies)) = self.work.copies {
            return Err(Problem::usage(
                format!(
                    "expected `--copies` without a number, found {copies}: their number is what is looked for"
                ),
                "Leave the number out; `--cores C` limits the cores.",
            ));
        }
        let work = match self.service.request(&self.work, &self.context)? {
            Some(service) => service,
            None => self.work.request(&self.context, search.sample_time)?,
        };
        let limits = RootFiles::open(Path::new("/"))
            .map(|mut files| CpuLimits::read(&mut files, machine))
            .unwrap_or_default();
        let own = &self.context;
        let context = ProcessContext::observe(machine, &own.environment(), &own.env, &work);
        Ok(SweepRequest {
            goal: search.goal.into(),
            quota: limits.quota(),
            limits: limits.limits.iter().map(ToString::to_string).collect(),
            context,
            run: Request {
                prepare: self.work.preparation(&self.context)?,
                work,
                cores: search.cores,
                core_type: search.core_type.clone(),
                placements: Vec::new(),
                skip_impossible: false,
                steady: self.work.steady,
                smt_switch: false,
                timeout: self.context.timeout,
                target: 0.01,
                practical: search.practical,
                max_time: search.max_time,
                blocks: None,
                warmup: search.warmup,
                seed: search.seed,
            },
        })
    }
}

impl OutputArguments {
    fn open(&self) -> Result<Exports<Record<ThreadSweep>>, Problem> {
        Exports::open([
            (self.json.as_deref(), Record::to_json as Form<Record<ThreadSweep>>),
            (self.csv.as_deref(), corun_report::threads_to_csv),
            (self.markdown.as_deref(), corun_report::threads_to_markdown),
            (self.latex.as_deref(), corun_report::threads_to_latex),
            (self.svg.as_deref(), corun_page::threads_to_svg),
        ])
    }

    fn shown(&self, sweep: &Record<ThreadSweep>) -> String {
        match self.brief {
            true => corun_report::threads_in_brief(sweep, terminal::width()),
            false => corun_report::threads_to_terminal(sweep, terminal::width(), self.all_lines),
        }
    }
}

/// The course of a sweep: the best so far, and how much of the time is used up.
struct SweepProgress {
    line: StepProgress,
    best: String,
}

impl SweepProgress {
    fn new(max_time: Duration, quiet: bool) -> Self {
        let line = StepProgress::new(quiet);
        line.ends_before(max_time);
        line.ends_at(max_time);
        Self { line, best: String::new() }
    }
}

impl SweepObserver for SweepProgress {
    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm) {
        let block = block.map_or("warm-up".to_owned(), |block| format!("block {}", block + 1));
        self.line.show(format!("{}{block}: {}", self.best, arm.id));
    }

    fn block_ends(&mut self, _: u32, best: &Arm, running: usize, _: Duration) {
        self.best = format!("best {}, {running} left, ", best.id);
    }
}
