//! `corun predict -- COMMAND`: what a busy sibling would do to a program on a core, and what it takes there alone.

mod cores;
mod each;
mod hardware;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, FromArgMatches, ValueEnum};
use corun_machine::Machine;
use corun_model::{CoreModel, HostCore, host_core};
use corun_predict::{
    Beside, Core, Effort, HostSiblings, Job, MeasureSiblings, MemoryOf, Sampling, Workers, predict,
};
use corun_record::{Caveat, Document, Exit, Placement, Prediction, PredictionTable};
use corun_report::{prediction_in_brief, prediction_to_terminal, predictions_to_terminal};
use corun_trace::{Chosen, SystemCall, Target, choose_for};

pub(super) use each::{CoreVariant, on_each};

use cores::ChosenCore;
use hardware::Recorder;

use super::program;
use super::traced::{TracedArguments, TracedProgram};
use super::work::Share;
use crate::core_model::{timings, validation_caveat};
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code, say};
use crate::progress::StepProgress;
use crate::values::{self, Words};
use crate::{interruption, standard_input, terminal};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The cores: names of `corun models list`, or model files that end in .toml [default: this
    /// host's own]
    #[arg(long, value_name = "MODEL", value_delimiter = ',')]
    model: Vec<String>,
    /// What is compared: spread (the program alone on its core), full (a copy on every hardware thread), full@K (K
    /// copies), packed, stacked (copies that take turns on one hardware thread); spread alone predicts no sibling
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "spread,full")]
    placement: Vec<Placement>,
    /// With `{workers}` in the command: whether it does a fixed total or a share for each worker
    #[arg(long, value_enum, default_value_t = Share::Total, conflicts_with = "workload")]
    work: Share,
    /// Predict what this other program does on the sibling, in place of a copy; quoted as one argument
    #[arg(long, value_name = "COMMAND", value_parser = values::words)]
    beside: Option<Words>,
    /// Predict the siblings once more with a field of the model changed, for instance rob.policy=shared; can be given several
    /// times
    #[arg(long, value_name = "FIELD=VALUE", value_parser = values::assignment)]
    what_if: Vec<(String, String)>,
    /// Choose where the windows of a long run lie, how far apart copies run, and where pages lie, by this seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Override a field of the model, for instance main.nanoseconds=120; can be given several times
    #[arg(long, value_name = "FIELD=VALUE", value_parser = values::assignment)]
    set: Vec<(String, String)>,
    /// How busy the cores are that the program does not run on: from 0, idle, to 1, each with as much of the last-level
    /// cache and of the memory bandwidth as one that it runs on
    #[arg(long, value_name = "SHARE", value_parser = values::load)]
    load_of_others: Option<f64>,
    /// The last-level cache and memory: the model's, or this host's, which are probed around the measured
    /// runs, with the interference of other programs at the time [default: this host's for its own core, if it is measured]
    #[arg(long, value_name = "SOURCE", value_enum)]
    memory: Option<MemorySource>,
    /// Simulate K windows of N instructions (5M, 300k, ...): fewer than 50 are simulation points that
    /// represent the whole run, more are spread evenly over it [default: the whole of a short
    /// run; of a long one 400 windows, with siblings 100 in 15s]
    #[arg(long, value_name = "K:N", value_parser = values::samples)]
    sample: Option<(u32, u64)>,
    /// Warm caches and predictors with N instructions before each window; before chosen ones, on average
    /// [default: 500M before all together, and 1M at least]
    #[arg(long, value_name = "N", value_parser = values::count, requires = "sample")]
    warmup: Option<u64>,
    /// Simulate the first N instructions
    #[arg(long, value_name = "N", value_parser = values::count, conflicts_with = "sample")]
    length: Option<u64>,
    /// Simulate the whole run, however long it is
    #[arg(long, conflicts_with_all = ["sample", "length"])]
    whole: bool,
    /// Predict and measure only what the program does after its first system call CALL, a name such as
    /// getppid or a number: its start is left out
    #[arg(long, value_name = "CALL")]
    from_call: Option<SystemCall>,
    /// The page size of the program's data in the simulation; its code lies in small pages. The page size of the
    /// measured runs is up to this host's kernel
    #[arg(long, value_name = "SIZE", value_enum, default_value = "small")]
    pages: values::Pages,
    /// Use this tracer: dynamorio, qemu or ptrace (default: the first of them that works)
    #[arg(long, value_name = "NAME")]
    tracer: Option<String>,
    /// About how long it may take on two CPUs, tracing left out: more time allows more rounds of windows beside siblings. A
    /// sixth of a round (of a program that is predicted alone, a third of the time) goes to measured runs, of which there is
    /// one at least
    #[arg(long, alias = "budget", value_name = "TIME", default_value = "60s")]
    #[arg(value_parser = values::duration)]
    max_time: Duration,
    /// Stop after a round of windows when the interval of the slowdown beside siblings is no wider than ± this, the model's
    /// own error left out, which is about three times as wide; a round takes about 15s of --max-time
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = values::percentage)]
    target: f64,
    /// Do not measure the program on this machine
    #[arg(long)]
    no_measure: bool,
    /// Also measure the program beside copies of itself, on a core of this machine whose siblings this process may use,
    /// for a third of --max-time
    #[arg(long, conflicts_with_all = ["no_measure", "beside", "from_call"])]
    measure: bool,
    /// Write the measured yield with the predicted one into the folder DIR, without anything personal, for the table of
    /// docs/accuracy-siblings.md; measures as --measure does
    #[arg(long, value_name = "DIR", conflicts_with_all = ["no_measure", "beside", "from_call"])]
    record: Option<PathBuf>,
    /// Keep the trace in FILE
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Write the prediction as JSON to FILE (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Say the answer alone
    #[arg(long)]
    brief: bool,
    /// Print nothing but the result and errors
    #[arg(short, long)]
    quiet: bool,
    /// The program, which runs several times, its output discarded
    #[command(flatten)]
    traced: TracedArguments,
}

/// The source of the memory parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MemorySource {
    /// The model's
    Model,
    /// This host's
    Host,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let form: Form<PredictionTable> = to_json;
    let open = || -> Result<_, Problem> {
        let recorder = arguments.record.as_deref().map(Recorder::open).transpose()?;
        Ok((Exports::open([(arguments.json.as_deref(), form)])?, recorder))
    };
    let ((exports, recorder), table) = predicted(arguments, open)?;
    exports.write(&table, |it| arguments.shown(it), form)?;
    if let Some(recorder) = recorder {
        recorder.write(&table, &Machine::read(Path::new("/"))?)?;
    }
    Ok(code(Exit::Done))
}

/// The prediction that a line of `corun predict` asks for, without what it shows and keeps.
///
/// # Errors
/// If the line has no meaning, or the program cannot be predicted.
pub(super) fn prediction(line: &[OsString]) -> Result<Prediction, Problem> {
    let ((), table) = predicted(&parsed(line)?, || Ok(()))?;
    table.predictions.into_iter().next().ok_or_else(|| {
        Problem::failed("expected a prediction, found none", "Ask for one core model.")
    })
}

/// The arguments of a line of `corun predict`.
fn parsed(line: &[OsString]) -> Result<Arguments, Problem> {
    let matches = Arguments::augment_args(clap::Command::new("predict")).try_get_matches_from(line);
    matches.and_then(|it| Arguments::from_arg_matches(&it)).map_err(|error| {
        Problem::usage(error.to_string(), "`corun predict --help` says what can be predicted.")
    })
}

/// Predicts what the arguments ask for; `open` finds places for the results before anything is traced.
fn predicted<T>(
    arguments: &Arguments,
    open: impl FnOnce() -> Result<T, Problem>,
) -> Result<(T, PredictionTable), Problem> {
    let beside = arguments.beside()?;
    let host = host_core();
    let chosen = arguments.cores(host.as_ref())?;
    let machine = Machine::read(Path::new("/"))?;
    let stop = interruption::flag_on_signals()?;
    let siblings = HostSiblings::new(&machine, &stop);
    if arguments.measures_siblings() {
        arguments.check_measured(&chosen)?;
        hardware::check(&siblings)?;
    }
    let subject = arguments.subject(&beside)?;
    let opened = open()?;
    for core in &chosen {
        arguments.say(&format!("The core: {} ({}).", core.reason, core.model.title));
    }
    arguments.say(&format!("The tracer: {}.", subject.tracer.reason));
    if let Some(warning) = &subject.tracer.warning {
        say(warning);
    }
    let timings = chosen.iter().map(|core| timings(&core.model)).collect::<Result<Vec<_>, _>>()?;
    let set = arguments.settings();
    let mut cores = Vec::new();
    for (core, timings) in chosen.iter().zip(&timings) {
        let mut caveats = core.caveats.clone();
        caveats.extend(validation_caveat(&core.model)?);
        cores.push(Core {
            model: &core.model,
            memory: arguments.memory_of(core.is_own)?,
            set: &set,
            timings,
            reason: core.reason.clone(),
            is_own: core.is_own,
            caveats,
        });
    }
    let measure_siblings = match arguments.measures_siblings() {
        true => Some(MeasureSiblings {
            source: &siblings,
            evidence: siblings.evidence(),
            work: arguments.traced.measured(arguments.work == Share::PerWorker),
            budget: arguments.max_time / PART_ON_SIBLINGS,
            limit: arguments.max_time,
            interrupt: interruption::on_signals()?,
        }),
        false => None,
    };
    let job = Job {
        rounds: arguments.rounds(),
        measure_siblings,
        keep: arguments.keep.clone(),
        ..arguments.job(subject, cores, beside, &machine)
    };
    let line = StepProgress::new(arguments.quiet);
    let predicted = predict(&job, &line, &stop);
    line.finish();
    let mut predictions = predicted?;
    for (prediction, timings) in predictions.iter_mut().zip(&timings) {
        let sentence = timings.usage().sentence();
        prediction.caveats.extend(sentence.map(|sentence| Caveat::new("timing-rows", sentence)));
    }
    let table = PredictionTable::new(predictions, env!("CARGO_PKG_VERSION"));
    Ok((opened, table))
}

/// The time of a round of windows, at least.
const ROUND: Duration = Duration::from_secs(15);
/// The part of the time that is for measuring on siblings.
const PART_ON_SIBLINGS: u32 = 3;

/// One prediction as it is, several as a table.
fn to_json(table: &PredictionTable) -> String {
    match &table.predictions[..] {
        [one] => one.to_json(),
        _ => table.to_json(),
    }
}

/// The program of a prediction, and how it is recorded.
struct Subject {
    program: TracedProgram,
    tracer: Chosen<'static>,
    sampling: Sampling,
}

impl Arguments {
    fn subject(&self, beside: &Beside) -> Result<Subject, Problem> {
        let program = self.traced.program_of(beside.workers.is_some().then_some(1))?;
        let tracer = choose_for(self.tracer.as_deref(), &program.target)?;
        let sampling = self.sampling();
        self.check_standard_input(sampling)?;
        Ok(Subject { program, tracer, sampling })
    }

    /// The job in one round, without a measurement on siblings and without a trace to keep.
    fn job<'a>(
        &self,
        subject: Subject,
        cores: Vec<Core<'a>>,
        beside: Beside,
        machine: &'a Machine,
    ) -> Job<'a> {
        let Subject { program, tracer, sampling } = subject;
        Job {
            target: program.target,
            workload: program.workload,
            cores,
            beside,
            tracer,
            from: self.from_call.or(program.from),
            sampling,
            rounds: 1,
            precision: self.target,
            pages: self.pages.into(),
            measure_for: (!self.no_measure).then(|| self.time_to_measure()),
            measure_siblings: None,
            keep: None,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            max_time: self.max_time,
            machine,
        }
    }

    /// The memory parameters to predict with.
    fn memory_of(&self, is_own: bool) -> Result<MemoryOf, Problem> {
        match self.memory {
            Some(MemorySource::Host) if self.no_measure => Err(Problem::usage(
                "expected to measure where memory is to be this host's, found --no-measure",
                "Leave one of the two out.",
            )),
            Some(MemorySource::Host) => Ok(MemoryOf::Host),
            None if is_own && !self.no_measure => Ok(MemoryOf::Host),
            None | Some(MemorySource::Model) => Ok(MemoryOf::Model),
        }
    }

    /// What of the model is set otherwise.
    fn settings(&self) -> Vec<(String, String)> {
        let load = self.load_of_others.map(values::load_of_others);
        self.set.iter().cloned().chain(load).collect()
    }

    /// The cores asked for, with the fields that were set.
    fn cores(&self, host: Option<&HostCore>) -> Result<Vec<ChosenCore>, Problem> {
        let mut cores = match &self.model[..] {
            [] => vec![ChosenCore::find(None, host)?],
            names => names
                .iter()
                .map(|name| ChosenCore::find(Some(name), host))
                .collect::<Result<Vec<_>, _>>()?,
        };
        let set = self.settings();
        for core in &mut cores {
            core.model = core.model.clone().with(&set)?;
            core.caveats.extend(cores::set_otherwise(&set));
            self.check_siblings(&core.model)?;
        }
        Ok(cores)
    }

    /// Whether a sibling is predicted at all.
    fn has_siblings(&self) -> bool {
        let is_alone = |it: &Placement| {
            matches!(it, Placement::Single | Placement::Spread(None) | Placement::Stacked)
        };
        !self.placement.iter().all(is_alone)
    }

    /// Whether the program is measured on siblings of this machine.
    fn measures_siblings(&self) -> bool {
        self.measure || self.record.is_some()
    }

    /// What is measured on siblings has to be predicted beside them; a record says how good the model of that core is.
    fn check_measured(&self, cores: &[ChosenCore]) -> Result<(), Problem> {
        if !self.has_siblings() {
            return Err(Problem::usage(
                "expected a placement with a busy sibling to measure, found none",
                "Leave --placement out.",
            ));
        }
        if self.record.is_some() && !self.settings().is_empty() {
            return Err(Problem::usage(
                "expected the model as it is for --record, found --set or --load-of-others",
                "Leave one of the two out; --measure compares with a changed model, too.",
            ));
        }
        if self.record.is_some() && !cores.iter().any(|core| core.is_own) {
            return Err(Problem::usage(
                "expected the model of this machine's own core for --record, found others",
                "Leave --model out; `corun models list` has all. Where there is none, --measure compares with others.",
            ));
        }
        Ok(())
    }

    fn time_to_measure(&self) -> Duration {
        if self.has_siblings() {
            self.time_to_simulate() / self.rounds() / 6
        } else {
            self.max_time / 3
        }
    }

    /// The time that is left where the program is also measured on siblings.
    fn time_to_simulate(&self) -> Duration {
        match self.measures_siblings() {
            true => self.max_time - self.max_time / PART_ON_SIBLINGS,
            false => self.max_time,
        }
    }

    /// Rounds of windows that fit into the time. The other program's windows, and those of a trace that is kept, are
    /// recorded once.
    fn rounds(&self) -> u32 {
        if self.beside.is_some() || self.keep.is_some() || !self.has_siblings() {
            return 1;
        }
        (self.time_to_simulate().as_secs() / ROUND.as_secs()).clamp(1, 100) as u32
    }

    /// A core without the siblings that are asked for, and a change that no model takes, are found before anything is traced.
    fn check_siblings(&self, model: &CoreModel) -> Result<(), Problem> {
        for setting in &self.what_if {
            model.clone().with(std::slice::from_ref(setting))?;
        }
        if !self.has_siblings() {
            return Ok(());
        }
        if model.smt_width < 2 {
            return Err(Problem::usage(
                format!(
                    "expected a core with siblings, found {} with one hardware thread",
                    model.name
                ),
                "Predict the program alone: --placement spread.",
            ));
        }
        let most = model.smt_width;
        let count = |it: &Placement| {
            if let Placement::Full(Some(count)) = it { Some(*count) } else { None }
        };
        match self.placement.iter().filter_map(count).find(|count| !(2..=most).contains(count)) {
            Some(count) => Err(Problem::usage(
                match most {
                    2 => format!("expected full@2 on a core of {}, found full@{count}", model.name),
                    _ => format!(
                        "expected full@2 to full@{most} on a core of {}, found full@{count}",
                        model.name
                    ),
                },
                "`corun models show` says how many hardware threads a core has.",
            )),
            None => Ok(()),
        }
    }

    /// What runs beside the program.
    fn beside(&self) -> Result<Beside, Problem> {
        let mut placements = Vec::new();
        for &placement in &self.placement {
            match placement {
                Placement::Single | Placement::Spread(None) | Placement::Stacked => {}
                known if placements.contains(&known) => {}
                Placement::Full(_) | Placement::Packed(None) => placements.push(placement),
                other => {
                    return Err(Problem::usage(
                        format!("expected spread, full, full@K, packed or stacked, found {other}"),
                        "`corun simulate --placement` has the others, for a trace.",
                    ));
                }
            }
        }
        let other = match &self.beside {
            Some(Words(words)) => {
                program::check(words)?;
                let (program, rest) = words.split_first().expect("the parser wants a word");
                Some(Target::find(program, rest)?)
            }
            None => None,
        };
        let stacked = self.placement.contains(&Placement::Stacked);
        if other.is_some() && (stacked || !matches!(placements[..], [Placement::Full(None)])) {
            return Err(Problem::usage(
                "expected the placements spread and full with --beside, found others",
                "Leave --placement out.",
            ));
        }
        let per_worker = self.work == Share::PerWorker;
        let argv = self.traced.with_workers().map(<[OsString]>::to_vec);
        let workers = argv.map(|argv| Workers { argv, per_worker });
        if workers.is_some() && (other.is_some() || stacked) {
            return Err(Problem::usage(
                "expected the threads of one program with {workers}, found --beside or stacked",
                "Write a number of threads into the command: copies of the program are predicted then.",
            ));
        }
        if workers.is_none() && per_worker {
            return Err(Problem::usage(
                "expected {workers} in the command with --work per-worker, found none",
                "Write {workers} where the command takes its number of threads.",
            ));
        }
        if placements.is_empty() && !self.what_if.is_empty() {
            return Err(Problem::usage(
                "expected a placement with a busy sibling for --what-if, found none",
                "Leave --placement out, or change the core alone with --set.",
            ));
        }
        Ok(Beside {
            placements,
            stacked,
            workers,
            other,
            what_if: self.what_if.clone(),
            seed: self.seed,
        })
    }

    /// A pipe on standard input can be read once.
    fn check_standard_input(&self, sampling: Sampling) -> Result<(), Problem> {
        let runs_again = sampling.pre_run(self.from_call).is_needed()
            || !self.no_measure
            || self.beside.is_some();
        if self.traced.is_workload() || !(standard_input::is_used_up() && runs_again) {
            return Ok(());
        }
        if self.from_call.is_some() {
            return Err(Problem::usage(
                "expected a program that can run twice for --from-call, found a pipe on standard input",
                "Give the input as a file: corun predict ... < FILE",
            ));
        }
        Err(Problem::usage(
            "expected a program that can run several times, found a pipe on standard input",
            "Give the input as a file: corun predict ... < FILE; or run it once only, with --whole \
             --no-measure.",
        ))
    }

    fn shown(&self, table: &PredictionTable) -> String {
        let columns = terminal::width();
        let brief = |it: &Prediction| prediction_in_brief(it, columns);
        match &table.predictions[..] {
            all if self.brief => all.iter().map(brief).collect(),
            [one] => prediction_to_terminal(one, columns),
            _ => predictions_to_terminal(table, columns),
        }
    }

    fn sampling(&self) -> Sampling {
        match (self.sample, self.length, self.whole) {
            (Some((count, length)), ..) => {
                Sampling::Windows { count, length, warm_up: self.warmup }
            }
            (_, Some(length), _) => Sampling::Start(length),
            (.., true) => Sampling::Whole,
            _ if self.has_siblings() || self.placement.contains(&Placement::Stacked) => {
                // Each placement of each core is simulated, also with each change.
                let is_alone =
                    |it: &&Placement| matches!(it, Placement::Single | Placement::Spread(None));
                let alone = self.placement.iter().filter(is_alone).count();
                let placements = (self.placement.len() - alone).max(1);
                let times = self.model.len().max(1) * placements * (1 + self.what_if.len());
                let round = (self.time_to_simulate() / self.rounds()).as_secs_f64();
                Sampling::Fitting(Effort::in_seconds(round / times as f64, self.seed))
            }
            _ => Sampling::Fitting(Effort::FULL),
        }
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }
}
