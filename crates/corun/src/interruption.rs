//! Ctrl-C and its kin: the first asks for an orderly end, the second ends corun at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use corun_measure::execution::Interrupt;
use corun_record::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::problem::Problem;

/// An interrupt that the usual signals raise.
///
/// # Errors
/// If the system refuses the handlers.
pub fn on_signals() -> Result<Interrupt, Problem> {
    handlers().map_err(|error| {
        Problem::failed(
            format!("could not listen to signals: {error}"),
            "See what limits this process (a sandbox, descriptors).",
        )
    })
}

fn handlers() -> io::Result<Interrupt> {
    let (interrupt, raise) = Interrupt::new()?;
    let second = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            Exit::Interrupted as i32,
            Arc::clone(&second),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&second))?;
        signal_hook::low_level::pipe::register(signal, raise.try_clone()?)?;
    }
    Ok(interrupt)
}
