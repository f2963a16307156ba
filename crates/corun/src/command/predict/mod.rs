//! `corun predict -- COMMAND`: what a busy sibling would do to a program on a core, and what it takes there alone.

mod recorder;
mod sweep;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use corun_machine::Machine;
use corun_predict::{Measuring, MemoryOf, PredictRequest, ProgramRequest, Sampling, values_of};
use corun_record::{Document, Exit, Placement, Prediction, PredictionTable};
use corun_report::{
    prediction_in_brief, prediction_on_screen, prediction_to_terminal, predictions_on_screen,
    predictions_to_terminal,
};
use corun_trace::SystemCall;

use recorder::Recorder;
use sweep::SweepArguments;

use super::program;
use super::traced::{TracedArguments, quoted, warn_of_children};
use super::work::Share;
use crate::exports::{Exports, Form};
use crate::options::{
    DetailArguments, FixedSeedArguments, JsonFile, MaxTime, ProgressArguments, ViewArguments,
};
use crate::problem::{Problem, code, say};
use crate::progress::StepProgress;
use crate::values::{self, Words};
use crate::{interruption, standard_input, terminal};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The cores: names of `corun models list`, model files that end in .toml, or `all` for all that there are [default: this
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
    #[command(flatten)]
    seed: FixedSeedArguments,
    /// Override a field of the model, for instance main.nanoseconds=120, or predict with each of several values:
    /// rob.entries=224,512; can be given several times, of several fields with several values every combination
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
    #[command(flatten)]
    max_time: MaxTime<1>,
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
    /// docs/accuracy.md; measures as --measure does
    #[arg(long, value_name = "DIR", conflicts_with_all = ["no_measure", "beside", "from_call"])]
    record: Option<PathBuf>,
    /// Keep the trace in FILE
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    view: ViewArguments,
    #[command(flatten)]
    detail: DetailArguments,
    #[command(flatten)]
    progress: ProgressArguments,
    /// The program, which runs several times, its output discarded
    #[command(flatten)]
    traced: TracedArguments,
    #[command(flatten)]
    sweep: SweepArguments,
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
    if arguments.is_sweep() {
        return sweep::run(arguments);
    }
    let form: Form<PredictionTable> = to_json;
    let open = || -> Result<_, Problem> {
        let recorder = arguments.record.as_deref().map(Recorder::open).transpose()?;
        Ok((Exports::open([(arguments.json.path(), form)])?, recorder))
    };
    let machine = Machine::read(Path::new("/"))?;
    let request = arguments.request(arguments.traced.request()?, arguments.settings().1)?;
    let ((exports, recorder), predictions) = predicted(
        &request,
        &machine,
        arguments.progress.quiet,
        arguments.detail.verbose && !arguments.progress.quiet,
        open,
    )?;
    let table = PredictionTable::new(predictions, env!("CARGO_PKG_VERSION"));
    exports.write(&table, |it| arguments.shown(it), form)?;
    let ended = ended(&table);
    if let Some(recorder) = recorder.filter(|_| ended == Exit::Done) {
        recorder.write(&table, &machine)?;
    }
    Ok(code(ended))
}

/// Exit code of predictions: those that were interrupted are kept as far as they are known.
fn ended(table: &PredictionTable) -> Exit {
    match table.predictions.iter().any(|it| it.ending.is_interrupted()) {
        true => Exit::Interrupted,
        false => Exit::Done,
    }
}

/// Predicts what a request asks for, with a line on how far it is, and one on each choice of core and tracer if it
/// `shows_choices`; `open` finds places for the results before anything is traced.
///
/// # Errors
/// If the request is not valid, or the program cannot be predicted.
pub(super) fn predicted<T>(
    request: &PredictRequest,
    machine: &Machine,
    quiet: bool,
    shows_choices: bool,
    open: impl FnOnce() -> Result<T, Problem>,
) -> Result<(T, Vec<Prediction>), Problem> {
    let stop = interruption::flag_on_signals()?;
    let interrupt = interruption::on_signals()?;
    let prepared = request.prepare(machine, &interrupt, &stop)?;
    warn_of_children(prepared.target());
    let opened = open()?;
    if shows_choices {
        prepared.choices().iter().for_each(|line| say(line));
    }
    prepared.warning().into_iter().for_each(say);
    let line = StepProgress::new(quiet);
    let predicted = prepared.predict(&line, &interrupt, &stop);
    line.finish();
    Ok((opened, predicted?))
}

/// One prediction as it is, several as a table.
fn to_json(table: &PredictionTable) -> String {
    match &table.predictions[..] {
        [one] => one.to_json(),
        _ => table.to_json(),
    }
}

/// Fields of a model with their values.
type Assignments = Vec<(String, String)>;

impl Arguments {
    /// A sweep: each program is recorded once and every cell predicted by itself, with nothing measured.
    fn is_sweep(&self) -> bool {
        let has_all = self.model.iter().any(|it| it == "all");
        let is_varied = !self.settings().0.is_empty();
        has_all || is_varied || self.sweep.is_asked_for() || !self.traced.is_one_at_most()
    }

    /// The fields with several values, and those with one.
    fn settings(&self) -> (Assignments, Assignments) {
        let load = self.load_of_others.map(values::load_of_others);
        self.set.iter().cloned().chain(load).partition(|(_, values)| values_of(values).len() > 1)
    }

    /// Request of a prediction from what was typed; starts nothing.
    fn request(
        &self,
        program: ProgramRequest,
        settings: Assignments,
    ) -> Result<PredictRequest, Problem> {
        if let Some(Words(words)) = &self.beside {
            program::check(words)?;
        }
        Ok(PredictRequest {
            models: self.model.clone(),
            settings,
            memory: self.memory.map(Into::into),
            placements: self.placement.clone(),
            per_worker: self.work == Share::PerWorker,
            beside: self.beside.as_ref().map(|Words(words)| words.clone()),
            what_if: self.what_if.clone(),
            seed: self.seed.seed,
            sampling: self.sampling(),
            from: self.from_call,
            pages: self.pages.into(),
            tracer: self.tracer.clone(),
            max_time: self.max_time.max_time,
            target: self.target,
            measuring: self.measuring(),
            keep: self.keep.clone(),
            standard_input: standard_input::for_several_runs(),
            ..PredictRequest::new(program)
        })
    }

    fn measuring(&self) -> Measuring {
        match (self.no_measure, &self.record, self.measure) {
            (true, ..) => Measuring::Nothing,
            (_, Some(_), _) => Measuring::RecordedSiblings,
            (_, None, true) => Measuring::Siblings,
            (_, None, false) => Measuring::Alone,
        }
    }

    fn sampling(&self) -> Option<Sampling> {
        let windows = |(count, length)| Sampling::Windows { count, length, warm_up: self.warmup };
        let start = self.length.map(Sampling::Start);
        self.sample.map(windows).or(start).or(self.whole.then_some(Sampling::Whole))
    }

    /// The options that decide a figure, but for programs, models and fields with several values, as they are typed.
    fn shared_options(&self) -> Vec<String> {
        let placements: Vec<String> = self.placement.iter().map(ToString::to_string).collect();
        let time = humantime::format_duration(self.max_time.max_time).to_string().replace(' ', "");
        let mut options = vec![
            ["--placement".to_owned(), placements.join(",")],
            ["--max-time".to_owned(), time],
            ["--seed".to_owned(), self.seed.seed.to_string()],
        ];
        let mut add = |name: &str, value: Option<String>| {
            options.extend(value.map(|value| [name.to_owned(), value]));
        };
        let assigned = |(field, value): &(String, String)| Some(format!("{field}={value}"));
        self.settings().1.iter().for_each(|it| add("--set", assigned(it)));
        self.what_if.iter().for_each(|it| add("--what-if", assigned(it)));
        add("--length", self.length.map(|it| it.to_string()));
        add("--tracer", self.tracer.clone());
        add("--sample", self.sample.map(|(count, length)| format!("{count}:{length}")));
        add("--warmup", self.warmup.map(|it| it.to_string()));
        add("--from-call", self.from_call.map(|it| it.to_string()));
        add("--beside", self.beside.as_ref().map(|Words(words)| quoted(words)));
        add("--pages", (self.pages == values::Pages::Huge).then(|| "huge".to_owned()));
        add("--work", (self.work == Share::PerWorker).then(|| "per-worker".to_owned()));
        options.extend(self.traced.workload_options());
        let whole = self.whole.then(|| "--whole".to_owned());
        options.into_iter().flatten().chain(whole).collect()
    }

    fn shown(&self, table: &PredictionTable) -> String {
        let view = terminal::view();
        let brief = |it: &Prediction| prediction_in_brief(it, view.columns);
        match (&table.predictions[..], self.detail.verbose) {
            (all, _) if self.view.brief => all.iter().map(brief).collect(),
            ([one], true) => prediction_to_terminal(one, &view),
            ([one], false) => prediction_on_screen(one, &view),
            (_, true) => predictions_to_terminal(table, &view),
            (_, false) => predictions_on_screen(table, &view),
        }
    }
}

impl From<MemorySource> for MemoryOf {
    fn from(source: MemorySource) -> Self {
        match source {
            MemorySource::Model => Self::Model,
            MemorySource::Host => Self::Host,
        }
    }
}
