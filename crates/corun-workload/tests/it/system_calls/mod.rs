//! What strace counts: each row that consists of system calls makes those that it says, as often as
//! it says.
//!
//! A kernel is run twice, with few operations and with more; what the second run makes beyond the
//! first belongs to the operations alone.

mod aim9;
mod aim9_cpu;
mod dbench;
mod lmbench;
mod tbench;

use std::collections::BTreeMap;
use std::process::Command;

use corun_workload::find;

/// Operations of the two runs.
const FEW: u64 = 8;
const MORE: u64 = 40;

/// Asserts how often an operation of `name` makes each of these calls; others are not counted. A
/// call that systems name differently has all of its names, separated by bars.
fn assert_calls(name: &str, expected: &[(&str, f64)]) {
    let Some(found) = calls_between(name, FEW, MORE) else { return };
    for (call, calls) in expected {
        let per_operation = total(&found, call) as f64 / (MORE - FEW) as f64;
        assert_eq!(per_operation, *calls, "{call} in an operation of {name}, of {found:?}");
    }
}

/// As [`assert_calls`], of a whole round of so many operations.
fn assert_calls_of_round(name: &str, round: u64, expected: &[(&str, i64)]) {
    let Some(found) = calls_between(name, round, 2 * round) else { return };
    for (call, calls) in expected {
        assert_eq!(total(&found, call), *calls, "{call} in a round of {name}, of {found:?}");
    }
}

fn total(found: &BTreeMap<String, i64>, names: &str) -> i64 {
    names.split('|').filter_map(|name| found.get(name)).sum()
}

/// The system calls that `more` operations make beyond `few`, by name, in the worker and its children.
///
/// `None` where there is no strace, or the workload cannot run here: the test is then skipped.
fn calls_between(name: &str, few: u64, more: u64) -> Option<BTreeMap<String, i64>> {
    let workload = name.split(' ').next().unwrap();
    if let Some(reason) = find(workload).unwrap().unavailable() {
        corun_testing::skip(name, &reason);
        return None;
    }
    if Command::new("strace").arg("-V").output().is_err() {
        corun_testing::skip("counting system calls", "there is no strace");
        return None;
    }
    let few = count(name, few);
    let mut more = count(name, more);
    for (call, calls) in few {
        *more.entry(call).or_default() -= calls;
    }
    more.retain(|_, calls| *calls != 0);
    Some(more)
}

fn count(name: &str, operations: u64) -> BTreeMap<String, i64> {
    let summary = tempfile::NamedTempFile::new().unwrap();
    // Its own, since each kernel looks at what others have left.
    let scratch = tempfile::tempdir().unwrap();
    let tests = std::env::current_exe().unwrap();
    let prepare = tests.parent().unwrap().with_file_name("examples").join("prepare");
    let reported = Command::new("strace")
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(summary.path())
        .arg(prepare)
        .args(name.split(' '))
        .env("TMPDIR", scratch.path())
        .env("OPERATIONS", operations.to_string())
        .output()
        .unwrap();
    let said = [reported.stdout, reported.stderr].concat();
    assert!(reported.status.success(), "{name}: {}", String::from_utf8_lossy(&said));
    let table = std::fs::read_to_string(summary.path()).unwrap();
    table.lines().filter_map(row).collect()
}

/// A row of strace's summary: calls, and the name of the call.
fn row(line: &str) -> Option<(String, i64)> {
    let (calls, name) = line.trim().split_once(char::is_whitespace)?;
    let name = name.trim();
    (name != "total").then(|| Some((name.to_owned(), calls.parse().ok()?)))?
}
