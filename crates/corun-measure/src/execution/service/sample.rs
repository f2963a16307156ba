//! One sample of a service: the server started and awaited, asked by the load, and stopped.

use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use corun_files::TaskStat;
use corun_machine::Affinity;
use corun_machine::kernel_clock::now_ns;
use corun_record::{Arm, Evidence, Pinning, WorkerSample};

use super::Service;
use super::error::ServiceError;
use super::load::{PreparedLoad, Program};
use super::report::LoadFile;
use crate::evidence::{EvidenceReader, Usage};
use crate::execution::ArmOutcome;
use crate::execution::bindings::{Binding, Bindings};
use crate::execution::error::ExecutionError;
use crate::execution::interrupt::Interrupt;
use crate::execution::output::Capture;
use crate::execution::process::{Launch, Position, Process, Streams};
use crate::execution::start_barrier::{Stage, StartBarrier};
use crate::execution::threads;
use crate::execution::watch::{Ended, Event, Watch};
use crate::execution::work::Command;

/// The places of the two among the processes of a sample: the server has a place to keep.
const SERVER: usize = 0;
const LOAD: usize = 1;

/// Pause after which a server is asked whether it is ready.
const READY_PAUSE_MS: i32 = 5;
/// Time limit for a dying server to end after its connections did.
const LAST_BREATH: Duration = Duration::from_millis(300);
/// Bytes of output that an error quotes from.
const TAIL: usize = 4096;

/// A service in one arm.
pub(in crate::execution) struct ServiceSample<'a> {
    pub service: &'a Service,
    pub server: &'a Path,
    pub load: &'a PreparedLoad,
    pub arm: &'a Arm,
    pub places: &'a Bindings,
    /// Binding of the server.
    pub place: &'a Binding,
    /// Output of the server, and of the load.
    pub captures: [&'a Capture; 2],
    pub watch: Watch<'a>,
    pub interrupt: &'a Interrupt,
    pub timeout: Option<Duration>,
    /// Reports of both on their start.
    pub barriers: [Option<StartBarrier>; 2],
}

impl ServiceSample<'_> {
    /// Takes the sample.
    pub(in crate::execution) fn take(
        mut self,
        reader: &mut EvidenceReader,
    ) -> Result<ArmOutcome, ExecutionError> {
        if let Some(place) = self.service.ready.place().filter(|_| self.service.ready.answers()) {
            return Err(ServiceError::AlreadyAnswers { place }.into());
        }
        self.watch.note_leftovers();
        let server = self.start_server()?;
        self.await_readiness()?;
        let load = self.load;
        if let Some(warmup) = &load.warmup {
            self.run_load("warm-up of the load", warmup)?;
            self.captures[LOAD].clear().map_err(|it| ExecutionError::System("clear output", it))?;
        }
        load.clear();
        let files = self.service.report.files();
        let used_before = CpuTime::of(server);
        let tasks = || threads::of_process(server);
        let before = reader.before(self.places.used_cpus(self.arm), tasks);
        let asked = self.run_load("load", &load.load)?;
        let mut usage = Usage::default();
        usage.add(&CpuTime::of(server).since(used_before), None);
        let (evidence, ..) = reader.after(before, self.arm, &usage);
        let stopped = self.stop(server)?;
        files.into_iter().try_for_each(LoadFile::check_written)?;
        let output = self.captures[LOAD].text();
        let figures = self.service.report.read(&output, load.scratch())?;
        let kind = self.service.report.requests().to_owned();
        Ok(ArmOutcome {
            makespan: asked.took,
            throughput: figures.throughput,
            rates: Default::default(),
            latencies: figures.latency.map(|latency| (kind, latency)).into_iter().collect(),
            workers: vec![one_worker(asked.took); self.arm.workers as usize],
            evidence: self.complete(evidence, &stopped, asked.busy),
        })
    }

    /// Adds what is known of the server's whole life.
    fn complete(&mut self, evidence: Evidence, stopped: &libc::rusage, load_busy: f64) -> Evidence {
        let displaced = if self.arm.cpus.is_empty() { Vec::new() } else { self.watch.displaced() };
        Evidence {
            pinning: match (self.arm.cpus.is_empty(), displaced.is_empty()) {
                (true, _) => Pinning::Free,
                (false, true) => Pinning::SetPinned,
                (false, false) => Pinning::SetByProgram,
            },
            displaced,
            left_running: self.watch.left_running(),
            voluntary_switches: stopped.ru_nvcsw as u64,
            involuntary_switches: stopped.ru_nivcsw as u64,
            major_faults: stopped.ru_majflt as u64,
            max_resident_bytes: stopped.ru_maxrss as u64 * 1024,
            memory_nodes: self.places.memory_nodes(&self.arm.cpus).filter(|_| self.is_bound()),
            load_busy: Some(load_busy),
            ..evidence
        }
    }

    fn start_server(&mut self) -> Result<libc::pid_t, ExecutionError> {
        if !self.arm.cpus.is_empty() {
            self.watch.expect_places([self.arm.cpus.iter().copied().collect()].into_iter());
        }
        let (service, place) = (self.service, self.place);
        self.start(SERVER, &service.server, self.server, place, Some(service.ready_limit))
    }

    /// True if the server's memory was bound, where that was tried.
    fn is_bound(&self) -> bool {
        let barrier = self.barriers[SERVER].as_ref();
        barrier.is_some_and(|it| it.slot(0).unbound.load(Ordering::Acquire) == 0)
    }

    fn await_readiness(&mut self) -> Result<(), ExecutionError> {
        let ready = &self.service.ready;
        loop {
            if ready.is_met(|| self.captures[SERVER].text()) {
                return Ok(());
            }
            match self.watch.next_within(READY_PAUSE_MS)? {
                Event::Tick => {}
                Event::Ended(ended) => {
                    self.check_start(SERVER, &self.service.server)?;
                    let (found, output) = (describe(ended.status), self.output(SERVER));
                    return Err(ServiceError::EndedEarly { found, output }.into());
                }
                Event::TimedOut => {
                    let seconds = self.service.ready_limit.as_secs_f64();
                    let (awaited, output) = (ready.awaited(), self.output(SERVER));
                    return Err(ServiceError::NeverReady { awaited, seconds, output }.into());
                }
            }
        }
    }

    /// Runs a load to its end.
    fn run_load(
        &mut self,
        which: &'static str,
        program: &Program,
    ) -> Result<LoadRun, ExecutionError> {
        let cpus = match self.service.load_cpus.is_empty() {
            true => self.places.inherited(),
            false => self.service.load_cpus.clone(),
        };
        let place = Binding { affinity: Affinity::new(&cpus), memory: None };
        let load = self.start(LOAD, &program.command, &program.path, &place, self.timeout)?;
        let begin = Instant::now();
        let mut busiest = 0.0;
        let ended = loop {
            match self.watch.next()? {
                Event::Tick => {
                    self.captures.iter().for_each(|capture| capture.trim());
                    busiest = busiest_thread(load, begin).unwrap_or(busiest);
                }
                Event::TimedOut => {
                    return Err(ExecutionError::Timeout {
                        arm: self.arm.id.clone(),
                        seconds: self.timeout.unwrap_or_default().as_secs_f64(),
                    });
                }
                Event::Ended(ended) if ended.process == SERVER => self.check_server(&ended)?,
                Event::Ended(ended) => break ended,
            }
        };
        let took = begin.elapsed();
        self.check_start(LOAD, &program.command)?;
        if let Some(server) = self.watch.ended_early()? {
            self.check_server(&server)?;
        }
        if !ended.status.success() {
            self.await_end_of_server()?;
            let (found, output) = (describe(ended.status), self.output(LOAD));
            return Err(ServiceError::LoadFailed { which, found, output }.into());
        }
        let of_all = seconds(&ended.usage) / took.as_secs_f64() / cpus.len().max(1) as f64;
        Ok(LoadRun { took, busy: of_all.max(busiest) })
    }

    /// A load whose server has gone says less about it than the server, which may still be about to end.
    fn await_end_of_server(&mut self) -> Result<(), ExecutionError> {
        self.watch.start(now_ns(), Some(LAST_BREATH));
        loop {
            match self.watch.next()? {
                Event::Tick => {}
                Event::Ended(ended) => self.check_server(&ended)?,
                Event::TimedOut => return Ok(()),
            }
        }
    }

    /// A server that serves one load only may end with it, by itself and in order.
    fn check_server(&self, ended: &Ended) -> Result<(), ServiceError> {
        if ended.status.success() {
            return Ok(());
        }
        let (found, output) = (describe(ended.status), self.output(SERVER));
        Err(ServiceError::EndedUnderLoad { found, output })
    }

    /// Asks the server to stop and waits until it has; returns what it used in all.
    fn stop(&mut self, server: libc::pid_t) -> Result<libc::rusage, ExecutionError> {
        let (signal, limit) = (self.service.stop_signal, self.service.stop_limit);
        if !self.watch.ids().any(|id| id == server) {
            return Ok(no_usage());
        }
        // SAFETY: signals a child that has not been collected.
        unsafe { libc::kill(server, signal.number()) };
        self.watch.start(now_ns(), Some(limit));
        loop {
            match self.watch.next()? {
                Event::Tick => {}
                Event::Ended(ended) => return Ok(ended.usage),
                Event::TimedOut => {
                    let seconds = limit.as_secs_f64();
                    return Err(ServiceError::NotStopped { signal, seconds }.into());
                }
            }
        }
    }

    /// Starts a process in its place, from where it has `limit` to do what it is to do.
    fn start(
        &mut self,
        number: usize,
        command: &Command,
        program: &Path,
        place: &Binding,
        limit: Option<Duration>,
    ) -> Result<libc::pid_t, ExecutionError> {
        let barrier = StartBarrier::new(1)
            .map_err(|error| ExecutionError::System("set up the start of a process", error))?;
        let input = corun_files::input("/dev/null".as_ref())
            .map_err(|error| ExecutionError::System("open /dev/null", error))?;
        let output = self.captures[number].as_fd();
        let process = Process::launch(&Launch {
            image: &command.image(program, self.arm)?,
            streams: Streams { input: input.as_fd(), output, errors: output },
            position: Position { affinity: &place.affinity, memory: place.memory.as_ref() },
            barrier: &barrier,
            slot: 0,
            keep_barrier: false,
        })?;
        let id = process.id;
        self.watch.add(number, process);
        while !barrier.wait_ready(1, Duration::from_millis(20)) {
            if self.interrupt.is_raised() {
                return Err(ExecutionError::Interrupted);
            }
            if let Some(ended) = self.watch.ended_early()? {
                not_started(&barrier, command).map_or(Ok(()), Err)?;
                let (found, output) = (describe(ended.status), self.output(ended.process));
                return Err(match ended.process {
                    SERVER => ServiceError::EndedEarly { found, output },
                    _ => ServiceError::LoadFailed { which: "load", found, output },
                }
                .into());
            }
        }
        if !Affinity::of(id).is_ok_and(|affinity| affinity.cpus() == place.affinity.cpus()) {
            let stage = format!("pin a process to CPU {}", place.affinity.cpus());
            let error = std::io::Error::other("the kernel gave it other CPUs");
            return Err(ExecutionError::Start { stage, error });
        }
        self.watch.start(now_ns(), limit);
        barrier.open();
        self.barriers[number] = Some(barrier);
        Ok(id)
    }

    /// Error of a process that ended before it became its program.
    fn check_start(&self, number: usize, command: &Command) -> Result<(), ExecutionError> {
        let barrier = self.barriers[number].as_ref();
        barrier.and_then(|barrier| not_started(barrier, command)).map_or(Ok(()), Err)
    }

    fn output(&self, number: usize) -> String {
        self.captures[number].tail(TAIL)
    }
}

/// A run of the load generator.
struct LoadRun {
    took: Duration,
    /// Share of its own limit.
    busy: f64,
}

/// Why a process did not start, if it says so.
fn not_started(barrier: &StartBarrier, command: &Command) -> Option<ExecutionError> {
    let slot = barrier.slot(0);
    let stage = Stage::from_number(slot.failed_stage.load(Ordering::Acquire))?;
    let error = std::io::Error::from_raw_os_error(slot.errno.load(Ordering::Acquire));
    Some(match stage {
        Stage::Exec => {
            let program = command.argv.first().cloned().unwrap_or_default();
            ExecutionError::Execute { program, error }
        }
        Stage::Directory => {
            ExecutionError::Directory { path: command.directory.clone().unwrap_or_default(), error }
        }
        Stage::Affinity => {
            ExecutionError::Start { stage: "pin a process to its CPUs".to_owned(), error }
        }
        Stage::Redirect | Stage::Threads => {
            let stage = "redirect a process's input and output".to_owned();
            ExecutionError::Start { stage, error }
        }
    })
}

/// One of the arm's workers, which are not distinguished.
fn one_worker(took: Duration) -> WorkerSample {
    WorkerSample {
        seconds: took.as_secs_f64(),
        subtracted_s: None,
        runs: 1,
        cpus: Default::default(),
        check: None,
    }
}

/// Description of a process's end.
fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => match corun_machine::memory_death(signal) {
            Some(why) => format!("death by signal {signal} ({why})"),
            None => format!("death by signal {signal}"),
        },
        (None, None) => "an unknown end".to_owned(),
    }
}

/// The share of the time since `begin` for which the busiest thread of a process ran, or of what it
/// started. It is only known while it lives.
fn busiest_thread(process: libc::pid_t, begin: Instant) -> Option<f64> {
    let processes = threads::descendants_of(process).into_iter().chain([process]);
    let times = processes.flat_map(|process| {
        let threads = threads::of_process(process).into_iter();
        threads.filter_map(move |thread| threads::on_cpu_ns(process, thread))
    });
    let most = times.max()?;
    let elapsed = begin.elapsed();
    (elapsed > SHORTEST_SHARE).then(|| most as f64 / elapsed.as_nanos() as f64)
}

/// A share of less time says nothing: a load begins by starting.
const SHORTEST_SHARE: Duration = Duration::from_millis(100);

/// CPU time of a process, of what it started, and of what that left behind, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CpuTime {
    user: u64,
    system: u64,
}

impl CpuTime {
    fn of(process: libc::pid_t) -> Self {
        let processes = threads::descendants_of(process).into_iter().chain([process]);
        let stat = |process| corun_files::kernel_text(format!("/proc/{process}/stat")).ok();
        processes.filter_map(stat).filter_map(|text| Self::parse(&text)).fold(
            Self::default(),
            |sum, time| Self { user: sum.user + time.user, system: sum.system + time.system },
        )
    }

    /// Fields 14 to 17 of a process's `stat`: its own times, and those of its children that it has
    /// collected.
    fn parse(stat: &str) -> Option<Self> {
        let stat = TaskStat::parse(stat)?;
        let sum = |own, children| Some(stat.field(own)? + stat.field(children)?);
        Some(Self { user: sum(14, 16)?, system: sum(15, 17)? })
    }

    /// Resources used since `before`, as the kernel gives that of an ended process.
    fn since(self, before: Self) -> libc::rusage {
        // SAFETY: asks for a constant of the system.
        let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
        let time = |ticks: u64| libc::timeval {
            tv_sec: (ticks / a_second) as libc::time_t,
            tv_usec: (ticks % a_second * 1_000_000 / a_second) as libc::suseconds_t,
        };
        libc::rusage {
            ru_utime: time(self.user.saturating_sub(before.user)),
            ru_stime: time(self.system.saturating_sub(before.system)),
            ..no_usage()
        }
    }
}

fn no_usage() -> libc::rusage {
    // SAFETY: rusage is plain data.
    unsafe { std::mem::zeroed() }
}

fn seconds(usage: &libc::rusage) -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_children_count() {
        let fields: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
        let stat = format!("77 (a ) b) {}", fields.join(" "));
        let time = CpuTime { user: 14 + 16, system: 15 + 17 };
        assert_eq!(CpuTime::parse(&stat), Some(time));
        assert_eq!(CpuTime::parse("77 (short) S 1 2"), None);
        let used = time.since(CpuTime { user: 10, system: 40 });
        assert!((seconds(&used) - 0.2).abs() < 1e-6, "20 ticks of a hundredth of a second");
    }
}
