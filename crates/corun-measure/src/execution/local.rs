//! The executor of this machine: how one sample is taken, from launch to evidence.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use corun_machine::Affinity;
use corun_machine::kernel_clock::now_ns;
use corun_machine::switch::SmtSwitch;
use corun_record::{Arm, Caveat, Displaced, Mode, Pinning, Sample};

use super::accounting::account;
use super::binders::Binders;
use super::bindings::Bindings;
use super::error::ExecutionError;
use super::interrupt::Interrupt;
use super::output::Capture;
use super::preparation::{Preparation, work_before};
use super::process::prepare_for_children;
use super::sample_processes::{SampleProcesses, open_input};
use super::service::{PreparedLoad, ServiceSample};
use super::start_barrier::StartBarrier;
use super::threads;
use super::undisturbed;
use super::watch::Watch;
use super::work::{Task, Work};
use super::{ArmOutcome, Executor};
use crate::caveats;
use crate::cores::Core;
use crate::evidence::EvidenceReader;

/// Runs arms on the machine that corun runs on.
pub struct LocalExecutor {
    work: Work,
    /// Command before each sample.
    preparation: Option<Preparation<Self>>,
    /// The program, found once.
    program: PathBuf,
    places: Bindings,
    /// Parts of the command that set the affinity of its processes.
    binders: Binders,
    /// Load generator of a service.
    load: Option<PreparedLoad>,
    interrupt: Interrupt,
    /// The switch of SMT, where arms say in which state they run.
    smt: Option<RefCell<SmtSwitch>>,
    evidence: EvidenceReader,
    captures: Vec<Capture>,
    /// The check value of each workload and variant, from its first run.
    checks: BTreeMap<String, u64>,
    begin: Instant,
    /// The arm of the first run, and its makespan; not of built-in kernels, whose first runs find out how much they do.
    first_run: Option<(String, Duration)>,
    /// A run that takes longer is ended as too slow, whatever time there is.
    slow: Option<Duration>,
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
        let binders =
            work.task.command().map(|command| Binders::of(command, &program)).unwrap_or_default();
        let listening = |error| ExecutionError::System("listen for an interruption", error);
        let prepare = |own| {
            let interrupt = interrupt.again().map_err(listening)?;
            Self::new(own, cores.clone(), interrupt, None).map(Preparation::new)
        };
        let preparation = work_before(&work).map(prepare).transpose()?;
        let places = Bindings::new(cores, inherited);
        let (load, places) = match &work.task {
            Task::Service(service) => {
                (Some(PreparedLoad::new(service)?), places.reserving(&service.load_cpus))
            }
            Task::Command(_) | Task::Kernel(_) => (None, places),
        };
        Ok(Self {
            work,
            preparation,
            binders,
            load,
            program,
            places,
            interrupt,
            smt: smt.map(RefCell::new),
            evidence: EvidenceReader::new(),
            captures: Vec::new(),
            checks: BTreeMap::new(),
            begin: Instant::now(),
            first_run: None,
            slow: None,
        })
    }

    /// The task that is run.
    pub(crate) fn task(&self) -> &Task {
        &self.work.task
    }

    /// Caveat that the first run of a command, warm-up included, took far longer than these samples.
    pub(crate) fn first_run_caveat(
        &self,
        arms: &[Arm],
        samples: &[Sample],
        warmup: u32,
    ) -> Option<Caveat> {
        let (arm, makespan) = self.first_run.as_ref()?;
        let first = (arm.as_str(), makespan.as_secs_f64());
        caveats::first_run(first, arms, samples, warmup, self.preparation.is_some())
    }

    /// The operations one worker does in one run.
    pub fn operations(&self) -> f64 {
        self.work.operations
    }

    /// Counts time that was spent before, by another process that this one goes on for.
    pub(crate) fn spent_before(&mut self, spent: Duration) {
        self.begin = self.begin.checked_sub(spent).unwrap_or(self.begin);
    }

    /// Sets the operations one worker does in one run, where that can be set.
    pub(crate) fn set_operations(&mut self, operations: u64) {
        if self.work.task.set_operations(operations) {
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

    /// Runs a service once: its server in the arm's place, its load on CPUs of its own.
    fn run_service(&mut self, arm: &Arm) -> Result<ArmOutcome, ExecutionError> {
        self.prepare_captures(2)?;
        let places = self.places.of_processes(arm, &self.work);
        let (Task::Service(service), Some(load), [place], [server_output, load_output, ..]) =
            (&self.work.task, &self.load, &places[..], &self.captures[..])
        else {
            unreachable!("a service has a load, one place, and an output for each of the two")
        };
        let sample = ServiceSample {
            service,
            server: &self.program,
            load,
            arm,
            places: &self.places,
            place,
            captures: [server_output, load_output],
            watch: Watch::new(self.work.threads(arm), &self.interrupt, self.smt.as_ref()),
            interrupt: &self.interrupt,
            timeout: self.work.timeout,
            barriers: Default::default(),
        };
        let mut outcome = sample.take(&mut self.evidence)?;
        if !arm.cpus.is_empty() {
            let is_displaced = !outcome.evidence.displaced.is_empty();
            outcome.evidence.binds_itself = self.binders.to_report(is_displaced);
        }
        Ok(outcome)
    }

    /// Workers that did the same work must have the same check value.
    fn compare_checks(&mut self, arm: &Arm, checks: &[u64]) -> Result<(), ExecutionError> {
        let variant = arm.variant.as_ref().map_or("", |variant| variant.name.as_str());
        for (worker, &found) in checks.iter().enumerate() {
            let kernel = match &self.work.task {
                Task::Kernel(kernel) => kernel.on(arm.cpus.get(worker)).workload.as_str(),
                Task::Command(_) | Task::Service(_) => "",
            };
            let work = format!("{kernel}/{variant}");
            let expected = *self.checks.entry(work).or_insert(found);
            if found != expected {
                return Err(ExecutionError::Check { arm: arm.id.clone(), worker, expected, found });
            }
        }
        Ok(())
    }
}

impl Executor for LocalExecutor {
    fn run(&mut self, arm: &Arm) -> Result<ArmOutcome, ExecutionError> {
        self.put_smt(arm)?;
        if let Some(preparation) = &mut self.preparation {
            preparation.run(arm)?;
        }
        self.places.step_aside(arm);
        let allowed = self.work.timeout;
        self.work.timeout = [allowed, self.slow].into_iter().flatten().min();
        let outcome = match self.load {
            Some(_) => self.run_service(arm),
            None => self.run_workers(arm),
        };
        self.work.timeout = allowed;
        outcome
    }

    fn limit_runs(&mut self, longest: Duration) {
        let timeout = self.work.timeout.map_or(longest, |timeout| timeout.min(longest));
        self.work.timeout = Some(timeout);
        if let Some(preparation) = &mut self.preparation {
            preparation.limit(longest);
        }
    }

    fn end_slow_runs(&mut self, longest: Duration) {
        self.slow = Some(longest);
    }

    fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

impl LocalExecutor {
    /// One run of the workers of a command or kernel.
    fn run_workers(&mut self, arm: &Arm) -> Result<ArmOutcome, ExecutionError> {
        self.prepare_captures(self.work.processes(arm))?;
        let barrier = StartBarrier::new(arm.workers as usize)
            .map_err(|error| ExecutionError::System("set up the common start", error))?;
        let sample_processes = SampleProcesses::new(
            &self.work,
            &self.program,
            &self.places,
            &self.captures,
            arm,
            &barrier,
        )?;
        let mut watch = sample_processes.launch_all(&self.interrupt, self.smt.as_ref())?;
        sample_processes.assemble(&mut watch, &self.interrupt)?;
        if arm.cpus.is_empty() {
            watch.note_sightings(arm.workers as usize);
        } else if self.binders.launch_ranks() {
            watch.expect_ranks(&arm.cpus);
        } else if !self.is_kernel() && self.work.mode != Mode::Copies {
            watch.pin_threads(&arm.cpus);
        }
        if !self.is_kernel() {
            watch.note_leftovers();
            if self.work.mode == Mode::Copies && !self.binders.launch_ranks() {
                watch.expect_places(arm.cpus.iter().map(|&cpu| [cpu].into()));
            }
        }
        watch.note_migrations();
        let tasks = || watch.ids().flat_map(threads::of_process).collect();
        let before = self.evidence.before(self.places.used_cpus(arm), tasks);

        if self.places.has_cpu_apart(arm) {
            barrier.alert(arm.workers, ALERT_PATIENCE);
        }
        watch.note_waits();
        let waited_before = watch.waited_before_ns();
        let start_ns = now_ns();
        watch.start(start_ns, self.work.timeout);
        barrier.open();
        let (progress, mut usage, mut times) =
            sample_processes.see_through(&mut watch, start_ns)?;
        starts(&self.work, arm, &barrier).into_iter().for_each(|start| usage.without_start(start));

        let (mut evidence, stolen, moved) = self.evidence.after(before, arm, &usage);
        watch.note_moves(&moved);
        let sightings = watch.sightings();
        let displaced = match arm.cpus.is_empty() {
            true => Vec::new(),
            false => {
                watch.displaced().into_iter().chain(displaced_kernels(arm, &barrier)).collect()
            }
        };
        let pinning = match arm.cpus.is_empty() {
            true => Pinning::Free,
            false if !displaced.is_empty() => Pinning::SetByProgram,
            false if self.binders.launch_ranks() => Pinning::SetPinned,
            false => watch.pinning().unwrap_or(Pinning::Pinned),
        };
        let cpu_wait = watch.most_waited();
        let left_running = watch.left_running();
        drop(watch);
        let captures = &self.captures[..self.work.processes(arm)];
        if let (Some(switch), Some(_)) = (&mut self.smt, arm.smt) {
            switch.get_mut().verify()?;
        }
        let mut account = account(&self.work, arm, &barrier, start_ns, &progress, captures)?;
        account.note_places(arm, pinning, sightings);
        self.compare_checks(arm, &account.checks)?;
        if !self.is_kernel() && self.first_run.is_none() {
            self.first_run = Some((arm.id.clone(), account.makespan));
        }
        evidence.cpu_wait = cpu_wait;
        if self.is_kernel() {
            times = undisturbed::of_kernels(&barrier, &waited_before);
        }
        if self.work.processes(arm) == arm.workers as usize {
            let sample = (&account.workers[..], account.throughput);
            evidence.undisturbed =
                undisturbed::of(arm, sample, (&times, &stolen), self.work.steady);
        }
        evidence.pinning = pinning;
        evidence.displaced = displaced;
        evidence.left_running = left_running;
        if !arm.cpus.is_empty() {
            evidence.binds_itself = self.binders.to_report(!evidence.displaced.is_empty());
        }
        let bound = |worker| barrier.slot(worker).unbound.load(Ordering::Acquire) == 0;
        evidence.memory_nodes =
            self.places.memory_nodes(&arm.cpus).filter(|_| (0..arm.workers as usize).all(bound));
        Ok(ArmOutcome {
            makespan: account.makespan,
            throughput: account.throughput,
            rates: account.rates,
            latencies: account.latencies,
            workers: account.workers,
            evidence,
        })
    }
}

/// Time limit for workers to wake up before a sample.
const ALERT_PATIENCE: Duration = Duration::from_millis(2);

/// The kernels' workers that found themselves elsewhere after their work.
fn displaced_kernels<'a>(
    arm: &'a Arm,
    barrier: &'a StartBarrier,
) -> impl Iterator<Item = Displaced> + 'a {
    (0..arm.workers as usize).zip(&arm.cpus).filter_map(|(worker, &place)| {
        let at = barrier.slot(worker).displaced.load(Ordering::Acquire).checked_sub(1)?;
        let outside = Some(at).filter(|&cpu| cpu != place).into_iter().collect();
        Some(Displaced { worker: worker as u32, outside, moved: at == place })
    })
}

/// CPU time of each process before the common start: kernels report it, the last worker of a process all of it.
fn starts(work: &Work, arm: &Arm, barrier: &StartBarrier) -> Vec<[u64; 2]> {
    let threads = work.threads(arm);
    let of_worker = |worker: usize| {
        let slot = barrier.slot(worker);
        [&slot.user_before_us, &slot.system_before_us].map(|time| time.load(Ordering::Acquire))
    };
    let last = |process: usize| {
        let workers = process * threads..(process + 1) * threads;
        workers.map(of_worker).max_by_key(|[user, system]| user + system)
    };
    (0..work.processes(arm)).filter_map(last).collect()
}

impl Drop for LocalExecutor {
    /// Workers that had to be killed could not remove their files; and corun goes back to the CPUs
    /// that it was started on.
    fn drop(&mut self) {
        self.places.step_back();
        if self.is_kernel() {
            let _ = corun_workload::remove_abandoned_scratch();
        }
    }
}
