//! Prepares a workload, says how that went, and keeps it until standard input ends:
//! `prepare NAME [PARAMETER=VALUE...]`. Tests start it under limits, and kill it. Where the variable
//! OPERATIONS is set, it runs so many of them instead; tests count its system calls. WORKERS is the
//! number of workers, 1 unless set.

use std::io::Read;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use corun_record::Actionable;
use corun_workload::{Job, Parameters, WorkloadError, find};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, parameters)) = arguments.split_first() else { return ExitCode::from(2) };
    match prepare(name, parameters) {
        Ok(job) => {
            if let Some(operations) =
                std::env::var("OPERATIONS").ok().and_then(|it| it.parse().ok())
            {
                return run(job, operations);
            }
            println!("prepared");
            let ended = std::io::stdin().read_to_end(&mut Vec::new());
            ended.map_or(ExitCode::FAILURE, |_| ExitCode::SUCCESS)
        }
        Err(error) => reported(&error),
    }
}

fn reported(error: &WorkloadError) -> ExitCode {
    println!("{error}\n  {}", error.next_step());
    ExitCode::from(error.exit() as u8)
}

fn run(job: Job, operations: u64) -> ExitCode {
    let Job::Kernels(mut kernels) = job else { return ExitCode::from(2) };
    kernels[0].reset();
    kernels[0].run(operations);
    kernels[0].failure().map_or(ExitCode::SUCCESS, |error| reported(&error))
}

fn prepare(name: &str, parameters: &[String]) -> Result<Job, WorkloadError> {
    let workload = find(name)?;
    let parameters = Parameters::parse(workload.descriptor(), parameters)?;
    let workers = std::env::var("WORKERS").ok().and_then(|it| it.parse().ok());
    workload.prepare(&parameters, workers.unwrap_or(NonZeroUsize::MIN))
}
