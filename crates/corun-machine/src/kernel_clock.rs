//! The kernel's clocks, and the CPU and the number of the calling thread. Intervals are measured by the monotonic clock, the
//! same for all processes, which nobody sets and which stands still while the machine is suspended; costs by the CPU time
//! of the calling thread.

use rustix::thread::{clock_nanosleep_absolute, gettid, sched_getcpu};
use rustix::time::{ClockId, Timespec, clock_gettime};

const NS: u64 = 1_000_000_000;

/// Nanoseconds of the monotonic clock.
pub fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// The CPU time that the kernel has given the calling thread, in nanoseconds.
pub fn cpu_time_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// The number of the calling thread.
pub fn own_thread() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

/// The CPU that the calling thread is on.
pub fn this_cpu() -> u32 {
    sched_getcpu() as u32
}

/// Sleeps until the monotonic clock says this, whatever signals come.
pub fn sleep_until(at_ns: u64) {
    let at = Timespec { tv_sec: (at_ns / NS).cast_signed(), tv_nsec: (at_ns % NS).cast_signed() };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(rustix::io::Errno::INTR) {}
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * NS + time.tv_nsec.cast_unsigned()
}
