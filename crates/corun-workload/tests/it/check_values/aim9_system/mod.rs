//! AIM9's tests of the system: processes, files, shells and messages.

mod files;
mod messages;
mod processes;

use corun_workload::Kernel;

use super::run_at_once;

/// Asserts the check value of two workers after each of these numbers of operations.
fn assert_checks(
    name: &str,
    parameters: &[&str],
    operations: &[u64],
    expected: impl Fn(u64) -> u64,
) {
    let mut kernels = kernels(name, parameters, 2);
    for &operations in operations {
        let found = run_at_once(&mut kernels, &[operations; 2]);
        assert_eq!(found, [expected(operations); 2], "{name}, {operations}");
    }
}

/// Asserts the tallies of a worker after each of these numbers of operations.
fn assert_tallies(name: &str, operations: &[u64], expected: impl Fn(u64) -> Vec<u64>) {
    let mut kernel = kernels(name, &[], 1).remove(0);
    for &operations in operations {
        kernel.reset();
        kernel.run(operations);
        assert_eq!(kernel.tallies(), expected(operations), "{name}, {operations}");
    }
}

/// Asserts that a run of `few` operations does the same before and after one of `many`.
fn assert_reset_forgets(name: &str, parameters: &[&str], [few, many]: [u64; 2]) {
    let mut kernel = kernels(name, parameters, 1).remove(0);
    let mut check_after = |operations| {
        kernel.reset();
        kernel.run(operations);
        kernel.check()
    };
    let short = check_after(few);
    check_after(many);
    assert_eq!(check_after(few), short, "{name}");
}

fn kernels(name: &str, parameters: &[&str], workers: usize) -> Vec<Box<dyn Kernel>> {
    let parameters: Vec<String> = parameters.iter().map(|&text| text.to_owned()).collect();
    super::kernels(name, &parameters, workers)
}
