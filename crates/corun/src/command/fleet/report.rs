//! `corun fleet report`: the answers of a campaign for each hardware type, and the outlying nodes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_fleet::Answers;
use corun_nodes::{ReportRequest, report};
use corun_page::InputDocument;
use corun_record::{Document, Exit, FleetReport, Record, shown};
use corun_report::Destination;

use crate::answer::Head;
use crate::exports::{Exports, Form};
use crate::options::{CsvFile, JsonFile, MarkdownFile, PracticalArguments, ViewArguments};
use crate::problem::{Problem, code, say};
use crate::terminal;

/// The confidence of every interval.
const CONFIDENCE: f64 = 0.95;
/// A share of campaigns of ordinary nodes in which one is named, at most.
const ERROR_RATE: f64 = 0.05;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The campaign's directory, or a folder with results of `corun measure --json` or `corun threads --json`
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    practical: PracticalArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// The outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    /// Write the page to FILE (`-` is standard output)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    csv: CsvFile,
    #[command(flatten)]
    markdown: MarkdownFile,
    #[command(flatten)]
    view: ViewArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let head = Head::now();
    let output = &arguments.output;
    // Found writable before results are read.
    let page = output.output.as_deref();
    let page = page.map(|path| Ok::<_, Problem>((Destination::open(path)?, path))).transpose()?;
    let exports: Exports<Record<FleetReport>> = Exports::open([
        (output.json.path(), Record::to_json as Form<Record<FleetReport>>),
        (output.csv.path(), corun_report::fleet_report_to_csv),
        (output.markdown.path(), corun_report::fleet_report_to_markdown),
    ])?;
    let results = arguments.answers()?;
    let request = ReportRequest {
        campaign: results.campaign,
        confidence: CONFIDENCE,
        practical: arguments.practical.practical,
        error_rate: ERROR_RATE,
        unmeasured: results.unmeasured,
    };
    let (body, mut caveats) = report(&results.runs, &request);
    caveats.extend(results.caveats);
    let record = Record { caveats, ..head.record(body) };
    exports.write(&record, |record| output.shown(record), Record::to_json)?;
    if let Some((destination, path)) = page {
        let given = InputDocument { name: shown(&arguments.directory), text: record.to_json() };
        destination.write(&corun_page::page(&[given])?)?;
        if path != Path::new("-") {
            say(&format!("corun: wrote {}", shown(path)));
        }
    }
    Ok(code(Exit::Done))
}

impl OutputArguments {
    fn shown(&self, record: &Record<FleetReport>) -> String {
        let form = match self.view.brief {
            true => corun_report::fleet_report_in_brief,
            false => corun_report::fleet_report_to_terminal,
        };
        form(record, terminal::width())
    }
}

impl Arguments {
    /// The results of the campaign, or those in the folder.
    fn answers(&self) -> Result<Answers, Problem> {
        let found = Answers::read(&self.directory)?;
        match found.runs.is_empty() {
            false => Ok(found),
            true => Err(Problem::failed(
                format!(
                    "expected results of `corun measure` or `corun threads` in {}, found none",
                    shown(&self.directory)
                ),
                "`corun fleet status` with the directory shows the state of a campaign's tasks.",
            )),
        }
    }
}
