//! `corun trace -o FILE -- COMMAND`: runs a program under a tracer and writes what it executes.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, Args};
use corun_machine::Machine;
use corun_predict::TracedProgram;
use corun_record::{Actionable, Exit, Progress, Stage};
use corun_report::grouped;
use corun_trace::format::Options;
use corun_trace::{
    Ending, FromCall, Part, Samples, SlowRunNotice, SystemCall, TraceError, TraceOutcome,
    TracePlan, TraceRequest, Untraced, choose_for, run_trace,
};

use super::Writable;
use crate::command::traced::{TracedArguments, warn_of_children};
use crate::problem::{Problem, code, say};
use crate::progress::StepProgress;
use crate::{interruption, standard_input, values};

/// Clusters that are distinguished, at most: each more takes time and adds little.
const MAX_CLUSTERS: u32 = 200;

#[derive(Debug, Args)]
#[group(id = "record")]
#[command(group(ArgGroup::new("warmed").args(["sample", "from_call", "workload"]).multiple(true)))]
pub(super) struct Arguments {
    /// Write the trace to FILE (`-` is standard output)
    #[arg(short, long, value_name = "FILE", required = true)]
    output: PathBuf,
    /// Leave out the first N instructions (10M, 2G, ...), all threads together
    #[arg(long, value_name = "N", value_parser = values::count)]
    skip: Option<u64>,
    /// Record N instructions at most; the program then goes on to its end
    #[arg(long, value_name = "N", value_parser = values::count)]
    length: Option<u64>,
    /// Record K intervals of N instructions, spread evenly over the run, which is counted first
    #[arg(long, value_name = "K:N", value_parser = values::samples)]
    #[arg(conflicts_with_all = ["skip", "length", "once"])]
    sample: Option<(u32, u64)>,
    /// Choose the intervals by what the program executes, as simulation points with weights; the run
    /// before takes longer
    #[arg(long, requires = "sample")]
    choose: bool,
    /// Record N instructions before each interval, and before the call of --from-call, to fill caches and
    /// predictors; with --choose on average (default: as many as the interval has, and none before the call)
    #[arg(long, value_name = "N")]
    #[arg(value_parser = values::count, requires = "warmed")]
    warmup: Option<u64>,
    /// Count instructions from the end of the program's first system call CALL on, a name such as getppid or
    /// a number; the program runs once before for that, so not with --once
    #[arg(long, value_name = "CALL", conflicts_with_all = ["once", "workload"])]
    from_call: Option<SystemCall>,
    /// Record these threads only, counted from 0 in the order in which they begin (0,2,3)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    threads: Vec<u32>,
    /// Use this tracer: dynamorio, qemu or ptrace (default: the first of them that works)
    #[arg(long, value_name = "NAME")]
    tracer: Option<String>,
    /// Run the program only once: its time without a tracer is not measured
    #[arg(long)]
    once: bool,
    /// How hard to compress, 1 (quick) to 19 (small)
    #[arg(long, value_name = "LEVEL", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments, program: &TracedArguments) -> Result<ExitCode, Problem> {
    let stop = interruption::flag_on_signals()?;
    let machine = Machine::read(Path::new("/"))?;
    let program = program.request()?.prepare(None, &machine, &interruption::on_signals()?)?;
    let TracedProgram { target, from, remark, .. } = program;
    warn_of_children(&target);
    let from = arguments.from_call.or(from);
    let chosen = choose_for(arguments.tracer.as_deref(), &target)?;
    // A workload reads nothing.
    let is_pipe = remark.is_none() && !arguments.once && standard_input::is_used_up();
    let twice =
        [("--sample", arguments.sample.is_some()), ("--from-call", arguments.from_call.is_some())];
    if let Some((option, _)) = twice.into_iter().find(|(_, is_given)| is_pipe && *is_given) {
        return Err(Problem::usage(
            format!(
                "expected a program that can run twice for {option}, found a pipe on standard input"
            ),
            format!("Give the input as a file: corun trace {option} ... < FILE"),
        ));
    }
    if let Some((count, _)) =
        arguments.sample.filter(|(count, _)| arguments.choose && *count > MAX_CLUSTERS)
    {
        return Err(Problem::usage(
            format!("expected at most {MAX_CLUSTERS} intervals with --choose, found {count}"),
            "Give fewer, or leave --choose out: with so many, evenly spaced ones are good enough.",
        ));
    }
    let request = TraceRequest {
        target,
        remarks: remark.into_iter().collect(),
        part: arguments.part(),
        instructions: None,
        from: from.map(|call| arguments.from(call)),
        threads: arguments.threads.clone(),
        runs_again: !arguments.once && !is_pipe,
        compares_output: arguments.output != Path::new("-"),
        options: Options { level: arguments.level, ..Options::default() },
        slow_run: SlowRunNotice { say, ..SlowRunNotice::default() },
    };
    if let Some(warning) = &chosen.warning {
        say(warning);
    }
    // Before a file is written over.
    let line = StepProgress::new(arguments.quiet);
    line.begin(Stage::new("running the program before it is traced", "", None));
    let request = request.settled(&chosen, &stop)?;
    line.finish();
    let place = Writable::open(&arguments.output)?;
    let output = Counted { output: place.writer()?, bytes: 0 };
    arguments.say(&chosen.reason);
    // The program's own output may go to the same terminal.
    let line = StepProgress::beside_a_program(arguments.quiet);
    let traced = run_trace(&request, &chosen, output, &line, &stop);
    line.finish();
    let (outcome, counted) = match traced {
        Ok(outcome) => outcome,
        Err(TraceError::Sink(_)) if place.has_lost_its_reader() => return Ok(code(Exit::Done)),
        Err(error @ (TraceError::Sink(_) | TraceError::Failed { .. })) => {
            let kept = place.keep_part(&error.to_string());
            let next_step = error.next_step();
            return Err(Problem::from(error).with_next_step(format!("{next_step} {kept}")));
        }
        Err(error) => return Err(error.into()),
    };
    if let (Some(skip), 0) = (arguments.skip, outcome.recorded)
        && outcome.traced.ending != Ending::Interrupted
    {
        let count = grouped(outcome.traced.instructions);
        return Err(Problem::failed(
            format!(
                "expected a program that goes on after {} instructions, found that it ended after {count}",
                grouped(skip)
            ),
            "Give a smaller --skip; nothing was written.",
        ));
    }
    place.finish()?;
    arguments.say(&summary(&outcome, counted.bytes, &arguments.output));
    if is_pipe {
        arguments.say("Not timed without a tracer, since standard input can be read only once.");
    }
    for remark in &outcome.traced.remarks {
        // That the trace may be wrong is printed in any case.
        if outcome.doubts.contains(remark) {
            say(remark);
        } else {
            arguments.say(remark);
        }
    }
    if let Some(untraced) = outcome.untraced.as_ref().filter(|it| it.is_work) {
        return Err(untraced_work(untraced, &arguments.output));
    }
    let interrupted = outcome.traced.ending == Ending::Interrupted;
    Ok(code(if interrupted { Exit::Interrupted } else { Exit::Done }))
}

impl Arguments {
    fn part(&self) -> Part {
        match (self.sample, self.skip, self.length) {
            (Some((count, length)), ..) => {
                let warmup = self.warmup.unwrap_or(length);
                Part::Samples(Samples {
                    count,
                    length,
                    warm_up: warmup,
                    are_chosen: self.choose,
                    seed: 0,
                    look_back: Samples::usual_look_back(count),
                    first_part: 0,
                })
            }
            (None, None, None) => Part::Of(TracePlan::Whole),
            (None, skip, length) => Part::Of(TracePlan::Window { skip: skip.unwrap_or(0), length }),
        }
    }

    fn from(&self, call: SystemCall) -> FromCall {
        FromCall { call, warm_up: self.warmup.unwrap_or(0) }
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }
}

/// Summary of what was done, for people.
fn summary(outcome: &TraceOutcome, bytes: u64, output: &Path) -> String {
    let TraceOutcome { traced, recorded, threads, took, native, .. } = outcome;
    let seconds = took.as_secs_f64();
    let of_all = match traced.instructions {
        all if all == *recorded => String::new(),
        all => format!(" of {}", grouped(all)),
    };
    let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    let density = match recorded {
        0 => String::new(),
        _ => format!(", {:.2} byte an instruction", bytes as f64 / *recorded as f64),
    };
    let rate = traced.instructions as f64 / seconds * 1e-6;
    let beside = native
        .as_ref()
        .map_or(String::new(), |native| format!("; {:.2} s without a tracer", native.wall_s));
    format!(
        "{}{of_all} instructions of {threads} in {seconds:.2} s ({rate:.0} million a second{beside})\n\
         {}: {} bytes{density}\nThe program's end: {}.",
        grouped(*recorded),
        corun_record::shown(output),
        grouped(bytes),
        traced.ending
    )
}

/// The trace is kept, and is not of what does the work.
fn untraced_work(untraced: &Untraced, output: &Path) -> Problem {
    let (most, share) = &untraced.most;
    let next_step = match (&most.target, most.is_executed) {
        (Ok(_), true) => format!("Trace what does the work: corun trace ... -- {}", most.line()),
        (Err(why), true) => format!(
            "Give `{}` itself with what it needs: as the command starts it {why}.",
            most.line()
        ),
        (_, false) => "Let the program do its work in one process.".to_owned(),
    };
    Problem::failed(
        format!(
            "expected a program that does its work itself, found that {:.0} % of the processor time is that of others, most of \
             all `{}` with {:.0} %; {} holds the rest",
            100.0 * untraced.share,
            most.line(),
            100.0 * share,
            corun_record::shown(output)
        ),
        next_step,
    )
}

/// An output that counts.
struct Counted {
    output: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.output.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
