//! `corun threads`: how many workers, and where, with the lines that put it into effect.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corun_machine::{CpuLimits, Machine, RootFiles};
use corun_measure::Request;
use corun_measure::sweep::{ProcessContext, SweepObserver, SweepRequest, ThreadSearch};
use corun_record::{Arm, Document, Exit, Goal, Record, ThreadSweep};

use super::service::ServiceArguments;
use super::work::{ContextArguments, WorkArguments};
use crate::exports::{Exports, Form};
use crate::interruption;
use crate::keeping::{Keeper, KeepingBlocks};
use crate::options::{
    CoreArguments, DetailArguments, DocumentFiles, PracticalArguments, ProgressArguments,
    SAMPLE_TIME, SEED, SvgFile, ViewArguments, WARMUP,
};
use crate::problem::{Problem, code, say};
use crate::progress::StepProgress;
use crate::terminal;
use crate::values;

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
    #[arg(long, value_name = "TIME", value_parser = values::duration, help = MAX_TIME)]
    max_time: Option<Duration>,
    #[arg(long, value_name = "N", default_value_t = 1, help = WARMUP)]
    warmup: u32,
    #[arg(long, value_name = "N", help = SEED)]
    seed: Option<u64>,
    #[arg(long, value_name = "TIME", default_value = "200ms", help = SAMPLE_TIME)]
    #[arg(value_parser = values::duration, conflicts_with = "command")]
    sample_time: Duration,
    /// Print what would be tried and how long it may take, and run nothing
    #[arg(long)]
    dry_run: bool,
}

/// The wording of `--max-time`, whose default grows.
const MAX_TIME: &str = "The time allowed, such as 30s or 5m [default: 2m, or 100 times the shortest run if that is longer]";
/// The time allowed where none is given, unless runs take so long that more is needed.
const ALLOWED: Duration = Duration::from_secs(120);
/// Runs that a candidate takes in the mean, in runs of the shortest: as simulated for 64 CPUs.
const RUNS_OF_AN_ANSWER: u32 = 60;

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
    #[command(flatten)]
    detail: DetailArguments,
    /// Print the number of workers alone, for `make -j$(corun threads --print -- make -j {workers})`
    #[arg(long, conflicts_with_all = ["brief", "verbose", "all_lines"])]
    print: bool,
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
    if arguments.search.dry_run {
        terminal::show(&plan(&search, arguments.search.max_time))?;
        return Ok(code(Exit::Done));
    }
    let progress = SweepProgress::new(&search, arguments.output.progress.quiet);
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
    // No answer, or one that is not decided, is a partial result: a script must not take it for one.
    let is_answered = sweep.body.answer.as_ref().is_some_and(|answer| answer.verdict.is_answer());
    let is_partial = sweep.ending.is_interrupted() || !is_answered;
    if arguments.output.print && is_partial {
        say(corun_report::threads_in_brief(&sweep, terminal::width()).trim_end());
    }
    Ok(code(if is_partial { Exit::Interrupted } else { Exit::Done }))
}

/// Plan of a sweep of which nothing is run.
fn plan(search: &ThreadSearch<'_>, max_time: Option<Duration>) -> String {
    let allowed = match max_time {
        Some(time) => format!("It ends after {} at the latest.", humantime::format_duration(time)),
        None => format!(
            "It may take {}, or 100 times the shortest run if that is longer.",
            humantime::format_duration(ALLOWED)
        ),
    };
    let numbers: Vec<String> = search.numbers().iter().map(u32::to_string).collect();
    format!(
        "About {} candidates on {} logical CPUs: one run each with {} workers, and of numbers beside the best; then blocks of the two or three that may be the answer.\n\
         That takes about {RUNS_OF_AN_ANSWER} times as long as the shortest run at most, unless runs vary by more than 1 %; what it takes is said after the first run. {allowed}\n",
        search.expected_candidates(),
        search.cpus(),
        numbers.join(", "),
    )
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
            grows: search.max_time.is_none(),
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
                listed: Vec::new(),
                skip_impossible: false,
                steady: self.work.steady,
                smt_switch: false,
                timeout: self.context.timeout,
                target: 0.01,
                practical: search.practical.practical,
                max_time: search.max_time.unwrap_or(ALLOWED),
                blocks: None,
                warmup: search.warmup,
                seed: search.seed,
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
        let columns = terminal::width();
        if self.print {
            let workers = sweep.body.answer.as_ref().map(|answer| format!("{}\n", answer.workers));
            return workers.unwrap_or_default();
        }
        if self.view.brief {
            return corun_report::threads_in_brief(sweep, columns);
        }
        if self.detail.verbose || self.all_lines {
            return corun_report::threads_to_terminal(sweep, columns, self.all_lines);
        }
        corun_report::threads_to_screen(sweep, &terminal::view())
    }
}

/// The course of a sweep: what it will cost, then the best so far, and how much of the time is used up.
struct SweepProgress {
    line: StepProgress,
    cpus: u32,
    best: String,
}

impl SweepProgress {
    fn new(search: &ThreadSearch<'_>, quiet: bool) -> Self {
        Self { line: StepProgress::new(quiet), cpus: search.cpus(), best: String::new() }
    }
}

impl SweepObserver for SweepProgress {
    fn sweep_is_planned(&mut self, candidates: usize, expected: Duration, allowed: Duration) {
        self.line.ends_before(allowed);
        self.line.ends_at(expected);
        let expected = about(expected);
        self.best = format!("about {expected} for {candidates} candidates on {} CPUs, ", self.cpus);
    }

    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm) {
        let block = block.map_or("one run".to_owned(), |block| format!("block {}", block + 1));
        self.line.show(format!("{}{block}: {}", self.best, arm.id));
    }

    fn block_ends(&mut self, _: u32, best: &Arm, running: usize, _: Duration) {
        self.best = format!("best {}, {running} left, ", best.id);
    }
}

/// A duration as a person says it.
fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..100 => format!("{} s", seconds.max(1)),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    }
}
