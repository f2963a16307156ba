//! The executor of this machine.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use corun_machine::{Affinity, CpuSet, MemoryPolicy};
use corun_record::{Arm, Mode, Pinning, WorkerSample};

use super::clock::monotonic_ns;
use super::error::ExecutionError;
use super::gate::{Gate, Stage};
use super::interrupt::Interrupt;
use super::output::Capture;
use super::process::{Image, Position, Process, Streams};
use super::steady::{Next, Progress};
use super::threads;
use super::watch::{Event, Watch};
use super::work::{Command, Task, Work};
use crate::cores::Core;
use crate::evidence::{EvidenceReader, Usage};
use crate::experiment::{Executor, Outcome};

/// Runs arms on the machine that corun runs on.
pub struct LocalExecutor {
    work: Work,
    cores: Vec<Core>,
    /// The affinity corun was started with: unpinned workers get it back.
    inherited: Affinity,
    interrupt: Interrupt,
    evidence: EvidenceReader,
    captures: Vec<Capture>,
    input: File,
    /// The check value of each workload variant, from its first run.
    checks: BTreeMap<String, u64>,
    begin: Instant,
}

impl LocalExecutor {
    /// An executor of `work` on these cores.
    ///
    /// # Errors
    /// If the workers' input cannot be opened or the system refuses the evidence of affinity.
    pub fn new(work: Work, cores: Vec<Core>, interrupt: Interrupt) -> Result<Self, ExecutionError> {
        let input = match &work.task {
            Task::Command(Command { input: Some(path), .. }) => File::open(path)
                .map_err(|error| ExecutionError::Input { path: path.clone(), error })?,
            _ => File::open("/dev/null")
                .map_err(|error| ExecutionError::System("open /dev/null", error))?,
        };
        let inherited = Affinity::of(0)
            .map_err(|error| ExecutionError::System("read corun's own affinity", error))?;
        Ok(Self {
            work,
            cores,
            inherited,
            interrupt,
            evidence: EvidenceReader::new(),
            captures: Vec::new(),
            input,
            checks: BTreeMap::new(),
            begin: Instant::now(),
        })
    }

    /// The operations one worker does in one run.
    pub fn operations(&self) -> f64 {
        self.work.operations
    }

    /// Sets the operations one worker of a kernel does in one run.
    pub(super) fn set_operations(&mut self, operations: u64) {
        if let Task::Kernel(kernel) = &mut self.work.task {
            kernel.operations = operations;
            self.work.operations = operations as f64;
            self.checks.clear();
        }
    }

    /// Moves corun itself out of the workers' way: to a core that the arm leaves idle, if any.
    fn step_aside(&self, arm: &Arm) {
        let used = |cpu: &u32| arm.cpus.contains(cpu);
        let idle_cores: Vec<u32> = self
            .cores
            .iter()
            .filter(|core| !core.online_siblings.iter().any(used))
            .flat_map(|core| core.cpus.clone())
            .collect();
        let idle_cpus = || -> Vec<u32> {
            self.cores.iter().flat_map(|core| core.cpus.clone()).filter(|cpu| !used(cpu)).collect()
        };
        let place = if idle_cores.is_empty() { idle_cpus() } else { idle_cores };
        let mask = if place.is_empty() {
            self.inherited.clone()
        } else {
            Affinity::new(&place.into_iter().collect())
        };
        // Failing to step aside costs accuracy, not correctness.
        let _ = mask.apply(0);
    }

    /// The CPUs whose clocks matter to an arm.
    fn used_cpus(&self, arm: &Arm) -> Vec<u32> {
        let mut cpus = if arm.cpus.is_empty() {
            self.inherited.cpus().as_slice().to_vec()
        } else {
            arm.cpus.clone()
        };
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// The nodes that memory of these CPUs belongs to; `None` where there is nothing to bind.
    fn nodes_of(&self, cpus: &[u32]) -> Option<Vec<u32>> {
        let node = |core: &&Core| core.cpus.iter().any(|cpu| cpus.contains(cpu));
        let mut nodes: Vec<u32> =
            self.cores.iter().filter(node).filter_map(|core| core.numa_node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let all = |first: Option<u32>| self.cores.iter().all(|core| core.numa_node == first);
        let one_node = self.cores.first().is_none_or(|core| all(core.numa_node));
        (!nodes.is_empty() && !one_node && !cpus.is_empty()).then_some(nodes)
    }

    fn positions(&self, arm: &Arm) -> Vec<(Affinity, Option<MemoryPolicy>)> {
        let threads = self.work.threads(arm);
        (0..self.work.processes(arm))
            .map(|process| {
                if arm.cpus.is_empty() {
                    return (self.inherited.clone(), None);
                }
                let cpus = &arm.cpus[process * threads..(process + 1) * threads];
                let memory = self
                    .nodes_of(cpus)
                    .map(|nodes| MemoryPolicy::bind(&nodes.into_iter().collect()));
                (Affinity::new(&cpus.iter().copied().collect()), memory)
            })
            .collect()
    }

    fn images(&self, arm: &Arm, gate: &Gate) -> Result<Vec<Image>, ExecutionError> {
        match &self.work.task {
            Task::Command(command) => Ok(vec![command.image(arm)?]),
            Task::Kernel(kernel) => (0..self.work.processes(arm))
                .map(|process| {
                    let threads = self.work.threads(arm);
                    kernel.image(arm, process, threads, gate.descriptor(), self.work.steady)
                })
                .collect(),
        }
    }

    fn prepare_captures(&mut self, count: usize) -> Result<(), ExecutionError> {
        let refused = |error| ExecutionError::System("keep the workers' output", error);
        while self.captures.len() < count {
            self.captures.push(Capture::new().map_err(refused)?);
        }
        self.captures[..count].iter().try_for_each(Capture::clear).map_err(refused)
    }

    /// Waits until every worker is at the gate; one that ends before says why.
    fn assemble(&self, arm: &Arm, gate: &Gate, watch: &mut Watch) -> Result<(), ExecutionError> {
        let expected = if self.is_kernel() { arm.workers } else { self.work.processes(arm) as u32 };
        while !gate.wait_ready(expected, Duration::from_millis(20)) {
            if self.interrupt.is_raised() {
                return Err(ExecutionError::Interrupted);
            }
            if let Some(ended) = watch.ended_early()? {
                return Err(self.start_failure(arm, gate, ended.index, ended.status));
            }
        }
        self.verify_pins(arm, gate, watch)
    }

    /// Reads every worker's affinity back: the kernel silently leaves out what it will not give.
    fn verify_pins(&self, arm: &Arm, gate: &Gate, watch: &Watch) -> Result<(), ExecutionError> {
        let threads = self.work.threads(arm);
        let refused = |worker: usize| self.start_failure(arm, gate, worker, ExitStatus::default());
        let failed = |worker: &usize| gate.slot(*worker).failed_stage.load(Ordering::Acquire) != 0;
        if let Some(worker) = (0..arm.workers as usize).find(failed) {
            return Err(refused(worker / threads));
        }
        for (index, (id, cpus)) in watch.ids().zip(arm.cpus.chunks(threads)).enumerate() {
            let wanted: CpuSet = cpus.iter().copied().collect();
            if !Affinity::of(id).is_ok_and(|affinity| affinity.cpus() == wanted) {
                gate.slot(index * threads)
                    .failed_stage
                    .store(Stage::Affinity as u32, Ordering::Release);
                return Err(refused(index));
            }
        }
        Ok(())
    }

    fn is_kernel(&self) -> bool {
        matches!(self.work.task, Task::Kernel(_))
    }

    /// Why a worker ended before its work began.
    fn start_failure(
        &self,
        arm: &Arm,
        gate: &Gate,
        process: usize,
        status: ExitStatus,
    ) -> ExecutionError {
        let slot = gate.slot(process * self.work.threads(arm));
        let errno = slot.errno.load(Ordering::Acquire);
        let error = std::io::Error::from_raw_os_error(errno);
        let cpus = arm.cpus.get(process).map_or_else(String::new, |cpu| format!(" to CPU {cpu}"));
        match Stage::from_number(slot.failed_stage.load(Ordering::Acquire)) {
            Some(stage) => ExecutionError::Start {
                stage: match stage {
                    Stage::Redirect => "redirect a worker's input and output".to_owned(),
                    Stage::Directory => match &self.work.task {
                        Task::Command(Command { directory: Some(directory), .. }) => {
                            format!("enter the working directory {directory:?}")
                        }
                        _ => "enter the working directory".to_owned(),
                    },
                    Stage::Affinity => format!("pin a worker{cpus}"),
                    Stage::Memory => "bind a worker's memory to its NUMA node".to_owned(),
                    Stage::Exec => match &self.work.task {
                        Task::Command(command) => format!("execute {:?}", command.argv[0]),
                        Task::Kernel(kernel) => format!("execute {:?}", kernel.corun),
                    },
                },
                error,
            },
            None => self.failure(arm, process, status),
        }
    }

    /// A worker that ended otherwise than expected.
    fn failure(&self, arm: &Arm, process: usize, status: ExitStatus) -> ExecutionError {
        let expected = match &self.work.task {
            Task::Command(command) => command.expected_exit,
            Task::Kernel(_) => 0,
        };
        ExecutionError::Failed {
            arm: arm.id.clone(),
            worker: process * self.work.threads(arm),
            expected: format!("exit status {expected}"),
            found: describe(status),
            output: self.captures.get(process).map_or_else(String::new, |it| it.tail(4096)),
        }
    }

    fn succeeded(&self, status: ExitStatus) -> bool {
        match &self.work.task {
            Task::Command(command) => status.code() == Some(command.expected_exit),
            Task::Kernel(_) => status.success(),
        }
    }

    /// What each worker did, and X.
    fn account(
        &mut self,
        arm: &Arm,
        gate: &Gate,
        start_ns: u64,
        progress: &Progress,
        sightings: Option<Vec<BTreeMap<u32, u32>>>,
    ) -> Result<(Duration, f64, Vec<WorkerSample>), ExecutionError> {
        let seen_on = |worker: usize| match (&sightings, arm.cpus.get(worker)) {
            (Some(sightings), _) => sightings.get(worker).cloned().unwrap_or_default(),
            (None, Some(&cpu)) => BTreeMap::from([(cpu, 1)]),
            (None, None) => BTreeMap::new(),
        };
        let operations = self.work.operations_of_all(arm.workers) / f64::from(arm.workers);
        if self.is_kernel() {
            let mut kernels = Progress::new(arm.workers as usize, self.work.steady);
            let mut checks = Vec::new();
            for worker in 0..arm.workers as usize {
                let slot = gate.slot(worker);
                let end = slot.end_ns.load(Ordering::Acquire).saturating_sub(start_ns);
                for _ in 0..slot.runs.load(Ordering::Acquire) {
                    kernels.finish(worker, end);
                }
                checks.push(slot.check.load(Ordering::Acquire));
            }
            self.compare_checks(arm, &checks)?;
            let workers = kernels
                .workers()
                .zip(checks)
                .enumerate()
                .map(|(worker, ((runs, seconds), check))| WorkerSample {
                    seconds,
                    runs,
                    cpus: seen_on(worker),
                    check: Some(format!("{check:016x}")),
                })
                .collect();
            let throughput = kernels.runs_per_second() * operations;
            return Ok((Duration::from_nanos(kernels.makespan_ns()), throughput, workers));
        }
        let threads = self.work.threads(arm);
        let workers = progress
            .workers()
            .flat_map(|each| std::iter::repeat_n(each, threads))
            .enumerate()
            .map(|(worker, (runs, seconds))| WorkerSample {
                seconds,
                runs,
                cpus: seen_on(worker),
                check: None,
            })
            .collect();
        let throughput = match self.reported_throughput(arm)? {
            Some(reported) => reported,
            None => progress.runs_per_second() * operations * threads as f64,
        };
        Ok((Duration::from_nanos(progress.makespan_ns()), throughput, workers))
    }

    /// Every worker did the same work, so every check value must be the same.
    fn compare_checks(&mut self, arm: &Arm, checks: &[u64]) -> Result<(), ExecutionError> {
        let variant = arm.variant.as_ref().map_or("", |variant| variant.name.as_str());
        for (worker, &found) in checks.iter().enumerate() {
            let expected = *self.checks.entry(variant.to_owned()).or_insert(found);
            if found != expected {
                return Err(ExecutionError::Check { arm: arm.id.clone(), worker, expected, found });
            }
        }
        Ok(())
    }

    /// The sum of what all processes said of their throughput.
    fn reported_throughput(&self, arm: &Arm) -> Result<Option<f64>, ExecutionError> {
        let Task::Command(Command { throughput: Some(pattern), .. }) = &self.work.task else {
            return Ok(None);
        };
        let mut sum = 0.0;
        for (worker, capture) in self.captures[..self.work.processes(arm)].iter().enumerate() {
            let text = capture.text();
            let found = pattern.captures_iter(&text).last().and_then(|groups| groups.get(1));
            let number = found.and_then(|found| found.as_str().replace(',', "").parse().ok());
            match number {
                Some(number) if f64::is_finite(number) && number > 0.0 => sum += number,
                _ => {
                    return Err(ExecutionError::Throughput {
                        arm: arm.id.clone(),
                        worker,
                        pattern: pattern.to_string(),
                        found: match found {
                            Some(found) => format!("\"{}\"", found.as_str()),
                            None => "no match".to_owned(),
                        },
                    });
                }
            }
        }
        Ok(Some(sum))
    }
}

impl Executor for LocalExecutor {
    fn run(&mut self, arm: &Arm) -> Result<Outcome, ExecutionError> {
        let processes = self.work.processes(arm);
        let threads = self.work.threads(arm);
        self.step_aside(arm);
        self.prepare_captures(processes)?;
        let gate = Gate::new(arm.workers as usize)
            .map_err(|error| ExecutionError::System("set up the common start", error))?;
        let images = self.images(arm, &gate)?;
        let positions = self.positions(arm);
        let keep_gate = self.is_kernel();
        let launch = |captures: &[Capture], input: BorrowedFd, process: usize| {
            let streams = Streams {
                input,
                output: captures[process].as_fd(),
                errors: captures[process].as_fd(),
            };
            let (affinity, memory) = &positions[process];
            let position = Position { affinity, memory: memory.as_ref() };
            let image = images.get(process).unwrap_or(&images[0]);
            Process::launch(image, &streams, &position, &gate, process * threads, keep_gate)
        };
        let mut launched = Launched(Vec::with_capacity(processes));
        for process in 0..processes {
            launched.0.push(launch(&self.captures, self.input.as_fd(), process)?);
        }
        let interrupt = &self.interrupt;
        let mut watch = Watch::new(std::mem::take(&mut launched.0), threads, interrupt);
        self.assemble(arm, &gate, &mut watch)?;
        if arm.cpus.is_empty() {
            watch.note_sightings(arm.workers as usize);
        } else if !keep_gate && self.work.mode != Mode::Copies {
            watch.pin_threads(&arm.cpus);
        }
        let tasks: Vec<_> = watch.ids().flat_map(threads::of_process).collect();
        let before = self.evidence.before(self.used_cpus(arm), &tasks);

        let start_ns = monotonic_ns();
        watch.start(start_ns, self.work.timeout);
        gate.open();
        let mut usage = Usage::default();
        let mut progress = Progress::new(processes, self.work.steady && !keep_gate);
        while !watch.is_empty() {
            match watch.next()? {
                Event::Tick => self.captures[..processes].iter().for_each(Capture::trim),
                Event::TimedOut => {
                    return Err(ExecutionError::Timeout {
                        arm: arm.id.clone(),
                        seconds: self.work.timeout.unwrap_or_default().as_secs_f64(),
                    });
                }
                Event::Ended(ended) => {
                    if gate.slot(ended.index * threads).failed_stage.load(Ordering::Acquire) != 0 {
                        return Err(self.start_failure(arm, &gate, ended.index, ended.status));
                    }
                    if !self.succeeded(ended.status) {
                        return Err(self.failure(arm, ended.index, ended.status));
                    }
                    usage.add(&ended.usage);
                    match progress.finish(ended.index, ended.at_ns - start_ns) {
                        Next::Rest => {}
                        Next::Again => {
                            let again = launch(&self.captures, self.input.as_fd(), ended.index)?;
                            watch.add(ended.index, again);
                        }
                        Next::Over => break,
                    }
                }
            }
        }
        let sightings = watch.sightings();
        let pinned_by_watch = watch.pinning();
        drop(watch);
        let (makespan, throughput, workers) =
            self.account(arm, &gate, start_ns, &progress, sightings)?;
        let mut evidence = self.evidence.after(before, arm, makespan, &usage);
        evidence.pinning = match (arm.cpus.is_empty(), pinned_by_watch) {
            (true, _) => Pinning::Free,
            (false, Some(pinning)) => pinning,
            (false, None) => Pinning::Pinned,
        };
        evidence.memory_nodes = self.nodes_of(&arm.cpus);
        Ok(Outcome { makespan, throughput, workers, evidence })
    }

    fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

/// Kills what was launched if the launch of a later one fails.
struct Launched(Vec<Process>);

impl Drop for Launched {
    fn drop(&mut self) {
        for process in self.0.drain(..) {
            process.kill();
        }
    }
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("death by signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}
