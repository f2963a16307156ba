//! This host's core, measured part by part and written as a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use corun_calibrate::{
    MeasuredCore, Native, base_model, calibrate, calibrate_forms, measured_model, overlay,
    overlay_name,
};
use corun_model::timing::TimingTable;
use corun_model::validation_caveat;
use corun_record::{Exit, Record};
use corun_report::Destination;

use super::Arguments;
use crate::answer::{Answer, this_machine};
use crate::problem::{Problem, code, say};
use crate::progress::StepProgress;
use crate::{interruption, terminal};

pub(super) fn run(arguments: &Arguments, cpu: u32) -> Result<ExitCode, Problem> {
    let (base, reason) = base_model(arguments.base.as_deref())?;
    let timings = TimingTable::of(&base)
        .map_err(|error| Problem::failed(error.to_string(), "Name another model with --base."))?;
    let file = file_in(&arguments.output)?;
    let name = file.file_stem().map_or("host".to_owned(), |it| it.to_string_lossy().into_owned());
    let table = file.with_file_name(format!("{}.csv", overlay_name(&name)));
    let model_file = Destination::open(&file)?;
    let table_file = Destination::open(&table)?;
    let answer = Answer::open(&arguments.json)?;
    let caveat_of_base = validation_caveat(&base)?;
    let stop = interruption::flag_on_signals()?;
    let mut bench = Native::new(cpu, arguments.samples())?;
    let line = StepProgress::new(arguments.progress.quiet);
    let calibration = calibrate(&mut bench, &base, &timings, &line, &stop)?;
    line.finish();
    let core = corun_blocks::core_name();
    let measured = measured_model(&base, &calibration.figures, &name, &core)?;
    let rows = overlay::rows(&calibration.forms, &timings, &base);
    model_file.write(&measured.toml)?;
    table_file.write(&overlay::csv(&rows, &overlay::head(&core, cpu, &base)))?;
    let disturbed = bench.disturbed();
    let found =
        MeasuredCore { core, cpu, base: &base, calibration: &calibration, rows: &rows, disturbed };
    let caveats = found.caveats().into_iter().chain(caveat_of_base).collect();
    let record = Record {
        machine: Some(this_machine()?),
        caveats,
        ..answer.record(found.document(&measured, &reason))
    };
    answer.write(&record, corun_report::calibration_to_terminal)?;
    say(&format!("written: {} and {}", corun_record::shown(file), corun_record::shown(table)));
    Ok(code(Exit::Done))
}

/// Measures the forms of instructions alone, and writes their table.
pub(super) fn forms(arguments: &Arguments, file: &Path, cpu: u32) -> Result<ExitCode, Problem> {
    let (base, _) = base_model(arguments.base.as_deref())?;
    let timings = TimingTable::of(&base)
        .map_err(|error| Problem::failed(error.to_string(), "Name another model with --base."))?;
    let table = Destination::open(file)?;
    let is_output_taken = table.is_standard_output();
    let answer = Answer::open(&arguments.json)?;
    let caveat_of_base = validation_caveat(&base)?;
    let stop = interruption::flag_on_signals()?;
    let mut bench = Native::new(cpu, arguments.samples())?;
    let line = StepProgress::new(arguments.progress.quiet);
    let calibration = calibrate_forms(&mut bench, &timings, &line, &stop)?;
    line.finish();
    let core = corun_blocks::core_name();
    let rows = overlay::rows(&calibration.forms, &timings, &base);
    table.write(&overlay::csv(&rows, &overlay::head(&core, cpu, &base)))?;
    let disturbed = bench.disturbed();
    let found =
        MeasuredCore { core, cpu, base: &base, calibration: &calibration, rows: &rows, disturbed };
    let caveats = found.caveats().into_iter().chain(caveat_of_base).collect();
    let record =
        Record { machine: Some(this_machine()?), caveats, ..answer.record(found.form_document()) };
    if is_output_taken && arguments.json.path().is_none() {
        say(corun_report::forms_to_terminal(&record, terminal::width()).trim_end());
    } else {
        answer.write(&record, corun_report::forms_to_terminal)?;
    }
    Ok(code(Exit::Done))
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
            "For instance: corun models calibrate --output host.toml",
        )),
    }
}
