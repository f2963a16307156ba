//! Single blocks of code on another core, beside what was measured of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use corun_blocks::{COPIES, Listed, Vendor, agreement, execute_for_any_core};
use corun_model::timing::TimingTable;
use corun_model::{CoreModel, validation_caveat};
use corun_record::{
    BlockAgreement, Blocks, Document, Exit, Progress, Record, SimulatedBlock, Stage,
};
use corun_report::{blocks_to_csv, blocks_to_terminal};
use corun_sim::uops::Lowering;
use corun_sim::{Copies, SimulationError, steady_state};

use super::{Arguments, caveats, document};
use crate::answer::{Head, this_machine};
use crate::command::models::read_blocks;
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::terminal;

pub(super) fn run(
    arguments: &Arguments,
    model: &CoreModel,
    timings: &TimingTable,
    file: &Path,
) -> Result<ExitCode, Problem> {
    let json: Form<Record<Blocks>> = Document::to_json;
    let exports =
        Exports::open([(arguments.json.path(), json), (arguments.csv.as_deref(), blocks_to_csv)])?;
    let head = Head::now();
    let rows = read_blocks(file)?;
    let mut lowering = Lowering::new(model, timings);
    let mut blocks: Vec<SimulatedBlock> = Vec::new();
    let mut missing = BTreeMap::new();
    let line = StepProgress::new(arguments.progress.quiet);
    line.begin(Stage::new("simulating blocks", "blocks", rows.len() as u64));
    for row in rows {
        line.advance(1);
        let (predicted, reason) = match predict(model, &mut lowering, &row, &mut missing)? {
            Ok(cycles) => (Some(cycles), None),
            Err(reason) => (None, Some(reason)),
        };
        let (block, measured) = (row.hexadecimal, row.cycles);
        blocks.push(SimulatedBlock { block, predicted, measured, reason });
    }
    line.finish();
    lowering.record_usage();
    let unknown_forms = document::unknown_forms(lowering.unknown());
    let assumed_quotients = lowering.assumed_quotients().clone();
    let caveats = [
        validation_caveat(model)?,
        caveats::of_missing_instructions(&missing),
        caveats::of_quotients(&assumed_quotients),
        caveats::of_unknown_forms(&unknown_forms),
        caveats::of_timing_rows(timings.usage()),
    ];
    let answer = Blocks {
        core: document::core(model, arguments),
        agreement: agreement_of(&blocks),
        blocks,
        unknown_forms,
        assumed_quotients,
        timing_rows: document::timing_rows(timings.usage()),
    };
    let caveats = caveats.into_iter().flatten().collect();
    let answer = Record { caveats, machine: Some(this_machine()?), ..head.record(answer) };
    exports.write(&answer, |answer| blocks_to_terminal(answer, terminal::width()), json)?;
    Ok(code(Exit::Done))
}

/// Agreement of the predictions, if anything was measured. A block without a prediction counts as one of
/// 0 cycles, so that its error is the whole.
fn agreement_of(blocks: &[SimulatedBlock]) -> Option<BlockAgreement> {
    let pair = |one: &SimulatedBlock| Some((one.predicted.unwrap_or(0.0), one.measured?));
    let found = agreement(&blocks.iter().filter_map(pair).collect::<Vec<_>>())?;
    Some(BlockAgreement {
        blocks: found.count,
        mean_error: found.mean,
        median_error: found.median,
        tau_b: found.tau.is_finite().then_some(found.tau),
    })
}

/// Cycles of a copy, with the addresses that it touches when it is executed here, or why the block has none. Counts the
/// blocks of each instruction that this host lacks.
fn predict(
    model: &CoreModel,
    lowering: &mut Lowering<'_>,
    row: &Listed,
    missing: &mut BTreeMap<String, u64>,
) -> Result<Result<f64, String>, SimulationError> {
    let executed = match execute_for_any_core(&row.code, 2 * (COPIES + 1)) {
        Ok(executed) => executed,
        Err(why) => return Ok(Err(why.to_string())),
    };
    for name in executed.missing() {
        *missing.entry(name.to_owned()).or_default() += 1;
    }
    let values: Vec<Vec<u64>> = executed.iterations().map(<[u64]>::to_vec).collect();
    let vendor = match model.vendor {
        corun_model::Vendor::Intel => Vendor::Intel,
        corun_model::Vendor::Amd | corun_model::Vendor::Generic => Vendor::Other,
    };
    // As many as are timed.
    let (count, _) = executed.copies(vendor);
    let copies = Copies { block: &executed.block, values: &values };
    match steady_state(model, lowering, copies, count as u32) {
        Ok((cycles, _)) => Ok(Ok(cycles)),
        Err(SimulationError::Implausible(why)) => Ok(Err(why.to_string())),
        Err(other) => Err(other),
    }
}
