//! `corun study list`: the studies that come with corun.

use std::process::ExitCode;

use corun_record::Exit;

use crate::problem::{Problem, code};
use crate::terminal;

pub(super) fn run() -> Result<ExitCode, Problem> {
    terminal::show(&corun_report::list_studies(&corun_study::all()?, terminal::width()))?;
    Ok(code(Exit::Done))
}
