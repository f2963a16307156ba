//! `corun schedule`: loads under scheduling policies, on this machine or another one.

mod pairs;
mod request;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use corun_files::InputKind;
use corun_record::{
    Document, Exit, Progress, Record, Schedule, ScheduledRun, ScheduledTimeline, Stage, on_one_line,
};
use corun_report::Destination;
use corun_sched::policy::PolicyEntry;
use corun_sched::{Load, Observer, Ratio, Scheduled, Settings, Topology, load, schedule};

use self::pairs::NamedPairs;
use crate::answer::{Answer, Head};
use crate::exports::{Exports, Form};
use crate::options::{CsvFile, FixedSeedArguments, JsonFile, ProgressArguments, SvgFile};
use crate::problem::{Problem, code, say};
use crate::progress::StepProgress;
use crate::{terminal, values};

/// The most intervals of a timeline in a document.
const MAX_INTERVALS: usize = 2000;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(
    override_usage = "corun schedule --load LOAD... [OPTIONS]\n       corun schedule list [OPTIONS]"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    request: Request,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the policies with their sources, and the loads with their parameters
    List(ListArguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    json: JsonFile,
}

#[derive(Debug, Args)]
struct Request {
    /// The load: NAME, NAME:PARAMETER=VALUE,... or NAME:FILE; several are compared
    #[arg(long = "load", value_name = "LOAD")]
    loads: Vec<String>,
    /// The policies, the first as the base of comparisons [default: all]
    #[arg(long = "policy", value_name = "NAME,...", value_delimiter = ',')]
    policies: Vec<String>,
    /// A machine such as 2x4x2 (packages, cores in each, siblings in each) [default: this one]
    #[arg(long, value_name = "PxCxS")]
    topology: Option<String>,
    /// The machine whose captured /sys and /proc lie below DIR
    #[arg(long, value_name = "DIR", conflicts_with = "topology")]
    root: Option<PathBuf>,
    /// The SMT yield of a core with all siblings busy, as `corun measure` reports it
    #[arg(long = "yield", value_name = "Y")]
    smt_yield: Option<Ratio>,
    /// How much longer work takes beside a busy sibling, for instance 1.6 or 4.6/2.55
    #[arg(long, value_name = "S", conflicts_with = "smt_yield")]
    slowdown: Option<Ratio>,
    /// Slowdowns by pairs of kinds of work: what simulate, predict, measure or bench wrote with --json, or a file
    /// of pairs; KIND names its kinds as a load does. --yield or --slowdown applies to other pairs
    #[arg(long, value_name = "[KIND,...=]FILE", value_parser = pairs::named)]
    pairs: Vec<NamedPairs>,
    /// Costs that `corun bench run --json` measured of lmbench/context-switch and lmbench/pipe-latency
    #[arg(long = "costs", value_name = "FILE")]
    cost_files: Vec<PathBuf>,
    /// A cost of the kernel's own work, for instance switch=2us; `corun schedule list` lists all
    #[arg(long = "cost", value_name = "NAME=TIME", value_parser = values::assignment)]
    costs: Vec<(String, String)>,
    #[command(flatten)]
    seed: FixedSeedArguments,
    /// Run each with so many seeds, from --seed on
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    runs: u64,
    /// End after this time of the simulated machine
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    max_time: Option<Duration>,
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
    match &arguments.action {
        Some(Action::List(list)) => {
            let answer = Answer::open(&list.json)?;
            answer.give(corun_sched::catalogue(), corun_report::list_scheduling)?;
            Ok(code(Exit::Done))
        }
        None => arguments.request.run(),
    }
}

impl Request {
    fn run(&self) -> Result<ExitCode, Problem> {
        let loads = self.loads()?;
        let policies = self.policies()?;
        let head = Head::now();
        let (host, machine, settings) = self.settings()?;
        self.check_pairs(&settings.slowdowns, &loads)?;
        let policies = match self.policies.is_empty() {
            true => possible(policies, &loads, &settings.topology)?,
            false => policies,
        };
        let to_json: Form<Record<Schedule>> = Document::to_json;
        let exports = Exports::open([
            (self.json.path(), to_json),
            (self.csv.path(), |it| corun_report::schedule_to_csv(&it.body)),
        ])?;
        let picture = self.svg.path().map(Destination::open).transpose()?;
        let mut schedule = settings.document(&machine, self.siblings(&settings.slowdowns));
        let mut timelines = Vec::new();
        let line = StepProgress::new(self.progress.quiet);
        let all = (loads.len() * policies.len()) as u64 * self.runs;
        line.begin(Stage::new(format!("simulating {all} runs"), "runs", all));
        for load in &loads {
            for policy in &policies {
                for seed in (0..self.runs).map(|run| self.seed.seed.wrapping_add(run)) {
                    let is_wanted = picture.is_some() || self.json.path().is_some();
                    let is_drawn = is_wanted && seed == self.seed.seed;
                    let settings = Settings { seed, ..settings.clone() };
                    let timelines = is_drawn.then_some(&mut timelines);
                    schedule.runs.push(one(policy, load, &settings, timelines)?);
                    line.advance(1);
                }
            }
        }
        line.finish();
        schedule.timelines = timelines;
        if let Some(picture) = picture {
            picture.write(&corun_page::schedule_to_svg(&schedule))?;
        }
        for timeline in &mut schedule.timelines {
            *timeline = corun_report::shortened_timeline(timeline, MAX_INTERVALS);
        }
        let record = Record { machine: host, ..head.record(schedule) };
        let shown = |record: &Record<Schedule>| {
            corun_report::schedule_to_terminal(&record.body, terminal::width())
        };
        exports.write(&record, shown, to_json)?;
        match record.body.runs.iter().find(|run| run.stuck) {
            None => Ok(code(Exit::Done)),
            Some(run) => Err(Problem::failed(
                format!(
                    "{}, {}: expected tasks that end, found that after {} all that are left wait for each other, or for \
                     what never comes",
                    run.load,
                    run.policy,
                    humantime::format_duration(Duration::from_secs_f64(run.makespan_s))
                ),
                "Let something send or unlock what they wait for, or mark a program that waits for ever with daemon = true.",
            )),
        }
    }

    fn loads(&self) -> Result<Vec<Load>, Problem> {
        if self.loads.is_empty() {
            return Err(Problem::usage(
                "expected a load, found none",
                "For instance: corun schedule --topology 2x4x2 --yield 1.25 --load make:jobs=8; `corun \
                 schedule list` has all.",
            ));
        }
        let find = |text: &String| {
            // A recording of minutes is long; what a person writes is not.
            let is_recording = text.starts_with("perf-sched:");
            let kind = if is_recording { InputKind::RECORDING } else { InputKind::TASKS };
            load::find(text, |path| corun_files::text(path, kind))
        };
        self.loads.iter().map(|text| Ok(find(text)?)).collect()
    }

    fn policies(&self) -> Result<Vec<PolicyEntry>, Problem> {
        if self.policies.is_empty() {
            return Ok(corun_sched::policy::ALL.to_vec());
        }
        self.policies.iter().map(|name| Ok(PolicyEntry::find(name)?)).collect()
    }
}

/// Those of all policies that can run all loads; the others are reported.
fn possible(
    policies: Vec<PolicyEntry>,
    loads: &[Load],
    machine: &Topology,
) -> Result<Vec<PolicyEntry>, Problem> {
    let why_not =
        |policy: &PolicyEntry| loads.iter().find_map(|load| policy.check(load, machine).err());
    let (without, with): (Vec<_>, Vec<_>) = policies
        .into_iter()
        .map(|policy| (policy, why_not(&policy)))
        .partition(|it| it.1.is_some());
    if with.is_empty()
        && let Some(error) = without.iter().find_map(|(_, error)| error.clone())
    {
        return Err(error.into());
    }
    for (policy, error) in without {
        if let Some(error) = error {
            let why = on_one_line(&error.to_string());
            say(&format!("{} is left out: {why}", policy.title()));
        }
    }
    Ok(with.into_iter().map(|(policy, _)| policy).collect())
}

/// The outcome of a run.
fn one(
    policy: &PolicyEntry,
    load: &Load,
    settings: &Settings,
    timelines: Option<&mut Vec<ScheduledTimeline>>,
) -> Result<ScheduledRun, Problem> {
    let mut intervals = Vec::new();
    let observer: &mut dyn Observer = if timelines.is_some() { &mut intervals } else { &mut () };
    let outcome = schedule(policy, load, settings, observer)?;
    let topology = policy.topology(&settings.topology);
    let of = Scheduled { policy: policy.title(), load, topology: &topology, seed: settings.seed };
    if let Some(timelines) = timelines {
        timelines.push(of.timeline(&intervals, outcome.makespan));
    }
    Ok(outcome.record(&of))
}
