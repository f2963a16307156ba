//! Starting a process and waiting for its end: an empty one, one that becomes another program, and
//! one that becomes a shell which starts that program.
//!
//! By fork, as in the original; the program is linked dynamically unless the user's is not.

use std::ffi::{CString, OsString};
use std::num::NonZeroUsize;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::ptr::null;

use rustix::io::Errno;

use super::descriptor;
use super::errand::{Errand, errands};
use crate::child::fork_and_wait;
use crate::workload::{Workload, anywhere};
use crate::{Descriptor, Domain, Job, Parameter, Parameters, Tag, WorkloadError};

const PROGRAM: Parameter = Parameter {
    name: "program",
    summary: "the program that is started, by its path; it does little and succeeds",
    default: "true",
    domain: Domain::File,
};

const TAGS: &[Tag] = &[Tag::SystemCalls, Tag::ContextSwitch];

const PROCESSES: [&str; 2] = ["a process, from its start to its end", "processes"];

pub(super) static FORK: Workload = Workload {
    descriptor: &descriptor(
        ["lmbench/fork-exit", "Process fork+exit"],
        "fork of a child that exits at once, and waiting for it",
        TAGS,
        PROCESSES,
    ),
    unavailable: anywhere,
    prepare: |_, workers| errands(FORK.descriptor.name, workers, || Fork(Exit)),
};

pub(super) static EXECVE: Workload = Workload {
    descriptor: &Descriptor {
        parameters: &[PROGRAM],
        ..descriptor(
            ["lmbench/fork-execve", "Process fork+execve"],
            "fork of a child that becomes a small program, and waiting for it",
            TAGS,
            PROCESSES,
        )
    },
    unavailable: no_program,
    prepare: |parameters, workers| {
        let path = program(EXECVE.descriptor.name, parameters)?;
        start(&EXECVE, workers, &[c_string(path.into())], Environment::Empty)
    },
};

pub(super) static SHELL: Workload = Workload {
    descriptor: &Descriptor {
        parameters: &[PROGRAM],
        ..descriptor(
            ["lmbench/fork-sh", "Process fork+/bin/sh -c"],
            "fork of a child that has a shell run a small program, and waiting for it",
            TAGS,
            PROCESSES,
        )
    },
    unavailable: || no_shell().or_else(no_program),
    prepare: |parameters, workers| {
        let path = program(SHELL.descriptor.name, parameters)?;
        if let Some(reason) = no_shell() {
            return Err(WorkloadError::Unavailable { workload: SHELL.descriptor.name, reason });
        }
        let words = [SHELL_PATH.into(), "-c".into(), quoted(path)].map(c_string);
        start(&SHELL, workers, &words, Environment::Own)
    },
};

fn start(
    row: &Workload,
    workers: NonZeroUsize,
    words: &[CString],
    environment: Environment,
) -> Result<Job, WorkloadError> {
    errands(row.descriptor.name, workers, || Fork(Exec::new(words.to_vec(), environment)))
}

const SHELL_PATH: &str = "/bin/sh";

fn no_shell() -> Option<String> {
    which::which(SHELL_PATH).err().map(|_| format!("there is no program `{SHELL_PATH}`"))
}

fn no_program() -> Option<String> {
    let found = which::which(PROGRAM.default);
    found.err().map(|_| format!("there is no program `{}` in PATH", PROGRAM.default))
}

fn program(workload: &'static str, parameters: &Parameters) -> Result<PathBuf, WorkloadError> {
    let unavailable = |reason| WorkloadError::Unavailable { workload, reason };
    match parameters.file(&PROGRAM)? {
        None => {
            which::which(PROGRAM.default).map_err(|_| unavailable(no_program().unwrap_or_default()))
        }
        Some(path) => {
            let found = which::which(path).ok().and_then(|path| std::path::absolute(path).ok());
            found.ok_or_else(|| unavailable(format!("there is no program {path:?}")))
        }
    }
}

/// As one word of the shell's language.
fn quoted(path: PathBuf) -> OsString {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    let bytes = path.as_os_str().as_bytes();
    if bytes.iter().all(plain) {
        return path.into();
    }
    let inside = bytes.iter().flat_map(|byte| match byte {
        b'\'' => b"'\\''".as_slice(),
        byte => std::slice::from_ref(byte),
    });
    OsString::from_vec([b"'".as_slice(), &inside.copied().collect::<Vec<_>>(), b"'"].concat())
}

fn c_string(word: OsString) -> CString {
    CString::new(word.into_vec()).expect("neither a path nor an argument holds a zero byte")
}

/// Life of a child after the fork.
trait Life: Send {
    /// The code that it exits with when that returns.
    const ENDS_WITH: libc::c_int;

    fn live(&self);
}

struct Exit;

impl Life for Exit {
    const ENDS_WITH: libc::c_int = 0;

    fn live(&self) {}
}

#[derive(Debug, Clone, Copy)]
enum Environment {
    Empty,
    Own,
}

/// Becomes another program, with standard output closed.
struct Exec {
    words: Vec<CString>,
    environment: Environment,
    /// The addresses of the words, and a null after them.
    pointers: Vec<*const libc::c_char>,
}

// SAFETY: the addresses are those of the words' own memory, which moves with them.
unsafe impl Send for Exec {}

impl Exec {
    fn new(words: Vec<CString>, environment: Environment) -> Self {
        let pointers = words.iter().map(|word| word.as_ptr()).chain([null()]).collect();
        Self { words, environment, pointers }
    }
}

impl Life for Exec {
    const ENDS_WITH: libc::c_int = NOT_STARTED;

    fn live(&self) {
        unsafe extern "C" {
            static environ: *const *const libc::c_char;
        }
        let nothing = [null()];
        let environment = match self.environment {
            Environment::Empty => nothing.as_ptr(),
            // SAFETY: this process has a single thread, so that none changes it.
            Environment::Own => unsafe { environ },
        };
        // SAFETY: both are arrays of strings that end with a null.
        unsafe {
            libc::close(libc::STDOUT_FILENO);
            libc::execve(self.words[0].as_ptr(), self.pointers.as_ptr(), environment);
        }
    }
}

struct Fork<L>(L);

/// Exit status of a child that could not become what it was meant to, as in a shell.
const NOT_STARTED: libc::c_int = 127;

impl<L: Life> Errand for Fork<L> {
    const CALL: &'static str = "fork, or its child execve";

    /// Counts the children that ended well.
    fn run(&mut self, operations: u64) -> Result<u64, Errno> {
        let mut well = 0;
        for _ in 0..operations {
            let status = fork_and_wait(|| {
                self.0.live();
                L::ENDS_WITH
            })?;
            if libc::WEXITSTATUS(status) == NOT_STARTED {
                return Err(Errno::NOEXEC);
            }
            well += u64::from(status == 0);
        }
        Ok(well)
    }
}
