//! A token that goes round a ring of processes by pipes, each of which reads through its own memory
//! before it hands the token on. One operation is one handover: a write, the switch to the next
//! process, its read, and what the caches must bring back of its memory.
//!
//! What the same calls and the same reading cost without a switch is subtracted.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, OwnedFd};

use memmap2::MmapMut;
use rustix::io::Errno;

use super::{calls, descriptor, refused_by};
use crate::available::ensure_processes;
use crate::ended::end;
use crate::peer::Peer;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Domain, Job, Kernel, Parameter, Parameters, Tag, WorkloadError, memory};

const PROCESSES: Parameter = Parameter {
    name: "processes",
    summary: "processes of each worker's ring, the worker among them",
    default: "2",
    domain: Domain::Count { unit: "processes", least: 2, most: 1024 },
};

const SIZE: Parameter = Parameter {
    name: "size",
    summary: "memory that each process reads through while it has the token",
    default: "0",
    domain: Domain::Size { least: 0, most: 64 << 20, multiple_of: size_of::<u64>() as u64 },
};

pub(super) static RING: Workload = Workload {
    descriptor: &Descriptor {
        parameters: &[PROCESSES, SIZE],
        subtracts: Some("the same writes, reads and sums in one process"),
        ..descriptor(
            ["lmbench/context-switch", "lat_ctx"],
            "a token goes round a ring of processes, from pipe to pipe",
            &[Tag::ContextSwitch, Tag::SystemCalls, Tag::Waiting, Tag::CacheCapacity],
            ["a switch to the next process", "switches"],
        )
    },
    unavailable: anywhere,
    prepare,
};

fn prepare(parameters: &Parameters, workers: NonZeroUsize) -> Result<Job, WorkloadError> {
    let workload = RING.descriptor.name;
    let processes = parameters.number(&PROCESSES)? as usize;
    let size = parameters.number(&SIZE)?;
    let all_sizes = size.saturating_mul(processes as u64).saturating_mul(workers.get() as u64);
    memory::ensure_available(workload, all_sizes)?;
    let opened = (0..workers.get()).map(|_| Pipes::open(processes)).collect::<Result<Vec<_>, _>>();
    opened.map_err(|error| refused_by(workload, "pipe", error))?;
    ensure_processes(workload, processes as u64 - 1, workers)?;
    Job::of_each((0..workers.get()).map(|_| {
        let memory = match size {
            0 => None,
            bytes => Some(memory::map(workload, bytes)?),
        };
        Ok(Ring { processes, memory, ends: None, peers: Vec::new(), counted: 0 })
    }))
}

/// The worker is the first process of its ring.
struct Ring {
    processes: usize,
    memory: Option<MmapMut>,
    ends: Option<Ends>,
    peers: Vec<Peer>,
    /// The handovers that the token has counted in the last run.
    counted: u64,
}

impl Ring {
    fn start(&mut self) -> io::Result<Ends> {
        let pipes = Pipes::open(self.processes)?;
        for process in 1..self.processes {
            let peer = Peer::fork(|| {
                // An error is the end of the ring.
                let _ = pipes.serve(process, self.memory.as_deref_mut());
            });
            self.peers.push(peer?);
        }
        Ok(pipes.into_ends())
    }

    /// Lets the processes read that nothing more comes, and end. None is killed in that read, which would be counted
    /// one time and not another by a caller that counts calls.
    fn end(&mut self) {
        self.ends = None;
        self.peers.drain(..).for_each(Peer::join);
    }

    fn lead(&mut self, operations: u64) -> Result<(), Errno> {
        let ends = self.ends.as_ref().ok_or(Errno::BADF)?;
        let processes = self.processes as u64;
        let most = u64::from(u32::MAX) / processes * processes;
        let mut left = operations;
        while left > 0 {
            let token = left.min(most);
            self.counted += token
                - u64::from(ends.lead(
                    token as u32,
                    self.processes as u32,
                    self.memory.as_deref(),
                )?);
            left -= token;
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.end();
    }
}

impl Kernel for Ring {
    /// The token goes round once here, so that all processes have been running.
    ///
    /// # Panics
    /// If the system gives no pipe or no process.
    fn reset(&mut self) {
        self.end();
        touch(self.memory.as_deref_mut());
        let ends =
            self.start().unwrap_or_else(|error| end("a ring of processes is refused", error));
        self.ends = Some(ends);
        self.run(self.processes as u64);
        self.counted = 0;
    }

    /// Runs the operations. Where the processes do not divide them, the token comes back from
    /// within the ring, by one switch more.
    ///
    /// # Panics
    /// If one of the processes is gone.
    fn run(&mut self, operations: u64) {
        self.counted = 0;
        if let Err(error) = self.lead(operations) {
            end("a process of the ring is gone", error);
        }
    }

    fn overhead(&mut self, operations: u64) {
        let own = self.ends.iter().flat_map(|ends| &ends.own);
        let mut token = u32::MAX;
        for pipe in own.cycle().take(operations as usize) {
            let passed = send(&pipe.into, token).and_then(|()| receive(&pipe.out));
            let passed = passed.unwrap_or_else(|error| end("a pipe is refused", error));
            token = passed.wrapping_sub(one(self.memory.as_deref()));
        }
    }

    /// The handovers, each counted by the process that received the token.
    fn check(&self) -> u64 {
        self.counted
    }
}

struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

impl Pipe {
    fn open() -> io::Result<Self> {
        let (out, into) = io::pipe()?;
        Ok(Self { out: out.into(), into: into.into() })
    }

    fn numbers(&self) -> [i32; 2] {
        [self.out.as_raw_fd(), self.into.as_raw_fd()]
    }
}

/// All pipes of a ring.
struct Pipes {
    /// From each process to the next one.
    ring: Vec<Pipe>,
    /// From the process that has the token when nothing is left to do.
    home: Pipe,
    /// As many as in the ring, for the same work in one process.
    own: Vec<Pipe>,
}

/// Ends that the worker keeps of them, so that it sees when the others are gone.
struct Ends {
    to: OwnedFd,
    from: OwnedFd,
    home: OwnedFd,
    own: Vec<Pipe>,
}

impl Pipes {
    fn open(processes: usize) -> io::Result<Self> {
        let many = || (0..processes).map(|_| Pipe::open()).collect::<io::Result<_>>();
        Ok(Self { ring: many()?, home: Pipe::open()?, own: many()? })
    }

    fn into_ends(mut self) -> Ends {
        let last = self.ring.swap_remove(self.ring.len() - 1);
        let first = self.ring.swap_remove(0);
        Ends { to: first.into, from: last.out, home: self.home.out, own: self.own }
    }

    /// Loop of another process of the ring, until the one before it is gone.
    fn serve(&self, process: usize, mut memory: Option<&mut [u8]>) -> Result<(), Errno> {
        let (from, to) = (&self.ring[process - 1].out, &self.ring[process].into);
        let home = &self.home.into;
        let kept = [from, to, home].map(AsRawFd::as_raw_fd);
        let all = self.ring.iter().chain([&self.home]).chain(&self.own).flat_map(Pipe::numbers);
        for number in all.filter(|number| !kept.contains(number)) {
            // SAFETY: nothing uses it in this process, which ends without dropping it.
            unsafe { libc::close(number) };
        }
        touch(memory.as_deref_mut());
        loop {
            let left = receive(from)?.wrapping_sub(one(memory.as_deref()));
            send(if left == 0 { home } else { to }, left)?;
        }
    }
}

impl Ends {
    /// Lets the token go on until it has counted down from `token`, and returns what is left.
    fn lead(&self, token: u32, processes: u32, memory: Option<&[u8]>) -> Result<u32, Errno> {
        let mut left = token;
        for _ in 0..token / processes {
            send(&self.to, left)?;
            left = receive(&self.from)?.wrapping_sub(one(memory));
        }
        if !token.is_multiple_of(processes) {
            send(&self.to, left)?;
            left = receive(&self.home)?;
        }
        Ok(left)
    }
}

fn send(pipe: &OwnedFd, token: u32) -> Result<(), Errno> {
    match calls::write(pipe, &token.to_ne_bytes())? {
        4 => Ok(()),
        _ => Err(Errno::PIPE),
    }
}

fn receive(pipe: &OwnedFd) -> Result<u32, Errno> {
    let mut token = [0; 4];
    match calls::read(pipe, &mut token)? {
        4 => Ok(u32::from_ne_bytes(token)),
        _ => Err(Errno::PIPE),
    }
}

/// Gives the process pages of its own, which hold a single 1.
fn touch(memory: Option<&mut [u8]>) {
    if let Some(memory) = memory {
        memory.fill(0);
        memory[..8].copy_from_slice(&1_u64.to_ne_bytes());
    }
}

/// Decrement of the token by a process: 1, by way of the sum over its memory.
fn one(memory: Option<&[u8]>) -> u32 {
    let Some(memory) = memory else { return 1 };
    // SAFETY: any eight bytes are a 64-bit number.
    let (_, numbers, _) = unsafe { memory.align_to::<u64>() };
    numbers.iter().sum::<u64>() as u32
}
