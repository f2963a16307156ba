//! Sums of the first numbers by Gauss's formula.

use std::num::NonZeroUsize;
use std::process::Command;

use corun_workload::{Job, Parameters, Program, find};

#[test]
fn regn_prints_the_sum() {
    for max in [1, 2, 1000] {
        let workload = find("regn").unwrap();
        if let Some(reason) = workload.unavailable() {
            return corun_testing::skip("regn_prints_the_sum", &reason);
        }
        let parameters = Parameters::parse(workload.descriptor(), [format!("max={max}")]).unwrap();
        let Ok(Job::Program(program)) = workload.prepare(&parameters, NonZeroUsize::MIN) else {
            panic!("regn is a program");
        };
        assert_eq!(program.operations, max);
        let size = program.size.expect("its loop can have any length");
        assert_eq!(
            (size.parameter, &program.argv[size.argument]),
            ("max", &max.to_string().into())
        );
        assert_eq!(output(&program), format!("{}\n", max * (max + 1) / 2));
    }
}

#[test]
fn the_regn_example_prints_the_sum() {
    if let Some(reason) = find("regn").unwrap().unavailable() {
        return corun_testing::skip("the_regn_example_prints_the_sum", &reason);
    }
    let example = corun_testing::repository().join("examples/regn.sh");
    let argv = vec![example.into_os_string(), "100".into()];
    assert_eq!(output(&Program { argv, operations: 100, size: None }), "5050\n");
}

fn output(program: &Program) -> String {
    let output = Command::new(&program.argv[0]).args(&program.argv[1..]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
