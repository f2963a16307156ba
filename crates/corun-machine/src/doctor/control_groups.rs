//! The folders of the control groups that this process is in, from its own up to the root.

use super::check::CheckUnavailable;
use super::system::System;
use crate::control_groups::group_of;

/// Where a controller can be looked up, below the root.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Groups {
    /// Folders of version 1 that the controller is mounted on, the process's own first.
    One(Vec<String>),
    /// Folders of version 2, the process's own first.
    Two(Vec<String>),
    /// No controller of this name is in use.
    None,
}

/// Finds the folders for `controller`; the folders of a mount that is not visible are unknown.
pub(super) fn find(system: &mut System<'_>, controller: &str) -> Result<Groups, CheckUnavailable> {
    let groups = system.read("proc/self/cgroup")?;
    let mounts = system.mounts()?;
    if let Some(group) = group_of(&groups.text, Some(controller)) {
        if let Some(mount) = mounts.iter().find(|mount| mount.is_version_1_of(controller)) {
            return Ok(Groups::One(mount.folders(group)));
        }
    } else if let Some(group) = group_of(&groups.text, None) {
        if let Some(mount) = mounts.iter().find(|mount| mount.is_version_2()) {
            return Ok(Groups::Two(mount.folders(group)));
        }
    } else {
        return Ok(Groups::None);
    }
    Err(CheckUnavailable {
        sentence: "No mount shows the control group of this process.".into(),
        evidence: vec![groups],
    })
}
