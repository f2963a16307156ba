//! What workloads say where a machine lacks or refuses what they need, a file for each family; each is
//! prepared in a process of its own.

mod aim9;
mod lmbench;
mod servers;

use std::path::Path;

use crate::prepare;

/// As [`prepare::reported`], in a TMPDIR of its own.
fn reported(command: &str) -> String {
    prepare::reported(tempfile::tempdir().unwrap().path(), command)
}

/// As [`prepare::reported`], in a namespace of this kind of its own, after `command`; `None` where that is
/// not permitted.
fn reported_inside(namespace: &str, command: &str, parent: &Path) -> Option<String> {
    if prepare::reported(parent, &format!("unshare --{namespace} true 2>&1")) != "exit 0" {
        corun_testing::skip(command, "a namespace of its own is not permitted");
        return None;
    }
    Some(prepare::reported(parent, &format!("unshare --{namespace} sh -c '{command}'")))
}

/// Refusals of the workloads where no network interface is up, not even the loopback.
fn reported_without_network(workloads: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let reported = |workload: &&str| {
        reported_inside("net", &format!("exec \"$PREPARE\" {workload}"), folder.path())
    };
    let reported: Option<Vec<String>> = workloads.iter().map(reported).collect();
    reported.map(|reported| reported.join("\n"))
}
