//! What strace counts: each row that consists of system calls makes those that it says, as often as
//! it says.
//!
//! A kernel is run twice, with few operations and with more; what the second run makes beyond the
//! first belongs to the operations alone. This program runs itself below strace for that.

mod aim9_cpu;
mod dbench;
mod lmbench;
mod tbench;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::process::Command;

use corun_workload::{Job, Parameters, find};

/// The variable that tells this program, run below strace, which kernel to run.
const ORDER: &str = "CORUN_TEST_KERNEL";

/// Operations of the two runs.
const FEW: u64 = 8;
const MORE: u64 = 40;

/// The system calls that one operation makes, by name, in the worker and its children.
///
/// `None` where there is no strace, or the workload cannot run here: the test is then skipped.
fn calls_per_operation(name: &str, parameter: Option<&str>) -> Option<BTreeMap<String, f64>> {
    if let Some(reason) = find(name).unwrap().unavailable() {
        corun_testing::skip(name, &reason);
        return None;
    }
    if Command::new("strace").arg("-V").output().is_err() {
        corun_testing::skip("counting system calls", "there is no strace");
        return None;
    }
    let few = count(name, parameter, FEW);
    let mut more = count(name, parameter, MORE);
    for (call, calls) in few {
        *more.entry(call).or_default() -= calls;
    }
    more.retain(|_, calls| *calls != 0);
    let per_operation = |(call, calls)| (call, calls as f64 / (MORE - FEW) as f64);
    Some(more.into_iter().map(per_operation).collect())
}

/// Asserts how often an operation of `name` makes each of these calls; others are not looked at.
fn assert_calls(name: &str, expected: &[(&str, f64)]) {
    assert_calls_with(name, None, expected);
}

/// As [`assert_calls`], with a parameter as a user types it.
fn assert_calls_with(name: &str, parameter: Option<&str>, expected: &[(&str, f64)]) {
    let Some(found) = calls_per_operation(name, parameter) else { return };
    for (call, calls) in expected {
        let found_calls = found.get(*call).copied().unwrap_or(0.0);
        assert_eq!(found_calls, *calls, "{call} in an operation of {name}, of {found:?}");
    }
}

fn count(name: &str, parameter: Option<&str>, operations: u64) -> BTreeMap<String, i64> {
    // Whatever others leave in a folder of all costs calls.
    let folder = tempfile::tempdir().unwrap();
    let summary = tempfile::NamedTempFile::new().unwrap();
    let told = Command::new("strace")
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(summary.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "kernel_below_strace", "--ignored", "--nocapture", "--test-threads=1"])
        .env("TMPDIR", folder.path())
        .env(ORDER, format!("{operations} {name} {}", parameter.unwrap_or_default()))
        .output()
        .unwrap();
    assert!(told.status.success(), "{name}: {}", String::from_utf8_lossy(&told.stderr));
    let table = std::fs::read_to_string(summary.path()).unwrap();
    table.lines().filter_map(row).collect()
}

/// A row of strace's summary: calls, and the name of the call.
fn row(line: &str) -> Option<(String, i64)> {
    let (calls, name) = line.trim().split_once(char::is_whitespace)?;
    let name = name.trim();
    (name != "total").then(|| Some((name.to_owned(), calls.parse().ok()?)))?
}

#[test]
#[ignore = "what the other tests run below strace"]
fn kernel_below_strace() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let (operations, order) = order.split_once(' ').unwrap();
    let (name, parameter) = order.split_once(' ').unwrap();
    let workload = find(name).unwrap();
    let given = Some(parameter).filter(|given| !given.is_empty());
    let parameters = Parameters::parse(workload.about(), given).unwrap();
    let Ok(Job::Kernels(mut kernels)) = workload.prepare(&parameters, NonZeroUsize::MIN) else {
        panic!("{name} has no kernels here");
    };
    kernels[0].reset();
    kernels[0].run(operations.parse().unwrap());
}
