//! The common start: a page shared with every worker, where all wait until one word opens it.
//!
//! Commands wait at the barrier between fork and exec, built-in kernels after their preparation; both
//! sleep in a futex, so that waiting costs no CPU and the makespan begins for all at once. Just
//! before that they can be woken to spin, so that waking them is no part of the makespan. Each worker
//! has a slot of its own, a cache line apart from the others', in which it reports.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corun_workload::MAX_TALLIES;

/// The words that all workers share.
#[repr(C, align(64))]
struct Head {
    ready: AtomicU32,
    finished: AtomicU32,
    /// Workers that spin.
    awake: AtomicU32,
    /// On a line of its own: every worker sleeps on it.
    open: Line<AtomicU32>,
}

#[repr(C, align(64))]
struct Line<T>(T);

/// The states of the barrier: workers sleep, spin, or go on.
const CLOSED: u32 = 0;
const ALERT: u32 = 1;
const OPEN: u32 = 2;

/// Report of one worker.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// The [`Stage`] that failed, or 0.
    pub failed_stage: AtomicU32,
    /// The `errno` of that failure.
    pub errno: AtomicI32,
    /// Not 0 if the kernel of the system refused to bind its memory.
    pub unbound: AtomicU32,
    /// Kernels: not 0 if the worker's affinity was not its own CPU after its work; 1 more than the
    /// CPU that it was on.
    pub displaced: AtomicU32,
    /// CPU time of the worker's process when the worker passed the barrier, in microseconds.
    pub cpu_before_us: AtomicU64,
    /// Number of times the worker had gone to sleep until then.
    pub sleeps_before: AtomicU64,
    /// Kernels: CPU time of the worker's process at the end of the last window, in microseconds.
    pub cpu_us: AtomicU64,
    /// Kernels: CPU time of the worker's thread alone, from the barrier to the end of the last window, in microseconds.
    pub own_cpu_us: AtomicU64,
    /// Kernels: number of times the worker had gone to sleep by then.
    pub sleeps: AtomicU64,
    /// Kernels: time that the worker had waited for a CPU by then, in nanoseconds of the scheduler's account, and one more;
    /// 0 if it is not known.
    pub waited_ns: AtomicU64,
    /// Kernels: finished windows of work.
    pub runs: AtomicU32,
    /// Kernels: when the last window ended, in nanoseconds of the monotonic clock.
    pub end_ns: AtomicU64,
    /// Kernels: the check value.
    pub check: AtomicU64,
    /// Kernels: what was subtracted from all windows together, in nanoseconds.
    pub subtracted_ns: AtomicU64,
    /// Kernels: CPU time of the worker's process in user mode until the worker stood at the barrier, in microseconds.
    pub user_before_us: AtomicU64,
    /// Kernels: CPU time of that process in the kernel until then, in microseconds.
    pub system_before_us: AtomicU64,
    /// Kernels: what else they counted in all windows together.
    pub tallies: [AtomicU64; MAX_TALLIES],
}

/// Stage at which a worker failed before its work began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Stage {
    Redirect = 1,
    Directory = 2,
    Affinity = 3,
    Threads = 4,
    Exec = 5,
}

impl Stage {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        [Self::Redirect, Self::Directory, Self::Affinity, Self::Threads, Self::Exec]
            .into_iter()
            .find(|stage| *stage as u32 == number)
    }
}

/// The shared page(s): a head and a slot for each worker.
pub(crate) struct StartBarrier {
    view: View,
    length: usize,
    file: OwnedFd,
}

/// The shared memory of a barrier that outlives this: all that a process between fork and exec needs.
#[derive(Clone, Copy)]
pub(crate) struct View {
    memory: NonNull<u8>,
    workers: usize,
}

// SAFETY: the mapping is plain shared memory, accessed through atomics only.
unsafe impl Send for StartBarrier {}
// SAFETY: as above.
unsafe impl Sync for StartBarrier {}

impl StartBarrier {
    /// A closed barrier for so many workers.
    pub(crate) fn new(workers: usize) -> io::Result<Self> {
        // SAFETY: memfd_create takes a C string and returns a new descriptor or -1.
        let raw = unsafe { libc::memfd_create(c"corun-barrier".as_ptr(), libc::MFD_CLOEXEC) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `raw` is a fresh descriptor that nothing else owns.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(raw) });
        file.set_len(Self::length(workers) as u64)?;
        Self::map(file.into(), workers)
    }

    /// The barrier that a parent process handed down as descriptor `raw`.
    ///
    /// # Safety
    /// `raw` must be an open descriptor that nothing else in this process owns.
    pub(crate) unsafe fn inherited(raw: RawFd, workers: usize) -> io::Result<Self> {
        // SAFETY: the caller vouches for the descriptor.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(raw) });
        if file.metadata()?.len() < Self::length(workers) as u64 {
            return Err(io::Error::other("the barrier is too small for its workers"));
        }
        Self::map(file.into(), workers)
    }

    fn length(workers: usize) -> usize {
        size_of::<Head>() + workers * size_of::<Slot>()
    }

    fn map(file: OwnedFd, workers: usize) -> io::Result<Self> {
        let length = Self::length(workers);
        // SAFETY: a new shared mapping of a file of at least this length, checked below.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Self { view: View { memory, workers }, length, file })
    }

    /// The descriptor to hand down to a child process.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Shared memory, for as long as the barrier is there.
    pub(crate) fn view(&self) -> View {
        self.view
    }

    fn head(&self) -> &Head {
        self.view.head()
    }

    /// The slot of worker `index`.
    pub(crate) fn slot(&self, index: usize) -> &Slot {
        self.view.slot(index)
    }

    /// Says that this worker is ready and waits until the barrier opens.
    pub(crate) fn arrive_and_wait(&self) {
        self.view.arrive_and_wait();
    }

    /// Wakes the workers, which spin until the barrier opens, and waits until `count` of them are awake,
    /// at most about `patience`. Only for workers that have a CPU each, apart from the caller's.
    pub(crate) fn alert(&self, count: u32, patience: Duration) {
        let head = self.head();
        head.open.0.store(ALERT, Ordering::Release);
        futex_wake(&head.open.0);
        let begun = Instant::now();
        while head.awake.load(Ordering::Acquire) < count && begun.elapsed() < patience {
            std::hint::spin_loop();
        }
    }

    /// Waits until `count` workers are ready, at most about `patience`; returns whether they are.
    pub(crate) fn wait_ready(&self, count: u32, patience: Duration) -> bool {
        let ready = &self.head().ready;
        let seen = ready.load(Ordering::Acquire);
        if seen < count {
            futex_wait(ready, seen, Some(patience));
        }
        ready.load(Ordering::Acquire) >= count
    }

    /// Lets every worker go.
    pub(crate) fn open(&self) {
        let open = &self.head().open.0;
        open.store(OPEN, Ordering::Release);
        futex_wake(open);
    }

    /// Kernels under `--steady`: counts this worker as having finished its counted window.
    pub(crate) fn finish_window(&self) {
        self.head().finished.fetch_add(1, Ordering::AcqRel);
    }

    /// True if all workers have finished a counted window.
    pub(crate) fn all_finished(&self) -> bool {
        self.head().finished.load(Ordering::Acquire) as usize >= self.view.workers
    }
}

/// Usage of this process or thread, or of the children that it has waited for. Usable between fork and exec.
pub(crate) fn usage_of(whose: libc::c_int) -> libc::rusage {
    // SAFETY: rusage is plain data, which getrusage fills.
    unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &raw mut used);
        used
    }
}

/// CPU time in user mode and in the kernel, in microseconds.
pub(crate) fn cpu_us(used: &libc::rusage) -> u64 {
    let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    us(used.ru_utime) + us(used.ru_stime)
}

impl View {
    fn head<'a>(self) -> &'a Head {
        // SAFETY: the mapping begins with a Head, zeroed at creation, and the barrier outlives its views.
        unsafe { self.memory.cast().as_ref() }
    }

    fn slot<'a>(self, index: usize) -> &'a Slot {
        assert!(index < self.workers, "worker {index} of {}", self.workers);
        // SAFETY: the index is in range, and the mapping holds `workers` zeroed slots after the head.
        unsafe { self.memory.byte_add(size_of::<Head>()).cast::<Slot>().add(index).as_ref() }
    }

    /// As [`StartBarrier::arrive_and_wait`]; usable between fork and exec.
    pub(crate) fn arrive_and_wait(self) {
        let head = self.head();
        head.ready.fetch_add(1, Ordering::AcqRel);
        futex_wake(&head.ready);
        let mut is_awake = false;
        loop {
            match head.open.0.load(Ordering::Acquire) {
                CLOSED => futex_wait(&head.open.0, CLOSED, None),
                ALERT => {
                    if !is_awake {
                        is_awake = true;
                        head.awake.fetch_add(1, Ordering::AcqRel);
                    }
                    std::hint::spin_loop();
                }
                _ => break,
            }
        }
    }

    /// Notes what the calling process, of one thread, has used before its work. Usable between fork and exec.
    pub(crate) fn note_start(self, slot: usize) {
        let used = usage_of(libc::RUSAGE_SELF);
        let slot = self.slot(slot);
        slot.cpu_before_us.store(cpu_us(&used), Ordering::Release);
        slot.sleeps_before.store(used.ru_nvcsw as u64, Ordering::Release);
    }

    /// Reports what failed with the calling thread's `errno`, and ends the process. Usable between
    /// fork and exec.
    pub(crate) fn fail(self, slot: usize, stage: Stage) -> ! {
        let slot = self.slot(slot);
        // SAFETY: reads this thread's errno and ends the process without running destructors.
        unsafe {
            slot.errno.store(*libc::__errno_location(), Ordering::Release);
            slot.failed_stage.store(stage as u32, Ordering::Release);
            libc::_exit(127)
        }
    }
}

impl Drop for StartBarrier {
    fn drop(&mut self) {
        // SAFETY: unmaps what `map` mapped; no reference outlives self.
        unsafe { libc::munmap(self.view.memory.as_ptr().cast(), self.length) };
    }
}

/// Sleeps while the word is `expected`; wakes early without harm. The word may lie in shared memory.
fn futex_wait(word: &AtomicU32, expected: u32, patience: Option<Duration>) {
    let timeout = patience.map(|patience| libc::timespec {
        tv_sec: patience.as_secs() as libc::time_t,
        tv_nsec: patience.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a valid word and a null or valid timeout; the kernel checks the rest.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, timeout) };
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: a valid word; waking no thread is no error.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn no_worker_passes_before_the_barrier_opens() {
        for is_alerted in [false, true] {
            open_for_three(is_alerted);
        }
    }

    fn open_for_three(is_alerted: bool) {
        let barrier = Arc::new(StartBarrier::new(3).unwrap());
        let threads: Vec<_> = (0..3)
            .map(|worker| {
                let barrier = Arc::clone(&barrier);
                std::thread::spawn(move || {
                    barrier.arrive_and_wait();
                    barrier.slot(worker).runs.store(1, Ordering::Release);
                })
            })
            .collect();
        while !barrier.wait_ready(3, Duration::from_millis(50)) {}
        if is_alerted {
            barrier.alert(3, Duration::from_secs(60));
            assert_eq!(barrier.head().awake.load(Ordering::Acquire), 3);
        }
        assert!((0..3).all(|worker| barrier.slot(worker).runs.load(Ordering::Acquire) == 0));
        barrier.open();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!((0..3).all(|worker| barrier.slot(worker).runs.load(Ordering::Acquire) == 1));
    }
}
