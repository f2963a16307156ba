//! Tracing a command from start to end: what is counted before, what is written, what is run after.
//!
//! The traced run shows the program's output; runs that count, choose or time are silent. They come
//! where they cannot spoil it: one that counts or chooses before, because samples lie by what it finds; the
//! native run after, because a program may use up what it works on.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::format::{Closing, NativeRun, Opening, Options, TracerName, Writer};
use crate::output::{Watch, Written};
use crate::slow_run::SlowRunNotice;
use crate::{
    Block, BlockId, Chosen, Ending, Native, OrderedMarker, Plan, Profile, Sink, SinkError,
    SystemCall, Target, ThreadId, TraceError, Traced, Tracer, origin, others,
};

/// What to trace, and how.
#[derive(Debug, Clone)]
pub struct TraceRequest {
    /// The program.
    pub target: Target,
    /// The part of its run.
    pub part: Part,
    /// Where the run begins to count; from its start on if it is not told.
    pub from: Option<FromCall>,
    /// The threads to record, counted from 0 in the order in which they begin; all of them if none is
    /// named.
    pub threads: Vec<u32>,
    /// Whether the program may be run again, to count its instructions or to time it.
    pub runs_again: bool,
    /// Whether what it writes to standard output is compared with that of a run without a tracer; nothing else may
    /// be written there meanwhile.
    pub compares_output: bool,
    /// How the trace is written.
    pub options: Options,
    /// When it is said that a run takes long, and by what.
    pub slow_run: SlowRunNotice,
}

/// The part of a run that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// What is known already.
    Of(Plan),
    /// Intervals of the run, which is seen once before it is recorded.
    Samples(Samples),
}

/// Behind the first system call of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromCall {
    /// Which.
    pub call: SystemCall,
    /// Instructions before it that are recorded to fill caches and predictors.
    pub warm_up: u64,
}

/// Intervals of a run that is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    /// How many.
    pub count: u32,
    /// Instructions of each.
    pub length: u64,
    /// Instructions recorded before each to fill caches and predictors; before chosen ones on average.
    pub warm_up: u64,
    /// Whether they are chosen by what is executed, so that they stand for all of it; else they are spread evenly.
    pub are_chosen: bool,
}

/// What a run before the recorded one is to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreRun {
    /// Where intervals lie, if any are wanted.
    pub samples: Option<Samples>,
    /// Where the run begins to count.
    pub from: Option<FromCall>,
}

/// What a run before the recorded one has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreRunResult {
    /// Instructions before what counts.
    pub before: u64,
    /// How many of them are to be recorded.
    pub warm_up: u64,
    /// Instructions of what counts.
    pub total: u64,
    /// The intervals that were wanted, counted from where the run begins to count.
    pub samples: Option<Plan>,
    /// What the tracer counted.
    pub traced: Traced,
}

impl PreRun {
    /// Whether there is anything to find.
    pub fn is_needed(&self) -> bool {
        self.samples.is_some() || self.from.is_some()
    }

    /// Whether the run is seen in full, which takes longer than to count its instructions.
    pub fn learns(&self) -> bool {
        self.from.is_some() || self.samples.is_some_and(|it| it.are_chosen)
    }

    /// Runs the program silently.
    ///
    /// # Errors
    /// If the program cannot be run, does not make the system call that it is to count from, or the tracer fails.
    pub fn run(
        self,
        target: &Target,
        tracer: &dyn Tracer,
        stop: &AtomicBool,
    ) -> Result<PreRunResult, TraceError> {
        let call = self.from.map(|from| from.call);
        let length = self.samples.map_or(u64::MAX, |samples| samples.length);
        let mut profile = Profile::new(length, call);
        let plan = if self.learns() { Plan::Learn } else { Plan::Count };
        let traced = tracer.trace(target, plan, &mut profile, stop)?;
        let was_interrupted = traced.ending == Ending::Interrupted;
        let (before, total) = match (profile.instructions(), call) {
            (Some(counted), _) if self.learns() => counted,
            // One that was killed has not come as far.
            (None, Some(call)) if matches!(traced.ending, Ending::Exited(_)) => {
                return Err(TraceError::NoCall { call, remarks: traced.remarks });
            }
            _ => (0, traced.instructions),
        };
        let samples = self.samples.map(|samples| {
            let Samples { count, length, warm_up, are_chosen } = samples;
            match are_chosen {
                // Whoever has interrupted it does not wait for a choice.
                true => profile.plan(if was_interrupted { 0 } else { count }, warm_up),
                false => Plan::Samples { count, length, warm_up, total },
            }
        });
        let warm_up = self.from.map_or(0, |from| from.warm_up);
        Ok(PreRunResult { before, warm_up, total, samples, traced })
    }
}

impl PreRunResult {
    /// This plan, of what counts.
    pub fn behind(&self, plan: Plan) -> Plan {
        match self.before {
            0 => plan,
            skip => Plan::After { skip, warm_up: self.warm_up, rest: Box::new(plan) },
        }
    }
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct TraceOutcome {
    /// What the tracer counted, and how the program ended.
    pub traced: Traced,
    /// Instructions written.
    pub recorded: u64,
    /// Threads written.
    pub threads: u32,
    /// How long the traced run took.
    pub took: Duration,
    /// The run without a tracer.
    pub native: Option<Native>,
    /// Why the program may have behaved otherwise than without a tracer, a sentence each; they are among the
    /// remarks, too.
    pub doubts: Vec<String>,
}

/// Traces the program to an output.
///
/// # Errors
/// If the program cannot be run, the tracer fails or the output takes no more. What was written up to
/// then can be read, and says so.
pub fn run_trace<W: Write + Send + 'static>(
    request: &TraceRequest,
    chosen: &Chosen<'_>,
    output: W,
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
        cpu: origin::cpu(),
        features: origin::features(),
        kernel: origin::kernel(),
        started: origin::now(),
        plan: plan.clone(),
        remarks: chosen.warning.iter().cloned().collect(),
    };
    let mut writer = Writer::new(output, &opening, request.options)?;
    let begun = Instant::now();
    let mut sink =
        Filter { inner: &mut writer, wanted: &request.threads, threads: Vec::new(), recorded: 0 };
    let watch = (request.runs_again && request.compares_output).then(Watch::begin).flatten();
    let traced = request
        .slow_run
        .during(chosen.tracer, || chosen.tracer.trace(&request.target, plan, &mut sink, stop));
    let took = begun.elapsed();
    let written = watch.and_then(Watch::end);
    let (recorded, threads) = (sink.recorded, sink.threads.iter().flatten().count() as u32);
    let begun_threads = sink.threads.len();
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
    let doubts: Vec<String> = match &native {
        Some(native) if is_alike(native) => {
            outputs.map(|(traced, alone)| wrote_otherwise(chosen.tracer, traced, alone))
        }
        Some(native) => ended_otherwise(chosen.tracer, &traced, native),
        None => ended_in_doubt(chosen.tracer, &traced),
    }
    .into_iter()
    .chain(native.as_ref().and_then(|native| took_long(request, chosen.tracer, took, native)))
    .collect();
    traced.remarks.extend(doubts.iter().cloned());
    let closing = Closing { native: comparable, ..Closing::from(&traced) };
    let output = writer.finish(closing)?;
    Ok((TraceOutcome { traced, recorded, threads, took, native, doubts }, output))
}

/// A program that ends otherwise when it is traced is not the one that is at fault.
fn ended_otherwise(tracer: &dyn Tracer, traced: &Traced, native: &Native) -> Option<String> {
    if native.ending == Ending::Interrupted {
        return None;
    }
    Some(format!(
        "Without a tracer the program ended otherwise ({} instead of {}): its time says nothing, and the trace may \
         show what the program does not do alone. {}",
        native.ending,
        traced.ending,
        another(tracer)
    ))
}

/// Programs that write what time it is do so, too.
fn wrote_otherwise(tracer: &dyn Tracer, traced: Written, alone: Written) -> String {
    format!(
        "Without a tracer the program wrote something else to standard output ({} bytes instead of {}). That is as \
         it should be if its output depends on time, addresses, chance or what a run before left; if not, the trace \
         shows what the program does not do alone. {}",
        alone.bytes,
        traced.bytes,
        another(tracer)
    )
}

/// Whether a program that nobody has seen alone dies alone, too, cannot be known.
fn ended_in_doubt(tracer: &dyn Tracer, traced: &Traced) -> Option<String> {
    matches!(traced.ending, Ending::Killed(_)).then(|| {
        format!(
            "The program was {}, and was not run without a tracer: if it does not end so alone, the trace shows \
             what the tracer did. {}",
            traced.ending,
            another(tracer)
        )
    })
}

/// Under a tracer, threads may wait for each other as they do not alone.
fn took_long(
    request: &TraceRequest,
    tracer: &dyn Tracer,
    took: Duration,
    native: &Native,
) -> Option<String> {
    let alone = Duration::from_secs_f64(native.wall_s);
    request.slow_run.is_over(tracer, took, alone).then(|| {
        format!(
            "The traced run took {:.0} s, {:.0} times as long as without a tracer; {} makes programs up to {} times \
             slower. That is as it should be if the program waited for input; if not, the trace may show waiting that \
             is not there alone. {}",
            took.as_secs_f64(),
            took.as_secs_f64() / native.wall_s,
            tracer.name(),
            tracer.slowdown(),
            another(tracer)
        )
    })
}

fn another(tracer: &dyn Tracer) -> String {
    let (name, others) = (tracer.name(), others(tracer.name()));
    format!("Perhaps {name} does not bear this program: try {others}.")
}

impl TraceRequest {
    /// The same with what a run before finds, if one is needed for that.
    ///
    /// # Errors
    /// As [`PreRun::run`].
    pub fn settled(self, chosen: &Chosen<'_>, stop: &AtomicBool) -> Result<Self, TraceError> {
        let part = Part::Of(self.plan(chosen, stop)?);
        Ok(Self { part, from: None, ..self })
    }

    fn plan(&self, chosen: &Chosen<'_>, stop: &AtomicBool) -> Result<Plan, TraceError> {
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
        Ok(found.behind(plan))
    }

    /// Threads that were wanted and never began, a sentence each.
    fn missing_threads(&self, begun: usize) -> impl Iterator<Item = String> {
        let missing = self.threads.iter().filter(move |&&wanted| wanted as usize >= begun);
        missing.map(move |wanted| {
            format!("There was no thread {wanted}: the program had {begun}, counted from 0.")
        })
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

impl From<&Native> for NativeRun {
    fn from(native: &Native) -> Self {
        let hertz = native.clock_ghz.map(|clock| clock.map(|ghz| ghz * 1e9));
        Self { seconds: native.wall_s, user_s: native.user_s, system_s: native.system_s, hertz }
    }
}

/// Passes on the threads that are wanted, and counts.
struct Filter<'a> {
    inner: &'a mut dyn Sink,
    /// All if it is empty.
    wanted: &'a [u32],
    /// Each thread's identity in the inner sink, if it is wanted.
    threads: Vec<Option<ThreadId>>,
    recorded: u64,
}

impl Sink for Filter<'_> {
    fn thread(&mut self, tid: u32) -> Result<ThreadId, SinkError> {
        let number = self.threads.len() as u32;
        let is_wanted = self.wanted.is_empty() || self.wanted.contains(&number);
        let inner = if is_wanted { Some(self.inner.thread(tid)?) } else { None };
        self.threads.push(inner);
        Ok(ThreadId(number))
    }

    fn define(&mut self, block: Block) -> Result<BlockId, SinkError> {
        self.inner.define(block)
    }

    #[inline]
    fn execute(
        &mut self,
        thread: ThreadId,
        block: BlockId,
        executed: u32,
        values: &[u64],
    ) -> Result<(), SinkError> {
        let Some(inner) = self.threads[thread.0 as usize] else { return Ok(()) };
        self.recorded += u64::from(executed);
        self.inner.execute(inner, block, executed, values)
    }

    fn mark(&mut self, thread: ThreadId, marker: OrderedMarker) -> Result<(), SinkError> {
        let Some(inner) = self.threads[thread.0 as usize] else { return Ok(()) };
        self.inner.mark(inner, marker)
    }
}
