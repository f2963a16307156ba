//! The executor of this machine: how one sample is taken, from launch to evidence.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use corun_machine::switch::SmtSwitch;
use corun_machine::{Affinity, CpuSet};
use corun_record::{Arm, Mode, Pinning};

use super::accounting::account;
use super::clock::monotonic_ns;
use super::error::ExecutionError;
use super::gate::{Gate, Stage};
use super::interrupt::Interrupt;
use super::output::Capture;
use super::places::{Place, Places};
use super::process::{Image, Launch, Position, Process, Streams, prepare_for_children};
use super::steady::{Next, Progress};
use super::watch::{Ended, Event, Watch};
use super::work::{Command, Task, Work};
use super::{threads, trouble};
use crate::cores::Core;
use crate::evidence::{EvidenceReader, Usage};
use crate::experiment::{Executor, Outcome};

/// Runs arms on the machine that corun runs on.
pub struct LocalExecutor {
    work: Work,
    /// What is executed, found once.
    program: PathBuf,
    places: Places,
    interrupt: Interrupt,
    /// The switch of SMT, where arms say in which state they run.
    smt: Option<RefCell<SmtSwitch>>,
    evidence: EvidenceReader,
    captures: Vec<Capture>,
    /// The check value of each workload variant, from its first run.
    checks: BTreeMap<String, u64>,
    begin: Instant,
}

impl LocalExecutor {
    /// An executor of `work` on these cores, with the switch of SMT for arms that need it.
    ///
    /// # Errors
    /// If the program is not found, or its input or corun's own affinity cannot be read.
    pub fn new(
        work: Work,
        cores: Vec<Core>,
        interrupt: Interrupt,
        smt: Option<SmtSwitch>,
    ) -> Result<Self, ExecutionError> {
        prepare_for_children();
        open_input(&work.task)?;
        let inherited = Affinity::of(0)
            .map_err(|error| ExecutionError::System("read corun's own affinity", error))?;
        let program = work.task.program()?;
        Ok(Self {
            work,
            program,
            places: Places::new(cores, inherited),
            interrupt,
            smt: smt.map(RefCell::new),
            evidence: EvidenceReader::new(),
            captures: Vec::new(),
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

    /// Brings SMT back as it was found.
    ///
    /// # Errors
    /// If not everything came back.
    pub fn restore_smt(&mut self) -> Result<(), ExecutionError> {
        match self.smt.take() {
            Some(switch) => Ok(switch.into_inner().restore()?),
            None => Ok(()),
        }
    }

    /// Puts SMT into the state that the arm asks for.
    fn put_smt(&mut self, arm: &Arm) -> Result<(), ExecutionError> {
        if let (Some(switch), Some(wanted)) = (&mut self.smt, arm.smt)
            && switch.get_mut().set(wanted)?
        {
            self.places.note_online(&switch.get_mut().online());
        }
        Ok(())
    }

    fn is_kernel(&self) -> bool {
        matches!(self.work.task, Task::Kernel(_))
    }

    fn prepare_captures(&mut self, count: usize) -> Result<(), ExecutionError> {
        let refused = |error| ExecutionError::System("keep the workers' output", error);
        while self.captures.len() < count {
            self.captures.push(Capture::new().map_err(refused)?);
        }
        self.captures[..count].iter().try_for_each(Capture::clear).map_err(refused)
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
}

impl Executor for LocalExecutor {
    fn run(&mut self, arm: &Arm) -> Result<Outcome, ExecutionError> {
        self.put_smt(arm)?;
        self.places.step_aside(arm);
        self.prepare_captures(self.work.processes(arm))?;
        let gate = Gate::new(arm.workers as usize)
            .map_err(|error| ExecutionError::System("set up the common start", error))?;
        let crew = Crew::new(&self.work, &self.program, &self.places, &self.captures, arm, &gate)?;
        let mut watch = crew.launch_all(&self.interrupt, self.smt.as_ref())?;
        crew.assemble(&mut watch, &self.interrupt)?;
        if arm.cpus.is_empty() {
            watch.note_sightings(arm.workers as usize);
        } else if !self.is_kernel() && self.work.mode != Mode::Copies {
            watch.pin_threads(&arm.cpus);
        }
        watch.note_migrations();
        let tasks = || watch.ids().flat_map(threads::of_process).collect();
        let before = self.evidence.before(self.places.used_cpus(arm), tasks);

        let start_ns = monotonic_ns();
        watch.start(start_ns, self.work.timeout);
        gate.open();
        let (progress, usage) = crew.see_through(&mut watch, start_ns)?;

        let sightings = watch.sightings();
        let pinning = match arm.cpus.is_empty() {
            true => Pinning::Free,
            false => watch.pinning().unwrap_or(Pinning::Pinned),
        };
        drop(watch);
        let captures = &self.captures[..self.work.processes(arm)];
        if let (Some(switch), Some(_)) = (&mut self.smt, arm.smt) {
            switch.get_mut().verify()?;
        }
        let mut account = account(&self.work, arm, &gate, start_ns, &progress, captures)?;
        account.note_places(arm, pinning, sightings);
        self.compare_checks(arm, &account.checks)?;
        let mut evidence = self.evidence.after(before, arm, account.makespan, &usage);
        evidence.pinning = pinning;
        let bound = |worker| gate.slot(worker).unbound.load(Ordering::Acquire) == 0;
        evidence.memory_nodes =
            self.places.memory_nodes(&arm.cpus).filter(|_| (0..arm.workers as usize).all(bound));
        Ok(Outcome {
            makespan: account.makespan,
            throughput: account.throughput,
            workers: account.workers,
            evidence,
        })
    }

    fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

impl Drop for LocalExecutor {
    /// Workers that had to be killed could not remove their files.
    fn drop(&mut self) {
        if self.is_kernel() {
            let _ = corun_workload::remove_abandoned_scratch();
        }
    }
}

/// The processes of one sample, from launch to end.
struct Crew<'a> {
    work: &'a Work,
    arm: &'a Arm,
    gate: &'a Gate,
    images: Vec<Image>,
    places: Vec<Place>,
    captures: &'a [Capture],
}

impl<'a> Crew<'a> {
    fn new(
        work: &'a Work,
        program: &Path,
        places: &Places,
        captures: &'a [Capture],
        arm: &'a Arm,
        gate: &'a Gate,
    ) -> Result<Self, ExecutionError> {
        let images = match &work.task {
            Task::Command(command) => vec![command.image(program, arm)?],
            Task::Kernel(kernel) => (0..work.processes(arm))
                .map(|process| {
                    let threads = work.threads(arm);
                    kernel.image(arm, process, threads, gate.descriptor(), work.steady)
                })
                .collect::<Result<_, _>>()?,
        };
        Ok(Self {
            work,
            arm,
            gate,
            images,
            places: places.of_processes(arm, work),
            captures: &captures[..work.processes(arm)],
        })
    }

    fn launch_all<'w>(
        &self,
        interrupt: &'w Interrupt,
        smt: Option<&'w RefCell<SmtSwitch>>,
    ) -> Result<Watch<'w>, ExecutionError>
    where
        'a: 'w,
    {
        let mut watch = Watch::new(self.work.threads(self.arm), interrupt, smt);
        for process in 0..self.places.len() {
            watch.add(process, self.launch(process)?);
        }
        Ok(watch)
    }

    fn launch(&self, process: usize) -> Result<Process, ExecutionError> {
        // Opened for each process, so that each reads it from the start.
        let input = open_input(&self.work.task)?;
        let output = self.captures[process].as_fd();
        let place = &self.places[process];
        Process::launch(&Launch {
            image: self.images.get(process).unwrap_or(&self.images[0]),
            streams: Streams { input: input.as_fd(), output, errors: output },
            position: Position { affinity: &place.affinity, memory: place.memory.as_ref() },
            gate: self.gate,
            slot: self.slot(process),
            keep_gate: matches!(self.work.task, Task::Kernel(_)),
        })
    }

    /// The slot of a process's first worker.
    fn slot(&self, process: usize) -> usize {
        process * self.work.threads(self.arm)
    }

    /// Waits until every worker is at the gate and in its place; one that is not says why.
    fn assemble(&self, watch: &mut Watch, interrupt: &Interrupt) -> Result<(), ExecutionError> {
        let expected = match self.work.task {
            Task::Kernel(_) => self.arm.workers,
            Task::Command(_) => self.places.len() as u32,
        };
        let begin = Instant::now();
        while !self.gate.wait_ready(expected, Duration::from_millis(20)) {
            if self.work.timeout.is_some_and(|timeout| begin.elapsed() > timeout) {
                return Err(self.timed_out());
            }
            if interrupt.is_raised() {
                return Err(ExecutionError::Interrupted);
            }
            if let Some(ended) = watch.ended_early()? {
                return Err(self.trouble(&ended));
            }
        }
        self.verify_places(watch)
    }

    /// Reads every process's affinity back: the kernel silently leaves out what it will not give.
    fn verify_places(&self, watch: &Watch) -> Result<(), ExecutionError> {
        let threads = self.work.threads(self.arm);
        for (process, (id, cpus)) in watch.ids().zip(self.arm.cpus.chunks(threads)).enumerate() {
            let wanted: CpuSet = cpus.iter().copied().collect();
            if !Affinity::of(id).is_ok_and(|affinity| affinity.cpus() == wanted) {
                let slot = self.gate.slot(self.slot(process));
                slot.failed_stage.store(Stage::Affinity as u32, Ordering::Release);
            }
        }
        let trouble = (0..self.arm.workers as usize).find_map(|worker| {
            trouble::of_start(self.work, self.arm, worker / threads, self.gate.slot(worker))
        });
        trouble.map_or(Ok(()), Err)
    }

    /// Waits until all have done their work, starting copies again where that is asked for.
    fn see_through(
        &self,
        watch: &mut Watch,
        start_ns: u64,
    ) -> Result<(Progress, Usage), ExecutionError> {
        let restart = self.work.steady && matches!(self.work.task, Task::Command(_));
        let mut progress = Progress::new(self.places.len(), restart);
        let mut usage = Usage::default();
        loop {
            match watch.next()? {
                Event::Tick => self.captures.iter().for_each(Capture::trim),
                Event::TimedOut => {
                    return Err(self.timed_out());
                }
                Event::Ended(ended) => {
                    if !trouble::succeeded(self.work, ended.status) {
                        return Err(self.trouble(&ended));
                    }
                    usage.add(&ended.usage, ended.migrations);
                    match progress.finish(ended.process, ended.at_ns - start_ns) {
                        Next::Rest => {}
                        Next::Again => watch.add(ended.process, self.launch(ended.process)?),
                        Next::Over => {
                            let unfinished = watch.kill_rest();
                            unfinished.iter().for_each(|used| usage.add(used, None));
                            return Ok((progress, usage));
                        }
                    }
                }
            }
        }
    }

    fn timed_out(&self) -> ExecutionError {
        ExecutionError::Timeout {
            arm: self.arm.id.clone(),
            seconds: self.work.timeout.unwrap_or_default().as_secs_f64(),
        }
    }

    /// Why a process ended otherwise than expected.
    fn trouble(&self, ended: &Ended) -> ExecutionError {
        let slot = self.gate.slot(self.slot(ended.process));
        trouble::of_start(self.work, self.arm, ended.process, slot).unwrap_or_else(|| {
            let capture = &self.captures[ended.process];
            trouble::of_end(self.work, self.arm, ended.process, ended.status, capture)
        })
    }
}

/// The workers' standard input, at its beginning.
fn open_input(task: &Task) -> Result<File, ExecutionError> {
    let path = match task {
        Task::Command(Command { input: Some(path), .. }) => path.clone(),
        _ => PathBuf::from("/dev/null"),
    };
    let opened = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    opened.map_err(|error| ExecutionError::Input { path, error })
}
