//! `corun top -- COMMAND`: what the command and each of its processes took, and on which CPUs they ran.
//!
//! The total is the kernel's account of all children that have ended (`getrusage(2)`). Processes are looked at while
//! they run: what is seen of each is what it had used at the last look.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use corun_machine::RootFiles;
use corun_monitor::Descendants;
use corun_record::{CommandTimes, Document, shown};
use corun_report::{Destination, times_to_terminal};

use crate::answer::{Head, this_machine};
use crate::command::program;
use crate::foreground::{Foreground, Signals};
use crate::problem::{Problem, say};
use crate::terminal;

/// From one look at the processes to the next, while a look takes little.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest, also where a look was kept waiting for a CPU.
const LONGEST: Duration = Duration::from_millis(100);
/// A look may take this part of the time, so that it disturbs the command little.
const PART: u32 = 50;

pub(super) fn run(command: &[OsString], json: Option<&Path>) -> Result<ExitCode, Problem> {
    program::check(command)?;
    let head = Head::now();
    let destination = json.map(Destination::open).transpose()?;
    adopt_orphans();
    let signals = Signals::catch()?;
    let before = times_of_children();
    let started = Instant::now();
    let running = Foreground::start(command)?;
    let watch = Watch::start(running.group());
    let ended = running.see_through(signals);
    let real = started.elapsed();
    let descendants = watch.map(Watch::end);
    collect_orphans();
    let after = times_of_children();
    let ended = ended?;
    let looks = descendants.as_ref().map_or(0, Descendants::looks).max(1);
    let record = corun_record::Record {
        machine: this_machine().ok(),
        ..head.record(CommandTimes {
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_status: ended.status(),
            real_s: real.as_secs_f64(),
            user_s: after.0 - before.0,
            system_s: after.1 - before.1,
            processes: descendants.map(Descendants::into_processes).unwrap_or_default(),
            looked_every_s: real.as_secs_f64() / looks as f64,
        })
    };
    match destination {
        Some(destination) => destination.write(&record.to_json())?,
        // The command may have written a result to standard output.
        None => say(times_to_terminal(&record.body, terminal::width()).trim_end()),
    }
    Ok(ended.exit_code())
}

/// A thread that looks at the processes until it gets the message to end.
struct Watch {
    tell_to_end: Sender<()>,
    thread: JoinHandle<Descendants>,
}

impl Watch {
    /// `None` where the system has no `/proc` to look at or no thread to give: the total is known all the same.
    fn start(root: u32) -> Option<Self> {
        let mut files = RootFiles::open(Path::new("/")).ok()?;
        let (tell_to_end, end) = mpsc::channel();
        let thread = thread::Builder::new().name("descendants".to_owned()).spawn(move || {
            let mut descendants = Descendants::of(root, std::process::id());
            loop {
                let begun = Instant::now();
                descendants.look(&mut files);
                let pause = (begun.elapsed() * PART).clamp(SHORTEST, LONGEST);
                if end.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    descendants.look(&mut files);
                    return descendants;
                }
            }
        });
        match thread {
            Ok(thread) => Some(Self { tell_to_end, thread }),
            Err(error) => {
                say(&format!("corun: only the total is known: {}", shown(error.to_string())));
                None
            }
        }
    }

    fn end(self) -> Descendants {
        let Self { tell_to_end, thread } = self;
        drop(tell_to_end);
        thread.join().unwrap_or_else(|_| Descendants::of(0, 0))
    }
}

/// Makes this process the parent of processes whose parent ends, so that their times are accounted for.
fn adopt_orphans() {
    // SAFETY: sets an attribute of this process; where it is refused, orphans go to init.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// Waits for orphans that have ended; those that run go on.
fn collect_orphans() {
    // SAFETY: waits for children of this process that have ended, without blocking.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

/// User and system time of all children that have been waited for, in seconds.
fn times_of_children() -> (f64, f64) {
    // SAFETY: plain data that the kernel fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}
