//! `corun report`: results as one page to look at, and their plots as files.

mod forms;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_page::{InputDocument, Picture};
use corun_record::{AnyDocument, Exit, shown};
use corun_report::Destination;

use self::forms::Forms;
use crate::documents;
use crate::options::{CsvFile, LatexFile, MarkdownFile};
use crate::problem::{Problem, code, say};
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The results: kept runs by their names, or files that corun wrote with --json (`-` is standard input) [default: last]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    forms: FormArguments,
    /// Write the page to FILE (`-` is standard output) [default: report.html, unless something else is asked for]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write every plot as an SVG file into DIR, which is made where it is missing
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Forms of one result for other programs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Other forms, of one result")]
struct FormArguments {
    #[command(flatten)]
    csv: CsvFile,
    #[command(flatten)]
    markdown: MarkdownFile,
    #[command(flatten)]
    latex: LatexFile,
}

/// Default result.
const LAST: &str = "last";
/// Default file of the page.
const PAGE: &str = "report.html";

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let has_forms = arguments.forms.is_any();
    let own = (arguments.plots.is_none() && !has_forms).then(|| PathBuf::from(PAGE));
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
    if has_forms {
        let run = arguments.runs.is_empty().then(|| arguments.forms.run_in_place_of_file());
        arguments.forms.write(&documents, run.flatten().as_deref())?;
    }
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
        match self.runs.is_empty() {
            true => Ok(vec![given(&self.forms.run_in_place_of_file().unwrap_or(LAST.to_owned()))?]),
            false => self.runs.iter().map(given).collect(),
        }
    }
}

impl FormArguments {
    fn named(&self) -> [(&'static str, Option<&Path>); 3] {
        let Self { csv, markdown, latex } = self;
        [("CSV", csv.path()), ("Markdown", markdown.path()), ("LaTeX", latex.path())]
    }

    fn is_any(&self) -> bool {
        self.named().iter().any(|(_, file)| file.is_some())
    }

    /// The run that stands where a file was expected, as in `corun report --csv last`.
    fn run_in_place_of_file(&self) -> Option<String> {
        self.named().iter().find_map(|(_, file)| documents::run_in_place_of_file(*file))
    }

    /// Writes each form that was asked for, to standard output where its file is this run's name.
    fn write(&self, documents: &[InputDocument], run: Option<&str>) -> Result<(), Problem> {
        let place = |file: Option<&Path>| match (file, run) {
            (Some(file), Some(run)) if file == Path::new(run) => Some(PathBuf::from("-")),
            (file, _) => file.map(Path::to_owned),
        };
        let named = self.named().map(|(form, file)| (form, place(file)));
        let [document] = documents else {
            return Err(Problem::usage(
                format!("expected one result for a table, found {}", documents.len()),
                "Name one; a page and plots take several.",
            ));
        };
        let forms = Forms::of(AnyDocument::from_json(&document.text)?);
        let texts = [forms.csv, forms.markdown, forms.latex];
        let is_standard_output =
            |(_, file): &&(_, Option<PathBuf>)| file.as_deref() == Some(Path::new("-"));
        if named.iter().filter(is_standard_output).count() > 1 {
            return Err(Problem::usage(
                "expected one form on standard output, found several",
                "Name a file for all but one.",
            ));
        }
        for ((form, file), text) in named.into_iter().zip(texts) {
            let Some(file) = file else { continue };
            let text = text.ok_or_else(|| {
                Problem::usage(
                    format!("{}: expected a document with a form in {form}, found {}", document.name, forms.format),
                    "Its page has all of its tables (-o FILE), and `--json` of `corun runs export` its figures.",
                )
            })?;
            Destination::open(&file)?.write(&text)?;
        }
        Ok(())
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
