//! What goes wrong on a cluster: nothing is lost, nothing is counted twice, and each node's fate is named.

use std::path::Path;
use std::process::Command;

use corun_testing::skip;

use crate::fleet::campaign::{Scratch, files, until};
use crate::fleet::cluster::Cluster;

#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_task_whose_node_dies_runs_again_and_counts_once() {
    let Some(mut cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    let program = scratch.waiting_program();
    scratch.campaign("", &[program.to_str().unwrap()]).submitted();
    scratch.begun(1);
    let node = scratch.status().nodes[0].node.clone();
    cluster.crash_node(&node);
    // Slurm sees that the node is gone, and starts the task on another one.
    scratch.begun(2);
    scratch.go();
    let status = scratch.ended();
    assert_eq!((status.tasks.done, status.tasks.total()), (1, 1), "{status:#?}");
    assert_ne!(status.nodes[0].node, node);
    assert_eq!(files(&scratch.directory().join("attempts")).len(), 2);
    assert_eq!(scratch.collect().collected.unwrap().added, 1);
    assert_eq!(scratch.kept().len(), 1);
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_node_that_never_comes_back_is_named() {
    let Some(mut cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    let program = scratch.waiting_program();
    scratch.campaign("nodes = [\"n2\", \"n3\"]", &[program.to_str().unwrap()]).submitted();
    scratch.begun(2);
    cluster.crash_node("n3");
    scratch.go();
    until("the task of n3 waits for a node that is gone", || {
        let status = scratch.status();
        (status.tasks.done, status.tasks.waiting) == (1, 1)
    });
    scratch.cancel();
    let status = scratch.ended();
    assert_eq!((status.tasks.done, status.tasks.missing), (1, 1), "{status:#?}");
    let dead = status.nodes.iter().find(|it| it.node == "n3").unwrap();
    assert!(
        dead.reasons[0].starts_with("began on n3 and left no result; Slurm says CANCELLED"),
        "{dead:?}"
    );
    assert_eq!(scratch.collect().collected.unwrap().added, 1);
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_controller_that_restarts_loses_no_task() {
    let Some(mut cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    let program = scratch.waiting_program();
    scratch.campaign("repeats = 2", &[program.to_str().unwrap()]).submitted();
    scratch.begun(2);
    cluster.kill_controller();
    let status = scratch.status();
    assert!(status.remarks[0].starts_with("Slurm does not answer"), "{status:#?}");
    // Nothing is submitted while it is not known what waits.
    assert_eq!(scratch.submit(&[]).exit, Some(1));
    scratch.go();
    cluster.start_controller();
    until("the controller answers", || scratch.status().remarks.is_empty());
    assert_eq!(scratch.ended().tasks.done, 2);
    assert_eq!(scratch.results().len(), 2);
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_task_that_is_cancelled_says_so_and_runs_again_when_it_is_submitted_again() {
    let Some(cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    let program = scratch.waiting_program();
    scratch.campaign("", &[program.to_str().unwrap()]).submitted();
    scratch.begun(1);
    scratch.cancel();
    let status = scratch.ended();
    assert_eq!((status.tasks.failed, status.tasks.total()), (1, 1), "{status:#?}");
    let reason = status.open[0].reason.clone().unwrap();
    assert!(reason.contains("the job was asked to end"), "{reason}");
    scratch.go();
    scratch.submitted();
    assert_eq!(scratch.ended().tasks.done, 1);
    assert_eq!(scratch.collect().collected.unwrap().added, 1);
}

/// A small file system, unmounted when it is dropped.
struct Small<'a>(&'a Path);

impl Small<'_> {
    fn mount(path: &Path) -> Option<Small<'_>> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=600m", "tmpfs"]).arg(path);
        match mount.output().is_ok_and(|it| it.status.success()) {
            true => Some(Small(path)),
            false => {
                skip("full disk", "a small file system cannot be mounted");
                None
            }
        }
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_full_directory_is_a_task_without_result_until_there_is_space() {
    let Some(cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    let directory = scratch.directory();
    std::fs::create_dir(&directory).unwrap();
    let Some(_mounted) = Small::mount(&directory) else { return };
    let program = scratch.waiting_program();
    scratch.campaign("", &[program.to_str().unwrap()]).submitted();
    scratch.begun(1);
    let filling = directory.join("filling");
    let mut file = std::fs::File::create(&filling).unwrap();
    std::io::copy(&mut std::io::repeat(0), &mut file).unwrap_err();
    drop(file);
    scratch.go();
    let status = scratch.ended();
    assert_eq!((status.tasks.missing, status.tasks.total()), (1, 1), "{status:#?}");
    assert!(status.open[0].reason.as_ref().unwrap().contains("left no result"), "{status:#?}");
    assert!(scratch.results().is_empty());
    // The answer is kept where there is space.
    let rescued = format!("corun-{}-00000.", status.campaign);
    assert!(files(&scratch.path("")).iter().any(|it| it.starts_with(&rescued)));
    std::fs::remove_file(&filling).unwrap();
    scratch.submitted();
    assert_eq!(scratch.ended().tasks.done, 1);
}
