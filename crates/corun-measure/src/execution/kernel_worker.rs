//! The inside of a built-in kernel's process: threads that pin themselves, prepare, wait at the
//! barrier, work, and report through their slots.
//!
//! corun starts itself again for this, so that a kernel's sample is one process run like any
//! command's, with memory of its own, and nothing of the controlling process disturbs it.
#![expect(clippy::disallowed_macros, reason = "another corun reads it")]

use std::num::NonZeroUsize;
use std::os::fd::RawFd;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use corun_machine::Affinity;
use corun_machine::kernel_clock::now_ns;
use corun_record::{Actionable, Exit};
use corun_workload::{Descriptor, Job, Kernel, Latencies, Parameters, WorkloadError, unless_ended};

use super::overhead_timer::OverheadTimer;
use super::start_barrier::{Stage, StartBarrier, cpu_us, usage_of};
use super::{latency_report, threads};
use crate::evidence::TaskAccount;

/// Order to a kernel's process, on its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelWorkerOrder {
    /// The descriptor of the barrier; without one the workers begin as soon as all of this process are prepared, and
    /// print what they check.
    pub barrier: Option<RawFd>,
    /// Workers of the whole sample.
    pub workers: usize,
    /// The first worker of this process.
    pub first: usize,
    /// Workers of this process.
    pub threads: usize,
    /// The logical CPU of each worker of this process; empty where the kernel places them.
    pub cpus: Vec<u32>,
    /// The workload's name.
    pub workload: String,
    /// Parameters, `name=value`.
    pub parameters: Vec<String>,
    /// Operations of one run.
    pub operations: u64,
    /// True if to run again until all workers have finished a window.
    pub steady: bool,
}

/// The system call that each worker of a process without a barrier makes just before its work, so that a tracer sees
/// where that begins. It does nothing, and neither a workload nor the standard library makes it.
pub const STARTS_WORK: u64 = libc::SYS_sched_get_priority_max as u64;

/// Does the order; the exit code is 0 unless something could not be prepared or done.
pub fn serve_as_kernel_worker(order: &KernelWorkerOrder) -> ExitCode {
    match serve(order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            refusal.write();
            ExitCode::from(refusal.exit as u8)
        }
    }
}

/// Why a kernel could not be prepared, or not go on, as its process reports it to the controlling one: an exit
/// code and two lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub reason: String,
    pub next_step: String,
    pub exit: Exit,
}

impl Refusal {
    fn write(&self) {
        eprintln!("{REFUSED}{}\n{}", self.reason, self.next_step);
    }

    /// The refusal of a process that ended with this code; `None` if it was none.
    pub(super) fn read(code: i32, output: &str) -> Option<Self> {
        let exit = Exit::ALL.into_iter().find(|exit| *exit as i32 == code)?;
        let (reason, next_step) = output.rsplit_once(REFUSED)?.1.trim_end().split_once('\n')?;
        Some(Self { reason: reason.to_owned(), next_step: next_step.to_owned(), exit })
    }
}

/// Prefix of a refusal.
const REFUSED: &str = "corun kernel worker: ";

impl<E: Actionable> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self { reason: error.to_string(), next_step: error.next_step(), exit: error.exit() }
    }
}

fn serve(order: &KernelWorkerOrder) -> Result<(), Refusal> {
    let mistaken = |reason: String| Refusal {
        reason,
        next_step: "This command is for internal use; corun starts it itself.".to_owned(),
        exit: Exit::Failed,
    };
    let barrier = match order.barrier {
        // SAFETY: the parent handed this descriptor down for this purpose alone.
        Some(descriptor) => unsafe { StartBarrier::inherited(descriptor, order.workers) },
        None => StartBarrier::new(order.workers.max(order.first + order.threads)),
    };
    let barrier =
        barrier.map_err(|error| mistaken(format!("the barrier cannot be opened: {error}")))?;
    let workload = corun_workload::find(&order.workload)?;
    let parameters = Parameters::parse(workload.descriptor(), &order.parameters)?;
    let threads = NonZeroUsize::new(order.threads)
        .ok_or_else(|| mistaken("no worker was asked for".to_owned()))?;
    let copies = NonZeroUsize::new(order.workers / threads).unwrap_or(NonZeroUsize::MIN);
    corun_workload::expect_copies(copies);
    let Job::Kernels(kernels) = workload.prepare(&parameters, threads)? else {
        return Err(mistaken(format!("{} is a program, no kernel", order.workload)));
    };
    match <[_; 1]>::try_from(kernels) {
        // On the first thread, which is the one that others see of a process.
        Ok([only]) => {
            if order.barrier.is_none() {
                barrier.open();
            }
            work(order, workload.descriptor(), &barrier, 0, only);
        }
        Err(kernels) => std::thread::scope(|scope| {
            for (index, kernel) in kernels.into_iter().enumerate() {
                let barrier = &barrier;
                let (begins, begun) = mpsc::channel::<()>();
                let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                    drop(begins);
                    work(order, workload.descriptor(), barrier, index, kernel);
                });
                if let Err(error) = started {
                    give_up(barrier, order.first, &error);
                }
                // One after the other, so that a trace has them in the order of their data: this
                // ends when the thread drops its end.
                let _ = begun.recv();
            }
            if order.barrier.is_none() {
                while !barrier.wait_ready(order.threads as u32, Duration::from_secs(1)) {}
                barrier.open();
            }
        }),
    }
    if order.barrier.is_none() {
        for worker in order.first..order.first + order.threads {
            let check = barrier.slot(worker).check.load(Ordering::Acquire);
            println!("{}: worker {worker} ends with the check value {check:#x}", order.workload);
        }
    }
    Ok(())
}

/// CPU time of this process and of the children that it has waited for, in user mode and in the kernel.
fn cpu_time_us() -> [u64; 2] {
    let mut sums = [0; 2];
    for whose in [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN] {
        let usage = usage_of(whose);
        for (sum, time) in sums.iter_mut().zip([usage.ru_utime, usage.ru_stime]) {
            *sum += time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        }
    }
    sums
}

/// Time of a worker at a moment: of its process and of its thread on CPUs, in microseconds, and how often it slept.
#[derive(Clone, Copy)]
struct Moment {
    process_us: u64,
    thread_us: u64,
    sleeps: u64,
}

impl Moment {
    fn now() -> Self {
        let thread = usage_of(libc::RUSAGE_THREAD);
        let process_us = cpu_time_us().iter().sum();
        Self { process_us, thread_us: cpu_us(&thread), sleeps: thread.ru_nvcsw as u64 }
    }
}

/// Says why and ends the process, whose other threads may sleep at the barrier.
fn give_up(barrier: &StartBarrier, slot: usize, error: &std::io::Error) -> ! {
    let slot = barrier.slot(slot);
    slot.errno.store(error.raw_os_error().unwrap_or(0), Ordering::Release);
    slot.failed_stage.store(Stage::Threads as u32, Ordering::Release);
    std::process::exit(127)
}

/// Says why a kernel cannot continue, if so, and ends the process likewise.
fn go_on(done: Result<(), WorkloadError>) {
    if let Err(failure) = done {
        let refusal = Refusal::from(failure);
        refusal.write();
        std::process::exit(refusal.exit as i32);
    }
}

/// Ends the whole process when a worker panics: the others would wait for it forever.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

fn work(
    order: &KernelWorkerOrder,
    descriptor: &Descriptor,
    barrier: &StartBarrier,
    index: usize,
    mut kernel: Box<dyn Kernel>,
) {
    let _ends_all = AbortOnPanic;
    let slot = barrier.slot(order.first + index);
    if let Some(&cpu) = order.cpus.get(index)
        && !Affinity::pin(0, cpu)
    {
        slot.failed_stage.store(Stage::Affinity as u32, Ordering::Release);
    }
    let mut clock = OverheadTimer::default();
    let mut latencies = Latencies::new();
    go_on(unless_ended(descriptor.name, &mut *kernel, |kernel| kernel.reset()));
    let [user_us, system_us] = cpu_time_us();
    slot.user_before_us.store(user_us, Ordering::Release);
    slot.system_before_us.store(system_us, Ordering::Release);
    barrier.arrive_and_wait();
    let start = Moment::now();
    slot.cpu_before_us.store(start.process_us, Ordering::Release);
    slot.sleeps_before.store(start.sleeps, Ordering::Release);
    if order.barrier.is_none() {
        // SAFETY: answers with a number that never changes.
        unsafe { libc::syscall(STARTS_WORK as libc::c_long, libc::SCHED_OTHER) };
    }
    loop {
        let (mut end_ns, mut end) = (0, start);
        go_on(unless_ended(descriptor.name, &mut *kernel, |kernel| {
            kernel.run(order.operations);
            end_ns = now_ns();
            end = Moment::now();
        }));
        let waited_ns = TaskAccount::of_this_thread().map_or(0, |account| account.waited_ns + 1);
        let first = slot.runs.load(Ordering::Acquire) == 0;
        if !first && barrier.all_finished() {
            // Begun beside others, ended beside idle siblings: not counted.
            break;
        }
        let check = kernel.check();
        for (sum, tally) in slot.tallies.iter().zip(kernel.tallies()) {
            sum.fetch_add(tally, Ordering::AcqRel);
        }
        for (kind, histogram) in kernel.latencies() {
            latencies.entry(kind).or_default().add(&histogram);
        }
        if descriptor.subtracts.is_some() && order.barrier.is_some() {
            go_on(unless_ended(descriptor.name, &mut *kernel, |kernel| {
                clock.subtract(|operations| kernel.overhead(operations), order.operations);
            }));
        }
        slot.subtracted_ns.store(clock.subtracted_ns(), Ordering::Release);
        slot.end_ns.store(clock.net(end_ns), Ordering::Release);
        slot.check.store(check, Ordering::Release);
        slot.cpu_us.store(clock.net(end.process_us * 1000) / 1000, Ordering::Release);
        slot.own_cpu_us.store(end.thread_us - start.thread_us, Ordering::Release);
        slot.sleeps.store(end.sleeps, Ordering::Release);
        slot.waited_ns.store(waited_ns, Ordering::Release);
        if let Some(&cpu) = order.cpus.get(index)
            && !threads::is_on_only(0, cpu)
        {
            slot.displaced.store(1 + threads::current_cpu().unwrap_or(cpu), Ordering::Release);
        }
        slot.runs.fetch_add(1, Ordering::AcqRel);
        if first {
            barrier.finish_window();
        }
        if !order.steady || barrier.all_finished() {
            break;
        }
        go_on(unless_ended(descriptor.name, &mut *kernel, |kernel| kernel.reset()));
    }
    latency_report::write(&latencies);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_distinguished_from_other_ends() {
        let reported = "noise\ncorun kernel worker: no memory\nAsk for less.\n";
        let refusal = Refusal {
            reason: "no memory".into(),
            next_step: "Ask for less.".into(),
            exit: Exit::NotPossible,
        };
        assert_eq!(Refusal::read(3, reported), Some(refusal));
        assert_eq!(Refusal::read(101, reported), None);
        assert_eq!(Refusal::read(3, "something else"), None);
    }
}
