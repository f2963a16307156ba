//! A worker process: forked, put in its place, held at the barrier, then turned into the program.
//!
//! The pin is set before exec, so not one instruction of the program runs elsewhere; memory is bound
//! to the worker's NUMA node the same way. A worker dies with corun, and what it leaves running is
//! ended when it is collected.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use corun_machine::Affinity;
use corun_machine::MemoryPolicy;
use corun_machine::descendants::{Leftover, Mark, Orphans};

use super::error::ExecutionError;
use super::memory_release::{Execution, MemoryRelease};
use super::start_barrier::{Stage, StartBarrier};

/// Everything that exec needs, made before fork: nothing may be allocated in between.
pub(crate) struct ExecImage {
    execution: Execution,
    directory: Option<CString>,
}

impl ExecImage {
    /// An image of the program at `path` with these arguments (the program's name first).
    ///
    /// # Errors
    /// If a text contains a NUL byte.
    pub(crate) fn new(
        path: &Path,
        argv: &[OsString],
        environment: &[(OsString, OsString)],
        directory: Option<&Path>,
    ) -> Result<Self, ExecutionError> {
        let text = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| {
                ExecutionError::NulByte(String::from_utf8_lossy(bytes).replace('\0', "\\0"))
            })
        };
        let arguments: Vec<CString> =
            argv.iter().map(|argument| text(argument.as_bytes())).collect::<Result<_, _>>()?;
        let variables: Vec<CString> = environment
            .iter()
            .map(|(name, value)| text(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect::<Result<_, _>>()?;
        let path = text(path.as_os_str().as_bytes())?;
        let execution = Execution::new(&path, &arguments, &variables)
            .map_err(|error| ExecutionError::System("keep a command's arguments", error))?;
        let directory = directory.map(|path| text(path.as_os_str().as_bytes())).transpose()?;
        Ok(Self { execution, directory })
    }
}

/// Input and output of a worker.
pub(crate) struct Streams<'a> {
    pub input: BorrowedFd<'a>,
    pub output: BorrowedFd<'a>,
    pub errors: BorrowedFd<'a>,
}

/// Position of a worker.
pub(crate) struct Position<'a> {
    pub affinity: &'a Affinity,
    pub memory: Option<&'a MemoryPolicy>,
}

/// Everything about a process that is to be started.
pub(crate) struct Launch<'a> {
    pub image: &'a ExecImage,
    pub streams: Streams<'a>,
    pub position: Position<'a>,
    pub barrier: &'a StartBarrier,
    /// The slot in which it reports a failure.
    pub slot: usize,
    /// The image itself will wait at the barrier, and needs its descriptor.
    pub keep_barrier: bool,
}

/// A worker process that has not been waited for.
#[derive(Debug)]
pub(crate) struct Process {
    pub id: libc::pid_t,
    /// Becomes readable when the process ends.
    pub handle: OwnedFd,
    mark: Mark,
}

/// A worker process that has ended and was collected.
#[derive(Debug)]
pub(crate) struct Collected {
    /// As waitpid(2) gives it.
    pub status: i32,
    pub usage: libc::rusage,
    /// Processes it left running.
    pub left: Vec<Leftover>,
}

impl Process {
    /// Forks a process that takes its position, waits at the barrier and becomes the image.
    pub(crate) fn launch(launch: &Launch) -> Result<Self, ExecutionError> {
        let corun = std::process::id().cast_signed();
        let mark = Mark::prepare(Orphans::Adopted);
        let memory_release = if launch.keep_barrier {
            MemoryRelease::default()
        } else {
            MemoryRelease::of_this_thread()
        };
        // SAFETY: the child runs `become_image` only, which restricts itself to async-signal-safe
        // calls on data made before the fork, and never returns.
        let id = unsafe { mark.fork() };
        match id {
            Err(error) => {
                mark.end_all();
                Err(ExecutionError::System("start a worker", error))
            }
            Ok(0) => become_image(launch, corun, &memory_release),
            Ok(id) => {
                let handle = open_handle(id).map_err(|error| {
                    // SAFETY: ends and collects the child just made.
                    unsafe {
                        libc::kill(id, libc::SIGKILL);
                        libc::waitpid(id, ptr::null_mut(), 0);
                    }
                    mark.end_all();
                    ExecutionError::System("watch a worker (pidfd_open, Linux 5.3 or newer)", error)
                })?;
                Ok(Self { id, handle, mark })
            }
        }
    }

    /// Kills the process and everything that descends from it, and collects it.
    pub(crate) fn kill(self) -> io::Result<Collected> {
        let mut ended =
            libc::pollfd { fd: self.handle.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: signals a child that has not been collected yet, and waits for its end.
        unsafe {
            libc::kill(self.id, libc::SIGKILL);
            while libc::poll(&raw mut ended, 1, -1) < 0 {}
        }
        self.collect()
    }

    /// Collects the ended process, its wait status and what it used, and ends what it left running,
    /// also outside its process group: nothing may run beside the next sample.
    pub(crate) fn collect(self) -> io::Result<Collected> {
        // First, while what is left can still be named.
        let left = self.mark.end_all_but(self.id);
        // SAFETY: the group's number cannot be another's while its leader is not collected.
        unsafe { libc::kill(-self.id, libc::SIGKILL) };
        let mut status = 0;
        // SAFETY: rusage is plain data; wait4 fills it for a child that has ended.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let id = unsafe { libc::wait4(self.id, &raw mut status, 0, &raw mut usage) };
        if id < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Collected { status, usage, left })
    }
}

/// The limit of descriptors that corun was started with: workers get it back.
static INHERITED_DESCRIPTORS: OnceLock<libc::rlimit> = OnceLock::new();

/// Prepares this process for children: as many descriptors as it may have (a worker takes several),
/// and children that can be collected even if corun was started with SIGCHLD ignored.
pub(crate) fn prepare_for_children() {
    // SAFETY: reads and sets plain limits and a signal's disposition.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            let inherited = INHERITED_DESCRIPTORS.get_or_init(|| limit);
            let raised = libc::rlimit { rlim_cur: inherited.rlim_max, ..*inherited };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised);
        }
    }
}

fn open_handle(id: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: returns a new close-on-exec descriptor or -1.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(raw as i32) })
}

/// The child's side. Only async-signal-safe calls; every failure is reported through the slot.
fn become_image(launch: &Launch, corun: libc::pid_t, memory_release: &MemoryRelease) -> ! {
    let Launch { image, streams, position, barrier, slot, keep_barrier } = launch;
    let (slot, keep_barrier) = (*slot, *keep_barrier);
    let fail = |stage: Stage| -> ! { barrier.view().fail(slot, stage) };
    // SAFETY: plain system calls on descriptors and C strings that the parent made.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != corun {
            // corun died before the line above: the barrier will not be opened.
            libc::_exit(127);
        }
        libc::setpgid(0, 0);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if let Some(limit) = INHERITED_DESCRIPTORS.get() {
            libc::setrlimit(libc::RLIMIT_NOFILE, limit);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        for (from, to) in [(&streams.input, 0), (&streams.output, 1), (&streams.errors, 2)] {
            if libc::dup2(from.as_raw_fd(), to) < 0 {
                fail(Stage::Redirect);
            }
        }
        if keep_barrier && libc::fcntl(barrier.descriptor(), libc::F_SETFD, 0) < 0 {
            fail(Stage::Redirect);
        }
        if let Some(directory) = &image.directory
            && libc::chdir(directory.as_ptr()) < 0
        {
            fail(Stage::Directory);
        }
    }
    if position.affinity.apply(0).is_err() {
        fail(Stage::Affinity);
    }
    if let Some(memory) = position.memory
        && memory.apply_to_self().is_err()
    {
        // A container may forbid it; the sample then says that memory was not bound.
        barrier.slot(slot).unbound.store(1, std::sync::atomic::Ordering::Release);
    }
    // What is used from here on: the stack, shared memory, and the code.
    let (barrier, execution) = (barrier.view(), image.execution.view());
    // SAFETY: as said above; nothing returns to what had other memory.
    unsafe { memory_release.apply() };
    if !keep_barrier {
        barrier.arrive_and_wait();
        barrier.note_start(slot);
    }
    execution.execute();
    barrier.fail(slot, Stage::Exec)
}

/// The file that a command's name stands for, by the search path where it has no slash; relative
/// places count from `directory`, where the command will run.
///
/// # Errors
/// If there is none, or it may not be executed.
pub(crate) fn find_program(
    name: &OsString,
    path: Option<&OsString>,
    directory: Option<&Path>,
) -> Result<PathBuf, ExecutionError> {
    let candidates: Vec<PathBuf> = if name.is_empty() {
        Vec::new()
    } else if name.as_bytes().contains(&b'/') {
        vec![PathBuf::from(name)]
    } else {
        let default = OsString::from("/usr/local/bin:/usr/bin:/bin");
        std::env::split_paths(path.unwrap_or(&default)).map(|folder| folder.join(name)).collect()
    };
    let mut refusal = None;
    for candidate in candidates {
        let place = std::path::absolute(directory.unwrap_or(Path::new(".")).join(&candidate));
        let place = place.unwrap_or_else(|_| candidate.clone());
        match executable(&place).map_err(|error| error.kind()) {
            Ok(()) => return Ok(place),
            Err(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(io::ErrorKind::IsADirectory) => {
                refusal.get_or_insert(ExecutionError::IsDirectory(candidate));
            }
            Err(_) => {
                refusal.get_or_insert(ExecutionError::NotExecutable(candidate));
            }
        }
    }
    Err(refusal.unwrap_or_else(|| ExecutionError::NotFound(name.clone())))
}

fn executable(path: &Path) -> io::Result<()> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let text = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
    // SAFETY: asks about a C string's path.
    if unsafe { libc::access(text.as_ptr(), libc::X_OK) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
