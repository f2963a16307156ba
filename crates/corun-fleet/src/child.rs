//! A program that a task runs: it ends with this process, however that ends.
//!
//! Signals that ask this process to end are passed on and waited for; should it be killed, its watchdog ends the
//! program and all that the program started.

use std::io::{self, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use corun_files::{pass_on, signals_to_handle};
use corun_machine::descendants::{Mark, Orphans};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Runs a command to its end and gives what it wrote; `is_stopped` is set once a signal was passed on. A command is not
/// started when `is_stopped` is set already.
///
/// # Errors
/// If it cannot be started or waited for; `Interrupted` if it was not started.
pub(crate) fn output(command: &mut Command, is_stopped: &AtomicBool) -> io::Result<Output> {
    // Programs do not inherit a handler, and ignore what is ignored here.
    let mut signals = Signals::new(signals_to_handle(&[SIGTERM, SIGINT, SIGHUP]))?;
    if is_stopped.load(Ordering::SeqCst) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let mark = Mark::prepare(Orphans::Left);
    let mut child = mark.spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let (id, closer) = (child.id(), signals.handle());
    let output = thread::scope(|scope| {
        let pass = move || {
            for signal in signals.forever() {
                is_stopped.store(true, Ordering::SeqCst);
                pass_on(id, signal);
            }
        };
        let passing = thread::Builder::new().spawn_scoped(scope, pass);
        let written = passing.and_then(|_| written(&mut child));
        if written.is_err() {
            let _ = child.kill();
        }
        // Until nothing is passed on any more the number stays that of the child.
        let ended = until_ended(id);
        closer.close();
        ended?;
        written
    });
    let output = child.wait().and_then(|status| {
        let (stdout, stderr) = output?;
        Ok(Output { status, stdout, stderr })
    });
    mark.end_all();
    output
}

/// Output of a child at both pipes, to their ends.
fn written(child: &mut Child) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (Some(mut stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Ok((Vec::new(), Vec::new()));
    };
    thread::scope(|scope| {
        let errors = thread::Builder::new().spawn_scoped(scope, move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).map(|_| text)
        })?;
        let mut text = Vec::new();
        stdout.read_to_end(&mut text)?;
        let errors = errors.join().map_err(|_| io::Error::other("a thread panicked"))??;
        Ok((text, errors))
    })
}

/// Waits until a child has ended, which is not collected.
fn until_ended(child: u32) -> io::Result<()> {
    loop {
        // SAFETY: plain data, which the kernel fills for a child of this process.
        let waited = unsafe {
            let mut what: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, child, &raw mut what, libc::WEXITED | libc::WNOWAIT)
        };
        let error = io::Error::last_os_error();
        match waited {
            0 => return Ok(()),
            _ if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}
