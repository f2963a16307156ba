//! Single blocks of code, timed on this host.

use std::path::Path;
use std::process::ExitCode;

use corun_blocks::{Listed, read_list, time_list};
use corun_files::InputKind;
use corun_record::{BlockTimings, Document, Ending, Exit, Record};

use super::Arguments;
use crate::answer::{Head, this_machine};
use crate::exports::{Exports, Form};
use crate::interruption;
use crate::problem::{Problem, code, say};
use crate::progress::StepProgress;

/// Times the blocks of `file` on this CPU.
pub(super) fn run(arguments: &Arguments, file: &Path, cpu: u32) -> Result<ExitCode, Problem> {
    let blocks = read_blocks(file)?;
    let head = Head::now();
    let json: Form<Record<BlockTimings>> = Document::to_json;
    let exports = Exports::open([
        (arguments.json.path(), json),
        (arguments.csv.as_deref(), corun_report::block_timings_to_csv),
    ])?;
    let stop = interruption::flag_on_signals()?;
    let line = StepProgress::new(arguments.progress.quiet);
    let timings = time_list(&blocks, cpu, &line, &stop)?;
    line.finish();
    let is_complete = timings.blocks.len() + timings.not_possible.len() == blocks.len();
    let record = Record {
        machine: Some(this_machine()?),
        ending: Ending::of(!is_complete),
        ..head.record(timings)
    };
    let is_output_taken = !exports.are_beside_a_view();
    exports.write(&record, corun_report::block_timings_to_terminal, json)?;
    if is_output_taken {
        say(corun_report::block_timings_to_terminal(&record).trim_end());
    }
    Ok(code(if is_complete { Exit::Done } else { Exit::Interrupted }))
}

/// The blocks of a file.
pub(in crate::command) fn read_blocks(path: &Path) -> Result<Vec<Listed>, Problem> {
    let list = corun_files::bytes(path, InputKind::BLOCKS).map_err(|error| {
        Problem::unreadable(&error, "Name a CSV file with a column `block`.").in_file(path)
    })?;
    read_list(list.as_slice()).map_err(|error| Problem::from(error).in_file(path))
}
