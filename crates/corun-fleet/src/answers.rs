//! The answers of a campaign, or documents in a folder, as the runs of nodes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use corun_files::InputKind;
use corun_nodes::NodeRun;
use corun_record::{AnyDocument, Caveat, FleetNode, FleetStatus, UnmeasuredNode, excerpt};

use crate::layout::Directory;
use crate::status::{look, status};
use crate::{FleetError, Plan, SmtArm, existing, results};

/// Answers that nodes have measured.
#[derive(Debug, Default)]
pub struct Answers {
    /// The name of the campaign, if it is one.
    pub campaign: Option<String>,
    /// The runs of its nodes that count.
    pub runs: Vec<NodeRun>,
    /// Nodes without a run, and why.
    pub unmeasured: Vec<UnmeasuredNode>,
    /// Limits of trust.
    pub caveats: Vec<Caveat>,
}

impl Answers {
    /// Those of the campaign in this directory or, if it has no plan, of the documents in it.
    ///
    /// # Errors
    /// If the directory or the campaign cannot be read.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let absolute = path
            .canonicalize()
            .map_err(|source| FleetError::File { path: path.to_owned(), source })?;
        let directory = Directory::new(absolute);
        match existing(&directory)? {
            Some(plan) => of_campaign(&plan, &directory),
            None => of_folder(directory.path()),
        }
    }
}

/// The results that count, and why nodes have none.
fn of_campaign(plan: &Plan, directory: &Directory) -> Result<Answers, FleetError> {
    let (found, queue) = look(plan, directory)?;
    let state = status(plan, directory, &found, queue.as_ref());
    let mut answers = Answers { campaign: Some(plan.name.clone()), ..Answers::default() };
    let mut others = Vec::new();
    for (task, result) in results::counted(directory, &found) {
        let Some(planned) = plan.tasks.get(task as usize) else { continue };
        let Some(document) = &result.document else { continue };
        let (node, program) = (result.attempt.node.clone(), planned.program.clone());
        let condition = (planned.smt != SmtArm::On).then(|| planned.smt.name().to_owned());
        match AnyDocument::from_json(document.get()) {
            Ok(AnyDocument::Run(run)) => {
                answers.runs.push(NodeRun {
                    node,
                    program,
                    condition,
                    run: *run,
                    is_search: false,
                });
            }
            Ok(AnyDocument::Threads(search)) => {
                answers.runs.push(NodeRun::of_search(node, program, condition, *search));
            }
            Ok(other) => others.push(format!("task {task} wrote {}", excerpt(other.format()))),
            Err(error) => others.push(format!("task {task}: {error}")),
        }
    }
    answers.unmeasured = state.nodes.iter().filter_map(unmeasured).collect();
    answers.caveats.extend(not_runs(&others));
    answers.caveats.extend(open_tasks(&state));
    let remarks = state.remarks.into_iter();
    answers.caveats.extend(remarks.map(|remark| Caveat::new("campaign", remark)));
    Ok(answers)
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
fn of_folder(folder: &Path) -> Result<Answers, FleetError> {
    let failed = |source| FleetError::File { path: folder.to_owned(), source };
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|it| it == "json") {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.insert(stem, path);
        }
    }
    let (mut answers, mut others) = (Answers::default(), Vec::new());
    for (stem, path) in files {
        let text = corun_files::text(&path, InputKind::DOCUMENT).map_err(|error| error.to_string());
        let read = text.and_then(|text| AnyDocument::from_json(&text).map_err(|it| it.to_string()));
        match read {
            Ok(AnyDocument::Run(run)) => answers.runs.push(NodeRun {
                node: run.machine.host.clone().unwrap_or(stem),
                program: run.workload.label(),
                condition: None,
                run: *run,
                is_search: false,
            }),
            Ok(AnyDocument::Threads(search)) => {
                let host = search.machine.as_ref().and_then(|it| it.host.clone());
                let program = search.body.workload.label();
                answers.runs.push(NodeRun::of_search(host.unwrap_or(stem), program, None, *search));
            }
            Ok(other) => others.push(format!("{stem}.json is {}", excerpt(other.format()))),
            Err(error) => others.push(format!("{stem}.json: {error}")),
        }
    }
    answers.caveats.extend(not_runs(&others));
    Ok(answers)
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
