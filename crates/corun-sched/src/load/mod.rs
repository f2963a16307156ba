//! Loads: what is scheduled. A new one is a file here, its `mod` line and its line in [`ALL`].
//!
//! A user names one as `make:jobs=4,files=200`, or a file as `tasks:FILE`.

mod batch;
mod chat;
mod dbench;
mod json;
mod loops;
mod make;
mod perf_sched;
mod rt_app;
mod server;
mod tasks;
mod tbench;
mod values;

use std::path::Path;

use corun_record::{nearest_first, on_one_line};

use super::ScheduleError;
use super::program::Load;
pub use values::Values;

/// A load of the registry.
#[derive(Debug, Clone, Copy)]
pub struct LoadEntry {
    /// The name that users type.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Maker of the load.
    pub make: Make,
}

/// Maker of a load.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// From parameters.
    Parameters(&'static [Parameter], fn(&Values) -> Result<Load, String>),
    /// From a file's text.
    File(fn(&str) -> Result<Load, ScheduleError>),
}

/// A parameter of a load.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Default value.
    pub default: &'static str,
    /// Meaning of the parameter.
    pub meaning: &'static str,
}

/// Every load.
pub const ALL: &[LoadEntry] = &[
    batch::ENTRY,
    make::ENTRY,
    loops::ENTRY,
    chat::ENTRY,
    dbench::ENTRY,
    tbench::ENTRY,
    server::ENTRY,
    tasks::ENTRY,
    perf_sched::ENTRY,
    rt_app::ENTRY,
];

/// The load that a user names; `read` reads files.
///
/// # Errors
/// Sentence of what is wrong with the name, its parameters or its file.
pub fn find(
    text: &str,
    read: impl FnOnce(&Path) -> std::io::Result<String>,
) -> Result<Load, ScheduleError> {
    let wrong = |why: String| ScheduleError::Load { load: text.to_owned(), why };
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let Some(entry) = ALL.iter().find(|entry| entry.name == name) else {
        let known = nearest_first(name, ALL.iter().map(|entry| entry.name));
        return Err(wrong(format!("expected a load ({})", known.join(", "))));
    };
    let mut load = match entry.make {
        Make::Parameters(parameters, make) => {
            let values = Values::parse(parameters, rest).map_err(wrong)?;
            make(&values).map_err(wrong)?
        }
        Make::File(_) if rest.is_empty() => {
            return Err(wrong(format!("expected a file, as in {name}:FILE")));
        }
        Make::File(make) => {
            let broken = |why: String| ScheduleError::LoadFile { load: text.to_owned(), why };
            let contents = read(Path::new(rest)).map_err(|error| broken(error.to_string()))?;
            make(&contents).map_err(|error| broken(error.to_string()))?
        }
    };
    load.name = on_one_line(text);
    load.check()?;
    Ok(load)
}
