//! Short scripts for the shell: a child calls `system`, whose shell starts the script by its name, as a
//! program of its own; then the parent waits.
//!
//! Sites put their own work into the three scripts of the original. Here the first and the third list
//! their folder, and the second does nothing (as delivered it sleeps, which measures no machine; the
//! published figures show that it did not there).

use std::ffi::{CStr, c_int};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use super::{child, descriptor};
use crate::available::{ensure_processes, no_processes};
use crate::child::fork_and_wait;
use crate::scratch::Scratch;
use crate::workload::Workload;
use crate::{Descriptor, Job, Kernel, Tag, WorkloadError};

/// A script, and what it calls besides the shell.
struct Script {
    text: &'static str,
    calls: Option<&'static str>,
}

static LIST: Script = Script { text: "#!/bin/sh\nls -l > /dev/null 2>&1\n", calls: Some("ls") };
static NOTHING: Script = Script { text: "#!/bin/sh\n:\n", calls: None };

pub(super) static FIRST: Workload = Workload {
    descriptor: &shell("aim9/shell_rtns_1", "a shell script that lists its folder"),
    unavailable: || LIST.unavailable(),
    prepare: |_, workers| prepare(FIRST.descriptor, &LIST, workers),
};

pub(super) static SECOND: Workload = Workload {
    descriptor: &shell("aim9/shell_rtns_2", "a shell script that does nothing"),
    unavailable: || NOTHING.unavailable(),
    prepare: |_, workers| prepare(SECOND.descriptor, &NOTHING, workers),
};

pub(super) static THIRD: Workload = Workload {
    descriptor: &shell("aim9/shell_rtns_3", "a shell script that lists its folder, once more"),
    unavailable: || LIST.unavailable(),
    prepare: |_, workers| prepare(THIRD.descriptor, &LIST, workers),
};

impl Script {
    fn unavailable(&self) -> Option<String> {
        if !Path::new("/bin/sh").exists() {
            return Some("there is no /bin/sh".into());
        }
        let missing = self.calls.filter(|program| which::which(program).is_err())?;
        Some(format!("there is no `{missing}` on PATH"))
    }
}

const fn shell(name: &'static str, summary: &'static str) -> Descriptor {
    Descriptor {
        // The script and the block that a file system may need for its folder.
        disk_bytes: 8192,
        ..descriptor(
            name,
            summary,
            &[Tag::SystemCalls, Tag::ContextSwitch, Tag::Interpreter],
            ["a script", "scripts"],
            1.0,
            "scripts/s",
        )
    }
}

/// The script's name, and how `system` starts it.
const NAME: &str = "script";
const COMMAND: &CStr = c"./script";

fn prepare(
    descriptor: &'static Descriptor,
    script: &Script,
    workers: NonZeroUsize,
) -> Result<Job, WorkloadError> {
    let unavailable = |reason| WorkloadError::Unavailable { workload: descriptor.name, reason };
    if let Some(reason) = script.unavailable() {
        return Err(unavailable(reason));
    }
    // The child, its shell, and the script with what it calls.
    ensure_processes(descriptor.name, 4, workers)?;
    let scratch = Arc::new(Scratch::new(descriptor, workers)?);
    scratch.write_program(NAME, script.text.as_bytes())?;
    let kernel = || Shell { scratch: Arc::clone(&scratch), successes: 0 };
    let tried = fork_and_wait(|| kernel().call());
    let tried = tried.map_err(|error| no_processes(descriptor.name, 4)(error.into()))?;
    match child::exit_status(tried) {
        Some(0) => Ok(Job::of((0..workers.get()).map(|_| kernel()))),
        // What a shell says of a program that it may not start.
        Some(126) => Err(unavailable("no program may be started from TMPDIR (noexec)".into())),
        Some(status) => Err(unavailable(format!("its script ends with {status} instead of 0"))),
        None => Err(unavailable("a signal ends its script".into())),
    }
}

struct Shell {
    scratch: Arc<Scratch>,
    successes: u64,
}

impl Shell {
    /// Runs the script and returns its exit status; `None` if a signal ended it.
    fn script(&self) -> Option<u64> {
        child::exit_status(child::run(|| self.call()))
    }

    /// Work of a child.
    fn call(&self) -> c_int {
        if rustix::process::fchdir(&self.scratch).is_err() {
            return 127;
        }
        // SAFETY: a string; nothing else in this process calls it, whose only thread this is.
        let status = unsafe { libc::system(COMMAND.as_ptr()) };
        if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 127 }
    }
}

impl Kernel for Shell {
    fn reset(&mut self) {
        self.successes = 0;
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            self.successes += u64::from(self.script() == Some(0));
        }
    }

    /// The scripts that ended with success.
    fn check(&self) -> u64 {
        self.successes
    }
}
