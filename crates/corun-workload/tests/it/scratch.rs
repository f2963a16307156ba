//! Folders for scratch files: private, gone with their owner, and a clear line where none can be had.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::prepare::{reported, shell};

/// Prepares a workload that has a scratch file; see the example of this name.
const PREPARE: &str = "exec \"$PREPARE\" syscall-mix";

const NONE: [PathBuf; 0] = [];

#[test]
fn a_folder_is_private_and_goes_with_its_owner() {
    let parent = tempfile::tempdir().unwrap();
    let mut owner = Owner::new(parent.path());
    let folders = folders(parent.path());
    assert_eq!(folders.len(), 1, "{folders:?}");
    assert_eq!(fs::metadata(&folders[0]).unwrap().permissions().mode() & 0o777, 0o700);
    owner.ends();
    assert_eq!(self::folders(parent.path()), NONE);
}

#[test]
fn what_a_killed_owner_left_is_removed_by_the_next_but_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    let mut living = Owner::new(parent.path());
    let of_living = folders(parent.path());
    let mut killed = Owner::new(parent.path());
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert_eq!(folders(parent.path()).len(), 2, "a killed owner cannot clean up");
    let not_ours = names_like(&of_living[0], parent.path());

    Owner::new(parent.path()).ends();
    let mut expected = [of_living, not_ours.clone()].concat();
    expected.sort();
    assert_eq!(folders(parent.path()), expected);
    living.ends();
    assert_eq!(folders(parent.path()), not_ours);
}

/// A folder that others may read, a file, and a link to a private folder, named like a scratch
/// folder.
fn names_like(scratch: &Path, parent: &Path) -> Vec<PathBuf> {
    let name = scratch.file_name().unwrap().to_str().unwrap();
    let like = |end| parent.join(format!("{}.{end}", name.rsplit_once('.').unwrap().0));
    let all = ["file", "folder", "link"].map(like);
    fs::write(&all[0], "").unwrap();
    fs::create_dir(&all[1]).unwrap();
    fs::set_permissions(&all[1], fs::Permissions::from_mode(0o755)).unwrap();
    let private = tempfile::tempdir_in(parent).unwrap().keep();
    symlink(&private, &all[2]).unwrap();
    let mut all = all.to_vec();
    all.push(private);
    all.sort();
    all
}

#[test]
fn a_missing_folder_is_answered_with_what_to_do() {
    let parent = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(reported(&parent.path().join("missing"), PREPARE), @r#"
    workload `syscall-mix` needs a file of its own below "TMPDIR": No such file or directory (os error 2)
      Set TMPDIR to a folder that you may write to.
    exit 3
    "#);
}

#[test]
fn a_limit_on_files_is_answered_with_what_to_do() {
    let parent = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(reported(parent.path(), &format!("ulimit -f 4; {PREPARE}")), @"
    workload `syscall-mix` writes up to 8 KiB, and files are limited to 2 KiB here
      Raise the limit (ulimit -f).
    exit 4
    ");
    assert_eq!(folders(parent.path()), NONE);
}

/// Whichever of its descriptors it is that cannot be had.
#[test]
fn too_few_descriptors_are_answered_with_what_to_do() {
    let parent = tempfile::tempdir().unwrap();
    let answers =
        (4..64).map(|limit| reported(parent.path(), &format!("ulimit -n {limit}; {PREPARE}")));
    let mut failures: Vec<String> = answers
        .inspect(|_| assert_eq!(folders(parent.path()), NONE))
        .take_while(|reported| reported != "prepared\nexit 0")
        .collect();
    assert!(failures.len() > 3, "a folder, devices and a pipe: {failures:?}");
    failures.dedup();
    insta::assert_snapshot!(failures.join("\n"), @"
    workload `syscall-mix` needs more open files than it may have: Too many open files (os error 24)
      Raise the limit (ulimit -n), or ask for fewer workers.
    exit 4
    ");
}

/// A file system of one page, or with no room for a name or for a second one, or not to be written
/// to; each in a namespace that ends with the command.
#[test]
fn a_full_disk_is_answered_with_what_to_do() {
    let parent = tempfile::tempdir().unwrap();
    if reported(parent.path(), "unshare --mount true 2>&1") != "exit 0" {
        return corun_testing::skip("full disk", "mounting is not permitted");
    }
    let reported = ["size=4k", "nr_inodes=1", "nr_inodes=2", "ro"].map(|options| {
        let mount = format!("mount -t tmpfs -o {options} none \"$TMPDIR\"");
        let prepare = format!("({PREPARE}); code=$?; ls -A \"$TMPDIR\"; exit $code");
        reported(parent.path(), &format!("unshare --mount sh -c '{mount} && {prepare}'"))
    });
    insta::assert_snapshot!(reported.join("\n"), @r#"
    workload `syscall-mix` writes up to 8 KiB below "TMPDIR", where 4 KiB are free
      Free some room there, or set TMPDIR to a folder that has more.
    exit 3
    workload `syscall-mix` needs a file of its own below "TMPDIR": no storage space
      Free some room there, or set TMPDIR to a folder that has more.
    exit 3
    workload `syscall-mix` needs a file of its own below "TMPDIR": No space left on device (os error 28)
      Free some room there, or set TMPDIR to a folder that has more.
    exit 3
    workload `syscall-mix` needs a file of its own below "TMPDIR": read-only filesystem or storage medium
      Set TMPDIR to a folder that you may write to.
    exit 3
    "#);
}

/// A process that has a scratch folder.
struct Owner {
    child: Child,
}

impl Owner {
    fn new(parent: &Path) -> Self {
        let mut shell = shell(parent, PREPARE);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "prepared\n");
        Self { child }
    }

    /// Lets the process end on its own.
    fn ends(&mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}
