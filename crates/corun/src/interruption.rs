//! Ctrl-C and similar signals: the first asks for an orderly end, the second ends corun at once.
//!
//! Signals that were ignored when corun started stay so, here and in the programs that it runs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use corun_files::signals_to_handle;
use corun_measure::execution::Interrupt;
use corun_record::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::problem::Problem;

/// An interrupt that the usual signals raise.
///
/// # Errors
/// If the system refuses the handlers.
pub(crate) fn on_signals() -> Result<Interrupt, Problem> {
    handlers().map_err(refused)
}

/// A flag that the usual signals raise.
///
/// # Errors
/// If the system refuses the handlers.
pub(crate) fn flag_on_signals() -> Result<Arc<AtomicBool>, Problem> {
    let flag = Arc::new(AtomicBool::new(false));
    end_at_the_second().map_err(refused)?;
    for signal in signals_to_handle(&SIGNALS) {
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(refused)?;
    }
    Ok(flag)
}

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

fn handlers() -> io::Result<Interrupt> {
    let (interrupt, raise) = Interrupt::new()?;
    end_at_the_second()?;
    for signal in signals_to_handle(&SIGNALS) {
        signal_hook::low_level::pipe::register(signal, raise.try_clone()?)?;
    }
    Ok(interrupt)
}

/// A file at the size that the user set as the limit (ulimit -f) is an error of writing, as is a full disk,
/// and no reason to die. Programs that corun starts do not inherit a handler.
pub(crate) fn outlive_large_files() {
    for signal in signals_to_handle(&[SIGXFSZ]) {
        // Where it is refused, such a file ends corun, as it ends any program.
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
}

/// The second signal ends corun. One that the corun around this one passes on is none of the two: it may be the same as
/// the first.
fn end_at_the_second() -> io::Result<()> {
    let was_asked = Arc::new(AtomicBool::new(false));
    // From here on programs run that the kernel may end.
    corun_machine::count_memory_deaths();
    corun_files::are_handled_elsewhere();
    for signal in signals_to_handle(&SIGNALS) {
        let was_asked = Arc::clone(&was_asked);
        let end = move |signal: &libc::siginfo_t| {
            if !corun_files::is_passed_on(signal) && was_asked.swap(true, Ordering::SeqCst) {
                corun_files::remove_unfinished();
                signal_hook::low_level::exit(Exit::Interrupted as i32);
            }
        };
        // SAFETY: what it calls is async-signal-safe.
        unsafe { signal_hook_registry::register_sigaction(signal, end)? };
    }
    Ok(())
}

fn refused(error: io::Error) -> Problem {
    Problem::failed(
        format!("could not listen to signals: {error}"),
        "See what limits this process (a sandbox, descriptors).",
    )
}
