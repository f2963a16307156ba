//! `corun runs import`: documents that another corun wrote, and what hyperfine exported.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use corun_files::InputKind;
use corun_measure::hyperfine;
use corun_record::{Document, Exit, shown};
use corun_store::{Added, Origin, Store};

use crate::keeping;
use crate::problem::{Problem, code};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
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
    let Some(place) = keeping::place()? else {
        return Err(Problem::usage(
            "expected a store to import into, found that nothing is to be kept",
            "Name the store with --store FILE.",
        ));
    };
    let mut store = Store::open(&place)?;
    let mut first_failure = None;
    for file in &arguments.files {
        match arguments.import(&mut store, file) {
            Ok(lines) => terminal::show(&lines)?,
            // One bad file keeps no other from being kept.
            Err(problem) => first_failure = Some(problem.in_file(file).report()),
        }
    }
    Ok(first_failure.unwrap_or_else(|| code(Exit::Done)))
}

impl Arguments {
    /// Keeps what is in a file; a line for each run says as what.
    fn import(&self, store: &mut Store, file: &Path) -> Result<String, Problem> {
        let path = if file == Path::new("-") { Path::new("/dev/stdin") } else { file };
        let text = corun_files::text(path, InputKind::DOCUMENT)
            .map_err(|error| Problem::usage(error.to_string(), "Name a file that can be read."))?;
        let origin = Origin { host: self.host.clone(), ..Origin::default() };
        let added = match hyperfine::is_export(&text) {
            true => {
                let written = path.metadata().and_then(|it| it.modified());
                let written = written.unwrap_or_else(|_| SystemTime::now());
                let origin = Origin { command: "hyperfine".to_owned(), ..origin };
                let runs = hyperfine::runs(&text, written)?;
                let added =
                    runs.iter().map(|it| store.add_of(&origin, &it.run.to_json(), &it.source));
                added.collect::<Result<Vec<_>, _>>()?
            }
            false => vec![store.add(&origin, &text)?],
        };
        let mut lines = String::new();
        for Added { id, is_new } in added {
            if !self.tags.is_empty() {
                let number = store.find(&id, corun_store::Wanted::Finished)?;
                store.tag(number, &self.tags, true)?;
            }
            let said = if is_new { "kept as" } else { "kept already as" };
            lines += &format!("{}: {said} {id}\n", shown(file));
        }
        Ok(lines)
    }
}
