//! A program from its first instruction to its end, all threads.
//!
//! One thread at a time executes code, the others wait or are in the kernel: so the markers that order
//! the threads show the actual order.

use std::collections::{HashMap, VecDeque};

use nix::sys::ptrace;
use nix::unistd::Pid;

use super::blocks::BlockBuilder;
use super::code::{CodeCache, Kind};
use super::failed;
use super::kernel::{self, Stop};
use super::launch::Launched;
use super::same_cpu::SameCpu;
use super::thread::{StepError, Thread};
use crate::{Ending, Marker, Sink, TraceError, TracePlan, Traced};

/// Instructions of a thread before another one that waits gets its turn.
const TURN: u32 = 1000;

/// A program being stepped.
pub(super) struct Run<'a> {
    program: &'a Launched,
    blocks: BlockBuilder<'a>,
    cache: CodeCache,
    threads: HashMap<Pid, Thread>,
    same_cpu: SameCpu,
    /// Stopped and able to go on, in the order of their turns.
    ready: VecDeque<Pid>,
    /// The one that executes code, and what is left of its turn.
    running: Option<(Pid, u32)>,
    ending: Option<Ending>,
}

impl<'a> Run<'a> {
    pub(super) fn new(program: &'a Launched, plan: TracePlan, sink: &'a mut dyn Sink) -> Self {
        Self {
            program,
            blocks: BlockBuilder::new(plan, sink),
            cache: CodeCache::new(program.leader),
            threads: HashMap::new(),
            same_cpu: SameCpu::default(),
            ready: VecDeque::new(),
            running: None,
            ending: None,
        }
    }

    /// Steps until the program has ended; after an error, it is killed.
    pub(super) fn until_end(mut self) -> Result<Traced, TraceError> {
        let mut trouble = None;
        while self.ending.is_none() {
            if trouble.is_none() {
                trouble = self.advance().err();
            }
            if trouble.is_some() {
                self.program.process.kill();
            }
            let stop = kernel::wait().map_err(|error| failed("waiting for the program", error))?;
            let Some((tid, stop)) = stop else { break };
            match self.follow(tid, stop) {
                Ok(()) | Err(StepError::Gone) => {}
                Err(error) => drop(trouble.get_or_insert(error)),
            }
        }
        match trouble {
            Some(StepError::Sink(error)) => Err(error.into()),
            Some(StepError::Kernel(error)) => Err(failed("ptrace", error)),
            _ => self.traced(),
        }
    }

    fn traced(self) -> Result<Traced, TraceError> {
        let ending = self.ending.ok_or_else(|| failed("the program", "it was lost"))?;
        let unknown = self.blocks.left_out;
        let remarks = [(unknown > 0).then(|| {
            format!("{unknown} instructions that the decoder does not know were left out.")
        })];
        Ok(Traced {
            ending,
            instructions: self.blocks.instructions,
            becomes_another: false,
            remarks: remarks.into_iter().flatten().collect(),
        })
    }

    /// Lets threads go on until one executes code, or all wait for the kernel.
    fn advance(&mut self) -> Result<(), StepError> {
        while self.running.is_none_or(|(tid, _)| self.ready.front() == Some(&tid)) {
            let Some(tid) = self.ready.pop_front() else { break };
            let is_alone = self.threads.len() == 1;
            let Some(thread) = self.threads.get_mut(&tid) else { continue };
            let left = self.running.take().map_or(TURN, |(_, left)| left);
            let same_cpu = is_alone.then_some(&mut self.same_cpu);
            match thread.go_on(&mut self.cache, &mut self.blocks, same_cpu) {
                Ok(Kind::SystemCall) | Err(StepError::Gone) => {}
                Ok(Kind::Pause) => self.running = Some((tid, 0)),
                Ok(_) => self.running = Some((tid, left.saturating_sub(1))),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Notes what a stop says, and whether the thread can go on.
    fn follow(&mut self, tid: Pid, stop: Stop) -> Result<(), StepError> {
        let turn = self.running.take_if(|(running, _)| *running == tid);
        match stop {
            Stop::Exited(code) => return self.ended(tid, Ending::Exited(code)),
            Stop::Killed(signal) => return self.ended(tid, Ending::Killed(signal)),
            Stop::Replaced => self.replaced(tid)?,
            Stop::Begun if !self.threads.contains_key(&tid) => {
                if !self.is_thread(tid) {
                    return Ok(ptrace::detach(tid, None)?);
                }
                self.begin(tid)?;
            }
            _ => {
                // The one that is about to become the program.
                let Some(thread) = self.threads.get_mut(&tid) else {
                    return Ok(kernel::go_on(tid, stop.signal())?);
                };
                match stop {
                    Stop::WithGroup => return Ok(kernel::leave_stopped(tid)?),
                    Stop::Cloned => self.cloned(tid)?,
                    Stop::Call if thread.enters_call() => return Ok(kernel::to_call(tid)?),
                    _ => thread.stopped(stop, self.program.leader, &mut self.blocks)?,
                }
            }
        }
        match turn {
            Some((_, left)) if left > 0 || self.ready.is_empty() => {
                self.running = turn;
                self.ready.push_front(tid);
            }
            _ => self.ready.push_back(tid),
        }
        Ok(())
    }

    fn begin(&mut self, tid: Pid) -> Result<(), StepError> {
        let pending = self.blocks.begin(tid.as_raw().cast_unsigned())?;
        self.threads.insert(tid, Thread::new(tid, pending)?);
        // Threads may read and set each other's affinity masks at any time.
        self.same_cpu.restore();
        Ok(())
    }

    fn cloned(&mut self, tid: Pid) -> Result<(), StepError> {
        let child = Pid::from_raw(ptrace::getevent(tid)? as i32);
        if !self.is_thread(child)
            && let Some(thread) = self.threads.get_mut(&tid)
        {
            let marker = Marker::Forked(child.as_raw().cast_unsigned());
            self.blocks.mark(&mut thread.pending, marker)?;
        }
        Ok(())
    }

    /// Of all threads, the one that called exec is left, under the number of the first.
    fn replaced(&mut self, tid: Pid) -> Result<(), StepError> {
        let former = Pid::from_raw(ptrace::getevent(tid)? as i32);
        let caller = self.threads.remove(&former);
        self.ready.clear();
        self.running = None;
        for (_, mut thread) in std::mem::take(&mut self.threads) {
            self.blocks.mark(&mut thread.pending, Marker::Ended)?;
        }
        let Some(mut caller) = caller else { return self.begin(tid) };
        self.blocks.mark(&mut caller.pending, Marker::Replaced)?;
        self.threads.insert(tid, caller.replaced(tid)?);
        Ok(())
    }

    fn ended(&mut self, tid: Pid, ending: Ending) -> Result<(), StepError> {
        if tid == self.program.leader {
            self.ending = Some(ending);
        }
        if let Some(mut thread) = self.threads.remove(&tid) {
            self.blocks.mark(&mut thread.pending, Marker::Ended)?;
        }
        Ok(())
    }

    fn is_thread(&self, tid: Pid) -> bool {
        kernel::is_thread(self.program.leader, tid)
    }
}
