//! Documents of tasks that are done, kept in the store: each task once, however often it is collected.
//!
//! Every run has the tag `fleet:CAMPAIGN`, one with its task, and one with its node. The store keeps equal documents
//! once; it refuses a second answer with the tag of the same task.

use corun_record::{FleetCollection, shown};
use corun_store::{FirstAnswer, Origin, Store, check_tags};

use crate::error::FleetError;
use crate::layout::{Directory, TaskResult, task_name};
use crate::plan::Plan;
use crate::results::{self, CampaignFiles};

/// Results in one transaction: the disk takes longer to confirm one than to write many results.
const BATCH: usize = 100;

/// The tag of all runs of a campaign.
pub fn campaign_tag(campaign: &str) -> String {
    format!("fleet:{campaign}")
}

/// Collects what is done.
///
/// # Errors
/// If the store or the directory cannot be written; what was collected before stays collected.
pub fn collect<'f>(
    plan: &Plan,
    directory: &Directory,
    found: &'f CampaignFiles,
    store: &mut Store,
) -> Result<FleetCollection, FleetError> {
    let tag = campaign_tag(&plan.campaign);
    for result in results::counted(directory, found).values() {
        results::choose(directory, result)?;
    }
    // Another process may have chosen otherwise.
    let answer = |(task, result): (u32, &'f TaskResult)| {
        Some(FirstAnswer {
            only: format!("{tag}:{}", task_name(task)),
            origin: origin(plan, result, &tag),
            document: result.document.as_ref()?.get(),
        })
    };
    let answers: Vec<FirstAnswer<'_>> =
        results::counted(directory, found).into_iter().filter_map(answer).collect();
    let (mut added, mut known) = (0, 0);
    for batch in answers.chunks(BATCH) {
        let kept = store.add_first(batch)?;
        let new = kept.iter().filter(|it| it.is_new).count() as u32;
        added += new;
        known += kept.len() as u32 - new;
    }
    Ok(FleetCollection { store: shown(store.path()), added, known, tag })
}

/// Origin of a result, with the tags of its campaign and its node.
fn origin(plan: &Plan, result: &TaskResult, tag: &str) -> Origin {
    let node = &result.attempt.node;
    let line = plan.tasks.get(result.attempt.task as usize).map(|it| &it.arguments[..]);
    let mut tags = vec![tag.to_owned()];
    let of_node = format!("node:{node}");
    // A name that no tag may have is still in the result file.
    if check_tags(std::slice::from_ref(&of_node)).is_ok() {
        tags.push(of_node);
    }
    Origin {
        line: line.unwrap_or_default().iter().map(Into::into).collect(),
        folder: plan.folder.to_string_lossy().into_owned(),
        host: Some(node.clone()),
        started: Some(result.attempt.started.clone()),
        tags,
        ..Origin::default()
    }
}
