//! `corun threads`: how many workers, and where, with the lines that put it into effect.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corun_machine::{CpuLimits, Machine, RootFiles};
use corun_measure::Request;
use corun_measure::sweep::{ProcessContext, SweepObserver, SweepRequest, ThreadSearch};
use corun_record::{Arm, Document, Exit, Goal, Record, ThreadSweep, ThreadVerdict};

use super::service::ServiceArguments;
use super::work::{ContextArguments, WorkArguments};
use crate::exports::{Exports, Form};
use crate::interruption;
use crate::keeping::{Keeper, KeepingBlocks};
use crate::options::{
    CoreArguments, DesignArguments, DocumentFiles, PracticalArguments, ProgressArguments, SvgFile,
    ViewArguments,
};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    service: ServiceArguments,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    context: ContextArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Goal of the search, and its limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
struct SearchArguments {
    /// What to make the best of
    #[arg(long, value_enum, default_value_t = GoalArgument::Throughput)]
    goal: GoalArgument,
    #[command(flatten)]
    cores: CoreArguments,
    #[command(flatten)]
    practical: PracticalArguments,
    #[command(flatten)]
    design: DesignArguments<2>,
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
    #[command(flatten)]
    files: DocumentFiles,
    #[command(flatten)]
    picture: SvgFile,
    #[command(flatten)]
    view: ViewArguments,
    /// Show the lines of all tools, also of those that this program or machine has no use for
    #[arg(long)]
    all_lines: bool,
    #[command(flatten)]
    progress: ProgressArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let exports = arguments.output.open()?;
    arguments.search.cores.confine()?;
    let machine = Machine::read(Path::new("/"))?;
    let request = arguments.request(&machine)?;
    request.run.check()?;
    let interrupt = interruption::on_signals()?;
    let search = ThreadSearch::prepare(&request, &machine, interrupt)?;
    let progress = SweepProgress::new(request.run.max_time, arguments.output.progress.quiet);
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
            None => self.work.request(&self.context, search.design.sample_time)?,
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
            unknown_limits: limits.unknown,
            context,
            run: Request {
                prepare: self.work.preparation(&self.context)?,
                work,
                cores: search.cores.cores,
                core_type: search.cores.core_type.clone(),
                placements: Vec::new(),
                skip_impossible: false,
                steady: self.work.steady,
                smt_switch: false,
                timeout: self.context.timeout,
                target: 0.01,
                practical: search.practical.practical,
                max_time: search.design.max_time,
                blocks: None,
                warmup: search.design.warmup,
                seed: search.design.seed,
            },
        })
    }
}

impl OutputArguments {
    fn open(&self) -> Result<Exports<Record<ThreadSweep>>, Problem> {
        let files = self.files.forms(
            corun_report::threads_to_csv,
            corun_report::threads_to_markdown,
            corun_report::threads_to_latex,
        );
        let picture: (_, Form<_>) = (self.picture.path(), corun_page::threads_to_svg);
        Exports::open(files.into_iter().chain([picture]))
    }

    fn shown(&self, sweep: &Record<ThreadSweep>) -> String {
        match self.view.brief {
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
