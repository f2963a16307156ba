//! A child that has nothing but a block: no memory of its parent's, no files, no system calls.
//!
//! Its parent traces it, so that it runs only while it is traced: a fault is a stop, at which the
//! parent maps the page that is missing, or gives up. It is killed when the parent or its thread ends.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};

use corun_machine::Affinity;
use libc::{c_int, c_long, user_regs_struct};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::fs::MemfdFlags;

use crate::filter::{self, PROGRAM};
use crate::harness::{self, CALL};
use crate::inspection::Uses;
use crate::layout::{CODE, DATA, HARNESS, MAX_CODE, PAGE, PATTERN, STACK_POINTER, check_size};
use crate::{BlockError, Fault};

/// The most pages that a block may touch.
const MAX_PAGES: usize = 4096;
/// The most seconds of CPU time.
const MAX_SECONDS: u64 = 20;

/// Pages of the file that backs the child's memory: harness, data, the block's page, then code.
const PAGE_OF_BLOCK: u64 = 2;
const FIRST_OF_CODE: u64 = 3;
/// The file's number in the child, its only one.
const FILE: c_int = 3;

/// Of `ptrace(2)`; not in libc.
const PTRACE_GET_RSEQ_CONFIGURATION: libc::c_uint = 0x420f;
/// Of `rseq(2)`.
const RSEQ_FLAG_UNREGISTER: u64 = 1;
/// Codes of SIGSEGV (`sigaction(2)`).
const NOT_MAPPED: c_int = 1;
const NOT_ALLOWED: c_int = 2;

/// The child, stopped. Only the thread that made it may use it.
#[derive(Debug)]
pub(crate) struct Confined {
    pid: Pid,
    pages: BTreeSet<u64>,
    /// Registers when it was stopped first.
    registers: user_regs_struct,
    not_send: PhantomData<*const ()>,
}

/// Why the child stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It made a step, or came to a breakpoint.
    Trapped,
    /// It touched a page that was not there; now it is.
    Mapped,
    /// It cannot go on.
    Faulted(Fault),
    /// It took too long, and is gone.
    Late,
}

impl Confined {
    /// A child with this code from [`CODE`] on, for a block that uses these registers, on this CPU if
    /// one is given.
    pub(crate) fn new(code: &[u8], uses: Uses, cpu: Option<&Affinity>) -> Result<Self, BlockError> {
        check_size(code.len())?;
        let file = image(code, uses).map_err(host("making a file in memory"))?;
        // SAFETY: asks for a number.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child makes system calls, and ends.
        match unsafe { libc::fork() } {
            -1 => Err(host("fork")(io::Error::last_os_error())),
            0 => become_child(parent, &file, code.len(), cpu),
            child => {
                let mut confined = Self {
                    pid: Pid::from_raw(child),
                    pages: BTreeSet::new(),
                    // SAFETY: plain numbers.
                    registers: unsafe { std::mem::zeroed() },
                    not_send: PhantomData,
                };
                confined.confine()?;
                // The harness sets memory through the page that registers point to: a core that finds lines by their linear
                // addresses finds them by those of the block then.
                if !confined.map(PATTERN)? {
                    return Err(lost("mapping the block's page"));
                }
                Ok(confined)
            }
        }
    }

    /// Process id.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Lets it set memory and registers as a block finds them, but for the general-purpose ones.
    pub(crate) fn prepare(&mut self) -> Result<(), BlockError> {
        self.go_to(harness::prepare())?;
        match self.resume()? {
            Stop::Trapped => Ok(()),
            _ => Err(lost("setting registers")),
        }
    }

    /// Lets it begin at this address of the harness when it goes on.
    pub(crate) fn go_to(&mut self, address: u64) -> Result<(), BlockError> {
        let registers =
            user_regs_struct { rip: address, rsp: harness::STACK, ..self.fresh_registers() };
        self.set_registers(&registers)
    }

    /// The general-purpose registers as a block finds them, at its first copy.
    pub(crate) fn registers_at_start(&self) -> user_regs_struct {
        user_regs_struct {
            rax: PATTERN,
            rbx: PATTERN,
            rcx: PATTERN,
            rdx: PATTERN,
            rsi: PATTERN,
            rdi: PATTERN,
            rbp: PATTERN,
            rsp: STACK_POINTER,
            r8: PATTERN,
            r9: PATTERN,
            r10: PATTERN,
            r11: PATTERN,
            r12: PATTERN,
            r13: PATTERN,
            r14: PATTERN,
            r15: PATTERN,
            rip: CODE,
            ..self.fresh_registers()
        }
    }

    /// Registers as they are now.
    pub(crate) fn registers(&self) -> Result<user_regs_struct, BlockError> {
        ptrace::getregs(self.pid).map_err(errno("ptrace"))
    }

    pub(crate) fn set_registers(&self, registers: &user_regs_struct) -> Result<(), BlockError> {
        ptrace::setregs(self.pid, *registers).map_err(errno("ptrace"))
    }

    /// One instruction, or one iteration of a repeated one.
    pub(crate) fn step(&mut self) -> Result<Stop, BlockError> {
        ptrace::step(self.pid, None).map_err(errno("ptrace"))?;
        self.stop()
    }

    /// Until something happens.
    pub(crate) fn resume(&mut self) -> Result<Stop, BlockError> {
        ptrace::cont(self.pid, None).map_err(errno("ptrace"))?;
        self.stop()
    }

    /// Puts bytes into its memory.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), BlockError> {
        use nix::sys::uio::{RemoteIoVec, process_vm_writev};
        let place = RemoteIoVec { base: address as usize, len: bytes.len() };
        process_vm_writev(self.pid, &[io::IoSlice::new(bytes)], &[place])
            .map(drop)
            .map_err(errno("process_vm_writev"))
    }

    /// Reads its memory.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), BlockError> {
        use nix::sys::uio::{RemoteIoVec, process_vm_readv};
        let place = RemoteIoVec { base: address as usize, len: bytes.len() };
        process_vm_readv(self.pid, &mut [io::IoSliceMut::new(bytes)], &[place])
            .map(drop)
            .map_err(errno("process_vm_readv"))
    }

    /// Takes the flag that stepping sets out of the flags that were pushed last.
    pub(crate) fn hide_trap_flag(&self, registers: &user_regs_struct) -> Result<(), BlockError> {
        // The flag is bit 8, the lowest of the second byte; the others of it that code may set are
        // direction and overflow.
        let second_byte = registers.eflags.to_le_bytes()[1] & !1;
        self.write(registers.rsp + 1, &[second_byte])
    }

    fn stop(&mut self) -> Result<Stop, BlockError> {
        let signal = match self.wait()? {
            Waited::Stopped(signal) => signal,
            // By the limit of CPU time: nothing else kills it.
            Waited::Killed => return Ok(Stop::Late),
        };
        Ok(match signal {
            Signal::SIGTRAP => Stop::Trapped,
            Signal::SIGSEGV => self.mend()?,
            Signal::SIGILL => Stop::Faulted(Fault::UnknownInstruction),
            Signal::SIGFPE => Stop::Faulted(Fault::Arithmetic),
            Signal::SIGBUS => Stop::Faulted(Fault::Alignment),
            Signal::SIGXCPU => Stop::Late,
            other => Stop::Faulted(Fault::Signal(other as c_int)),
        })
    }

    /// Maps the page that a fault asks for, if it can be mapped.
    fn mend(&mut self) -> Result<Stop, BlockError> {
        let information = ptrace::getsiginfo(self.pid).map_err(errno("ptrace"))?;
        // SAFETY: a SIGSEGV has an address.
        let address = unsafe { information.si_addr() } as u64;
        match information.si_code {
            NOT_MAPPED => {}
            NOT_ALLOWED => return Ok(Stop::Faulted(Fault::OwnCode(address))),
            _ => return Ok(Stop::Faulted(Fault::GeneralProtection)),
        }
        let page = address & !(PAGE - 1);
        if self.pages.len() == MAX_PAGES {
            return Err(BlockError::TooManyPages { limit: MAX_PAGES });
        }
        let registers = self.registers()?;
        // An instruction that is fetched from there would be in no code.
        let is_mapped = registers.rip & !(PAGE - 1) != page && self.map(page)?;
        self.set_registers(&registers)?;
        Ok(if is_mapped { Stop::Mapped } else { Stop::Faulted(Fault::Address(address)) })
    }

    fn map(&mut self, page: u64) -> Result<bool, BlockError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
        let arguments =
            [page, PAGE, protection as u64, flags as u64, FILE as u64, PAGE_OF_BLOCK * PAGE];
        let is_mapped = self.call(libc::SYS_mmap, arguments)?.is_ok() && self.pages.insert(page);
        Ok(is_mapped)
    }

    /// The part of the confinement that is done from outside: the child cannot take away the ground it stands on.
    fn confine(&mut self) -> Result<(), BlockError> {
        match self.wait()? {
            Waited::Stopped(Signal::SIGSTOP) => {}
            _ => return Err(lost("setting limits and memory")),
        }
        ptrace::setoptions(self.pid, Options::PTRACE_O_EXITKILL).map_err(errno("ptrace"))?;
        self.registers = self.registers()?;
        self.forget_sequences()?;
        for (begin, end) in self.foreign_memory().map_err(host("reading /proc/PID/maps"))? {
            self.call(libc::SYS_munmap, [begin, end - begin, 0, 0, 0, 0])?
                .map_err(errno("munmap"))?;
        }
        let arguments = [libc::SECCOMP_SET_MODE_FILTER.into(), 0, PROGRAM, 0, 0, 0];
        self.call(libc::SYS_seccomp, arguments)?.map_err(errno("seccomp")).map(drop)
    }

    /// The C library has the kernel write into memory that is going away (`rseq(2)`).
    fn forget_sequences(&mut self) -> Result<(), BlockError> {
        #[repr(C)]
        #[derive(Default)]
        struct Configuration {
            pointer: u64,
            size: u32,
            signature: u32,
            flags: u32,
            padding: u32,
        }
        let mut found = Configuration::default();
        // SAFETY: the kernel writes at most as many bytes as the buffer has.
        let result = unsafe {
            libc::ptrace(
                PTRACE_GET_RSEQ_CONFIGURATION,
                self.pid.as_raw(),
                size_of::<Configuration>(),
                &raw mut found,
            )
        };
        // A kernel that does not know the request is older than the C libraries that do this.
        if result == -1 || found.pointer == 0 {
            return Ok(());
        }
        let size = found.size.into();
        let arguments = [found.pointer, size, RSEQ_FLAG_UNREGISTER, found.signature.into(), 0, 0];
        self.call(libc::SYS_rseq, arguments)?.map_err(errno("rseq")).map(drop)
    }

    /// Mappings besides the harness and the code; not the kernel's own pages, which hold nothing but
    /// the time, and of which some kernels do not allow unmapping.
    fn foreign_memory(&self) -> io::Result<Vec<(u64, u64)>> {
        let maps = corun_files::kernel_text(format!("/proc/{}/maps", self.pid))?;
        let range = |line: &str| {
            let (begin, rest) = line.split_once('-')?;
            let (end, _) = rest.split_once(' ')?;
            let begin = u64::from_str_radix(begin, 16).ok()?;
            Some((begin, u64::from_str_radix(end, 16).ok()?))
        };
        Ok(maps
            .lines()
            .filter(|line| !line.contains("[v"))
            .filter_map(range)
            .filter(|&(begin, _)| !(HARNESS..CODE + MAX_CODE as u64).contains(&begin))
            .collect())
    }

    /// A system call in the child's name.
    fn call(
        &mut self,
        number: c_long,
        arguments: [u64; 6],
    ) -> Result<nix::Result<u64>, BlockError> {
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        let rax = number.cast_unsigned();
        self.set_registers(&user_regs_struct {
            rip: CALL,
            rax,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..self.fresh_registers()
        })?;
        ptrace::cont(self.pid, None).map_err(errno("ptrace"))?;
        match self.wait()? {
            Waited::Stopped(Signal::SIGTRAP) => {}
            _ => return Err(lost("a system call of the harness")),
        }
        let result = self.registers()?.rax.cast_signed();
        Ok(match result {
            -4095..0 => Err(Errno::from_raw(-result as i32)),
            _ => Ok(result.cast_unsigned()),
        })
    }

    /// Registers that are the same at every start: the segments, and the flags, which are clear. The
    /// segments that have a base begin where all registers point to.
    fn fresh_registers(&self) -> user_regs_struct {
        user_regs_struct {
            eflags: 2,
            // No system call is to be begun again.
            orig_rax: u64::MAX,
            fs_base: PATTERN,
            gs_base: PATTERN,
            ..self.registers
        }
    }

    fn wait(&self) -> Result<Waited, BlockError> {
        loop {
            match waitpid(self.pid, Some(WaitPidFlag::__WALL)) {
                Ok(WaitStatus::Stopped(_, signal)) => return Ok(Waited::Stopped(signal)),
                Ok(_) => return Ok(Waited::Killed),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(errno("waitpid")(error)),
            }
        }
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // It fails if the child has ended and was collected.
        if nix::sys::signal::kill(self.pid, Signal::SIGKILL).is_ok() {
            while let Ok(Waited::Stopped(_)) = self.wait() {}
        }
    }
}

enum Waited {
    Stopped(Signal),
    Killed,
}

/// Image that the child maps, as a file in memory.
fn image(code: &[u8], uses: Uses) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("corun-block", MemfdFlags::CLOEXEC)?;
    let length = FIRST_OF_CODE * PAGE + (code.len() as u64).max(1).next_multiple_of(PAGE);
    rustix::fs::ftruncate(&file, length)?;
    let parts = [
        (0, harness::code()),
        (PAGE, &harness::data(uses, &filter::filter())),
        (FIRST_OF_CODE * PAGE, code),
    ];
    for (offset, mut bytes) in parts {
        let mut offset = offset;
        while !bytes.is_empty() {
            let written = rustix::io::pwrite(&file, bytes, offset)?;
            bytes = &bytes[written..];
            offset += written as u64;
        }
    }
    Ok(file)
}

/// The child's side, between fork and its first stop: system calls only, no allocation.
fn become_child(parent: c_int, file: &OwnedFd, code: usize, cpu: Option<&Affinity>) -> ! {
    // SAFETY: each call is as its manual page asks; what is mapped lies where nothing else does.
    unsafe {
        let limit = |resource, most| {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            libc::setrlimit(resource, &raw const limit) == 0
        };
        let map = |address: u64, length: u64, protection, flags, offset: u64| {
            let flags = flags | libc::MAP_FIXED_NOREPLACE;
            let address = address as *mut c_void;
            libc::mmap(address, length as usize, protection, flags, FILE, offset.cast_signed())
                == address
        };
        let execute = libc::PROT_READ | libc::PROT_EXEC;
        let write = libc::PROT_READ | libc::PROT_WRITE;
        let mut nothing: libc::sigset_t = std::mem::zeroed();
        let is_ready = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && libc::getppid() == parent
            && cpu.is_none_or(|cpu| cpu.apply(0).is_ok())
            && limit(libc::RLIMIT_CORE, 0)
            && limit(libc::RLIMIT_CPU, MAX_SECONDS)
            && libc::dup2(file.as_raw_fd(), FILE) == FILE
            && libc::syscall(libc::SYS_close_range, FILE + 1, c_int::MAX, 0) == 0
            && libc::syscall(libc::SYS_close_range, 0, FILE - 1, 0) == 0
            && map(HARNESS, PAGE, execute, libc::MAP_PRIVATE, 0)
            && map(DATA, PAGE, write, libc::MAP_PRIVATE, PAGE)
            && map(CODE, code.max(1) as u64, execute, libc::MAP_PRIVATE, FIRST_OF_CODE * PAGE)
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::sigemptyset(&raw mut nothing) == 0
            && libc::sigprocmask(libc::SIG_SETMASK, &raw const nothing, std::ptr::null_mut()) == 0
            && libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0;
        if is_ready {
            libc::kill(libc::getpid(), libc::SIGSTOP);
        }
        libc::_exit(1)
    }
}

fn host(what: &'static str) -> impl Fn(io::Error) -> BlockError {
    move |source| BlockError::Host { what, source }
}

fn errno(what: &'static str) -> impl Fn(Errno) -> BlockError {
    move |error| BlockError::Host { what, source: error.into() }
}

fn lost(what: &'static str) -> BlockError {
    BlockError::Host { what, source: io::Error::other("the child did not come back from it") }
}

impl BlockError {
    /// The limit of CPU time was reached.
    pub(crate) fn too_slow() -> Self {
        Self::TooSlow { seconds: MAX_SECONDS }
    }
}
