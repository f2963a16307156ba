//! Single blocks of code on another core, against what was measured of them.

use std::path::Path;
use std::process::ExitCode;

use corun_blocks::{COPIES, Listed, copies_of, execute};
use corun_model::CoreModel;
use corun_model::timing::TimingTable;
use corun_record::Exit;
use corun_report::{BlockPrediction, BlockPredictions};
use corun_sim::uops::Lowering;
use corun_sim::{Copies, SimulationError, steady_state};

use super::Arguments;
use crate::command::calibrate::read_blocks;
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code};
use crate::terminal;

pub(super) fn run(
    arguments: &Arguments,
    model: &CoreModel,
    timings: &TimingTable,
    file: &Path,
) -> Result<ExitCode, Problem> {
    let json: Form<BlockPredictions<'_>> = BlockPredictions::to_json;
    let exports = Exports::open([
        (arguments.json.as_deref(), json),
        (arguments.csv.as_deref(), BlockPredictions::to_csv),
    ])?;
    let rows = read_blocks(file)?;
    let mut lowering = Lowering::new(model, timings);
    let mut predictions: Vec<BlockPrediction> = Vec::new();
    for row in &rows {
        let predicted = predict(model, &mut lowering, row)?;
        predictions.push(BlockPrediction { measured: row.cycles, predicted });
    }
    lowering.record_usage();
    let answer = BlockPredictions {
        model,
        warning: crate::core_model::validation_warning(model)?,
        rows: &rows,
        predictions: &predictions,
        unknown: lowering.unknown(),
        quotients: lowering.assumed_quotients(),
        usage: timings.usage(),
    };
    exports.write(&answer, |answer| answer.describe(terminal::width()), json)?;
    Ok(code(Exit::Done))
}

/// Cycles of a copy, with the addresses that it touches when it is executed here, or why the block has none.
fn predict(
    model: &CoreModel,
    lowering: &mut Lowering<'_>,
    row: &Listed,
) -> Result<Result<f64, String>, SimulationError> {
    let executed = match execute(&row.code, 2 * (COPIES + 1)) {
        Ok(executed) => executed,
        Err(why) => return Ok(Err(why.to_string())),
    };
    let values: Vec<Vec<u64>> = executed.iterations().map(<[u64]>::to_vec).collect();
    // As many as are timed.
    let (count, _) = copies_of(&executed.block);
    let copies = Copies { block: &executed.block, values: &values };
    match steady_state(model, lowering, copies, count as u32) {
        Ok((cycles, _)) => Ok(Ok(cycles)),
        Err(SimulationError::Implausible(why)) => Ok(Err(why.to_string())),
        Err(other) => Err(other),
    }
}
