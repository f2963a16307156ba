//! Native run, without a tracer: what a prediction from the trace is checked against.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use corun_files::TaskStat;
use corun_machine::descendants::{Mark, Orphans};
use corun_machine::evidence::gigahertz;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::output::{Reading, Written};
use crate::process::{Process, silence};
use crate::{Ending, Target, TraceError};

/// Time of a program by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Native {
    /// Ending of the program.
    pub ending: Ending,
    /// From its start to its end, in seconds.
    pub wall_s: f64,
    /// In its own code, of all threads and of the processes that it waited for, in seconds.
    pub user_s: f64,
    /// In the kernel, likewise, in seconds.
    pub system_s: f64,
    /// True if it waited for processes that it had started.
    pub has_children: bool,
    /// The clock just before and just after, in GHz, where a chain of multiplications measures it (x86-64).
    pub clock_ghz: Option<[f64; 2]>,
}

impl Native {
    /// Runs a program with this process's environment and folder, what it reads from the start and its
    /// output thrown away: the traced run shows it. Once `stop` is set, the program is ended.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn run(target: &Target, stop: &AtomicBool) -> Result<Self, TraceError> {
        Self::run_and_watch(target, stop, false).map(|(native, _)| native)
    }

    /// Runs the program, and returns what it has written to standard output, if that is wanted.
    pub(crate) fn run_and_watch(
        target: &Target,
        stop: &AtomicBool,
        is_watched: bool,
    ) -> Result<(Self, Option<Written>), TraceError> {
        let mark = Mark::prepare(Orphans::Left);
        let before = clock_ghz();
        let Run { status, usage, wall_s, has_children, interrupted, written } =
            run(target, stop, is_watched, mark).map_err(|source| TraceError::Program {
                program: target.program.clone(),
                source,
            })?;
        let ending = match (libc::WIFEXITED(status), interrupted) {
            (true, _) => Ending::Exited(libc::WEXITSTATUS(status)),
            (false, true) => Ending::Interrupted,
            (false, false) => Ending::Killed(libc::WTERMSIG(status)),
        };
        let clock_ghz = before.zip(clock_ghz()).map(Into::into);
        let (user_s, system_s) = (seconds(usage.ru_utime), seconds(usage.ru_stime));
        Ok((Self { ending, wall_s, user_s, system_s, has_children, clock_ghz }, written))
    }
}

struct Run {
    status: i32,
    usage: libc::rusage,
    wall_s: f64,
    has_children: bool,
    interrupted: bool,
    written: Option<Written>,
}

fn run(target: &Target, stop: &AtomicBool, is_watched: bool, mark: Mark) -> io::Result<Run> {
    let mut command = Command::new(&target.program);
    command.args(&target.arguments);
    silence(&mut command);
    target.context.apply(&mut command)?;
    let reading = if is_watched {
        let (reader, writer) = io::pipe()?;
        command.stdout(writer);
        Some(Reading::begin(OwnedFd::from(reader).into(), None)?)
    } else {
        None
    };
    let begin = Instant::now();
    let child = mark.spawn(&mut command)?;
    // It holds an end of the pipe.
    drop(command);
    let id = Pid::from_child(&child);
    let process = Process::of(id)?;
    let (ended, interrupted) = process.until(stop, || collect(id, begin))?;
    // What it left running may hold the other end of the pipe.
    mark.end_all();
    let written = reading.and_then(Reading::end).map(|(written, _)| written);
    ended.map(|(status, usage, wall_s, has_children)| Run {
        status,
        usage,
        wall_s,
        has_children,
        interrupted,
        written,
    })
}

/// Waits for the end of a child that began at an instant: its status, what it used, how long it took, and whether it waited for
/// children of its own.
fn collect(child: Pid, begin: Instant) -> io::Result<(i32, libc::rusage, f64, bool)> {
    // It is there until it is collected.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(child), options), Err(rustix::io::Errno::INTR)) {}
    let wall_s = begin.elapsed().as_secs_f64();
    let stat = corun_files::kernel_text(format!("/proc/{}/stat", child.as_raw_nonzero()));
    // Every process has page faults (cminflt, proc_pid_stat(5)).
    let faults = stat.ok().and_then(|stat| TaskStat::parse(&stat)?.field(11));
    loop {
        let mut status = 0;
        // SAFETY: rusage is plain data; wait4 fills it for a child that has ended.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let id = unsafe {
            libc::wait4(child.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage)
        };
        if id >= 0 {
            return Ok((status, usage, wall_s, faults.is_some_and(|count| count > 0)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// A multiplication takes three cycles on x86-64; elsewhere it is not known.
fn clock_ghz() -> Option<f64> {
    cfg!(target_arch = "x86_64").then(gigahertz)
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Target {
        Target {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            ..Target::default()
        }
    }

    #[test]
    fn times_are_those_of_the_program() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; exit 3";
        let native = Native::run(&shell(script), &AtomicBool::new(false)).unwrap();
        assert_eq!(native.ending, Ending::Exited(3));
        assert!(native.user_s > 0.0 && native.wall_s > 0.0, "{native:?}");
        assert!(native.clock_ghz.is_none_or(|clock| clock.iter().all(|ghz| *ghz > 0.0)));
    }

    #[test]
    fn what_a_program_leaves_running_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("child");
        let script = format!("setsid sleep 3600 & echo $! > {}", list.display());
        Native::run(&shell(&script), &AtomicBool::new(false)).unwrap();
        let child = std::fs::read_to_string(list).unwrap();
        let command = std::fs::read_to_string(format!("/proc/{}/cmdline", child.trim()));
        assert!(!command.is_ok_and(|it| it.contains("3600")), "{child}");
    }

    #[test]
    fn a_program_that_never_ends_is_stopped() {
        let native = Native::run(&shell("kill -STOP $$"), &AtomicBool::new(true)).unwrap();
        assert_eq!(native.ending, Ending::Interrupted);
        let killed = Native::run(&shell("kill -KILL $$"), &AtomicBool::new(false)).unwrap();
        assert_eq!(killed.ending, Ending::Killed(9));
    }
}
