//! Accuracy and speed of corun's predictions; makes docs/accuracy.md by the command that stands in it.
//!
//! Programs and loops through memory are predicted on this host's core and measured here by `corun predict`, or predicted beside
//! what was recorded of another core; published SMT yields are predicted from programs that are traced here. The page over all
//! cores is made from committed recordings alone.

mod all_cores;
mod blocks;
pub mod gate;
mod inputs;
mod kernels;
mod measured;
mod page;
mod predicted;
mod programs;
mod siblings;
mod windows;
mod yields;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use corun_record::Actionable;
use corun_report::{Destination, ExportError};

use crate::inputs::Inputs;
use crate::measured::Recorded;
use crate::page::{Page, day, machine};
use crate::predicted::{Row, predict, predict_recorded};
use crate::programs::{Program, Side, programs};

#[derive(Debug, Parser)]
struct Arguments {
    /// Write the page to FILE rather than to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Predict programs and memory beside what was recorded of this core, rather than measured here
    #[arg(long, value_name = "MODEL", group = "task", conflicts_with_all = ["model", "seconds", "record"])]
    core: Option<String>,
    /// Make the page over all cores from committed recordings: programs, yields, blocks of code
    #[arg(long, group = "task", conflicts_with_all = ["model", "seconds", "keep", "record", "names"])]
    all: bool,
    /// Predict only these programs (repeatable)
    #[arg(long = "program", value_name = "NAME")]
    names: Vec<String>,
    /// The core, as `corun predict --model` takes it; by default this host's own
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Seconds in which each program is measured
    #[arg(long, default_value_t = SECONDS)]
    seconds: u32,
    /// corun itself; by default what scripts/corun builds
    #[arg(long, value_name = "FILE")]
    corun: Option<PathBuf>,
    /// Keep each prediction as JSON in this folder, and take those that lie there already
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Record what is measured in FILE
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Predict each program from windows and as a whole instead, and say how far the two are from each other; nothing
    /// is measured
    #[arg(long, group = "task", conflicts_with = "record")]
    windows: bool,
    /// Predict published SMT yields instead; `--program` chooses among programs and models of that list
    #[arg(long, group = "task", conflicts_with_all = ["record", "model", "seconds", "keep"])]
    siblings: bool,
    /// With --siblings: set a field of the models, as `corun simulate --set` takes it (repeatable)
    #[arg(long = "set", value_name = "FIELD=VALUE", requires = "siblings")]
    settings: Vec<String>,
    /// With --siblings: also list how much each assumed figure and policy moves yields: those that models were tuned with, and
    /// those of programs that `siblings.toml` names for other cores
    #[arg(long, requires = "siblings")]
    sensitivity: bool,
    /// With --siblings: also show what the records in this folder measured on hardware, beside those of
    /// benches/accuracy/recorded/yields (repeatable)
    #[arg(long, value_name = "DIR", requires = "siblings")]
    records: Vec<PathBuf>,
    /// Record real yields of pairs of built-in workloads into this folder, for as long as two CPUs of this machine turn out to
    /// share a core
    #[arg(long, value_name = "DIR", group = "task", conflicts_with_all = ["record", "keep", "output"])]
    record_yields: Option<PathBuf>,
    /// With --record-yields: look for siblings so often
    #[arg(long, value_name = "N", default_value_t = 20, requires = "record_yields")]
    attempts: u32,
    /// Predict what the accuracy gate holds to bounds, from committed traces, and print each figure beside its bound
    #[arg(long, group = "task", conflicts_with_all = ["model", "seconds", "keep", "record", "output"])]
    gate: bool,
    /// With --gate: make the figures of today the bounds
    #[arg(long, requires = "gate")]
    bless: bool,
    /// With --gate: record its traces here again, all or those of --program
    #[arg(long, requires = "gate", conflicts_with = "bless")]
    record_traces: bool,
    /// Run a kernel of a published measurement, which is traced
    #[arg(long, value_name = "NAME:NUMBER", hide = true)]
    kernel: Option<String>,
}

const SECONDS: u32 = 30;

impl Arguments {
    /// The command that makes the same page.
    fn command(&self) -> String {
        let mut words = vec!["cargo run --release -p corun-accuracy --".to_owned()];
        words.extend(self.all.then(|| "--all".to_owned()));
        words.extend(self.names.iter().map(|name| format!("--program '{name}'")));
        words.extend(self.core.iter().map(|core| format!("--core {core}")));
        words.extend(self.model.iter().map(|model| format!("--model {model}")));
        words.extend(self.siblings.then(|| "--siblings".to_owned()));
        words.extend(self.sensitivity.then(|| "--sensitivity".to_owned()));
        words.extend(self.settings.iter().map(|setting| format!("--set {setting}")));
        words.extend(self.records.iter().map(|folder| format!("--records {}", folder.display())));
        let seconds = (self.seconds != SECONDS).then(|| format!("--seconds {}", self.seconds));
        words.extend(seconds);
        let files = [("record", &self.record), ("output", &self.output)];
        words.extend(
            files
                .iter()
                .filter_map(|(name, file)| Some(format!("--{name} {}", file.as_ref()?.display()))),
        );
        words.join(" ")
    }
}

/// Does what the command line asks for.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// corun as scripts/corun builds it: the program itself, since a script that becomes it cannot be measured.
fn built() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = root.join("scripts/corun");
    let status = Command::new(&script).arg("--version").stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("{} failed: {status}", script.display())),
        Err(error) => return Err(format!("{}: {error}", script.display())),
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/corun"))
}

/// Makes the folder, whose predictions are of these settings and no others.
fn keep_for(folder: &Path, settings: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    let note = folder.join("settings");
    match std::fs::read_to_string(&note) {
        Ok(known) if known == settings => Ok(()),
        Ok(known) => Err(format!(
            "{} has predictions made with {known}, expected {settings}: name another folder",
            folder.display()
        )),
        Err(_) => std::fs::write(&note, settings).map_err(failed),
    }
}

/// What happened, and what to do.
fn failed(error: ExportError) -> String {
    format!("{error}\n{}", error.next_step())
}

/// Recorded measurements of the programs; none if they are measured here.
///
/// # Errors
/// If the file is no such record, or nothing was measured on the core that is asked for.
fn recorded(arguments: &Arguments) -> Result<Option<Recorded>, String> {
    let Some(core) = &arguments.core else { return Ok(None) };
    let file = Recorded::of_core(core);
    match file.exists() {
        true => Recorded::read(&file).map(Some),
        false => Err(format!(
            "expected a core on which programs were measured ({}), found `{core}`",
            gate::programs::CORES.join(", ")
        )),
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    if let Some(kernel) = &arguments.kernel {
        return kernels::run(kernel);
    }
    if arguments.gate {
        return gate(arguments);
    }
    let recorded = recorded(arguments)?;
    if let Some(folder) = &arguments.keep {
        let settings = match &arguments.core {
            Some(core) => core.clone(),
            None => format!("{:?} {}", arguments.model, arguments.seconds),
        };
        keep_for(folder, &settings)?;
    }
    if let Some(folder) = &arguments.record_yields {
        let corun = arguments.corun.clone().map_or_else(built, Ok)?;
        let attempts = yields::record_on_this_machine(&corun, folder, arguments.attempts)?;
        println!("{}", attempts.sentence());
        return Ok(());
    }
    // Before anything is built or measured: what cannot be written to would cost it.
    let open = |path: &Path| Destination::open(path).map_err(failed);
    let output = open(arguments.output.as_deref().unwrap_or(Path::new("-")))?;
    let record = arguments.record.as_deref().map(open).transpose()?;
    let corun = match &arguments.corun {
        Some(file) => file.clone(),
        None => built()?,
    };
    if arguments.all {
        let records = siblings::read_records(&[siblings::own_folder()])?;
        let measured = siblings::predict_measured(&corun, records, &[])?;
        let page = all_cores::page(&all_cores::predict(&corun)?, &measured, &arguments.command())?;
        return output.write(&page).map_err(failed);
    }
    if arguments.siblings {
        let folders = [vec![siblings::own_folder()], arguments.records.clone()].concat();
        let records = siblings::read_records(&folders)?;
        let (rows, varied) = siblings::predict(
            &corun,
            &arguments.names,
            &arguments.settings,
            arguments.sensitivity,
        )?;
        let measured = siblings::predict_measured(&corun, records, &arguments.settings)?;
        let page = siblings::page(&rows, &varied, &measured, &arguments.command());
        return output.write(&page).map_err(failed);
    }
    let inputs = Inputs::make().map_err(|error| format!("the programs' inputs: {error}"))?;
    let asked = asked(programs(&inputs, &corun), &arguments.names)?;
    if arguments.windows {
        let asked: Vec<_> =
            asked.into_iter().filter(|program| program.side != Side::Memory).collect();
        print!("{}", windows::table(&corun, &asked, arguments.model.as_deref())?);
        return Ok(());
    }
    let rows = rows(asked, &corun, arguments, recorded.as_ref());
    if let Some(record) = record {
        let first = rows.iter().find_map(|row| Some(&row.outcome.as_ref().ok()?.prediction));
        let first = first.ok_or("nothing was measured, so that nothing is recorded")?;
        let measured = |row: &Row| Some((row.program.name.clone(), row.measured()?.clone()));
        let recorded = Recorded {
            machine: machine(first),
            model: first.core.model.clone(),
            date: day(first).to_owned(),
            note: None,
            programs: rows.iter().filter_map(measured).collect(),
        };
        record.write(&recorded.to_toml()?).map_err(failed)?;
    }
    let mut predicted = rows.iter().filter_map(|row| row.outcome.as_ref().ok());
    let own = predicted.next().map(|it| it.prediction.core.model.clone());
    let model = arguments.core.clone().or(own);
    let page = Page {
        command: &arguments.command(),
        model: model.as_deref(),
        recorded: recorded.as_ref(),
        rows: &rows,
    };
    output.write(&page.text()).map_err(failed)
}

/// Holds predictions to their bounds, or records traces or writes bounds again.
fn gate(arguments: &Arguments) -> Result<(), String> {
    let corun = arguments.corun.clone().map_or_else(built, Ok)?;
    if arguments.record_traces {
        return gate::record(&corun, &arguments.names);
    }
    let report = if arguments.bless { gate::bless(&corun)? } else { gate::check(&corun)? };
    println!("{report}");
    match report.is_kept() || arguments.bless {
        true => {
            print!("{}", report.in_brief());
            Ok(())
        }
        false => Err(report.in_brief()),
    }
}

/// The programs of these names, or all of them.
///
/// # Errors
/// If a name is no program's.
fn asked(all: Vec<Program>, names: &[String]) -> Result<Vec<Program>, String> {
    if let Some(unknown) = names.iter().find(|it| all.iter().all(|one| one.name != **it)) {
        let known: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        return Err(format!("expected a program among {}, found `{unknown}`", known.join(", ")));
    }
    let is_asked = |program: &Program| names.is_empty() || names.contains(&program.name);
    Ok(all.into_iter().filter(is_asked).collect())
}

/// Each program predicted, and measured here or before.
fn rows(
    asked: Vec<Program>,
    corun: &Path,
    arguments: &Arguments,
    recorded: Option<&Recorded>,
) -> Vec<Row> {
    let row = |program: Program| {
        eprintln!("{}", program.name);
        let outcome = match recorded {
            Some(recorded) => predict_recorded(corun, &program, arguments, recorded),
            None => predict(corun, &program, arguments),
        };
        if let Err(reason) = &outcome {
            eprintln!("  {reason}");
        }
        Row { program, outcome }
    };
    asked.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_command_that_makes_it() {
        let command = |words: &str| Arguments::parse_from(words.split(' ')).command();
        assert_eq!(command("accuracy"), "cargo run --release -p corun-accuracy --");
        assert_eq!(
            command("accuracy --program xz --seconds 4 --keep folder --output page.md"),
            "cargo run --release -p corun-accuracy -- --program 'xz' --seconds 4 --output page.md"
        );
        assert_eq!(
            command("accuracy --core zen5 --keep folder --output page.md"),
            "cargo run --release -p corun-accuracy -- --core zen5 --output page.md"
        );
        assert!(Arguments::try_parse_from(["accuracy", "--core", "a", "--record", "b"]).is_err());
        assert!(Arguments::try_parse_from(["accuracy", "--core", "a", "--gate"]).is_err());
        assert_eq!(
            command("accuracy --all --output page.md"),
            "cargo run --release -p corun-accuracy -- --all --output page.md"
        );
    }

    #[test]
    fn a_core_has_what_was_recorded_of_it() {
        let of = |core: &str| recorded(&Arguments::parse_from(["accuracy", "--core", core]));
        assert_eq!(of("zen5").unwrap().unwrap().model, "zen5");
        let reason = of("ivy-bridge").unwrap_err();
        assert!(reason.ends_with("(zen4, zen5), found `ivy-bridge`"), "{reason}");
    }
}
