//! A load that keeps logical CPUs busy in turns of known lengths, and what corun's monitor says of it meanwhile.
//!
//! The turns follow the monotonic clock, so that the loads of two CPUs agree without talking to each other. Each load
//! notes when it computed: that is the truth, even where an emulated machine was late.

mod load;

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use corun_monitor::{MonitorError, Options, Source, System};
use corun_record::Activity;
use serde::Serialize;
use serde_json::json;

use load::{Load, Turns};

/// What to do, once a run.
#[derive(Debug, Parser)]
enum Arguments {
    /// Keep CPUs 0 and 1 busy, and write what exact and sampled monitoring say, and the truth
    ///
    /// The truth is that of the load; what other tasks took meanwhile, such as the kernel's own, is written beside it.
    ///
    /// The monitor runs on CPU 0, where it changes nothing while the load is busy: its own work is busy time, too, and an
    /// emulated CPU takes far longer for it than a real one.
    Cases {
        /// Where to write a line of JSON for each case
        output: PathBuf,
        /// How long each case is watched exactly, in seconds; by samples it is twice as long
        #[arg(long, default_value_t = 3.0)]
        seconds: f64,
        /// What samples may cost, as a share of one CPU
        #[arg(long, default_value_t = 0.01)]
        sampling_cost: f64,
    },
    /// Write an activity each interval until a file is there
    Watch {
        output: PathBuf,
        /// The file that ends it
        #[arg(long)]
        until: PathBuf,
        /// The interval in milliseconds
        #[arg(long, default_value_t = 300)]
        interval: u64,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    match Arguments::parse() {
        Arguments::Cases { output, seconds, sampling_cost } => {
            let mut output = File::create(output)?;
            load::pin_to(0);
            for (name, loads) in cases() {
                // Where the host has no time for the guest, its kernel's accounts stand still.
                let stood_still = |error: &MonitorError| matches!(error, MonitorError::NoAccounts);
                let line = loop {
                    match case(&name, loads, seconds, sampling_cost) {
                        Err(error) if error.downcast_ref().is_some_and(stood_still) => {}
                        ended => break ended?,
                    }
                };
                writeln!(output, "{line}")?;
            }
        }
        Arguments::Watch { output, until, interval } => {
            let mut output = File::create(output)?;
            let mut system = System::open(Options::default())?;
            while !until.exists() {
                let activity = system.next(Duration::from_millis(interval))?;
                writeln!(output, "{}", serde_json::to_string(&activity)?)?;
            }
        }
    }
    Ok(())
}

/// The loads of CPUs 0 and 1.
fn cases() -> impl Iterator<Item = (String, [Turns; 2])> {
    const MS: u64 = 1_000_000;
    [1000 * MS, 100 * MS].into_iter().flat_map(|period_ns| {
        let half = |begins_ns| Turns { period_ns, begins_ns, busy_ns: period_ns / 2 };
        let (all, none) =
            (Turns { busy_ns: period_ns, ..half(0) }, Turns { busy_ns: 0, ..half(0) });
        let name = move |case: &str| format!("{case}, {} ms", period_ns / MS);
        [
            (name("both"), [all, all]),
            (name("one"), [all, none]),
            (name("in phase"), [half(0), half(0)]),
            (name("out of phase"), [half(0), half(period_ns / 2)]),
        ]
    })
}

/// Runs a case, watched exactly and then by samples for twice as long; a line of JSON. One that is off is watched twice
/// more: interrupts of an emulated CPU come in bursts, and no account has them.
fn case(
    name: &str,
    turns: [Turns; 2],
    seconds: f64,
    sampling_cost: f64,
) -> Result<serde_json::Value, Box<dyn Error>> {
    let mut found = Vec::new();
    for (exact, seconds) in [(true, seconds), (false, 2.0 * seconds)] {
        let mut watched = vec![watched(turns, exact, seconds, sampling_cost)?];
        if error(&watched[0]) > NEAR {
            for _ in 0..2 {
                watched.push(self::watched(turns, exact, seconds, sampling_cost)?);
            }
        }
        found.push(watched);
    }
    Ok(json!({ "case": name, "found": found }))
}

/// The farthest that a share may be from the truth without being watched again.
const NEAR: f64 = 0.02;

/// The farthest that a share is from the truth, beyond what others than the load ran.
fn error(Watched { activity, truth, others }: &Watched) -> f64 {
    let shares = activity.cores[0].busy_siblings.iter();
    let errors = shares.zip(truth).map(|(share, truth)| (share - truth).abs());
    errors.fold(0.0, f64::max) - others
}

/// Runs the load of a case while it is watched once.
fn watched(
    turns: [Turns; 2],
    exact: bool,
    seconds: f64,
    sampling_cost: f64,
) -> Result<Watched, Box<dyn Error>> {
    let loads: Vec<Load> =
        turns.into_iter().zip(0..).map(|(turns, cpu)| Load::begin(turns, cpu)).collect();
    let watched = watch(exact, seconds, sampling_cost);
    let busy: Vec<Vec<[u64; 2]>> = loads.into_iter().map(Load::end).collect();
    let (activity, during_ns, others) = watched?;
    Ok(Watched { truth: load::busy_siblings(&busy, during_ns), others, activity })
}

/// Activity that the monitor reported of an interval, and what is known of it.
#[derive(Serialize)]
struct Watched {
    /// Shares of time with 0, 1 and 2 loads busy.
    truth: Vec<f64>,
    /// Time that others than the load ran, as a share of one CPU.
    others: f64,
    activity: Activity,
}

/// Watches so many seconds: the activity, when it was, and the time that others ran as a share of one CPU.
fn watch(
    exact: bool,
    seconds: f64,
    sampling_cost: f64,
) -> Result<(Activity, [u64; 2], f64), Box<dyn Error>> {
    // An emulated kernel takes far longer to record a switch.
    let options = Options { exact, exact_cost: 1.0, sampling_cost, ..Options::default() };
    let mut system = System::open(options)?;
    // The first interval says which threads are worth watching.
    system.next(Duration::from_millis(500))?;
    let before = others_s()?;
    let activity = system.next(Duration::from_secs_f64(seconds))?;
    let others = (others_s()? - before).max(0.0) / seconds;
    let ended_ns = load::now_ns();
    Ok((activity, [ended_ns - (seconds * 1e9) as u64, ended_ns], others))
}

/// CPU time of all other processes, the kernel's own among them (`/proc/PID/schedstat`), in seconds.
fn others_s() -> Result<f64, Box<dyn Error>> {
    let own = std::process::id();
    let mut ns = 0;
    for entry in std::fs::read_dir("/proc")? {
        let Ok(process) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        // One that has ended meanwhile has no file.
        let stat = std::fs::read_to_string(format!("/proc/{process}/schedstat"));
        let Some(ran) = stat.ok().filter(|_| process != own) else { continue };
        ns += ran.split_whitespace().next().unwrap_or_default().parse::<u64>()?;
    }
    Ok(ns as f64 * 1e-9)
}
