//! `corun audit-load`: corun started by itself to run a load for an audit in a process of its own.

use std::process::ExitCode;

use corun_audit::native::serve_as_load;

pub(super) fn run() -> ExitCode {
    serve_as_load()
}
