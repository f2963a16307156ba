//! The bash loop of an operating-systems lecture: interpreter work of a fixed length.
//!
//! It runs the real bash, since what sharing a core does to an interpreter is the point; the same
//! loop lies in the repository's `examples/regn.sh`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::{
    Descriptor, Domain, Job, Parameter, Parameters, Program, ProgramSize, Tag, Workload,
    WorkloadError,
};

pub(super) static WORKLOAD: Workload = Workload { descriptor: &ABOUT, unavailable, prepare };

static ABOUT: Descriptor = Descriptor {
    name: "regn",
    summary: "a bash loop that adds up the numbers from 1 to max",
    tags: &[Tag::Interpreter],
    parameters: &[MAX],
    operation: "a loop iteration",
    counted: "iterations",
    ..Descriptor::PLAIN
};

/// Up to the largest value whose sum bash's signed 64-bit arithmetic holds.
const MAX: Parameter = Parameter {
    name: "max",
    summary: "the last number to add",
    default: "300000",
    domain: Domain::Count { unit: "iterations", least: 1, most: u32::MAX as u64 },
};

/// Prints the sum of the numbers from 1 to its argument, once.
const SCRIPT: &str = "\
max=${1:-300000}
sum=0
for ((i = 1; i <= max; i++)); do
    ((sum += i))
done
echo \"$sum\"
";

fn unavailable() -> Option<String> {
    bash().err()
}

fn prepare(parameters: &Parameters, _: NonZeroUsize) -> Result<Job, WorkloadError> {
    let max = parameters.number(&MAX)?;
    let bash =
        bash().map_err(|reason| WorkloadError::Unavailable { workload: ABOUT.name, reason })?;
    let argv: Vec<OsString> =
        vec![bash.into(), "-c".into(), SCRIPT.into(), ABOUT.name.into(), max.to_string().into()];
    let size = ProgramSize { parameter: MAX.name, argument: argv.len() - 1 };
    Ok(Job::Program(Program { argv, operations: max, size: Some(size) }))
}

/// The bash that `PATH` leads to, or why there is none.
fn bash() -> Result<PathBuf, String> {
    which::which("bash").map_err(|_| "there is no `bash` on PATH".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_the_same_loop() {
        let example = corun_testing::repository().join("examples/regn.sh");
        let text = std::fs::read_to_string(example).unwrap();
        assert!(text.ends_with(SCRIPT), "{text}");
    }
}
