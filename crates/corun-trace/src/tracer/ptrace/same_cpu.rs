//! The tracer and the thread that it steps, pinned to one CPU.
//!
//! Each step switches to the thread and back, which takes several times as long between two CPUs as on one. The program
//! does not see the pinning: during its system calls its own affinity mask is in force.

use std::io;

use corun_machine::{Affinity, CpuSet};
use nix::unistd::Pid;

/// Steps after which the CPU is chosen again: it may have become busy with other work.
const STEPS: u32 = 10_000;

/// The affinity masks that are replaced while a thread is stepped.
#[derive(Debug, Default)]
pub(super) struct SameCpu {
    pins: Option<[Pin; 2]>,
    /// Steps until the CPU is chosen again.
    left: u32,
}

impl SameCpu {
    /// Pins the calling thread, which is the tracer, and this stopped one to one CPU. If the system does not allow it,
    /// both keep their masks.
    pub(super) fn pin(&mut self, thread: Pid) {
        if self.left == 0 {
            self.restore();
            self.pins = pins(thread).ok();
            self.left = STEPS;
        }
        self.left -= 1;
    }

    /// Gives both threads their own masks back.
    pub(super) fn restore(&mut self) {
        if self.pins.take().is_some() {
            self.left = 0;
        }
    }
}

/// Pins of a thread and of the calling one, to the CPU that the latter is on if the former may use it.
fn pins(thread: Pid) -> io::Result<[Pin; 2]> {
    let common = Affinity::of(thread.as_raw())?.cpus().intersection(&Affinity::of(0)?.cpus());
    let here = u32::try_from(rustix::thread::sched_getcpu()).ok().filter(|&it| common.contains(it));
    let cpu = here.or_else(|| common.first()).ok_or(io::ErrorKind::NotFound)?;
    Ok([Pin::new(thread.as_raw(), cpu)?, Pin::new(0, cpu)?])
}

/// A thread that is pinned to one CPU until this is dropped.
#[derive(Debug)]
struct Pin {
    /// 0 is the calling one.
    thread: libc::pid_t,
    cpu: CpuSet,
    own: Affinity,
}

impl Pin {
    fn new(thread: libc::pid_t, cpu: u32) -> io::Result<Self> {
        let (own, cpu) = (Affinity::of(thread)?, CpuSet::from([cpu]));
        Affinity::new(&cpu).apply(thread)?;
        Ok(Self { thread, cpu, own })
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // A mask that another process has set meanwhile stays. A thread that has ended has none.
        if Affinity::of(self.thread).is_ok_and(|now| now.cpus() == self.cpu) {
            let _ = self.own.apply(self.thread);
        }
    }
}
