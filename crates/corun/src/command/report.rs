//! `corun report`: results as one page to look at, and their plots as files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_page::{InputDocument, Picture};
use corun_record::{Exit, shown};
use corun_report::Destination;

use crate::documents;
use crate::problem::{Problem, code, say};
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The results: kept runs by their names, or files that corun wrote with --json (`-` is standard input)
    #[arg(value_name = "RUN", default_value = "last")]
    runs: Vec<String>,
    /// Write the page to FILE (`-` is standard output) [default: report.html, unless --plots is given]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write every plot as an SVG file into DIR, which is made where it is missing
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Default file of the page.
const PAGE: &str = "report.html";

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let own = arguments.plots.is_none().then(|| PathBuf::from(PAGE));
    let page = arguments.output.clone().or(own);
    if let Some(path) = page.as_ref().filter(|path| arguments.is_read(path)) {
        return Err(Problem::usage(
            format!("expected another file for the page than the result {}", shown(path)),
            "Name a new file with -o FILE.",
        ));
    }
    // Found writable before documents are read.
    let page = page.map(|path| Ok::<_, Problem>((Destination::open(&path)?, path))).transpose()?;
    let documents = arguments.documents()?;
    if let Some((destination, path)) = page {
        destination.write(&corun_page::page(&documents)?)?;
        if path != Path::new("-") {
            say(&format!("corun: wrote {}", shown(&path)));
        }
    }
    if let Some(folder) = &arguments.plots {
        let pictures = corun_page::pictures(&documents)?;
        write_all(folder, &pictures)?;
        terminal::show(&listed(folder, &pictures))?;
    }
    Ok(code(Exit::Done))
}

impl Arguments {
    /// True if a result is read from this file.
    fn is_read(&self, path: &Path) -> bool {
        let of = |path: &Path| std::fs::canonicalize(path).ok();
        let own = of(path);
        own.is_some() && self.runs.iter().any(|name| of(Path::new(name)) == own)
    }

    fn documents(&self) -> Result<Vec<InputDocument>, Problem> {
        let given = |name: &String| {
            let text = documents::text(name)?;
            let name = if name == "-" { "standard input" } else { name };
            Ok(InputDocument { name: name.to_owned(), text })
        };
        self.runs.iter().map(given).collect()
    }
}

fn write_all(folder: &Path, pictures: &[Picture]) -> Result<(), Problem> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Problem::failed(
            format!("expected a folder {} or room to make it, found: {error}", shown(folder)),
            "Name a folder that you may write to.",
        )
    })?;
    for picture in pictures {
        Destination::open(&folder.join(&picture.file))?.write(&picture.svg)?;
    }
    Ok(())
}

/// The files that were written, a line each.
fn listed(folder: &Path, pictures: &[Picture]) -> String {
    let line = |picture: &Picture| format!("{}\n", shown(folder.join(&picture.file)));
    pictures.iter().map(line).collect()
}
