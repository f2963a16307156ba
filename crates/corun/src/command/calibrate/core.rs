//! This host's core, measured part by part and written as a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use corun_calibrate::{
    CalibrateError, Native, calibrate, calibrate_forms, measured_model, overlay, overlay_name,
};
use corun_model::timing::TimingTable;
use corun_model::{CoreModel, host_core, suited};
use corun_record::Exit;
use corun_report::{Destination, MeasuredCore};

use super::Arguments;
use crate::problem::{Problem, code, say};
use crate::{interruption, terminal};

/// Samples of each figure.
const SAMPLES: usize = 31;
const QUICK_SAMPLES: usize = 5;

pub(super) fn run(arguments: &Arguments, cpu: u32) -> Result<ExitCode, Problem> {
    let (base, reason) = base_of(arguments.base.as_deref())?;
    let timings = TimingTable::of(&base)
        .map_err(|error| Problem::failed(error.to_string(), "Name another model with --base."))?;
    let file = file_in(&arguments.output)?;
    let name = file.file_stem().map_or("host".to_owned(), |it| it.to_string_lossy().into_owned());
    let table = file.with_file_name(format!("{}.csv", overlay_name(&name)));
    let model_file = Destination::open(&file)?;
    let table_file = Destination::open(&table)?;
    let json = arguments.json.as_deref().map(Destination::open).transpose()?;
    let stop = interruption::flag_on_signals()?;
    let mut bench = Native::new(cpu, if arguments.quick { QUICK_SAMPLES } else { SAMPLES })?;
    let tell = |part: &str| say(&format!("measuring {part}"));
    let calibration = calibrate(&mut bench, &base, &timings, &stop, tell)?;
    let core = corun_blocks::core_name();
    let measured = measured_model(&base, &calibration.figures, &name, &core)?;
    let rows = overlay::rows(&calibration.forms, &timings, &base);
    let head = head(&core, cpu, &base);
    model_file.write(&measured.toml)?;
    table_file.write(&overlay::csv(&rows, &head))?;
    let answer = MeasuredCore {
        core,
        cpu,
        base: &base,
        reason: &reason,
        calibration: &calibration,
        measured: &measured,
        rows: &rows,
        disturbed: bench.disturbed(),
    };
    match json {
        Some(json) => json.write(&answer.to_json())?,
        None => terminal::show(&answer.describe(terminal::width()))?,
    }
    say(&format!("written: {} and {}", corun_record::shown(file), corun_record::shown(table)));
    Ok(code(Exit::Done))
}

/// Measures the forms of instructions alone, and writes their table.
pub(super) fn forms(arguments: &Arguments, cpu: u32) -> Result<ExitCode, Problem> {
    let Some(file) = &arguments.forms else { return run(arguments, cpu) };
    let (base, _) = base_of(arguments.base.as_deref())?;
    let timings = TimingTable::of(&base)
        .map_err(|error| Problem::failed(error.to_string(), "Name another model with --base."))?;
    let table = Destination::open(file)?;
    let stop = interruption::flag_on_signals()?;
    let mut bench = Native::new(cpu, if arguments.quick { QUICK_SAMPLES } else { SAMPLES })?;
    let calibration = calibrate_forms(&mut bench, &timings, &stop)?;
    let rows = overlay::rows(&calibration.forms, &timings, &base);
    table.write(&overlay::csv(&rows, &head(&corun_blocks::core_name(), cpu, &base)))?;
    let bent = rows.iter().filter(|row| !row.has_ports_of_base).count();
    say(&format!(
        "{} forms measured, {bent} of them with other ports than {} has",
        rows.len(),
        base.name
    ));
    Ok(code(Exit::Done))
}

/// What the head of a measured table says.
fn head(core: &str, cpu: u32, base: &CoreModel) -> [String; 3] {
    [
        format!(
            "Measured on {core}, CPU {cpu}, by `corun calibrate`; what is not here is {}'s.",
            base.name
        ),
        "measured: latency measured; slots and ports those of the base, which give the throughput."
            .to_owned(),
        "bent: so are these, but ports changed until they give the throughput that was measured."
            .to_owned(),
    ]
}

/// The model that was asked for, or the nearest, and why.
fn base_of(asked: Option<&str>) -> Result<(CoreModel, String), Problem> {
    if let Some(name) = asked {
        return Ok((corun_model::find(name)?, "it was asked for".to_owned()));
    }
    let host = host_core();
    let found = host.as_ref().map_or("none".to_owned(), ToString::to_string);
    let Some(suited) = host.as_ref().and_then(suited) else {
        return Err(CalibrateError::NoBase { found }.into());
    };
    let reason = match suited.instead_of {
        None => format!("this host's own design, {found}"),
        Some(design) => format!("the nearest model to this host's {found}, {design}"),
    };
    Ok((corun_model::find(suited.model)?, reason))
}

/// The model's file: `host.toml` in a folder.
fn file_in(output: &Path) -> Result<PathBuf, Problem> {
    match output.extension() {
        _ if output.is_dir() => Ok(output.join("host.toml")),
        Some(extension) if extension == "toml" => Ok(output.to_owned()),
        _ => Err(Problem::usage(
            format!(
                "expected a file that ends in .toml or a folder, found {}",
                corun_record::shown(output)
            ),
            "For instance: corun calibrate --output host.toml",
        )),
    }
}
