//! Times of a command and each of its processes, from before its start to its end.
//!
//! The total is the kernel's account of all children that have ended (`getrusage(2)`). Processes are looked at while
//! they run: what is seen of each is what it had used at the last look.

use std::io;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use corun_machine::RootFiles;
use corun_record::CommandTimes;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

use crate::descendants::Descendants;

/// From one look at the processes to the next, while a look takes little.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest, also where a look was kept waiting for a CPU.
const LONGEST: Duration = Duration::from_millis(100);
/// A look may take this part of the time, so that it disturbs the command little.
const PART: u32 = 50;

/// The times of a command that this process starts.
#[derive(Debug)]
pub struct CommandWatch {
    before: (f64, f64),
    started: Instant,
    looking: Option<Looking>,
}

impl CommandWatch {
    /// Begins right before the command is started. Orphans of it become children of this process.
    pub fn begin() -> Self {
        // Where it is refused, orphans go to init, and their times are not accounted for.
        let _ = set_child_subreaper(Some(getpid()));
        Self { before: times_of_children(), started: Instant::now(), looking: None }
    }

    /// Looks at the processes of the command, whose first one is `root`.
    ///
    /// # Errors
    /// If the system has no thread to give: the total is known all the same.
    pub fn follow(&mut self, root: u32) -> io::Result<()> {
        // Without `/proc` there is nothing to look at.
        if let Ok(files) = RootFiles::open(Path::new("/")) {
            self.looking = Some(Looking::start(root, files)?);
        }
        Ok(())
    }

    /// The times of the command, which has ended with this status.
    pub fn end(self, command: Vec<String>, exit_status: Option<i32>) -> CommandTimes {
        let real = self.started.elapsed();
        let descendants = self.looking.map(Looking::end);
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let after = times_of_children();
        let looks = descendants.as_ref().map_or(0, Descendants::looks).max(1);
        CommandTimes {
            command,
            exit_status,
            real_s: real.as_secs_f64(),
            user_s: after.0 - self.before.0,
            system_s: after.1 - self.before.1,
            processes: descendants.map(Descendants::into_processes).unwrap_or_default(),
            looked_every_s: real.as_secs_f64() / looks as f64,
        }
    }
}

/// A thread that looks at the processes until it gets the message to end.
#[derive(Debug)]
struct Looking {
    tell_to_end: Sender<()>,
    thread: JoinHandle<Descendants>,
}

impl Looking {
    fn start(root: u32, mut files: RootFiles) -> io::Result<Self> {
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
        })?;
        Ok(Self { tell_to_end, thread })
    }

    fn end(self) -> Descendants {
        let Self { tell_to_end, thread } = self;
        drop(tell_to_end);
        thread.join().unwrap_or_else(|_| Descendants::of(0, 0))
    }
}

/// User and system time of all children that have been waited for, in seconds.
fn times_of_children() -> (f64, f64) {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or((0.0, 0.0), |usage| {
        let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
        (seconds(usage.user_time()), seconds(usage.system_time()))
    })
}
