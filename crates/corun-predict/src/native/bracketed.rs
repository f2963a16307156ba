//! One native run of a program, with user and kernel time separated at its system calls.
//!
//! The thread that traces has to be pinned to the program's CPU: it runs only when the program has left it,
//! and the scheduler has then counted all of the program's time (`ptrace(2)`, `proc_pid_schedstat`).
#![expect(clippy::disallowed_methods, reason = "a file of the kernel, read again each time")]

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use corun_files::TaskStat;
use corun_machine::descendants::{Mark, Orphans};
use corun_trace::{Ending, SystemCall, Target, silence};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Event, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open};

use super::error::MeasureError;
use super::probe::{Probe, beside};

/// Observations of a run.
#[derive(Debug)]
pub(super) struct Bracketed {
    pub(super) ending: Ending,
    pub(super) wall_s: f64,
    /// In the order in which they began.
    pub(super) threads: Vec<ThreadTime>,
    /// Processor time of the processes that it started and waited for.
    pub(super) children_s: f64,
    /// Probes of the CPU meanwhile.
    pub(super) probes: Vec<Probe>,
}

/// A thread's times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThreadTime {
    /// Between system calls.
    pub(super) user: Intervals,
    /// In system calls.
    pub(super) kernel: Intervals,
    /// Page faults, which lie between system calls mostly.
    pub(super) faults: u64,
}

/// Intervals of run time, each ended by a stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Intervals {
    pub(super) count: u64,
    pub(super) ns: u64,
}

impl Intervals {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.ns += ns;
    }

    /// Without what each stop costs.
    pub(super) fn seconds(&self, stop_s: f64) -> f64 {
        (self.ns as f64 * 1e-9 - self.count as f64 * stop_s).max(0.0)
    }
}

impl Bracketed {
    /// Runs a program to its end, its output thrown away; it is killed once `stop` is set. What lies before the first
    /// system call of a kind, if one is given, does not count.
    pub(super) fn run(
        target: &Target,
        from: Option<SystemCall>,
        stop: &AtomicBool,
    ) -> Result<Self, MeasureError> {
        let mut command = Command::new(&target.program);
        command.args(&target.arguments);
        silence(&mut command);
        target.context.apply(&mut command).map_err(MeasureError::Program)?;
        let mark = Mark::prepare(Orphans::Left);
        // SAFETY: between fork and exec the child makes system calls only.
        unsafe {
            command.pre_exec(move || {
                mark.apply();
                Ok(ptrace::traceme()?)
            })
        };
        let mut child = command.spawn().map_err(MeasureError::Program)?;
        let leader = Pid::from_raw(child.id() as i32);
        let (watched, probes) = rustix::process::Pid::from_raw(leader.as_raw())
            .map(|id| pidfd_open(id, PidfdFlags::empty()))
            .expect("a child has a number")
            .map_err(io::Error::from)
            .and_then(|process| beside(&process, stop, || Watch::new(from).follow(leader)))
            .unwrap_or_else(|error| (Err(error), Vec::new()));
        let watched = watched
            .map(|(ending, watch)| {
                let wall_s = watch.begin.elapsed().as_secs_f64();
                (ending, watch, wall_s)
            })
            .map_err(|error| {
                let _ = child.kill();
                let _ = child.wait();
                MeasureError::Watching(error)
            });
        mark.end_all();
        let (ending, watch, wall_s) = watched?;
        match watch.awaited {
            _ if watch.was_replaced => Err(MeasureError::Replaced),
            Some(call) if matches!(ending, Ending::Exited(_)) => Err(MeasureError::NoCall(call)),
            _ => Ok(Self {
                ending,
                wall_s,
                threads: watch.times,
                children_s: watch.children_ticks as f64 / ticks_a_second(),
                probes,
            }),
        }
    }

    /// The share of all processor time that the processes had which it started.
    pub(super) fn children_share(&self) -> f64 {
        let ns: u64 = self.threads.iter().map(|it| it.user.ns + it.kernel.ns).sum();
        self.children_s / (self.children_s + ns as f64 * 1e-9).max(f64::MIN_POSITIVE)
    }
}

/// The scheduler's count of a thread's run time.
pub(super) struct RunTime(File);

/// Of a thread of a process.
pub(super) fn run_time(process: Pid, thread: Pid) -> io::Result<RunTime> {
    Ok(RunTime(File::open(format!("/proc/{process}/task/{thread}/schedstat"))?))
}

impl RunTime {
    /// Up to now, in nanoseconds.
    pub(super) fn ns(&self) -> io::Result<u64> {
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0)?;
        let first = text[..length].split(|&byte| byte == b' ').next().unwrap_or_default();
        let number = std::str::from_utf8(first).ok().and_then(|number| number.parse().ok());
        number.ok_or_else(|| io::Error::other("expected a run time in schedstat, found none"))
    }
}

/// A thread that is watched.
struct Watched {
    /// Place among the threads.
    index: usize,
    run_time: RunTime,
    /// The system call that it is in.
    call: Option<SystemCall>,
    /// Run time at the last stop, in nanoseconds.
    since: u64,
    /// Page faults before what counts.
    faults_before: u64,
}

impl Watched {
    fn new(leader: Pid, thread: Pid, index: usize) -> io::Result<Self> {
        let run_time = run_time(leader, thread)?;
        let since = run_time.ns()?;
        Ok(Self { index, run_time, call: None, since, faults_before: 0 })
    }

    /// Ends an interval.
    fn stop(&mut self, times: &mut [ThreadTime]) -> io::Result<()> {
        let now = self.run_time.ns()?;
        let time = &mut times[self.index];
        let intervals = if self.call.is_some() { &mut time.kernel } else { &mut time.user };
        intervals.add(now.saturating_sub(self.since));
        self.since = now;
        Ok(())
    }
}

/// State of a program while it is followed.
struct Watch {
    /// The system call after which the run counts, until it is seen.
    awaited: Option<SystemCall>,
    /// When it began.
    begin: Instant,
    times: Vec<ThreadTime>,
    threads: HashMap<Pid, Watched>,
    /// Processor time of ended children since what counts began, in ticks of the kernel, and before.
    children_ticks: u64,
    children_before: u64,
    /// True if the program became another one, whose times are not measured.
    was_replaced: bool,
}

impl Watch {
    fn new(awaited: Option<SystemCall>) -> Self {
        Self {
            awaited,
            begin: Instant::now(),
            times: Vec::new(),
            threads: HashMap::new(),
            children_ticks: 0,
            children_before: 0,
            was_replaced: false,
        }
    }

    /// Follows a program that has just been started to its end. Returns how it ended.
    fn follow(mut self, leader: Pid) -> io::Result<(Ending, Self)> {
        match waitpid(leader, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Exited(_, code) => return Ok((Ending::Exited(code), self)),
            WaitStatus::Signaled(_, signal, _) => {
                return Ok((Ending::Killed(signal as i32), self));
            }
            _ => {}
        }
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_TRACEEXIT
            | Options::PTRACE_O_EXITKILL;
        match ptrace::setoptions(leader, options) {
            // Killed meanwhile: its end is seen below.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error.into()),
        }
        self.add(leader, leader)?;
        resume(leader, None)?;
        // Only this thread's own children and what it traces.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(flags))? {
                WaitStatus::Exited(thread, code) if thread == leader => {
                    return Ok((Ending::Exited(code), self));
                }
                WaitStatus::Signaled(thread, signal, _) if thread == leader => {
                    return Ok((Ending::Killed(signal as i32), self));
                }
                status => self.take(leader, status)?,
            }
        }
    }

    fn add(&mut self, leader: Pid, thread: Pid) -> io::Result<()> {
        self.threads.insert(thread, Watched::new(leader, thread, self.times.len())?);
        self.times.push(ThreadTime::default());
        Ok(())
    }

    /// A stop of a thread, or the end of one that is not the leader.
    fn take(&mut self, leader: Pid, status: WaitStatus) -> io::Result<()> {
        let Some(thread) = status.pid() else { return Ok(()) };
        match status {
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => {
                self.threads.remove(&thread);
                Ok(())
            }
            _ if self.was_replaced => resume(thread, passed_on(status)),
            WaitStatus::PtraceSyscall(_) => {
                let Some(watched) = self.threads.get_mut(&thread) else {
                    return resume(thread, None);
                };
                watched.stop(&mut self.times)?;
                match watched.call.take() {
                    None => watched.call = Some(call_of(thread, self.awaited.is_some())?),
                    done if done == self.awaited => self.begin(leader)?,
                    _ => {}
                }
                resume(thread, None)
            }
            WaitStatus::PtraceEvent(_, _, event) => {
                if event == Event::PTRACE_EVENT_EXEC as i32 {
                    self.was_replaced = true;
                } else if event == Event::PTRACE_EVENT_EXIT as i32
                    && let Some(watched) = self.threads.get_mut(&thread)
                {
                    watched.stop(&mut self.times)?;
                    let stat = Stat::of(leader, thread)?;
                    self.times[watched.index].faults =
                        stat.faults.saturating_sub(watched.faults_before);
                    self.children_ticks = stat.children_ticks.saturating_sub(self.children_before);
                }
                resume(thread, None)
            }
            WaitStatus::Stopped(_, signal) => match self.threads.get_mut(&thread) {
                Some(watched) => {
                    watched.stop(&mut self.times)?;
                    resume(thread, Some(signal))
                }
                // A thread begins with a stop that is not its own.
                None => {
                    self.add(leader, thread)?;
                    resume(thread, None)
                }
            },
            _ => Ok(()),
        }
    }

    /// Begins the part that counts, of all threads.
    fn begin(&mut self, leader: Pid) -> io::Result<()> {
        self.awaited = None;
        self.begin = Instant::now();
        self.times.fill(ThreadTime::default());
        for (&thread, watched) in &mut self.threads {
            watched.since = watched.run_time.ns()?;
            let stat = Stat::of(leader, thread)?;
            watched.faults_before = stat.faults;
            self.children_before = stat.children_ticks;
        }
        Ok(())
    }
}

/// The system call that a thread which has stopped for one begins; some, unless it is asked for.
fn call_of(thread: Pid, is_asked: bool) -> io::Result<SystemCall> {
    const SOME: SystemCall = SystemCall(u64::MAX);
    if !is_asked {
        return Ok(SOME);
    }
    let info = match ptrace::syscall_info(thread) {
        // Killed meanwhile.
        Err(Errno::ESRCH) => return Ok(SOME),
        info => info?,
    };
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return Ok(SOME);
    }
    // SAFETY: the kernel has filled in what `op` says.
    Ok(SystemCall(unsafe { info.u.entry.nr }))
}

/// The signal that the program is to get, if it stopped for one.
fn passed_on(status: WaitStatus) -> Option<Signal> {
    match status {
        WaitStatus::Stopped(_, signal) => Some(signal),
        _ => None,
    }
}

/// Up to the next system call; a thread that was killed meanwhile has gone already.
fn resume(thread: Pid, signal: Option<Signal>) -> io::Result<()> {
    match ptrace::syscall(thread, signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Counts of the kernel for a thread up to now.
struct Stat {
    /// Page faults that needed no disk, which are in its time.
    faults: u64,
    /// Processor time of its process's children that were waited for.
    children_ticks: u64,
}

impl Stat {
    fn of(leader: Pid, thread: Pid) -> io::Result<Self> {
        let text = corun_files::kernel_text(format!("/proc/{leader}/task/{thread}/stat"))?;
        let stat = TaskStat::parse(&text);
        let field = |number: usize| {
            let found = stat.and_then(|stat| stat.field(number));
            found.ok_or_else(|| io::Error::other("expected counts of a thread in stat, found none"))
        };
        Ok(Self { faults: field(10)?, children_ticks: field(16)? + field(17)? })
    }
}

/// Ticks of the kernel's processor times.
fn ticks_a_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::pinned;

    fn shell(script: &str) -> Target {
        Target {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            ..Target::default()
        }
    }

    #[test]
    fn a_loop_is_the_programs_own_time() {
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; exit 3";
        let run = pinned(|| Bracketed::run(&shell(script), None, &AtomicBool::new(false))).unwrap();
        assert_eq!((run.ending, run.threads.len()), (Ending::Exited(3), 1));
        let ThreadTime { user, kernel, faults } = run.threads[0];
        assert!(user.ns > kernel.ns && kernel.ns > 0, "{run:?}");
        assert!(user.count > 10 && kernel.count > 10 && faults > 10, "{run:?}");
        assert!(run.probes.len() >= 2 && run.probes.iter().all(|it| it.ghz > 0.0), "{run:?}");
        assert!(run.wall_s * 1e9 >= user.ns as f64);
    }

    #[test]
    fn processes_that_it_started_have_their_share() {
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let share = |script: &str, from| {
            let run = Bracketed::run(&shell(script), from, &AtomicBool::new(false));
            run.unwrap().children_share()
        };
        pinned(|| {
            assert_eq!(share(&format!("{work}; exit 3"), None), 0.0);
            let half = share(&format!("({work}; exit 0); {work}"), None);
            assert!((0.2..0.8).contains(&half), "{half}");
            let most = share(&format!("sh -c '{work}; exit 0'; exit 3"), None);
            assert!(most > 0.8, "{most}");
            let kill = Some(SystemCall(libc::SYS_kill.cast_unsigned()));
            let before = share(&format!("({work}; exit 0); kill -0 $$; {work}"), kill);
            assert!(before < 0.2, "{before}");
        });
    }

    #[test]
    fn what_lies_before_a_system_call_does_not_count() {
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; kill -0 $$; exit 3";
        let run = |from: i64| {
            let from = Some(SystemCall(from as u64));
            pinned(|| Bracketed::run(&shell(script), from, &AtomicBool::new(false)))
        };
        let all = run(libc::SYS_execve);
        assert!(
            matches!(all, Err(MeasureError::NoCall(_))),
            "what comes before is no part: {all:?}"
        );
        let (all, end) = (run(libc::SYS_brk).unwrap(), run(libc::SYS_kill).unwrap());
        assert_eq!((end.ending, end.threads.len()), (Ending::Exited(3), 1));
        let (all, end) = (all.threads[0], end.threads[0]);
        assert!(end.user.ns > 0 && 10 * end.user.ns < all.user.ns, "{end:?} {all:?}");
        assert!(end.user.count < all.user.count && end.faults < all.faults, "{end:?} {all:?}");
    }

    #[test]
    fn copying_is_the_kernels_time() {
        let target = Target {
            program: "/bin/dd".into(),
            arguments: ["if=/dev/zero", "of=/dev/null", "bs=16M", "count=100"]
                .map(Into::into)
                .into(),
            ..Target::default()
        };
        let run = pinned(|| Bracketed::run(&target, None, &AtomicBool::new(false))).unwrap();
        let ThreadTime { user, kernel, .. } = run.threads[0];
        assert!(kernel.ns > 2 * user.ns, "{run:?}");
    }

    #[test]
    fn signals_reach_the_program() {
        let run = |script: &str| {
            pinned(|| Bracketed::run(&shell(script), None, &AtomicBool::new(false))).unwrap().ending
        };
        assert_eq!(run("kill -SEGV $$"), Ending::Killed(11));
        assert_eq!(run("trap 'exit 7' USR1; kill -USR1 $$; exit 1"), Ending::Exited(7));
    }

    #[test]
    fn a_program_that_never_ends_is_killed() {
        let run =
            pinned(|| Bracketed::run(&shell("while :; do :; done"), None, &AtomicBool::new(true)));
        assert_eq!(run.unwrap().ending, Ending::Killed(9));
    }

    #[test]
    fn what_becomes_another_program_is_not_reported() {
        let run = pinned(|| Bracketed::run(&shell("exec true"), None, &AtomicBool::new(false)));
        assert!(matches!(run, Err(MeasureError::Replaced)), "{run:?}");
        let missing = Target { program: "/nowhere".into(), ..Target::default() };
        let run = pinned(|| Bracketed::run(&missing, None, &AtomicBool::new(false)));
        assert!(matches!(run, Err(MeasureError::Program(_))), "{run:?}");
    }
}
