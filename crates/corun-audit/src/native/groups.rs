//! A control group with a quota, for as long as a process of a load runs in it.
#![expect(clippy::disallowed_methods, reason = "what is written are control groups of the kernel")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::load::Group;

/// The group that this process is in; dropped, it is left and taken away.
#[derive(Debug)]
pub(super) struct Membership {
    folder: PathBuf,
    /// Group that the process came from.
    home: PathBuf,
}

impl Membership {
    /// Makes the group and enters it.
    ///
    /// # Errors
    /// If the kernel refuses any of it; then nothing is left behind.
    pub(super) fn enter(group: &Group) -> Result<Self, String> {
        let reported =
            |what: &str, error: io::Error| format!("the kernel does not let {what}: {error}");
        let folder = PathBuf::from(&group.folder);
        let home = home_of(&folder).ok_or_else(|| {
            "the own group is not below the one that groups are made in".to_owned()
        })?;
        fs::create_dir(&folder).map_err(|error| reported("a control group be made", error))?;
        let membership = Self { folder, home };
        let [quota, period] = group.cpu_max;
        fs::write(membership.folder.join("cpu.max"), format!("{quota} {period}"))
            .map_err(|error| reported("a quota be set", error))?;
        move_into(&membership.folder)
            .map_err(|error| reported("a process enter a group", error))?;
        Ok(membership)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let _ = move_into(&self.home);
        remove(&self.folder);
    }
}

/// Removes a group that has no member any more.
pub(super) fn remove(folder: &Path) {
    let _ = fs::remove_dir(folder);
}

/// Moves the whole calling process.
fn move_into(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

/// The group of version 2 that this process is in, as a folder: it lies at or below the parent of
/// `folder`, and its path ends as the kernel says.
fn home_of(folder: &Path) -> Option<PathBuf> {
    let groups = corun_files::kernel_text("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/');
    let parent = folder.parent()?;
    let candidates = parent.ancestors().map(|above| above.join(own));
    candidates.filter(|it| it.starts_with(parent)).find(|it| it.join("cgroup.procs").exists())
}
