//! Work of every arm: a command, or a built-in kernel in a process of corun's own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use corun_machine::CpuSet;
use corun_record::{Arm, Mode};
use regex::Regex;

use super::error::ExecutionError;
use super::process::{ExecImage, find_program};
use super::service::{CpuSplit, LoadCpus, Service, ServiceError};
use crate::cores::Core;

/// The text in a command that stands for the number of workers.
pub const WORKERS: &str = "{workers}";

/// The work, and the kind of its workers.
#[derive(Debug, Clone)]
pub struct Work {
    /// A command or a kernel.
    pub task: Task,
    /// Kind of the workers.
    pub mode: Mode,
    /// Start copies again until all have finished a counted window.
    pub steady: bool,
    /// Operations that one run of one worker does (of the whole process under a fixed total).
    pub operations: f64,
    /// The longest that one sample may take.
    pub timeout: Option<Duration>,
    /// A command that runs before each sample and is not timed.
    pub prepare: Option<Command>,
}

/// A command or a kernel.
#[derive(Debug, Clone)]
pub enum Task {
    /// Any program.
    Command(Command),
    /// A built-in workload's kernel.
    Kernel(KernelTask),
    /// A server and what asks it.
    Service(Box<Service>),
}

/// A program with everything around it.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments, `{workers}` not yet replaced.
    pub argv: Vec<OsString>,
    /// Whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory, if not corun's own.
    pub directory: Option<PathBuf>,
    /// A file for its standard input; nothing by default.
    pub input: Option<PathBuf>,
    /// The exit status that counts as success.
    pub expected_exit: i32,
    /// Pattern of its own throughput in its output: the last match of the only group.
    pub throughput: Option<Regex>,
    /// The argument that is its number of operations, as an index into `argv`, where it has one.
    pub operations_argument: Option<usize>,
}

/// A kernel of the registry.
#[derive(Debug, Clone)]
pub struct KernelTask {
    /// corun's own executable.
    pub corun: PathBuf,
    /// The workload's name.
    pub workload: String,
    /// Parameters, `name=value`.
    pub parameters: Vec<(String, String)>,
    /// Operations of one run of one worker.
    pub operations: u64,
    /// Work of workers on these logical CPUs instead, where the work is a mix.
    pub others: BTreeMap<u32, KernelTask>,
}

impl Task {
    /// Makes one run of one worker do so many operations; returns whether that can be set.
    pub(crate) fn set_operations(&mut self, operations: u64) -> bool {
        match self {
            Self::Kernel(kernel) => kernel.operations = operations,
            Self::Command(command) => {
                let argument = command.operations_argument.and_then(|at| command.argv.get_mut(at));
                let Some(argument) = argument else { return false };
                *argument = operations.to_string().into();
            }
            Self::Service(_) => return false,
        }
        true
    }

    /// The program that is run, where it is not a kernel: of a service the server.
    pub(crate) fn command(&self) -> Option<&Command> {
        match self {
            Self::Command(command) => Some(command),
            Self::Service(service) => Some(&service.server),
            Self::Kernel(_) => None,
        }
    }

    /// The command line by which it runs outside of an experiment, of a kernel with so many workers.
    pub(crate) fn standalone(self, workers: u32) -> Vec<OsString> {
        match self {
            Self::Kernel(kernel) => kernel.standalone(workers),
            Self::Command(command) => command.argv,
            Self::Service(service) => service.server.argv,
        }
    }

    /// The file to execute.
    ///
    /// # Errors
    /// If a command's name stands for none.
    pub(crate) fn program(&self) -> Result<PathBuf, ExecutionError> {
        match self {
            Self::Command(command) => command.program(),
            Self::Kernel(kernel) => Ok(kernel.corun.clone()),
            Self::Service(service) => service.server.program(),
        }
    }
}

impl Work {
    /// Processes that an arm starts.
    pub(crate) fn processes(&self, arm: &Arm) -> usize {
        if self.mode == Mode::Copies { arm.workers as usize } else { 1 }
    }

    /// Workers in each of these processes.
    pub(crate) fn threads(&self, arm: &Arm) -> usize {
        if self.mode == Mode::Copies { 1 } else { arm.workers as usize }
    }

    /// Divides the cores between a server and its load, which is given its CPUs; whatever else is run
    /// has all of them.
    ///
    /// # Errors
    /// If the CPUs wanted for the load cannot be used.
    pub fn divide(
        &mut self,
        cores: Vec<Core>,
        server_cores: Option<u32>,
    ) -> Result<CpuSplit, ServiceError> {
        let Task::Service(service) = &mut self.task else {
            return Ok(CpuSplit { server: cores, load: CpuSet::default(), caveat: None });
        };
        let named = Some(service.load_cpus.clone()).filter(|cpus| !cpus.is_empty());
        let split = LoadCpus { named, server_cores }.divide(cores)?;
        service.load_cpus = split.load.clone();
        Ok(split)
    }

    /// Operations that all workers of an arm do in one run of each.
    pub(crate) fn operations_of_all(&self, workers: u32) -> f64 {
        match self.mode {
            Mode::WorkersTotal | Mode::Service => self.operations,
            Mode::Copies | Mode::WorkersPerWorker => self.operations * f64::from(workers),
        }
    }
}

impl Command {
    /// A program that a built-in workload names, in corun's own environment; `operations_argument` is the one of `argv` that
    /// says how much it does.
    pub(crate) fn of_workload(argv: Vec<OsString>, operations_argument: Option<usize>) -> Self {
        Self {
            argv,
            environment: std::env::vars_os().collect(),
            directory: None,
            input: None,
            expected_exit: 0,
            throughput: None,
            operations_argument,
        }
    }

    /// The file that the command's name stands for; found once, used for every sample.
    pub(crate) fn program(&self) -> Result<PathBuf, ExecutionError> {
        let name = self.argv.first().cloned().unwrap_or_default();
        let search = self.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path);
        find_program(&name, search, self.directory.as_deref())
    }

    /// The image of `program` that every process of `arm` becomes.
    pub(crate) fn image(&self, program: &Path, arm: &Arm) -> Result<ExecImage, ExecutionError> {
        let argv = with_workers(&self.argv, arm.workers);
        let environment = environment_with_workers(&self.environment, arm.workers);
        ExecImage::new(program, &argv, &environment, self.directory.as_deref())
    }
}

impl KernelTask {
    /// Several kernels at once: neighbouring cores, and siblings, get different ones.
    ///
    /// # Panics
    /// If there is no kernel.
    pub(crate) fn mix(kernels: &[Self], cores: &[Core]) -> Self {
        let of_core = |(at, core): (usize, &Core)| {
            let cpus = core.cpus.iter().enumerate();
            cpus.map(move |(sibling, &cpu)| (cpu, (at + sibling) % kernels.len()))
                .collect::<Vec<_>>()
        };
        let of_cpus = cores.iter().enumerate().flat_map(of_core);
        let others = of_cpus.map(|(cpu, kernel)| (cpu, kernels[kernel].clone())).collect();
        Self { others, ..kernels[0].clone() }
    }

    /// Work of the worker on this logical CPU.
    pub(crate) fn on(&self, cpu: Option<&u32>) -> &Self {
        cpu.and_then(|cpu| self.others.get(cpu)).unwrap_or(self)
    }

    /// The command line of a process with all workers, which begin by themselves.
    fn standalone(self, workers: u32) -> Vec<OsString> {
        let own = [
            "kernel-worker".to_owned(),
            format!("--operations={}", self.operations),
            format!("--workers={workers}"),
            format!("--threads={workers}"),
            self.workload,
        ];
        let parameters = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let words = own.into_iter().chain(parameters).map(OsString::from);
        std::iter::once(self.corun.into_os_string()).chain(words).collect()
    }

    /// The image of process `process` of an arm: corun as a kernel worker.
    pub(crate) fn image(
        &self,
        arm: &Arm,
        process: usize,
        threads: usize,
        barrier: i32,
        steady: bool,
    ) -> Result<ExecImage, ExecutionError> {
        let first = process * threads;
        let kernel = self.on(arm.cpus.get(first));
        let cpus: Vec<String> = arm
            .cpus
            .get(first..first + threads)
            .unwrap_or_default()
            .iter()
            .map(u32::to_string)
            .collect();
        let mut argv: Vec<String> = vec![
            "corun".into(),
            "kernel-worker".into(),
            format!("--barrier={barrier}"),
            format!("--workers={}", arm.workers),
            format!("--first={first}"),
            format!("--threads={threads}"),
            format!("--cpus={}", cpus.join(",")),
            format!("--operations={}", kernel.operations),
        ];
        if steady {
            argv.push("--steady".into());
        }
        argv.push(kernel.workload.clone());
        for (name, value) in &kernel.parameters {
            let value = match &arm.variant {
                Some(variant) if variant.parameter == *name => &variant.value,
                _ => value,
            };
            argv.push(format!("{name}={value}"));
        }
        let argv: Vec<OsString> = argv.into_iter().map(OsString::from).collect();
        // Where workloads put their files and find programs; nothing else decides how a kernel works.
        let kept = ["TMPDIR", "PATH"];
        let kept =
            kept.map(|name| std::env::var_os(name).map(|value| (OsString::from(name), value)));
        let kept: Vec<_> = kept.into_iter().flatten().collect();
        ExecImage::new(&self.corun, &argv, &kept, None)
    }
}

/// True if an argument of a command, or a variable of its environment, holds its number of workers.
pub fn names_workers(argv: &[OsString], environment: &[(OsString, OsString)]) -> bool {
    let values = environment.iter().map(|(_, value)| value);
    let mut texts = argv.iter().skip(1).chain(values);
    texts.any(|text| find(text.as_bytes(), WORKERS.as_bytes()).is_some())
}

/// The command line of so many workers: their number in place of each `{workers}` of the arguments.
pub fn with_workers(argv: &[OsString], workers: u32) -> Vec<OsString> {
    let arguments = argv.iter().skip(1);
    let replaced = arguments.map(|text| replace(text, WORKERS, &workers.to_string()));
    argv.iter().take(1).cloned().chain(replaced).collect()
}

/// The environment of so many workers: their number in place of each `{workers}` of the values.
pub fn environment_with_workers(
    environment: &[(OsString, OsString)],
    workers: u32,
) -> Vec<(OsString, OsString)> {
    let workers = workers.to_string();
    let variable =
        |(name, value): &(OsString, OsString)| (name.clone(), replace(value, WORKERS, &workers));
    environment.iter().map(variable).collect()
}

/// Replaces every occurrence in a text that need not be UTF-8.
fn replace(text: &OsStr, what: &str, by: &str) -> OsString {
    let mut rest = text.as_bytes();
    let mut replaced = Vec::with_capacity(rest.len());
    while let Some(position) = find(rest, what.as_bytes()) {
        replaced.extend_from_slice(&rest[..position]);
        replaced.extend_from_slice(by.as_bytes());
        rest = &rest[position + what.len()..];
    }
    replaced.extend_from_slice(rest);
    OsString::from_vec(replaced)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_and_neighbours_of_a_mix_run_different_kernels() {
        let kernel = |workload: &str| KernelTask {
            corun: PathBuf::new(),
            workload: workload.to_owned(),
            parameters: Vec::new(),
            operations: 1,
            others: BTreeMap::new(),
        };
        let core = |cpus: [u32; 2]| Core {
            cpus: cpus.to_vec(),
            online_siblings: cpus.to_vec(),
            core_type: None,
            numa_node: None,
        };
        let mix = KernelTask::mix(&[kernel("a"), kernel("b")], &[core([0, 2]), core([1, 3])]);
        let on = |cpu: u32| mix.on(Some(&cpu)).workload.clone();
        assert_eq!([0, 2, 1, 3].map(on), ["a", "b", "b", "a"]);
        assert_eq!(mix.on(None).workload, "a");
    }

    #[test]
    fn workers_are_named_wherever_the_text_stands() {
        let argv = ["run", "-t{workers}", "{workers}x{workers}", "plain"].map(OsString::from);
        assert!(names_workers(&argv, &[]));
        assert_eq!(with_workers(&argv, 12), ["run", "-t12", "12x12", "plain"].map(OsString::from));
    }

    #[test]
    fn other_braces_go_through_as_given() {
        let argv = ["awk", "{print $1}", "{worker}", ""].map(OsString::from);
        assert!(!names_workers(&argv, &[]));
        let variable = ("OMP_NUM_THREADS".into(), WORKERS.into());
        assert!(names_workers(&argv, &[variable]));
        assert_eq!(with_workers(&argv, 3), argv);
    }
}
