//! Keeping of a command's results: its answer, and each finished block or cell before it.
//!
//! A store that cannot be written is remarked on, once; the answer is shown all the same.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
use corun_measure::experiment::Observer;
use corun_measure::suite::{Item, SuiteObserver};
use corun_measure::sweep::SweepObserver;
use corun_record::{
    Actionable, Arm, CapacityCurve, Document, PredictionSweep, Record, Run, Sample, SweepCell,
    Workload, on_one_line,
};
use corun_store::{Filter, Growing, Origin, Store, StoreError, default_path};
use corun_study::StudyObserver;

use crate::problem::{Problem, complain};

/// Arguments for the store of runs.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StoreArguments {
    /// Keep runs in FILE and find them there [default: CORUN_STORE, else corun/corun.db in XDG_DATA_HOME or
    /// ~/.local/share]
    #[arg(long, global = true, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Keep nothing of this run
    #[arg(long, global = true, conflicts_with = "store")]
    no_store: bool,
}

/// Options and subcommand that decide what is kept.
#[derive(Debug, Default)]
struct KeepRequest {
    store: StoreArguments,
    /// The subcommand, such as `bench run`.
    command: String,
    /// True if its answer is kept.
    is_kept: bool,
}

static REQUEST: OnceLock<KeepRequest> = OnceLock::new();

/// The most runs that are a history, and documents that are looked into for one.
pub(crate) const HISTORY: usize = 1000;

/// Sets what the command line asks for, before the command runs.
pub(crate) fn set(store: StoreArguments, command: String, is_kept: bool) {
    let _ = REQUEST.set(KeepRequest { store, command, is_kept });
}

/// The subcommand that runs, such as `bench run`.
pub(crate) fn subcommand() -> &'static str {
    REQUEST.get().map_or("", |it| it.command.as_str())
}

/// The file of the store; `None` where nothing is to be kept.
///
/// # Errors
/// If no place for it is known.
pub(crate) fn place() -> Result<Option<PathBuf>, StoreError> {
    let store = REQUEST.get().map(|it| it.store.clone()).unwrap_or_default();
    match (store.no_store, store.store, std::env::var_os("CORUN_STORE")) {
        (true, _, _) => Ok(None),
        (false, Some(file), _) => Ok(Some(file)),
        (false, None, Some(file)) if file.is_empty() => Ok(None),
        (false, None, Some(file)) => Ok(Some(file.into())),
        (false, None, None) => default_path().map(Some),
    }
}

/// True if the answer of this command is kept, so that `corun runs show last` has it.
pub(crate) fn is_kept() -> bool {
    REQUEST.get().is_some_and(|it| it.is_kept) && matches!(place(), Ok(Some(_)))
}

/// The store that there is, for commands that look into it.
///
/// # Errors
/// If there is none, or it cannot be read.
pub(crate) fn existing() -> Result<Option<Store>, Problem> {
    match place()? {
        Some(file) => Ok(Store::open_existing(&file)?),
        None => Err(Problem::usage(
            "expected a store, found that nothing is to be kept (--no-store, or an empty CORUN_STORE)",
            "Name the store with --store FILE.",
        )),
    }
}

/// Findings in the newest kept runs of what a label names, so many at most: a built-in workload with its parameters, or
/// a command. Nothing where there is no store. `find` is given the id and the document of each run that may be one, of
/// [`HISTORY`] at most.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn runs_of<T>(
    label: &str,
    most: usize,
    mut find: impl FnMut(String, &str) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let Some(file) = place()? else { return Ok(Vec::new()) };
    let Some(store) = Store::open_existing(&file)? else { return Ok(Vec::new()) };
    let first = label.split(' ').next().unwrap_or_default();
    // The store's list has built-in workloads without their parameters.
    let is_other_command = |workload: &str| {
        let has_arguments = workload.strip_prefix(first).is_some_and(|it| it.starts_with(' '));
        label.contains(' ') && has_arguments && workload != corun_store::listed(label)
    };
    let (mut found, mut read) = (Vec::new(), 0);
    store.visit(&Filter::of_workload(first), |number, run| {
        if is_other_command(&run.workload) {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some(document) = store.document(number)? {
            read += 1;
            found.extend(find(run.id, &document));
        }
        Ok(match found.len() < most && read < HISTORY {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(found)
}

/// The newest capacity of this host that is kept.
///
/// # Errors
/// If the store or the document cannot be read.
pub(crate) fn newest_capacity() -> Result<Option<Record<CapacityCurve>>, Problem> {
    let Some(file) = place()? else { return Ok(None) };
    let Some(store) = Store::open_existing(&file)? else { return Ok(None) };
    let filter = Filter {
        host: corun_measure::host(Path::new("/")),
        command: Some("capacity".to_owned()),
        limit: Some(1),
        ..Filter::default()
    };
    let Some((number, _)) = store.list(&filter)?.pop() else { return Ok(None) };
    let document = store.document(number)?;
    Ok(document.map(|text| Record::from_json(&text)).transpose()?)
}

/// Keeps what a command finds.
pub(crate) struct Keeper {
    state: State,
}

enum State {
    /// Nothing is kept, or what was to be could not be.
    Nothing,
    /// The store is opened when there is something to keep.
    NotOpened(Box<Growing>),
    Opened(Box<(Store, Growing)>),
}

impl Keeper {
    /// Of a command whose answer has this format.
    pub(crate) fn new<D: Document>() -> Self {
        let Some(KeepRequest { command, is_kept: true, .. }) = REQUEST.get() else {
            return Self { state: State::Nothing };
        };
        let folder = std::env::current_dir().unwrap_or_default();
        let origin = Origin {
            command: command.clone(),
            line: std::env::args_os().skip(1).collect(),
            folder: folder.to_string_lossy().into_owned(),
            host: corun_measure::host(Path::new("/")),
            started: None,
            tags: Vec::new(),
        };
        Self { state: State::NotOpened(Box::new(Growing::new(origin, D::FORMAT, D::VERSION))) }
    }

    /// Of a run in this store that is resumed.
    pub(crate) fn going_on(store: Store, number: i64) -> Self {
        Self { state: State::Opened(Box::new((store, Growing::going_on(number)))) }
    }

    /// True if anything is to be kept.
    pub(crate) fn is_asked(&self) -> bool {
        !matches!(self.state, State::Nothing)
    }

    fn growing(&mut self) -> Option<&mut Growing> {
        match &mut self.state {
            State::Nothing => None,
            State::NotOpened(growing) => Some(growing),
            State::Opened(opened) => Some(&mut opened.1),
        }
    }

    /// Does something with the store; from a failure on, nothing more is tried.
    fn with(&mut self, act: impl FnOnce(&mut Store, &mut Growing) -> Result<(), StoreError>) {
        let mut opened = match std::mem::replace(&mut self.state, State::Nothing) {
            State::Nothing => return,
            State::Opened(opened) => opened,
            State::NotOpened(growing) => {
                match place().and_then(|it| it.map(|it| Store::open(&it)).transpose()) {
                    Ok(Some(store)) => Box::new((store, *growing)),
                    Ok(None) => return,
                    Err(error) => return remark(&error),
                }
            }
        };
        let (store, growing) = &mut *opened;
        match act(store, growing) {
            Ok(()) => self.state = State::Opened(opened),
            Err(error) => remark(&error),
        }
    }

    /// The next cells are of this sweep.
    pub(crate) fn begin_sweep(&mut self, sweep: &Record<PredictionSweep>) {
        if let Some(growing) = self.growing() {
            growing.begin_sweep(sweep);
        }
    }

    /// Keeps a predicted cell.
    pub(crate) fn add_cell(&mut self, cell: &SweepCell, elapsed: Duration) {
        self.with(|store, growing| store.add_cell(growing, elapsed.as_secs_f64(), cell));
    }

    fn add_block(&mut self, samples: &[Sample], elapsed: Duration) {
        self.with(|store, growing| store.add_block(growing, elapsed.as_secs_f64(), samples));
    }

    /// Keeps the answer.
    pub(crate) fn finish(&mut self, document: &str) {
        self.with(|store, growing| store.finish(growing, document));
    }
}

/// Remarks on a run that is not kept, which is no failure of the command.
fn remark(error: &StoreError) {
    let why = on_one_line(&error.to_string());
    complain(&format!("corun: this run is not kept: {why}\n  {}", error.next_step()));
}

/// An observer beside which every finished block is kept.
pub(crate) struct KeepingBlocks<O> {
    observer: O,
    keeper: Keeper,
}

impl<O> KeepingBlocks<O> {
    /// Keeps what this observer receives.
    pub(crate) fn new(observer: O, keeper: Keeper) -> Self {
        Self { observer, keeper }
    }

    /// The next blocks are of this workload in these arms.
    pub(crate) fn begin_part(&mut self, started: &str, workload: &Workload, arms: &[Arm]) {
        if let Some(growing) = self.keeper.growing() {
            growing.begin_part(started, workload, arms);
        }
    }

    /// The observer, and what keeps the answer.
    pub(crate) fn into_parts(self) -> (O, Keeper) {
        (self.observer, self.keeper)
    }
}

impl<O: Observer> Observer for KeepingBlocks<O> {
    fn run_begins(&mut self, run: &Run) {
        if let Some(growing) = self.keeper.growing() {
            growing.begin(run);
        }
        self.observer.run_begins(run);
    }

    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm, elapsed: Duration) {
        self.observer.arm_starts(block, arm, elapsed);
    }

    fn block_ends(&mut self, blocks: u32, samples: &[Sample], elapsed: Duration) {
        let before = samples.partition_point(|sample| sample.block + 1 < blocks);
        self.keeper.add_block(&samples[before..], elapsed);
        self.observer.block_ends(blocks, samples, elapsed);
    }
}

impl<O: SuiteObserver> SuiteObserver for KeepingBlocks<O> {
    fn item_starts(&mut self, index: usize, item: &Item) {
        self.observer.item_starts(index, item);
    }
}

impl<O: StudyObserver> StudyObserver for KeepingBlocks<O> {
    fn experiment_starts(&mut self, number: usize, count: usize, id: &str) {
        self.observer.experiment_starts(number, count, id);
    }
}

impl<O: SweepObserver> SweepObserver for KeepingBlocks<O> {
    fn sweep_begins(&mut self, started: &str, workload: &Workload) {
        if let Some(growing) = self.keeper.growing() {
            growing.begin_part(started, workload, &[]);
        }
        self.observer.sweep_begins(started, workload);
    }

    fn sweep_is_planned(&mut self, candidates: usize, expected: Duration, allowed: Duration) {
        self.observer.sweep_is_planned(candidates, expected, allowed);
    }

    fn arm_starts(&mut self, block: Option<u32>, arm: &Arm) {
        self.observer.arm_starts(block, arm);
    }

    fn block_is_finished(&mut self, samples: &[Sample], elapsed: Duration) {
        self.keeper.add_block(samples, elapsed);
        self.observer.block_is_finished(samples, elapsed);
    }

    fn block_ends(&mut self, blocks: u32, best: &Arm, running: usize, elapsed: Duration) {
        self.observer.block_ends(blocks, best, running, elapsed);
    }
}
