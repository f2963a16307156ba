//! Simulated programs: recorded parts of real programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use corun_testing::text;
use corun_trace::format::{Closing, Opening, Options, Trace, Writer};
use corun_trace::{Target, TraceError, TracePlan, choose};

/// Bytes that a program compresses.
const BYTES: usize = 8 << 20;
/// Left out, so that it works on its text and no longer gets ready; and recorded.
const PART: TracePlan = TracePlan::Window { skip: 100_000_000, length: Some(10_000_000) };

/// A trace with its name.
pub(crate) struct Program {
    pub name: String,
    pub trace: Trace,
}

/// Compressors at work; one that cannot be traced here is left out, and the reason printed.
pub(crate) fn trace_all() -> Vec<Program> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let input = folder.path().join("text");
    std::fs::write(&input, text(BYTES)).expect("there is room for a text");
    [("gzip", "-6kf"), ("xz", "-3kf")]
        .into_iter()
        .filter_map(|(program, options)| match trace(program, options, &input) {
            Ok(trace) => Some(Program { name: format!("{program} {options}"), trace }),
            Err(why) => {
                println!("left out: {program}: {why}");
                None
            }
        })
        .collect()
}

fn trace(program: &str, options: &str, input: &Path) -> Result<Trace, TraceError> {
    let target = Target::find(program.as_ref(), &[options.into(), input.into()])?;
    let tracer = choose(None)?.tracer;
    let writer = Writer::new(Vec::new(), &Opening::default(), Options::default());
    let mut writer = writer.expect("memory takes everything");
    tracer.trace(&target, PART, &mut writer, &AtomicBool::new(false))?;
    let bytes = writer.finish(Closing::default()).expect("memory takes everything");
    Ok(Trace::from_bytes(bytes).expect("it was written just now"))
}

/// Traces that were recorded before.
pub(crate) fn open(files: &[PathBuf]) -> Vec<Program> {
    files
        .iter()
        .map(|file| Program {
            name: file.file_name().and_then(OsStr::to_str).unwrap_or("a trace").to_owned(),
            trace: Trace::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        })
        .collect()
}
