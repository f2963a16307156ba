//! A built-in workload as a program of its own, for tools that look at a process from outside, such as a tracer.
//!
//! `corun measure` starts its workers as child processes and is itself idle meanwhile: who traces that sees nothing of the
//! kernel. The program here is a worker process alone, with a system call just before its work.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::time::Duration;

use corun_machine::Machine;
use corun_record::{Arm, Mode, Placement};
use corun_workload::{Descriptor, Job, Parameters};

use crate::cores::usable_cores;
use crate::execution::{
    Command, ExecutionError, Interrupt, KernelTask, LocalExecutor, STARTS_WORK, Task, Work,
    calibrate,
};
use crate::measurement::MeasureError;
use crate::request::RequestError;

/// The request for a workload as a program.
#[derive(Debug, Clone)]
pub struct StandaloneRequest {
    /// The workload's name.
    pub name: String,
    /// Parameters as typed, `name=value`.
    pub parameters: Vec<String>,
    /// Workers, which are threads; by default one, or two where one has nobody to work with.
    pub workers: Option<NonZeroU32>,
    /// Work of each worker.
    pub size: WorkSize,
}

/// Work of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkSize {
    /// So many of the workload's operations.
    Operations(u64),
    /// As many as take about that long on this machine, which is found by running them.
    Time(Duration),
}

/// A program that does a built-in workload's work and then ends.
///
/// A tracer is given `argv`, and counts instructions from the first system call `begins`:
///
/// ```ignore
/// let program = StandaloneWorkload::prepare(&request, &machine, interrupt)?;
/// let target = Target::find(&program.argv[0], &program.argv[1..])?;
/// let from = program.begins.map(|call| FromCall { call: SystemCall(call), warm_up: 0 });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandaloneWorkload {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The system call after which the work begins, by its number on this architecture; what lies before prepares it.
    /// `None` for a workload that is a program already, which works from its start.
    pub begins: Option<u64>,
    /// All parameters of the workload with their values.
    pub parameters: Vec<(String, String)>,
    /// Number of workers.
    pub workers: NonZeroU32,
    /// Summary of the program, as a sentence.
    pub summary: String,
}

impl StandaloneWorkload {
    /// Resolves a request; runs the workload where its number of operations follows from a time.
    ///
    /// # Errors
    /// If there is no such workload, if its parameters are invalid, or if it cannot be run here.
    pub fn prepare(
        request: &StandaloneRequest,
        machine: &Machine,
        interrupt: Interrupt,
    ) -> Result<Self, MeasureError> {
        let workload = corun_workload::find(&request.name).map_err(RequestError::from)?;
        let descriptor = workload.descriptor();
        let parameters = Parameters::parse(descriptor, &request.parameters);
        let parameters = parameters.map_err(RequestError::from)?;
        let workers = workers(descriptor, request.workers)?;
        let job = workload.prepare(&parameters, std::num::NonZeroUsize::MIN);
        let values = parameters.iter().map(|(name, value)| (name.to_owned(), value));
        let values: Vec<(String, String)> = values.collect();
        let (mut task, begins) = match job.map_err(RequestError::from)? {
            Job::Kernels(_) => {
                let task = Task::Kernel(KernelTask {
                    corun: std::env::current_exe().map_err(RequestError::OwnExecutable)?,
                    workload: descriptor.name.to_owned(),
                    parameters: values.clone(),
                    operations: descriptor.least_operations,
                    others: Default::default(),
                });
                (task, Some(STARTS_WORK))
            }
            Job::Program(program) => {
                let argument = program.size.map(|size| size.argument);
                (Task::Command(Command::of_workload(program.argv, argument)), None)
            }
        };
        let operations = match request.size {
            WorkSize::Operations(operations) => operations.max(descriptor.least_operations),
            WorkSize::Time(time) => {
                let executor = executor(descriptor, &task, machine, interrupt)?;
                fitting(executor, descriptor, workers, time)?
            }
        };
        let is_set = task.set_operations(operations);
        let summary = summary(descriptor, &values, workers, is_set.then_some(operations));
        let argv = task.standalone(workers.get());
        Ok(Self { argv, begins, parameters: values, workers, summary })
    }
}

/// True if the workers of a built-in workload work together, so that they are threads of one process; of an unknown one,
/// they do not.
pub fn works_together(workload: &str) -> bool {
    corun_workload::find(workload)
        .is_ok_and(|it| it.descriptor().default_mode == corun_workload::Mode::WorkersTotal)
}

/// The workers of a process.
fn workers(
    descriptor: &'static Descriptor,
    wanted: Option<NonZeroU32>,
) -> Result<NonZeroU32, RequestError> {
    const TWO: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);
    let (usual, may_be_several) = match descriptor.default_mode {
        corun_workload::Mode::Copies => (NonZeroU32::MIN, false),
        corun_workload::Mode::Workers => (NonZeroU32::MIN, true),
        corun_workload::Mode::WorkersTotal => (TWO, true),
    };
    match wanted {
        Some(several) if several > NonZeroU32::MIN && !may_be_several => {
            Err(RequestError::OneWorkerOnly { workload: descriptor.name, found: several.get() })
        }
        wanted => Ok(wanted.unwrap_or(usual)),
    }
}

fn executor(
    descriptor: &Descriptor,
    task: &Task,
    machine: &Machine,
    interrupt: Interrupt,
) -> Result<LocalExecutor, ExecutionError> {
    let mode = match descriptor.default_mode {
        corun_workload::Mode::Copies => Mode::Copies,
        corun_workload::Mode::Workers => Mode::WorkersPerWorker,
        corun_workload::Mode::WorkersTotal => Mode::WorkersTotal,
    };
    let (task, prepare) = (task.clone(), None);
    let work = Work { task, mode, steady: false, operations: 1.0, timeout: None, prepare };
    LocalExecutor::new(work, usable_cores(machine), interrupt, None)
}

/// As many operations as take about so long with the workers where the kernel of the system puts them.
fn fitting(
    mut executor: LocalExecutor,
    descriptor: &Descriptor,
    workers: NonZeroU32,
    time: Duration,
) -> Result<u64, ExecutionError> {
    let arm = Arm {
        id: "free".to_owned(),
        ..Arm::new(Placement::Free(Some(workers.get())), workers.get(), 0, Vec::new())
    };
    calibrate(
        &mut executor,
        &arm,
        time.as_secs_f64(),
        descriptor.least_operations,
        // As long as it takes: its user waits for one run.
        Duration::MAX,
    )
}

fn summary(
    descriptor: &Descriptor,
    parameters: &[(String, String)],
    workers: NonZeroU32,
    operations: Option<u64>,
) -> String {
    let set: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set = if set.is_empty() { String::new() } else { format!(" ({})", set.join(", ")) };
    let workers =
        if workers.get() == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
    let each = match descriptor.default_mode {
        corun_workload::Mode::WorkersTotal => "",
        _ => " each",
    };
    let counted = descriptor.counted;
    let work = operations.map_or(String::new(), |count| format!(", {count} {counted}{each}"));
    format!("The built-in workload {}{set}: {workers}{work}.", descriptor.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standalone(
        name: &str,
        parameters: &[&str],
        workers: u32,
    ) -> Result<StandaloneWorkload, MeasureError> {
        let request = StandaloneRequest {
            name: name.to_owned(),
            parameters: parameters.iter().map(|&it| it.to_owned()).collect(),
            workers: NonZeroU32::new(workers),
            size: WorkSize::Operations(5000),
        };
        let machine = Machine::read(std::path::Path::new("/")).unwrap();
        StandaloneWorkload::prepare(&request, &machine, Interrupt::new().unwrap().0)
    }

    #[test]
    fn a_kernel_is_a_worker_process_that_marks_where_its_work_begins() {
        let own = standalone("fib", &["granularity=32"], 3).unwrap();
        let words: Vec<_> = own.argv[1..].iter().map(|word| word.to_str().unwrap()).collect();
        let expected = [
            "kernel-worker",
            "--operations=5000",
            "--workers=3",
            "--threads=3",
            "fib",
            "variant=memory",
            "call=inline",
            "granularity=32",
        ];
        assert_eq!(words, expected);
        assert_eq!(own.begins, Some(STARTS_WORK));
        let expected = "The built-in workload fib (variant=memory, call=inline, granularity=32): 3 workers, \
                        5000 additions each.";
        assert_eq!(own.summary, expected);
    }

    #[test]
    fn workers_are_as_many_as_have_something_to_do() {
        assert!(standalone("ctxswitch", &[], 0).unwrap().summary.contains(": 2 workers, 5000"));
        assert!(standalone("fib", &[], 0).unwrap().summary.contains(": 1 worker, 5000"));
        let refused = standalone("hash", &[], 2).unwrap_err();
        assert!(refused.to_string().contains("expected one worker of `hash`"), "{refused}");
        assert!(standalone("no-such", &[], 1).is_err());
        assert!(standalone("fib", &["nothing=1"], 1).is_err());
    }
}
