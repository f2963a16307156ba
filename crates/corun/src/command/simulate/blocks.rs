//! Single blocks of code on another core, against what was measured of them.

use std::path::Path;
use std::process::ExitCode;

use corun_blocks::{COPIES, CannotRun, Listed, execute};
use corun_record::Exit;
use corun_report::{BlockPrediction, BlockPredictions, Destination};
use corun_sim::code::Lowering;
use corun_sim::model::CoreModel;
use corun_sim::timing::TimingTable;
use corun_sim::{Copies, steady_state};

use super::Arguments;
use crate::command::calibrate::read_blocks;
use crate::problem::{Problem, code};
use crate::terminal;

pub(super) fn run(
    arguments: &Arguments,
    model: &CoreModel,
    timings: &TimingTable,
    file: &Path,
) -> Result<ExitCode, Problem> {
    let (json, csv) = (arguments.json.as_deref(), arguments.csv.as_deref());
    if json.is_some() && json == csv {
        return Err(Problem::usage(
            "expected a place of its own for each export, found one for --json and --csv",
            "Name another file for one of them.",
        ));
    }
    let [json, csv] = [json, csv].map(|path| path.map(Destination::open).transpose());
    let (json, csv) = (json?, csv?);
    let rows = read_blocks(file)?;
    let mut lowering = Lowering::new(model, timings);
    let predictions: Vec<BlockPrediction> = rows
        .iter()
        .map(|row| BlockPrediction {
            measured: row.cycles,
            predicted: predict(model, &mut lowering, row).map_err(|why| why.to_string()),
        })
        .collect();
    if let Some(file) = csv {
        let mut csv = "block,predicted\n".to_owned();
        for (row, one) in rows.iter().zip(&predictions) {
            let cycles = one.predicted.as_ref().map_or(String::new(), |it| format!("{it:.3}"));
            csv += &format!("{},{cycles}\n", row.hexadecimal);
        }
        file.write(&csv)?;
    }
    let answer = BlockPredictions {
        model,
        warning: super::warning(model)?,
        rows: &rows,
        predictions: &predictions,
        unknown: lowering.unknown(),
    };
    match json {
        Some(json) => json.write(&answer.to_json())?,
        None if arguments.csv.as_deref() == Some(Path::new("-")) => {}
        None => terminal::show(&answer.describe(terminal::width()))?,
    }
    Ok(code(Exit::Done))
}

/// Cycles of a copy, with the addresses that it touches when it is executed here.
fn predict(model: &CoreModel, lowering: &mut Lowering<'_>, row: &Listed) -> Result<f64, CannotRun> {
    let executed = execute(&row.code, 2 * (COPIES + 1))?;
    let values: Vec<Vec<u64>> = executed.iterations().map(<[u64]>::to_vec).collect();
    let copies = Copies { block: &executed.block, values: &values };
    Ok(steady_state(model, lowering, copies, COPIES as u32).0)
}
