//! `corun runs import`: documents that another corun wrote, and what hyperfine exported.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use corun_files::InputKind;
use corun_measure::hyperfine::{self, HyperfineRun};
use corun_record::{Document, Exit, shown};
use corun_store::{Added, Origin, Store, check_tags};

use crate::keeping;
use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Files that corun wrote with --json or `corun runs export`, or hyperfine with --export-json; `-` is
    /// standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The host that they are of, where a file does not say
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Give them this tag (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    // ImportedRun wrong before anything is kept.
    check_tags(&arguments.tags)?;
    let Some(place) = keeping::place()? else {
        return Err(Problem::usage(
            "expected a store to import into, found that nothing is to be kept",
            "Name the store with --store FILE.",
        ));
    };
    let mut store = Store::open(&place)?;
    let mut first_failure = None;
    for file in &arguments.files {
        // One bad file, or one bad result in it, keeps no other from being kept.
        let results = match results(file, arguments.host.clone()) {
            Ok(results) => results,
            Err(problem) => vec![Err(problem)],
        };
        for result in results {
            match result.and_then(|it| arguments.keep(&mut store, &it)) {
                Ok(said) => terminal::show(&format!("{}: {said}\n", shown(file)))?,
                Err(problem) => {
                    first_failure.get_or_insert(problem.in_file(file).report());
                }
            }
        }
    }
    Ok(first_failure.unwrap_or_else(|| code(Exit::Done)))
}

/// A run to be kept.
struct ImportedRun {
    origin: Origin,
    document: String,
    /// Source it was made of, if not of itself.
    source: Option<String>,
}

/// The runs in a file, or why one of them is none.
fn results(
    file: &Path,
    host: Option<String>,
) -> Result<Vec<Result<ImportedRun, Problem>>, Problem> {
    let path = if file == Path::new("-") { Path::new("/dev/stdin") } else { file };
    let text = corun_files::text(path, InputKind::DOCUMENT)
        .map_err(|error| Problem::unreadable(&error, "Name a file that can be read."))?;
    let written = path.metadata().and_then(|it| it.modified());
    let written = written.unwrap_or_else(|_| SystemTime::now());
    let started = humantime::format_rfc3339_seconds(written).to_string();
    let origin = Origin { host, started: Some(started), ..Origin::default() };
    if !hyperfine::is_export(&text) {
        return Ok(vec![Ok(ImportedRun { origin, document: text, source: None })]);
    }
    let origin = Origin { command: "hyperfine".to_owned(), ..origin };
    let found = |run: HyperfineRun| ImportedRun {
        origin: origin.clone(),
        document: run.run.to_json(),
        source: Some(run.source),
    };
    let runs = hyperfine::runs(&text, written)?;
    Ok(runs.into_iter().map(|run| Ok(found(run?))).collect())
}

impl Arguments {
    /// Keeps a run, and says as what.
    fn keep(&self, store: &mut Store, found: &ImportedRun) -> Result<String, Problem> {
        let ImportedRun { origin, document, source } = found;
        let source = source.as_ref().unwrap_or(document);
        let origin = Origin { tags: self.tags.clone(), ..origin.clone() };
        let Added { id, is_new } = store.add_of(&origin, document, source)?;
        Ok(format!("{} {id}", if is_new { "kept as" } else { "kept already as" }))
    }
}
