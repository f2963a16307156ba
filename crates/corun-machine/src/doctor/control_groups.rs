//! The folders of the control groups that this process is in, from its own up to the root.

use super::check::CheckUnavailable;
use super::report::Evidence;
use super::system::System;
use crate::control_groups::OwnGroup;

/// Hierarchy in which a controller can be looked up, below the root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// The folders, the process's own first.
    pub(super) folders: Vec<String>,
    pub(super) is_version_2: bool,
    /// True if the last folder is the root of the hierarchy; else groups above it are not seen.
    pub(super) reaches_root: bool,
    /// The groups of the process, as the kernel lists them.
    pub(super) listed: Evidence,
}

/// Finds the folders for `controller`, `None` where no hierarchy has it; folders that no mount shows are unknown.
pub(super) fn find(
    system: &mut System<'_>,
    controller: &str,
) -> Result<Option<Groups>, CheckUnavailable> {
    let listed = system.read("proc/self/cgroup")?;
    let mounts = system.mounts()?;
    match OwnGroup::find(&mounts, &listed.text, controller) {
        OwnGroup::None => Ok(None),
        OwnGroup::Hidden => Err(CheckUnavailable {
            sentence: "No mount shows the control group of this process.".into(),
            evidence: vec![listed],
        }),
        OwnGroup::Shown(group) => Ok(Some(Groups {
            reaches_root: system.reaches_root(&group)?,
            is_version_2: group.mount.is_version_2(),
            folders: group.folders,
            listed,
        })),
    }
}
