//! The processes of one sample: launched into their places, assembled at the barrier, seen through to
//! their end.

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use corun_machine::switch::SmtSwitch;
use corun_machine::{Affinity, CpuSet};
use corun_record::Arm;

use super::bindings::{Binding, Bindings};
use super::error::ExecutionError;
use super::interrupt::Interrupt;
use super::output::Capture;
use super::process::{ExecImage, Launch, Position, Process, Streams};
use super::start_barrier::{Stage, StartBarrier};
use super::steady::{Next, Progress};
use super::undisturbed::WorkTime;
use super::watch::{Ended, Event, Watch};
use super::work::{Command, Task, Work};
use super::worker_failure;
use crate::evidence::Usage;

/// The processes of one sample, from launch to end.
pub(super) struct SampleProcesses<'a> {
    work: &'a Work,
    arm: &'a Arm,
    barrier: &'a StartBarrier,
    images: Vec<ExecImage>,
    places: Vec<Binding>,
    captures: &'a [Capture],
}

impl<'a> SampleProcesses<'a> {
    pub(super) fn new(
        work: &'a Work,
        program: &Path,
        places: &Bindings,
        captures: &'a [Capture],
        arm: &'a Arm,
        barrier: &'a StartBarrier,
    ) -> Result<Self, ExecutionError> {
        let images = match &work.task {
            Task::Command(command) => vec![command.image(program, arm)?],
            Task::Service(service) => vec![service.server.image(program, arm)?],
            Task::Kernel(kernel) => (0..work.processes(arm))
                .map(|process| {
                    let threads = work.threads(arm);
                    kernel.image(arm, process, threads, barrier.descriptor(), work.steady)
                })
                .collect::<Result<_, _>>()?,
        };
        Ok(Self {
            work,
            arm,
            barrier,
            images,
            places: places.of_processes(arm, work),
            captures: &captures[..work.processes(arm)],
        })
    }

    pub(super) fn launch_all<'w>(
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
            barrier: self.barrier,
            slot: self.slot(process),
            keep_barrier: matches!(self.work.task, Task::Kernel(_)),
        })
    }

    /// The slot of a process's first worker.
    fn slot(&self, process: usize) -> usize {
        process * self.work.threads(self.arm)
    }

    /// Waits until every worker is at the barrier and in its place; one that is not says why.
    pub(super) fn assemble(
        &self,
        watch: &mut Watch,
        interrupt: &Interrupt,
    ) -> Result<(), ExecutionError> {
        let expected = match self.work.task {
            Task::Kernel(_) => self.arm.workers,
            Task::Command(_) | Task::Service(_) => self.places.len() as u32,
        };
        let begin = Instant::now();
        while !self.barrier.wait_ready(expected, Duration::from_millis(20)) {
            if self.work.timeout.is_some_and(|timeout| begin.elapsed() > timeout) {
                return Err(self.timed_out());
            }
            if interrupt.is_raised() {
                return Err(ExecutionError::Interrupted);
            }
            if let Some(ended) = watch.ended_early()? {
                return Err(self.failure(&ended));
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
                let slot = self.barrier.slot(self.slot(process));
                slot.failed_stage.store(Stage::Affinity as u32, Ordering::Release);
            }
        }
        let failure = (0..self.arm.workers as usize).find_map(|worker| {
            worker_failure::of_start(
                self.work,
                self.arm,
                worker / threads,
                self.barrier.slot(worker),
            )
        });
        failure.map_or(Ok(()), Err)
    }

    /// Waits until all have done their work, starting copies again where that is asked for.
    pub(super) fn see_through(
        &self,
        watch: &mut Watch,
        start_ns: u64,
    ) -> Result<(Progress, Usage, Vec<WorkTime>), ExecutionError> {
        let restart = self.work.steady && matches!(self.work.task, Task::Command(_));
        let mut progress = Progress::new(self.places.len(), restart);
        let mut usage = Usage::default();
        let mut times = vec![WorkTime::default(); self.places.len()];
        loop {
            match watch.next()? {
                Event::Tick => self.captures.iter().for_each(Capture::trim),
                Event::TimedOut => {
                    return Err(self.timed_out());
                }
                Event::Ended(ended) => {
                    if !worker_failure::succeeded(self.work, ended.status) {
                        return Err(self.failure(&ended));
                    }
                    usage.add(&ended.usage, ended.migrations);
                    times[ended.process].add(&ended, self.barrier.slot(self.slot(ended.process)));
                    match progress.finish(ended.process, ended.at_ns - start_ns) {
                        Next::Rest => {}
                        Next::Again => {
                            watch.add_started(ended.process, self.launch(ended.process)?);
                        }
                        Next::Over => {
                            let unfinished = watch.kill_rest();
                            unfinished.iter().for_each(|used| usage.add(used, None));
                            return Ok((progress, usage, times));
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
    fn failure(&self, ended: &Ended) -> ExecutionError {
        let slot = self.barrier.slot(self.slot(ended.process));
        worker_failure::of_start(self.work, self.arm, ended.process, slot).unwrap_or_else(|| {
            let capture = &self.captures[ended.process];
            worker_failure::of_end(self.work, self.arm, ended.process, ended.status, capture)
        })
    }
}

/// The workers' standard input, at its beginning.
pub(super) fn open_input(task: &Task) -> Result<File, ExecutionError> {
    let path = match task {
        Task::Command(Command { input: Some(path), .. }) => path.clone(),
        _ => PathBuf::from("/dev/null"),
    };
    corun_files::input(&path).map_err(|error| ExecutionError::Input { path, error })
}
