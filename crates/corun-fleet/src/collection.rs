//! Documents of tasks that are done, kept in the store: each task once, however often it is collected.
//!
//! Every run has the tag `fleet:CAMPAIGN`, one with its task, and one with its node. The store keeps equal documents
//! once; the tag of the task keeps a second answer of the same task out.

use corun_record::{FleetCollection, shown};
use corun_store::{Origin, Store, Wanted, check_tags};

use crate::error::FleetError;
use crate::layout::{Directory, TaskResult, task_name};
use crate::plan::Plan;
use crate::results::{self, Found};

/// The tag of all runs of a campaign.
pub fn campaign_tag(campaign: &str) -> String {
    format!("fleet:{campaign}")
}

/// Collects what is done.
///
/// # Errors
/// If the store or the directory cannot be written; what was collected before stays collected.
pub fn collect(
    plan: &Plan,
    directory: &Directory,
    found: &Found,
    store: &mut Store,
) -> Result<FleetCollection, FleetError> {
    let tag = campaign_tag(&plan.campaign);
    let (mut added, mut known) = (0, 0);
    for result in results::counted(directory, found).values() {
        results::choose(directory, result)?;
    }
    // Another process may have chosen otherwise.
    for (task, result) in results::counted(directory, found) {
        let of_task = format!("{tag}:{}", task_name(task));
        if !store.tagged(&of_task)?.is_empty() {
            known += 1;
            continue;
        }
        match keep(plan, result, store, [tag.clone(), of_task])? {
            true => added += 1,
            false => known += 1,
        }
    }
    Ok(FleetCollection { store: shown(store.path()), added, known, tag })
}

/// Keeps a result; whether it is new.
fn keep(
    plan: &Plan,
    result: &TaskResult,
    store: &mut Store,
    tags: [String; 2],
) -> Result<bool, FleetError> {
    let Some(document) = &result.document else { return Ok(false) };
    let node = &result.attempt.node;
    let line = plan.tasks.get(result.attempt.task as usize).map(|it| &it.arguments[..]);
    let origin = Origin {
        line: line.unwrap_or_default().iter().map(Into::into).collect(),
        folder: plan.folder.to_string_lossy().into_owned(),
        host: Some(node.clone()),
        started: Some(result.attempt.started.clone()),
        ..Origin::default()
    };
    let kept = store.add(&origin, document.get())?;
    let number = store.find(&kept.id, Wanted::Finished)?;
    let mut tags = tags.to_vec();
    let of_node = format!("node:{node}");
    // A name that no tag may have is still in the result file.
    if check_tags(std::slice::from_ref(&of_node)).is_ok() {
        tags.push(of_node);
    }
    store.tag(number, &tags, true)?;
    Ok(kept.is_new)
}
