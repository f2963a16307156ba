//! `corun fleet report`: the answers of a campaign for each hardware type, and the outlying nodes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use corun_files::InputKind;
use corun_fleet::layout::Directory;
use corun_fleet::{FleetError, Plan, SmtArm, existing, results, status};
use corun_nodes::{NodeRun, ReportRequest, report};
use corun_page::Given;
use corun_record::{
    AnyDocument, Caveat, Document, Exit, FleetNode, FleetReport, FleetStatus, Record,
    UnmeasuredNode, excerpt, shown,
};
use corun_report::Destination;

use super::status::looked_at;
use crate::answer::Head;
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code, say};
use crate::{terminal, values};

/// The confidence of every interval.
const CONFIDENCE: f64 = 0.95;
/// A share of campaigns of ordinary nodes in which one is named, at most.
const ERROR_RATE: f64 = 0.05;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The campaign's directory, or a folder with results of `corun measure --json` or `corun threads --json`
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Call an effect practical, and name a node, from this size on
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = values::percentage)]
    practical: f64,
    #[command(flatten)]
    output: OutputArguments,
}

/// The outputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    /// Write the report as a page to look at, such as report.html
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the report as JSON to FILE (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the value of each node as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the report as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Show the answers alone
    #[arg(long)]
    brief: bool,
}

/// What a directory has.
#[derive(Default)]
struct Results {
    campaign: Option<String>,
    runs: Vec<NodeRun>,
    unmeasured: Vec<UnmeasuredNode>,
    caveats: Vec<Caveat>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let head = Head::now();
    let output = &arguments.output;
    // Found writable before results are read.
    let page = output.output.as_deref();
    let page = page.map(|path| Ok::<_, Problem>((Destination::open(path)?, path))).transpose()?;
    let exports: Exports<Record<FleetReport>> = Exports::open([
        (output.json.as_deref(), Record::to_json as Form<Record<FleetReport>>),
        (output.csv.as_deref(), corun_report::fleet_report_to_csv),
        (output.markdown.as_deref(), corun_report::fleet_report_to_markdown),
    ])?;
    let results = arguments.results()?;
    let request = ReportRequest {
        campaign: results.campaign,
        confidence: CONFIDENCE,
        practical: arguments.practical,
        error_rate: ERROR_RATE,
        unmeasured: results.unmeasured,
    };
    let (body, mut caveats) = report(&results.runs, &request);
    caveats.extend(results.caveats);
    let record = Record { caveats, ..head.record(body) };
    exports.write(&record, |record| output.shown(record), Record::to_json)?;
    if let Some((destination, path)) = page {
        let given = Given { name: shown(&arguments.directory), text: record.to_json() };
        destination.write(&corun_page::page(&[given])?)?;
        if path != Path::new("-") {
            say(&format!("corun: wrote {}", shown(path)));
        }
    }
    Ok(code(Exit::Done))
}

impl OutputArguments {
    fn shown(&self, record: &Record<FleetReport>) -> String {
        let form = match self.brief {
            true => corun_report::fleet_report_in_brief,
            false => corun_report::fleet_report_to_terminal,
        };
        form(record, terminal::width())
    }
}

impl Arguments {
    /// The results of the campaign, or those in the folder.
    fn results(&self) -> Result<Results, Problem> {
        let path = self
            .directory
            .canonicalize()
            .map_err(|source| FleetError::File { path: self.directory.clone(), source })?;
        let directory = Directory::new(path);
        let found = match existing(&directory)? {
            Some(plan) => of_campaign(&plan, &directory)?,
            None => of_folder(directory.path())?,
        };
        match found.runs.is_empty() {
            false => Ok(found),
            true => Err(Problem::usage(
                format!(
                    "expected results of `corun measure` or `corun threads` in {}, found none",
                    shown(&self.directory)
                ),
                "`corun fleet status` with the directory shows the state of a campaign's tasks.",
            )),
        }
    }
}

/// The results that count, and why nodes have none.
fn of_campaign(plan: &Plan, directory: &Directory) -> Result<Results, Problem> {
    let (found, queue) = looked_at(plan, directory)?;
    let state = status(plan, directory, &found, queue.as_ref());
    let mut results = Results { campaign: Some(plan.name.clone()), ..Results::default() };
    let mut others = Vec::new();
    for (task, result) in results::counted(directory, &found) {
        let Some(planned) = plan.tasks.get(task as usize) else { continue };
        let Some(document) = &result.document else { continue };
        let (node, program) = (result.attempt.node.clone(), planned.program.clone());
        let condition = (planned.smt != SmtArm::On).then(|| planned.smt.name().to_owned());
        match AnyDocument::from_json(document.get()) {
            Ok(AnyDocument::Run(run)) => {
                results.runs.push(NodeRun {
                    node,
                    program,
                    condition,
                    run: *run,
                    is_search: false,
                });
            }
            Ok(AnyDocument::Threads(search)) => {
                results.runs.push(NodeRun::of_search(node, program, condition, *search));
            }
            Ok(other) => others.push(format!("task {task} wrote {}", excerpt(other.format()))),
            Err(error) => others.push(format!("task {task}: {error}")),
        }
    }
    results.unmeasured = state.nodes.iter().filter_map(unmeasured).collect();
    results.caveats.extend(not_runs(&others));
    results.caveats.extend(open_tasks(&state));
    let remarks = state.remarks.into_iter();
    results.caveats.extend(remarks.map(|remark| Caveat::new("campaign", remark)));
    Ok(results)
}

/// A node none of whose tasks is done, and why.
fn unmeasured(node: &FleetNode) -> Option<UnmeasuredNode> {
    let tasks = &node.tasks;
    if tasks.done > 0 {
        return None;
    }
    let fates = [
        (tasks.failed, "failed"),
        (tasks.running, "running"),
        (tasks.waiting, "waiting"),
        (tasks.missing, "missing"),
    ];
    let fates: Vec<String> = fates
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, fate)| format!("{count} {fate}"))
        .collect();
    let reason = node.reasons.first().map(|it| format!(": {it}")).unwrap_or_default();
    Some(UnmeasuredNode {
        node: node.node.clone(),
        reason: format!("no task is done ({}){reason}", fates.join(", ")),
    })
}

fn open_tasks(state: &FleetStatus) -> Option<Caveat> {
    let (done, all) = (state.tasks.done, state.tasks.total());
    (done < all).then(|| {
        Caveat::new(
            "open-tasks",
            format!(
                "{done} of {all} tasks are done; `corun fleet status` with the directory shows the state of the others."
            ),
        )
    })
}

/// The results in a folder: a node is the host that a run names, else the file.
fn of_folder(folder: &Path) -> Result<Results, Problem> {
    let failed = |source| FleetError::File { path: folder.to_owned(), source };
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|it| it == "json") {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(stem, path);
        }
    }
    let (mut results, mut others) = (Results::default(), Vec::new());
    for (stem, path) in files {
        let text = corun_files::text(&path, InputKind::DOCUMENT).map_err(|error| error.to_string());
        let read = text.and_then(|text| AnyDocument::from_json(&text).map_err(|it| it.to_string()));
        match read {
            Ok(AnyDocument::Run(run)) => results.runs.push(NodeRun {
                node: run.machine.host.clone().unwrap_or(stem),
                program: run.workload.label(),
                condition: None,
                run: *run,
                is_search: false,
            }),
            Ok(AnyDocument::Threads(search)) => {
                let host = search.machine.as_ref().and_then(|it| it.host.clone());
                let program = search.body.workload.label();
                results.runs.push(NodeRun::of_search(host.unwrap_or(stem), program, None, *search));
            }
            Ok(other) => others.push(format!("{stem}.json is {}", excerpt(other.format()))),
            Err(error) => others.push(format!("{stem}.json: {error}")),
        }
    }
    results.caveats.extend(not_runs(&others));
    Ok(results)
}

/// The caveat about documents of other commands.
fn not_runs(others: &[String]) -> Option<Caveat> {
    let first = others.first()?;
    Some(Caveat::new(
        "other-documents",
        format!(
            "{} of the results are no runs of `corun measure` or `corun threads` and do not count, such as: {first}.",
            others.len()
        ),
    ))
}
