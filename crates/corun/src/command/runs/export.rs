//! `corun runs export`: runs as files for other programs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_record::{Exit, shown};
use corun_report::Destination;
use corun_store::{Store, TidyTable};

use super::selection::{FilterArguments, numbers};
use crate::documents::run_in_place_of_file;
use crate::options::{CsvFile, JsonFile};
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The runs: ids of `corun runs list`, beginnings of them, tags, `last`, `last~1` [default: those
    /// that the filters mean, or all]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    filter: FilterArguments,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Destination of the export.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
#[group(required = true, multiple = true, args = ["json", "csv", "directory"])]
struct PlaceArguments {
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    csv: CsvFile,
    /// Write runs.csv, samples.csv, observations.csv and documents/RUN.json into the new folder DIR
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let PlaceArguments { json, csv, directory } = &arguments.place;
    let (json, csv) = (json.path(), csv.path());
    let store = super::store()?;
    let filter = arguments.filter.filter();
    let is_named = !arguments.runs.is_empty() || !filter.is_all();
    // `--csv last` asks for that run on standard output, and not for a file of this name with all runs.
    let meant = (!is_named).then(|| [json, csv].into_iter().find_map(run_in_place_of_file));
    let (runs, instead) = match meant.flatten() {
        Some(run) => (vec![run.clone()], Some(run)),
        None => (arguments.runs.clone(), None),
    };
    let place = |file: &'_ Path| match instead.as_deref().is_some_and(|run| file == Path::new(run))
    {
        true => PathBuf::from("-"),
        false => file.to_owned(),
    };
    let numbers = numbers(&store, &runs, &filter)?;
    if let Some(file) = json.map(place) {
        let [number] = numbers[..] else {
            return Err(Problem::usage(
                format!("expected one run for --json, found {}", numbers.len()),
                "Name one, or write all documents with --directory DIR.",
            ));
        };
        let id = store.listed(number)?.id;
        Destination::open(&file)?.write(&store.document_of(&id)?)?;
    }
    if let Some(file) = csv.map(place) {
        Destination::open(&file)?.write(&store.table(TidyTable::Samples, &numbers)?)?;
    }
    if let Some(folder) = directory {
        write_directory(&store, &numbers, folder)?;
    }
    Ok(code(Exit::Done))
}

fn write_directory(store: &Store, numbers: &[i64], folder: &Path) -> Result<(), Problem> {
    let documents = folder.join("documents");
    let made = std::fs::create_dir(folder).and_then(|()| std::fs::create_dir(&documents));
    made.map_err(|error| {
        Problem::failed(
            format!("{}: expected a folder that can be made: {error}", shown(folder)),
            "Name a folder that is not there yet.",
        )
    })?;
    for (name, table) in [
        ("runs.csv", TidyTable::Runs),
        ("samples.csv", TidyTable::Samples),
        ("observations.csv", TidyTable::Observations),
    ] {
        Destination::open(&folder.join(name))?.write(&store.table(table, numbers)?)?;
    }
    for number in numbers {
        if let Some(document) = store.document(*number)? {
            let file = format!("{}.json", store.listed(*number)?.id);
            Destination::open(&documents.join(file))?.write(&document)?;
        }
    }
    Ok(())
}
