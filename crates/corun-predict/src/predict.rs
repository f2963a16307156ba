//! The way of a prediction: trace, simulate, extrapolate, measure, and say how far to trust it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use corun_calibrate::{Circles, Surroundings, fitted};
use corun_files::Output;
use corun_machine::Machine;
use corun_measure::machine_summary;
use corun_model::timing::TimingTable;
use corun_model::{CoreModel, is_setting_of};
use corun_record::{
    CalibratedField, Caveat, ClockSource, Document, Estimate, MeasuredRun, MeasuredRuns, Metric,
    Observation, PredictedCore, PredictedWindow, Prediction, SimulationCost, SkippedPart, Source,
    StackShare, TracedPart,
};
use corun_sim::{PageSize, SimulatedWindows, simulate_windows};
use corun_trace::format::{Options, Trace};
use corun_trace::{
    Chosen, Conducted, Ending, Found, Native, Part, Patience, Plan, Search, SystemCall, Target,
    ThreadId, TraceError, Wish, conduct,
};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::estimate::{over, repeated};
use crate::native::{Subject, measure};
use crate::sampled::{extrapolated, stood_for};
use crate::silent::Silence;
use crate::{PredictError, Sampling};

/// What to predict, and how.
pub struct Job<'a> {
    /// The program.
    pub target: Target,
    /// The core.
    pub model: &'a CoreModel,
    /// Whose memory is behind its second level.
    pub memory: MemoryOf,
    /// What was set otherwise in the model, which stays so.
    pub set: &'a [(String, String)],
    /// The core's timing of instructions.
    pub timings: &'a TimingTable,
    /// Why this core, as one sentence.
    pub reason: String,
    /// What is known against the model, a sentence each.
    pub caveats: Vec<Caveat>,
    /// What traces the program.
    pub tracer: Chosen<'a>,
    /// The system call behind whose first one the program begins to count; from its start on if there is none.
    pub from: Option<SystemCall>,
    /// What is simulated.
    pub sampling: Sampling,
    /// What the program's data lie in there.
    pub pages: PageSize,
    /// How long the program is measured, too; none for not at all.
    pub measure_for: Option<Duration>,
    /// Where the trace is to stay.
    pub keep: Option<PathBuf>,
    /// This machine.
    pub machine: &'a Machine,
}

/// Whose last level and memory a prediction is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOf {
    /// Those of the model.
    Model,
    /// This machine's, as they are while the program is measured.
    Host,
}

/// What is going on.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// The program runs for its instructions to be counted.
    Counting,
    /// The program runs to show what it executes, so that windows can be chosen.
    Learning,
    /// The program runs and is recorded; so many instructions in all, where that is known.
    Tracing(Option<u64>),
    /// So many of all recorded instructions are simulated.
    Simulating(u64, u64),
    /// The program is measured; so many runs of those that are wanted had the core to themselves so far.
    Measuring(usize, usize),
}

/// The arm of every observation here.
const ARM: &str = "single";
/// Own time below which the start of a program decides what is measured, in seconds.
const LEAST_USER_S: f64 = 0.01;

/// Predicts.
///
/// # Errors
/// If the program cannot be run, traced or simulated, or `stop` was set; a program that cannot be measured
/// is a caveat.
pub fn predict(
    job: &Job<'_>,
    progress: &mut (dyn FnMut(Progress) + Send),
    stop: &AtomicBool,
) -> Result<Prediction, PredictError> {
    let started = SystemTime::now();
    let begun = Instant::now();
    let recorded = Recorded::of(job, progress, stop)?;
    let trace = recorded.trace()?;
    let (thread, instructions) = busiest(&trace, &recorded.plan, recorded.instructions)
        .ok_or(PredictError::TooShort { total: recorded.instructions })?;
    let mut caveats = job.caveats.clone();
    let mut measured = None;
    let mut memory = Vec::new();
    if let Some(budget) = job.measure_for {
        caveats.extend(corun_measure::InitialState::observe().caveats());
        let told = |run, runs| progress(Progress::Measuring(run, runs));
        let subject = Subject {
            target: &job.target,
            from: job.from,
            thread: thread.0 as usize,
            ending: recorded.ending,
        };
        let surroundings = surroundings(job, &mut caveats);
        let is_virtual = job.machine.hypervisor.is_some();
        let circles = surroundings.as_ref().map(Surroundings::circles);
        match measure(subject, budget, surroundings, told, stop) {
            Ok(Some(found)) => {
                let fitted =
                    circles.and_then(|circles| fitted(job.model, circles, &found.seen, is_virtual));
                memory = fitted.unwrap_or_default();
                measured = Some(found.runs);
            }
            Ok(None) => return Err(PredictError::Interrupted { during: "measured" }),
            Err(trouble) => {
                caveats
                    .push(Caveat::new("not-measured", format!("It was not measured: {trouble}.")));
            }
        }
    }
    memory.retain(|found| !job.set.iter().any(|(name, _)| is_setting_of(name, &found.field)));
    let settings: Vec<_> = memory.iter().map(CalibratedField::setting).collect();
    let model = job.model.clone().with(&settings).map_err(PredictError::Memory)?;
    let goes_on = |done, all| {
        progress(Progress::Simulating(done, all));
        !stop.load(Ordering::Relaxed)
    };
    let before = Usage::now();
    let simulated = simulate_windows(&model, job.timings, &trace, thread, job.pages, goes_on)?
        .ok_or(PredictError::Interrupted { during: "simulated" })?;
    let recorded_instructions = trace.threads()[thread.0 as usize].instructions;
    let cost = Usage::now().since(before, recorded_instructions);
    if simulated.together.instructions == 0 {
        return Err(PredictError::TooShort { total: recorded.instructions });
    }
    // What is recorded of threads beside each other is no fair part of them where windows were chosen.
    let own = stood_for(&simulated.windows).filter(|_| trace.threads().len() > 1);
    let instructions = own.map_or(instructions, |own| own.round() as u64);
    let said = Said { job, recorded: &recorded, simulated: &simulated, instructions };
    caveats.extend(said.caveats(&trace, measured.as_ref()));
    let (observations, not_predicted, core) = said.figures(measured.as_ref(), memory);
    let prediction = Prediction {
        format: Prediction::FORMAT.to_owned(),
        version: Prediction::VERSION,
        corun_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(started).to_string(),
        elapsed_s: begun.elapsed().as_secs_f64(),
        command: trace.opening().command.clone(),
        machine: machine_summary(job.machine),
        core,
        traced: TracedPart {
            tracer: job.tracer.tracer.name().to_owned(),
            threads: trace.threads().len() as u32,
            thread: thread.0,
            instructions,
            simulated: simulated.together.instructions,
            skipped: job
                .from
                .map(|call| SkippedPart { call: call.to_string(), instructions: recorded.before }),
            cost,
            windows: said.windows(),
        },
        not_predicted,
        observations,
        stack: said.stack(),
        mispredicts_per_thousand: 1e3 * simulated.together.mispredicts as f64
            / simulated.together.instructions as f64,
        measured,
        caveats,
    };
    if stop.load(Ordering::Relaxed) {
        // Ctrl-C reaches the program as well, whose end may have been seen first.
        return Err(PredictError::Interrupted { during: "measured" });
    }
    recorded.keep(job.keep.as_deref())?;
    Ok(prediction)
}

/// This machine's memory to look at, if the prediction is to be made with it; that it cannot be is a caveat.
fn surroundings(job: &Job<'_>, caveats: &mut Vec<Caveat>) -> Option<Surroundings> {
    if job.memory == MemoryOf::Model {
        return None;
    }
    let made = match Circles::of(job.model) {
        Some(circles) => Surroundings::new(circles).map_err(|error| error.to_string()),
        None => Err("the model has no last level that cores share".to_owned()),
    };
    let told = |reason| {
        let sentence =
            format!("Memory is that of the model, since this machine's is not known: {reason}.");
        caveats.push(Caveat::new("memory-of-model", sentence));
    };
    made.map_err(told).ok()
}

/// A program's trace, in a file that goes away unless it is kept.
struct Recorded {
    file: Output,
    plan: Plan,
    ending: Ending,
    /// Of all threads before what counts.
    before: u64,
    /// Of all threads in what counts, recorded or not.
    instructions: u64,
    remarks: Vec<String>,
}

impl Recorded {
    fn of(
        job: &Job<'_>,
        progress: &mut (dyn FnMut(Progress) + Send),
        stop: &AtomicBool,
    ) -> Result<Self, PredictError> {
        let file = place(job.keep.as_deref())?;
        let output = file.file().try_clone().map_err(|source| trail(file.target(), source))?;
        let mut found = None;
        let search = job.sampling.search(job.from);
        if search.is_needed() {
            progress(if search.learns() { Progress::Learning } else { Progress::Counting });
            let seen = searched(job, search, stop)?;
            went_well(seen.traced.ending)?;
            found = Some(seen);
        }
        progress(Progress::Tracing(found.as_ref().map(|found| found.traced.instructions)));
        let plan = job.sampling.plan(found.as_ref());
        let before = found.map_or(0, |found| found.before);
        let conducted = conducted(job, plan.clone(), output, stop).map_err(PredictError::Trace)?;
        let (conducted, _) = conducted;
        went_well(conducted.traced.ending)?;
        Ok(Self {
            file,
            plan,
            ending: conducted.traced.ending,
            before,
            instructions: conducted.traced.instructions.saturating_sub(before),
            remarks: conducted.traced.remarks,
        })
    }

    fn keep(self, path: Option<&Path>) -> Result<(), PredictError> {
        match path {
            Some(path) => self.file.finish().map_err(|source| trail(path, source)),
            None => Ok(()),
        }
    }

    fn trace(&self) -> Result<Trace, PredictError> {
        let file =
            self.file.file().try_clone().map_err(|source| trail(self.file.target(), source))?;
        Trace::from_file(file).map_err(PredictError::Format)
    }
}

fn searched(job: &Job<'_>, search: Search, stop: &AtomicBool) -> Result<Found, PredictError> {
    search.run(&job.target, job.tracer.tracer, stop).map_err(|error| {
        if let TraceError::NoCall { .. } = error {
            return PredictError::Trace(error);
        }
        // A program that dies before it has told anything looks like a tracer that does not bear it.
        match Native::run(&job.target, stop).map(|native| native.ending) {
            Ok(Ending::Killed(signal)) => PredictError::Killed(signal),
            Ok(Ending::Interrupted) => PredictError::Interrupted { during: "traced" },
            _ => PredictError::Trace(error),
        }
    })
}

fn conducted(
    job: &Job<'_>,
    plan: Plan,
    output: File,
    stop: &AtomicBool,
) -> Result<(Conducted, File), TraceError> {
    let wish = Wish {
        target: job.target.clone(),
        part: Part::Of(plan),
        from: None,
        threads: Vec::new(),
        runs_again: false,
        compares_output: false,
        options: Options::default(),
        patience: Patience::default(),
    };
    let silence = Silence::begin();
    let conducted = conduct(&wish, &job.tracer, output, stop);
    drop(silence);
    conducted
}

fn went_well(ending: Ending) -> Result<(), PredictError> {
    match ending {
        Ending::Exited(_) => Ok(()),
        Ending::Killed(signal) => Err(PredictError::Killed(signal)),
        Ending::Interrupted => Err(PredictError::Interrupted { during: "traced" }),
    }
}

/// The file that is to be kept, or one in the folder for temporary files, which never gets a name.
fn place(keep: Option<&Path>) -> Result<Output, PredictError> {
    let folder = std::env::temp_dir();
    let unnamed = folder.join(format!("corun-{}.trace", std::process::id()));
    let file = Output::create(keep.unwrap_or(&unnamed));
    file.map_err(|source| trail(keep.unwrap_or(&folder), source))
}

fn trail(path: &Path, source: io::Error) -> PredictError {
    PredictError::Trail { path: path.to_owned(), source }
}

/// What this process has used so far.
struct Usage {
    cpu_s: f64,
    peak_rss_bytes: u64,
}

impl Usage {
    fn now() -> Self {
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("every process may ask of itself");
        let seconds = |time: TimeVal| time.num_microseconds() as f64 * 1e-6;
        Self {
            cpu_s: seconds(usage.user_time()) + seconds(usage.system_time()),
            peak_rss_bytes: usage.max_rss() as u64 * 1024,
        }
    }

    fn since(&self, before: Self, instructions: u64) -> SimulationCost {
        let cpu_s = self.cpu_s - before.cpu_s;
        SimulationCost { instructions, cpu_s, peak_rss_bytes: self.peak_rss_bytes }
    }
}

/// The thread with most recorded instructions, and how many it has in the whole run.
fn busiest(trace: &Trace, plan: &Plan, total: u64) -> Option<(ThreadId, u64)> {
    let threads = trace.threads();
    let recorded: u64 = threads.iter().map(|thread| thread.instructions).sum();
    let one = threads.iter().rev().max_by_key(|thread| thread.instructions)?;
    let own = match (plan, one.instructions) {
        (_, 0) => return None,
        (Plan::Whole, own) => own,
        (_, own) => (total as f64 * own as f64 / recorded as f64).round() as u64,
    };
    Some((one.id, own))
}

/// What follows from what was done.
struct Said<'a> {
    job: &'a Job<'a>,
    recorded: &'a Recorded,
    simulated: &'a SimulatedWindows,
    /// Of the simulated thread's whole run.
    instructions: u64,
}

impl Said<'_> {
    fn windows(&self) -> Vec<PredictedWindow> {
        let windows = self.simulated.windows.iter();
        windows
            .map(|window| PredictedWindow {
                begin: window.begin,
                instructions: window.noticed.instructions,
                cycles: window.cycles,
                weight: window.stands_for.map(|it| it.all),
            })
            .collect()
    }

    /// The components that are there, the largest first.
    fn stack(&self) -> Vec<StackShare> {
        let all = self.simulated.together.cycles.max(1) as f64;
        let components = self.simulated.together.stack.cycles();
        let mut stack: Vec<StackShare> = components
            .map(|(name, cycles)| StackShare { component: name.to_owned(), share: cycles / all })
            .filter(|part| part.share > 0.0)
            .collect();
        stack.sort_by(|one, other| other.share.total_cmp(&one.share));
        stack
    }

    /// Predicted and measured figures, why the whole is not predicted, and the core with its clock.
    fn figures(
        &self,
        measured: Option<&MeasuredRuns>,
        memory: Vec<CalibratedField>,
    ) -> (Vec<Observation>, Option<String>, PredictedCore) {
        let runs = measured.map_or(&[][..], |measured| &measured.runs);
        let of = |figure: fn(&MeasuredRun) -> f64| {
            repeated(&runs.iter().map(figure).collect::<Vec<_>>())
        };
        let kernel = of(MeasuredRun::kernel_share);
        let not_predicted = kernel.filter(|share| share.value > MeasuredRuns::MAX_KERNEL_SHARE).map(|share| {
            format!(
                "The program is in the kernel for {:.0} % of its time, which is not simulated; only \
                 programs below {:.0} % are predicted.",
                100.0 * share.value,
                100.0 * MeasuredRuns::MAX_KERNEL_SHARE
            )
        });
        let clock = of(|run| run.ghz);
        let (ghz, source) = match clock {
            Some(clock) => (clock.value, ClockSource::Measured),
            None => (self.job.model.gigahertz, ClockSource::Model),
        };
        let core = PredictedCore {
            model: self.job.model.name.clone(),
            title: self.job.model.title.clone(),
            reason: self.job.reason.clone(),
            ghz,
            clock: source,
            memory,
        };
        let predicted = extrapolated(&self.simulated.windows, self.instructions);
        let predicted = predicted.filter(|_| not_predicted.is_none());
        let per_cycle = |cycles: Estimate| cycles.under(self.instructions as f64);
        let cycles = of(MeasuredRun::cycles);
        let exact = self.instructions as f64;
        let exact = Estimate { value: exact, low: exact, high: exact, level: 0.95, blocks: 1 };
        let ratio = predicted.as_ref().zip(cycles.as_ref()).map(|(one, other)| over(one, other));
        let figures = [
            (Metric::Instructions, "instructions", Source::Measured, Some(exact)),
            (Metric::Cycles, "cycles", Source::Predicted, predicted),
            (Metric::Cycles, "cycles", Source::Measured, cycles),
            (Metric::UserTime, "s", Source::Predicted, predicted.map(|it| it.scaled(1e-9 / ghz))),
            (Metric::UserTime, "s", Source::Measured, of(|run| run.user_s)),
            (Metric::InstructionsPerCycle, "1", Source::Predicted, predicted.map(per_cycle)),
            (Metric::InstructionsPerCycle, "1", Source::Measured, cycles.map(per_cycle)),
            (Metric::PredictedToMeasured, "1", Source::Predicted, ratio),
            (Metric::KernelShare, "1", Source::Measured, kernel),
        ];
        let observations = figures.into_iter().filter_map(|(metric, unit, source, estimate)| {
            Some(Observation {
                metric,
                arm: ARM.to_owned(),
                against: None,
                of: None,
                unit: unit.to_owned(),
                estimate: estimate?,
                bootstrap: None,
                source,
            })
        });
        (observations.collect(), not_predicted, core)
    }

    fn caveats(&self, trace: &Trace, measured: Option<&MeasuredRuns>) -> Vec<Caveat> {
        let mut caveats = vec![
            Caveat::new(
                "alone",
                "Nothing else is simulated: neither the kernel's own work nor other programs, which take \
                 room in caches and a share of memory's bandwidth.",
            ),
            Caveat::new(
                "model-error",
                "The interval is that of the windows alone, and says nothing of the model: docs/accuracy.md \
                 has how far models were off on whole programs.",
            ),
        ];
        if self.job.pages == PageSize::Huge {
            let of_measured = match measured {
                Some(_) => "; what it was measured with was up to this host's kernel",
                None => "",
            };
            let sentence =
                format!("The simulated program has its data in pages of 2 MiB{of_measured}.");
            caveats.push(Caveat::new("huge-pages", sentence));
        }
        let threads = trace.threads().len();
        if threads > 1 {
            caveats.push(Caveat::new(
                "one-thread",
                format!(
                    "Of {threads} threads only the busiest was simulated and compared, as if it were \
                     alone."
                ),
            ));
        }
        if let Plan::Window { .. } = self.recorded.plan.rest().0
            && self.simulated.together.instructions < self.instructions
        {
            caveats.push(Caveat::new(
                "start-only",
                format!(
                    "Only the first {} of {} instructions were simulated; the rest is taken to be like \
                     them.",
                    self.simulated.together.instructions, self.instructions
                ),
            ));
        }
        if let Plan::StandIns { windows, .. } = self.recorded.plan.rest().0
            && (self.simulated.windows.len() < windows.len()
                || self.simulated.windows.iter().any(|window| window.stands_for.is_none()))
        {
            caveats.push(Caveat::new(
                "windows-missing",
                "Not all windows that stand for the run were recorded of the thread, so that the others count for \
                 more, or each for as much: the run was shorter than the one before, or another thread ran in them.",
            ));
        }
        let unknown: u64 = self.simulated.together.unknown.values().map(|one| one.places).sum();
        if unknown > 0 {
            caveats.push(Caveat::new(
                "unknown-forms",
                format!(
                    "The timing table has no row for {} of the program's forms of instruction (places in \
                     the code: {unknown}); they take the timing of their class.",
                    self.simulated.together.unknown.len()
                ),
            ));
        }
        if let Ending::Exited(code) = self.recorded.ending
            && code != 0
        {
            caveats
                .push(Caveat::new("exit-code", format!("The program ends with exit code {code}.")));
        }
        caveats.extend(
            self.recorded.remarks.iter().map(|remark| Caveat::new("tracer", remark.clone())),
        );
        caveats.extend(measured.map(of_measuring).into_iter().flatten());
        caveats
    }
}

fn of_measuring(measured: &MeasuredRuns) -> Vec<Caveat> {
    let runs = &measured.runs;
    let mut caveats = Vec::new();
    let shortest = runs.iter().map(|run| run.user_s).fold(f64::INFINITY, f64::min);
    if shortest < LEAST_USER_S {
        caveats.push(Caveat::new(
            "short",
            "What counts of the program is over so soon that cold caches decide what is measured, rather \
             than its work.",
        ));
    }
    let stolen = runs.iter().filter(|run| run.steal_s.is_some_and(|steal| steal > 0.0)).count();
    if stolen > 0 {
        caveats.push(Caveat::new(
            "steal",
            format!(
                "In {stolen} of {} measured runs the hypervisor took the CPU away for a while.",
                runs.len()
            ),
        ));
    }
    let crowded = runs.iter().filter_map(|run| run.contention_share).fold(0.0, f64::max);
    if !runs.iter().all(MeasuredRun::had_core_to_itself) {
        caveats.push(Caveat::new(
            "shared-core",
            format!(
                "Somebody else, such as a sibling that the virtual machine hides, took slots of the core in up \
                 to {:.0} % of the probes of a run that counts: alone the program takes less than what was \
                 measured.",
                100.0 * crowded
            ),
        ));
    }
    let clocks = runs.iter().map(|run| run.ghz);
    let (low, high) =
        clocks.fold((f64::INFINITY, 0.0_f64), |(low, high), ghz| (low.min(ghz), high.max(ghz)));
    if high > 1.02 * low {
        caveats.push(Caveat::new(
            "unsteady-clock",
            format!("The clock was between {low:.2} and {high:.2} GHz from run to run."),
        ));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use corun_trace::format::Writer;
    use corun_trace::{BlockId, Sink, decode};

    use super::*;

    /// A trace whose threads execute a block of two instructions so many times.
    fn trace(times: &[u32]) -> Trace {
        let mut writer = Writer::new(Vec::new(), &Default::default(), Options::default()).unwrap();
        let block =
            writer.define(decode(0x1000, &[0x48, 0xff, 0xc0, 0xeb, 0xfb]).unwrap()).unwrap();
        assert_eq!(block, BlockId(0));
        for (index, &times) in times.iter().enumerate() {
            let thread = writer.thread(100 + index as u32).unwrap();
            for _ in 0..times {
                writer.execute(thread, block, 2, &[]).unwrap();
            }
        }
        Trace::from_bytes(writer.finish(Default::default()).unwrap()).unwrap()
    }

    #[test]
    fn the_busiest_thread_has_its_part_of_the_run() {
        let three = trace(&[10, 30, 20]);
        assert_eq!(busiest(&three, &Plan::Whole, 120), Some((ThreadId(1), 60)));
        let windows = Plan::Samples { count: 1, length: 120, warm_up: 1, total: 1_200_000 };
        assert_eq!(busiest(&three, &windows, 1_200_000), Some((ThreadId(1), 600_000)));
        assert_eq!(busiest(&trace(&[7, 7]), &Plan::Whole, 28), Some((ThreadId(0), 14)));
    }

    #[test]
    fn a_trace_without_instructions_has_no_busiest_thread() {
        assert_eq!(busiest(&trace(&[]), &Plan::Whole, 0), None);
        assert_eq!(busiest(&trace(&[0, 0]), &Plan::Whole, 0), None);
        let error = PredictError::TooShort { total: 3 };
        let told = "expected instructions to simulate, found none in a run of 3";
        assert_eq!(error.to_string(), told);
    }
}
