//! Properties that every workload owes to the registry.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;

use corun_record::{Actionable, Exit};
use corun_workload::{
    Domain, Job, MAX_TALLIES, Parameters, Suite, WorkloadError, all, find, of_suite,
};

#[test]
fn every_file_is_listed_under_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/registry");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().replace('_', "-"))
        .collect();
    let names: Vec<&str> = all().map(|workload| workload.descriptor().name).collect();
    let (rows, own): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| name.contains('/'));
    assert!(own.is_sorted_by(|a, b| a < b), "sorted and unique: {own:?}");
    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len(), "unique: {rows:?}");
    let suites = rows.iter().filter_map(|name| name.split('/').next());
    assert_eq!(
        own.iter().copied().chain(suites).map(str::to_owned).collect::<BTreeSet<_>>(),
        files
    );
}

#[test]
fn every_workload_describes_itself() {
    for workload in all() {
        let descriptor = workload.descriptor();
        assert!(find(descriptor.name).is_ok(), "{}", descriptor.name);
        assert!(
            is_line(descriptor.summary)
                && is_line(descriptor.operation)
                && is_line(descriptor.counted),
            "{}",
            descriptor.name
        );
        assert!(!descriptor.tags.is_empty(), "{}", descriptor.name);
        for parameter in descriptor.parameters {
            assert!(is_line(parameter.summary), "{} {}", descriptor.name, parameter.name);
            if let Domain::Choice(choices) = parameter.domain {
                assert!(
                    choices.iter().all(|choice| is_line(choice.summary)),
                    "{}",
                    descriptor.name
                );
            }
        }
        if let Some(sharing) = descriptor.line_sharing {
            for value in [sharing.shared, sharing.own] {
                Parameters::parse(descriptor, [format!("{}={value}", sharing.parameter)]).unwrap();
            }
        }
    }
}

fn is_line(text: &str) -> bool {
    (1..80).contains(&text.chars().count()) && !text.contains(char::is_control)
}

#[test]
fn every_workload_can_be_prepared_as_it_comes() {
    for workload in all() {
        let descriptor = workload.descriptor();
        if let Some(reason) = workload.unavailable() {
            corun_testing::skip(&format!("preparing {}", descriptor.name), &reason);
            continue;
        }
        let parameters = Parameters::parse(descriptor, [""; 0]).unwrap();
        for workers in [1, 2] {
            match workload.prepare(&parameters, NonZeroUsize::new(workers).unwrap()) {
                Ok(Job::Kernels(kernels)) => {
                    assert_eq!(kernels.len(), workers, "{}", descriptor.name);
                }
                Ok(Job::Program(program)) => assert!(program.operations > 0, "{}", descriptor.name),
                // The defaults follow the caches; a small share of a large machine may not hold them.
                Err(error @ WorkloadError::NoMemory { .. }) => {
                    corun_testing::skip(
                        &format!("preparing {}", descriptor.name),
                        &error.to_string(),
                    );
                }
                Err(error) => panic!("{}: {error}", descriptor.name),
            }
        }
    }
}

#[test]
fn an_unknown_workload_is_answered_with_the_nearest() {
    let error = find("fbi").err().unwrap();
    assert_eq!(error.exit(), Exit::Usage);
    let reported = error.to_string();
    let first = "no built-in workload is called `fbi`; the nearest are: fib, ";
    assert!(reported.starts_with(first), "{reported}");
    assert_eq!(error.next_step(), "Did you mean `fib`?");
}

#[test]
fn memory_that_cannot_be_had_is_an_error() {
    for (name, parameter) in [
        ("alloc", "live=1e6"),
        ("btree", "entries=1e7"),
        ("chase", "size=32GiB"),
        ("gups", "size=1TiB"),
        ("hash", "message=64MiB"),
        ("matmul", "size=16384"),
        ("ram", "touched=8GiB"),
        ("sort", "size=8GiB"),
        ("stream", "size=1TiB"),
    ] {
        let workload = find(name).unwrap();
        let parameters = Parameters::parse(workload.descriptor(), [parameter]).unwrap();
        let many = NonZeroUsize::new(1 << 20).unwrap();
        let error = workload.prepare(&parameters, many).err().unwrap();
        assert!(matches!(error, WorkloadError::NoMemory { .. }), "{error}");
    }
    let workload = find("fib").unwrap();
    let parameters = Parameters::parse(workload.descriptor(), ["granularity=1GiB"]).unwrap();
    for workers in [1 << 24, usize::MAX >> 30, usize::MAX] {
        let error =
            workload.prepare(&parameters, NonZeroUsize::new(workers).unwrap()).err().unwrap();
        assert!(matches!(error, WorkloadError::NoMemory { .. }), "{error}");
        assert_eq!(error.exit(), Exit::NotPossible);
    }
}

#[test]
fn parameters_of_another_workload_are_refused() {
    let regn = Parameters::parse(find("regn").unwrap().descriptor(), [""; 0]).unwrap();
    let error = find("fib").unwrap().prepare(&regn, NonZeroUsize::MIN).err().unwrap();
    assert!(matches!(error, WorkloadError::NotDeclared { .. }), "{error}");
}

#[test]
fn a_row_is_found_by_what_its_table_calls_it() {
    let name = |text| find(text).unwrap().descriptor().name;
    assert_eq!(name("Simple syscall"), "lmbench/simple-syscall");
    assert_eq!(name("lmbench/simple-syscall"), "lmbench/simple-syscall");
    assert_eq!(name("simple-syscall"), "lmbench/simple-syscall");
    assert_eq!(name("add_double"), "aim9/add_double");
    assert_eq!(name("sieve"), "sieve", "corun's own comes first");
}

#[test]
fn every_row_says_what_it_is_a_row_of() {
    for suite in Suite::ALL {
        for workload in of_suite(suite) {
            let descriptor = workload.descriptor();
            let row = descriptor.row.unwrap();
            assert_eq!(row.suite, suite, "{}", descriptor.name);
            assert!(
                descriptor.name.starts_with(&format!("{}/", suite.name())),
                "{}",
                descriptor.name
            );
            assert!(row.credit > 0.0 && row.credit.is_finite(), "{}", descriptor.name);
            assert!(descriptor.tallies.len() <= MAX_TALLIES, "{}", descriptor.name);
        }
    }
}
