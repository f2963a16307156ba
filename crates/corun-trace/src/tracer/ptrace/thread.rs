//! One thread between two stops: what it is about to do, and what it turns out to have done.

use std::io::{IoSlice, IoSliceMut};
use std::rc::Rc;

use libc::{c_int, user_regs_struct};
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use super::blocks::{BlockBuilder, PendingBlock};
use super::code::{Code, CodeCache, Kind};
use super::kernel::{self, Stop};
use super::same_cpu::SameCpu;
use super::traps::Traps;
use crate::{Interval, Marker, SinkError};

/// Iterations that are stepped rather than run to the end of with a hardware breakpoint.
const FEW: u64 = 8;

/// A thread that is traced.
pub(super) struct Thread {
    pub tid: Pid,
    pub pending: PendingBlock,
    /// To be delivered when it goes on; 0 if there is none.
    pub signal: c_int,
    registers: user_regs_struct,
    next: Option<Next>,
    /// It does not step, it runs to the end of a repeated instruction.
    runs_to: bool,
    /// Address of a system call that was reported that a signal then put off.
    put_off: Option<u64>,
    traps: Traps,
}

/// Next step, if nothing comes in between.
struct Next {
    address: u64,
    /// `None` where there is no instruction that is known.
    code: Option<Rc<Code>>,
    values: Vec<u64>,
    interval: Option<Interval>,
    /// The iterations that are left.
    counter: u64,
    /// The sink knows of it already.
    reported: bool,
}

impl Thread {
    /// A stopped thread.
    pub(super) fn new(tid: Pid, pending: PendingBlock) -> nix::Result<Self> {
        let registers = kernel::registers(tid)?;
        let traps = Traps::of(tid)?;
        Ok(Self {
            tid,
            pending,
            signal: 0,
            registers,
            next: None,
            runs_to: false,
            put_off: None,
            traps,
        })
    }

    /// Becomes another program, in the process's first thread.
    pub(super) fn replaced(self, tid: Pid) -> nix::Result<Self> {
        Self::new(tid, self.pending)
    }

    /// Lets it do what comes next, and says what that is. The only thread of a process is pinned to the tracer's CPU
    /// while it executes code.
    pub(super) fn go_on(
        &mut self,
        cache: &mut CodeCache,
        blocks: &mut BlockBuilder<'_>,
        same_cpu: Option<&mut SameCpu>,
    ) -> Result<Kind, StepError> {
        if self.traps.is_in_call() {
            kernel::to_call(self.tid)?;
            return Ok(Kind::SystemCall);
        }
        self.look_ahead(cache, blocks)?;
        let kind = self.kind();
        match same_cpu {
            Some(same_cpu) if kind == Kind::SystemCall => same_cpu.restore(),
            Some(same_cpu) => same_cpu.pin(self.tid),
            None => {}
        }
        // Before it happens: it may be the thread's last, or take long.
        if kind == Kind::SystemCall && self.signal == 0 {
            self.emit(blocks)?;
            if self.traps.begin_call(self.tid, self.registers.rax)? {
                return Ok(kind);
            }
        }
        let after = self.after_long_repetition().filter(|_| self.signal == 0);
        self.runs_to = after.is_some_and(|after| kernel::run_to(self.tid, after).is_ok());
        if !self.runs_to {
            kernel::step(self.tid, std::mem::take(&mut self.signal))?;
        }
        Ok(kind)
    }

    /// True if it is at the begin of a system call, not at its end.
    pub(super) fn enters_call(&mut self) -> bool {
        self.traps.enter_call()
    }

    /// The address after a repeated instruction whose every iteration would take too long to step.
    fn after_long_repetition(&self) -> Option<u64> {
        let code = self.next.as_ref()?.code.as_ref()?;
        let is_long = code.kind == Kind::Repeated && self.registers.rcx > FEW;
        is_long.then(|| code.address + code.bytes.len() as u64)
    }

    /// Reports what was done until a stop.
    pub(super) fn stopped(
        &mut self,
        stop: Stop,
        process: Pid,
        blocks: &mut BlockBuilder<'_>,
    ) -> Result<(), StepError> {
        if std::mem::take(&mut self.runs_to) {
            kernel::forget_run_to(self.tid)?;
        }
        let before = std::mem::replace(&mut self.registers, kernel::registers(self.tid)?);
        let stays = before.rip == self.registers.rip;
        match (stop, self.kind()) {
            (Stop::Stepped, Kind::Repeated | Kind::Lanes) if stays => {}
            (Stop::Stepped, kind) => {
                self.done(blocks)?;
                if kind == Kind::PushFlags {
                    self.hide_trap_flag(process)?;
                }
            }
            (Stop::Returned, Kind::SystemCall) => self.done(blocks)?,
            (Stop::Call, _) => {
                self.done(blocks)?;
                self.traps.end_call(self.tid, self.registers.rax)?;
            }
            (Stop::HandlerEntered, _) => {
                self.next = None;
                self.traps.enter_handler(self.tid, process, self.registers.rsp)?;
            }
            (Stop::Signal(signal), kind) => {
                if !stays || (kind == Kind::Repeated && self.iterations() > 0) {
                    self.done(blocks)?;
                } else if self.next.as_ref().is_some_and(|next| next.reported) {
                    self.put_off = Some(before.rip);
                }
                if self.traps.put_off(self.tid, signal)? {
                    return Ok(());
                }
                let code = self.next.as_ref().and_then(|next| next.code.as_ref());
                blocks.interrupt(&mut self.pending, code, signal.cast_unsigned())?;
                self.signal = signal;
            }
            _ => {}
        }
        Ok(())
    }

    fn look_ahead(
        &mut self,
        cache: &mut CodeCache,
        blocks: &mut BlockBuilder<'_>,
    ) -> Result<(), StepError> {
        let address = self.registers.rip;
        if self.next.as_ref().is_some_and(|next| next.address == address) {
            return Ok(());
        }
        let code = cache.at(address);
        let interval = blocks.interval();
        let mut values = Vec::new();
        if let (Some(code), Some(_)) = (&code, interval) {
            for (_, place) in &code.operands {
                place.values(self.tid, &self.registers, &mut values)?;
            }
        }
        let reported = self.put_off.take_if(|put_off| *put_off == address).is_some();
        let counter = self.registers.rcx;
        self.next = Some(Next { address, code, values, interval, counter, reported });
        Ok(())
    }

    fn kind(&self) -> Kind {
        let code = self.next.as_ref().and_then(|next| next.code.as_ref());
        code.map_or(Kind::Plain, |code| code.kind)
    }

    fn done(&mut self, blocks: &mut BlockBuilder<'_>) -> Result<(), SinkError> {
        let iterations = self.iterations();
        if let Some(next) = &mut self.next
            && let Some(code) = &next.code
            && code.kind == Kind::Repeated
        {
            code.put_iterations(&mut next.values, iterations);
        }
        self.emit(blocks)?;
        self.next = None;
        Ok(())
    }

    fn emit(&mut self, blocks: &mut BlockBuilder<'_>) -> Result<(), SinkError> {
        let Some(next) = self.next.as_mut().filter(|next| !next.reported) else { return Ok(()) };
        next.reported = true;
        let Some(code) = &next.code else { return blocks.leave_out(&mut self.pending) };
        blocks.execute(&mut self.pending, code, &next.values, next.interval)?;
        if code.kind == Kind::SystemCall {
            blocks.mark(&mut self.pending, Marker::SystemCall(self.registers.rax))?;
        }
        Ok(())
    }

    /// Those of a repeated instruction since it began.
    fn iterations(&self) -> u64 {
        let Some(next) = &self.next else { return 0 };
        let after = self.registers.rcx;
        next.code.as_ref().map_or(0, |code| code.iterations(next.counter, after))
    }

    /// Takes the flag that stepping sets out of the flags that were pushed.
    fn hide_trap_flag(&self, process: Pid) -> nix::Result<()> {
        let second_byte = RemoteIoVec { base: self.registers.rsp as usize + 1, len: 1 };
        let mut flags = [0];
        process_vm_readv(process, &mut [IoSliceMut::new(&mut flags)], &[second_byte])?;
        process_vm_writev(process, &[IoSlice::new(&[flags[0] & !1])], &[second_byte]).map(drop)
    }
}

/// Why a thread could not be followed.
#[derive(Debug)]
pub(super) enum StepError {
    /// It was killed meanwhile; its end is still to be waited for.
    Gone,
    Kernel(Errno),
    Sink(SinkError),
}

impl From<Errno> for StepError {
    fn from(error: Errno) -> Self {
        if error == Errno::ESRCH { Self::Gone } else { Self::Kernel(error) }
    }
}

impl From<SinkError> for StepError {
    fn from(error: SinkError) -> Self {
        Self::Sink(error)
    }
}
