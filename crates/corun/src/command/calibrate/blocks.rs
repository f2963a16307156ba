//! Single blocks of code, timed on this host.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use corun_blocks::{BlockError, Cycles, FrontEnd, Listed, Timer, agreement, read_list};
use corun_files::InputKind;
use corun_machine::{Affinity, CpuSet};
use corun_record::{
    BlockFrontEnd, BlockTimings, Document, Ending, Exit, Progress, Record, Stage, TimedBlock,
    TimingAgreement, UntimedBlock, shown,
};

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
        (arguments.json.as_deref(), json),
        (arguments.csv.as_deref(), corun_report::block_timings_to_csv),
    ])?;
    let stop = interruption::flag_on_signals()?;
    let line = StepProgress::new(arguments.quiet);
    let timings = time(&blocks, cpu, &line, &stop)?;
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

/// Times blocks until all are done or `stop` is set.
fn time(
    blocks: &[Listed],
    cpu: u32,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<BlockTimings, Problem> {
    progress.begin(Stage::new("timing blocks", "blocks", blocks.len() as u64));
    let mut timer = Timer::new(Some(Affinity::new(&CpuSet::from_iter([cpu]))));
    let mut timed = Vec::new();
    let mut not_possible = Vec::new();
    for listed in blocks {
        if stop.load(Ordering::Acquire) {
            break;
        }
        progress.advance(1);
        let block = listed.hexadecimal.clone();
        match timer.time(&listed.code) {
            Ok(cycles) => timed.push(timed_block(block, listed.cycles, cycles)),
            Err(error @ BlockError::Host { .. }) => return Err(error.into()),
            Err(error) => not_possible.push(UntimedBlock { block, reason: error.to_string() }),
        }
    }
    let pairs: Vec<_> = timed.iter().filter_map(|it| Some((it.cycles, it.expected?))).collect();
    let agreement = agreement(&pairs).map(|found| TimingAgreement {
        blocks: found.count,
        mean: found.mean,
        median: found.median,
        tau: found.tau.is_finite().then_some(found.tau),
    });
    let core = corun_blocks::core_name();
    Ok(BlockTimings { core, cpu, blocks: timed, not_possible, agreement })
}

fn timed_block(block: String, expected: Option<f64>, cycles: Cycles) -> TimedBlock {
    TimedBlock {
        block,
        cycles: cycles.median,
        p10: cycles.p10,
        p90: cycles.p90,
        front_end: match cycles.front_end {
            FrontEnd::OpCache => BlockFrontEnd::OpCache,
            FrontEnd::Decoders => BlockFrontEnd::Decoders,
        },
        groups: cycles.groups,
        alone: cycles.alone,
        expected,
    }
}

/// The blocks of a file.
pub(in crate::command) fn read_blocks(path: &Path) -> Result<Vec<Listed>, Problem> {
    let list = corun_files::bytes(path, InputKind::BLOCKS).map_err(|error| {
        Problem::usage(
            format!("could not read {}: {error}", shown(path)),
            "Name a CSV file with a column `block`.",
        )
    })?;
    read_list(list.as_slice()).map_err(|error| Problem::from(error).in_file(path))
}
