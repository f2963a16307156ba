//! A traced run from start to end: the pre-run, the recorded run, and the native run for comparison.
//!
//! The traced run shows the program's output; runs that count, choose or time are silent. They come
//! where they cannot spoil it: one that counts or chooses before, because samples lie by what it finds; the
//! native run after, because a program may use up what it works on.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corun_record::{Counter, Progress, Stage};

use crate::doubts::{ended_in_doubt, ended_otherwise, took_long, wrote_otherwise};
use crate::format::{Closing, NativeRun, Opening, Options, TracerName, Writer};
use crate::modules::Mappings;
use crate::output::{Watch, Written};
use crate::slow_run::SlowRunNotice;
use crate::thread_filter::Filter;
use crate::{
    Ending, FromCall, Native, PreRun, Samples, Survey, SurveyedProgram, Target, TraceError,
    TracePlan, Traced, TracerSelection, origin,
};

/// The request for a trace: the program, the part of its run, and the options.
#[derive(Debug, Clone)]
pub struct TraceRequest {
    /// The program.
    pub target: Target,
    /// Remarks for the reader of the trace on the program, a sentence each.
    pub remarks: Vec<String>,
    /// The part of its run.
    pub part: Part,
    /// Instructions of the whole run, if they are known.
    pub instructions: Option<u64>,
    /// System call from which the run counts; at its start if none is given.
    pub from: Option<FromCall>,
    /// The threads to record, counted from 0 in the order in which they begin; all of them if none is
    /// named.
    pub threads: Vec<u32>,
    /// True if the program may be run again, to count its instructions or to time it.
    pub runs_again: bool,
    /// True if what it writes to standard output is compared with that of a run without a tracer; nothing else may
    /// be written there meanwhile.
    pub compares_output: bool,
    /// Options of writing the trace.
    pub options: Options,
    /// When it is said that a run takes long, and by what.
    pub slow_run: SlowRunNotice,
}

/// The part of a run that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Counts that are known already.
    Of(TracePlan),
    /// Intervals of the run, which is seen once before it is recorded.
    Samples(Samples),
}

/// The outcome of a traced run.
#[derive(Debug, Clone)]
pub struct TraceOutcome {
    /// Counts of the tracer, and the ending of the program.
    pub traced: Traced,
    /// Instructions written.
    pub recorded: u64,
    /// Threads written.
    pub threads: u32,
    /// Duration of the traced run.
    pub took: Duration,
    /// The run without a tracer.
    pub native: Option<Native>,
    /// Why the program may have behaved otherwise than without a tracer, a sentence each; they are among the
    /// remarks, too.
    pub doubts: Vec<String>,
    /// Processes that ran untraced for a notable part of the processor time; none if none did, or if it is not known.
    pub untraced: Option<Untraced>,
}

/// The processes and programs of a run that are not in its trace.
#[derive(Debug, Clone)]
pub struct Untraced {
    /// Their share of the processor time.
    pub share: f64,
    /// The one that takes most, and its share.
    pub most: (SurveyedProgram, f64),
    /// True if they do the work that is asked for.
    pub is_work: bool,
}

impl Untraced {
    /// The share from which on it is said.
    const NOTABLE: f64 = 0.05;
    /// The share above which processes do the work.
    const MOST: f64 = 0.5;

    fn of(survey: &Survey, becomes_another: bool) -> Option<Self> {
        let first = &survey.programs[0];
        // Of the first process its own program is traced, and what it becomes by some tracers.
        let is_traced = |it: &SurveyedProgram| match becomes_another {
            true => std::ptr::eq(it, first),
            false => it.is_in_first_process,
        };
        let share = survey.share(|it| !is_traced(it));
        let most = survey.programs.iter().filter(|it| !is_traced(it)).max_by_key(|it| it.time)?;
        let of_most = survey.share(|it| std::ptr::eq(it, most));
        let is_work = share > Self::MOST || becomes_another && survey.main().is_executed;
        (share >= Self::NOTABLE).then(|| Self { share, most: (most.clone(), of_most), is_work })
    }

    /// Processes that the trace lacks.
    pub fn sentence(&self) -> String {
        let (most, share) = &self.most;
        let copy = if most.is_executed { "" } else { "a copy of " };
        format!(
            "The trace is of the command's own program: others that it starts or becomes, which are not traced, take {:.0} % of \
             the processor time, most of all {copy}`{}` with {:.0} %.",
            100.0 * self.share,
            most.line(),
            100.0 * share
        )
    }
}

/// Traces the program to an output; `progress` hears of recorded instructions.
///
/// # Errors
/// If the program cannot be run, the tracer fails or the output takes no more. What was written up to
/// then can be read, and says so.
pub fn run_trace<W: Write + Send + 'static>(
    request: &TraceRequest,
    chosen: &TracerSelection<'_>,
    output: W,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<(TraceOutcome, W), TraceError> {
    let plan = request.plan(chosen, stop)?;
    let opening = Opening {
        command: request.target.command(),
        environment: origin::environment(),
        tracer: TracerName {
            name: chosen.tracer.name().to_owned(),
            version: chosen.tracer.version(),
        },
        cpu: origin::cpu(Path::new("/")),
        features: origin::features(Path::new("/")),
        kernel: origin::kernel(),
        started: origin::now(),
        plan: plan.clone(),
        remarks: request.remarks.iter().chain(&chosen.warning).cloned().collect(),
    };
    let mut writer = Writer::new(output, &opening, request.options)?;
    let begun = Instant::now();
    progress.begin(Stage::new(
        "tracing",
        "instructions",
        crate::recorded(&plan).or(request.instructions),
    ));
    let mut sink = Filter {
        inner: &mut writer,
        wanted: &request.threads,
        threads: Vec::new(),
        recorded: 0,
        processes: 0,
        task: None,
        mappings: Mappings::default(),
        progress: Counter::new(progress),
    };
    let watch = (request.runs_again && request.compares_output).then(Watch::begin).flatten();
    let traced = request
        .slow_run
        .during(chosen.tracer, || chosen.tracer.trace(&request.target, plan, &mut sink, stop));
    let took = begun.elapsed();
    let written = watch.and_then(Watch::end);
    let processes = sink.processes;
    let (recorded, threads) = (sink.recorded, sink.threads.iter().flatten().count() as u32);
    let begun_threads = sink.threads.len();
    let modules = std::mem::take(&mut sink.mappings).into_used();
    drop(sink);
    let mut traced = match traced {
        Ok(traced) => traced,
        Err(error) => {
            // What is there is worth its end, if the output takes it.
            let _ = writer.finish(Closing::failed(error.to_string()));
            return Err(error);
        }
    };
    traced.remarks.extend(request.missing_threads(begun_threads));
    let run = request.native(&traced, stop, written.is_some()).unwrap_or_else(|error| {
        traced.remarks.push(format!("Not timed without a tracer: {error}."));
        None
    });
    let (native, written_alone) =
        run.map_or((None, None), |(native, written)| (Some(native), written));
    let is_alike = |native: &Native| native.ending == traced.ending;
    let comparable = native.as_ref().filter(|native| is_alike(native)).map(NativeRun::from);
    let outputs = written.zip(written_alone).filter(|(traced, alone)| traced != alone);
    let mut doubts: Vec<String> = match &native {
        Some(native) if is_alike(native) => {
            outputs.map(|(traced, alone)| wrote_otherwise(chosen.tracer, traced, alone))
        }
        Some(native) => ended_otherwise(chosen.tracer, &traced, native),
        None => ended_in_doubt(chosen.tracer, &traced),
    }
    .into_iter()
    .chain(native.as_ref().and_then(|native| took_long(request, chosen.tracer, took, native)))
    .collect();
    let untraced = request.untraced(&traced, processes, native.as_ref(), stop);
    if !request.runs_again || untraced.is_none() {
        traced.remarks.extend(unsurveyed(&traced, processes));
    }
    doubts.extend(untraced.as_ref().map(Untraced::sentence));
    traced.remarks.extend(doubts.iter().cloned());
    let closing = Closing { native: comparable, modules, ..Closing::from(&traced) };
    let output = writer.finish(closing)?;
    Ok((TraceOutcome { traced, recorded, threads, took, native, doubts, untraced }, output))
}

impl TraceRequest {
    /// The request with what a run before finds, if one is needed for that.
    ///
    /// # Errors
    /// As [`PreRun::run`].
    pub fn settled(
        self,
        chosen: &TracerSelection<'_>,
        stop: &AtomicBool,
    ) -> Result<Self, TraceError> {
        let part = Part::Of(self.plan(chosen, stop)?);
        Ok(Self { part, from: None, ..self })
    }

    fn plan(
        &self,
        chosen: &TracerSelection<'_>,
        stop: &AtomicBool,
    ) -> Result<TracePlan, TraceError> {
        let (known, samples) = match &self.part {
            Part::Of(plan) => (Some(plan), None),
            Part::Samples(samples) => (None, Some(*samples)),
        };
        let pre_run = PreRun { samples, from: self.from };
        if !pre_run.is_needed() {
            return Ok(known.cloned().unwrap_or_default());
        }
        let run = || pre_run.run(&self.target, chosen.tracer, stop);
        let found = self.slow_run.during(chosen.tracer, run)?;
        let plan = found.samples.as_ref().or(known).cloned().unwrap_or_default();
        Ok(found.after(plan))
    }

    /// Threads that were wanted and never began, a sentence each.
    fn missing_threads(&self, begun: usize) -> impl Iterator<Item = String> {
        let missing = self.threads.iter().filter(move |&&wanted| wanted as usize >= begun);
        missing.map(move |wanted| {
            format!("There was no thread {wanted}: the program had {begun}, counted from 0.")
        })
    }

    /// Processes that the trace lacks, from one more run without a tracer, where there may be any.
    fn untraced(
        &self,
        traced: &Traced,
        processes: u32,
        native: Option<&Native>,
        stop: &AtomicBool,
    ) -> Option<Untraced> {
        let native = native?;
        if !(traced.becomes_another || processes > 0 || native.has_children) {
            return None;
        }
        let survey =
            Survey::run(&self.target, stop).ok().filter(|_| !stop.load(Ordering::Relaxed))?;
        Untraced::of(&survey, traced.becomes_another)
    }

    fn native(
        &self,
        traced: &Traced,
        stop: &AtomicBool,
        is_watched: bool,
    ) -> Result<Option<(Native, Option<Written>)>, TraceError> {
        let is_wanted = self.runs_again
            && traced.ending != Ending::Interrupted
            && !stop.load(Ordering::Relaxed);
        is_wanted.then(|| Native::run_and_watch(&self.target, stop, is_watched)).transpose()
    }
}

/// Remark on untraced processes of which it is not known what work they did.
fn unsurveyed(traced: &Traced, processes: u32) -> Vec<String> {
    let children = (processes > 0).then(|| match processes {
        1 => "The program started a process, which was not traced.".to_owned(),
        _ => format!("The program started {processes} processes, which were not traced."),
    });
    let another = traced
        .becomes_another
        .then(|| "The program became another one (exec), which was not traced.".to_owned());
    children.into_iter().chain(another).collect()
}

impl From<&Native> for NativeRun {
    fn from(native: &Native) -> Self {
        let hertz = native.clock_ghz.map(|clock| clock.map(|ghz| ghz * 1e9));
        Self { seconds: native.wall_s, user_s: native.user_s, system_s: native.system_s, hertz }
    }
}
