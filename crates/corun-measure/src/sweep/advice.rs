//! Lines to copy that put an answer into effect: one for each tool that can pin a program or tell it how many
//! threads to use.
//!
//! The options are those of taskset(1), numactl(8), OpenMP 5.2 (6.2 to 6.5), srun(1), systemd.exec(5),
//! docker-run(1), Kubernetes' CPU manager and java(1).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use corun_files::InputKind;
use corun_machine::{CpuSet, Machine};
use corun_record::{Advice, Arm, Mode, Placement, Workload};
use regex::bytes::Regex;

use super::grid::Grid;
use crate::execution::WORKERS;
use crate::request::WorkRequest;

/// Context of the program: which tools have a use for a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessContext {
    /// Names of the programs in question that the search path has.
    pub programs: BTreeSet<String>,
    /// NUMA nodes with CPUs.
    pub numa_nodes: usize,
    /// systemd runs this machine.
    pub systemd: bool,
    /// This is a pod.
    pub kubernetes: bool,
    /// The program uses OpenMP.
    pub openmp: bool,
    /// Variables that the program was given, `{workers}` not yet replaced.
    pub variables: Vec<(String, String)>,
}

/// Programs whose presence says that a line is of use.
const TOOLS: [&str; 4] = ["numactl", "srun", "docker", "podman"];

/// The libraries that carry OpenMP.
const OPENMP_LIBRARIES: &str = r"lib(gomp|omp|iomp5)\.so";
/// The variable by which a program with OpenMP is told how many threads to use.
const OPENMP_VARIABLE: &str = "OMP_NUM_THREADS";
/// A larger executable is not searched.
const EXECUTABLE: InputKind = InputKind { name: "program", most: 64 << 20 };

impl ProcessContext {
    /// Looks around on this machine, for a program with this environment.
    pub fn observe(
        machine: &Machine,
        environment: &[(OsString, OsString)],
        variables: &[(String, String)],
        work: &WorkRequest,
    ) -> Self {
        let of = |wanted: &str| environment.iter().find(|(name, _)| name == wanted);
        let folders: Vec<PathBuf> = of("PATH")
            .map(|(_, folders)| std::env::split_paths(folders).collect())
            .unwrap_or_default();
        let find = |name: &OsStr| folders.iter().map(|it| it.join(name)).find(|it| it.is_file());
        let argv = match work {
            WorkRequest::Command(command) => command.argv.as_slice(),
            WorkRequest::Service(_) | WorkRequest::Workload { .. } => &[],
        };
        let mentions = |text: &OsString| text.to_string_lossy().contains(OPENMP_VARIABLE);
        let program = argv.first().and_then(|name| {
            let path = PathBuf::from(name);
            if path.components().count() > 1 { Some(path) } else { find(name) }
        });
        let is_there = |name: &&&str| find(OsStr::new(name)).is_some();
        Self {
            programs: TOOLS.iter().filter(is_there).map(|&name| name.to_owned()).collect(),
            numa_nodes: machine.numa_nodes.len(),
            systemd: Path::new("/run/systemd/system").is_dir(),
            kubernetes: of("KUBERNETES_SERVICE_HOST").is_some(),
            openmp: of(OPENMP_VARIABLE).is_some()
                || argv.iter().any(mentions)
                || program.is_some_and(|path| links_openmp(&path)),
            variables: variables.to_vec(),
        }
    }
}

/// True if an executable names a library of OpenMP, as those do that are linked with one.
fn links_openmp(program: &Path) -> bool {
    let Ok(pattern) = Regex::new(OPENMP_LIBRARIES) else { return false };
    corun_files::bytes(program, EXECUTABLE)
        .is_ok_and(|bytes| bytes.starts_with(b"\x7fELF") && pattern.is_match(&bytes))
}

/// The lines for an arm, those of most use first.
pub(crate) fn lines(
    arm: &Arm,
    grid: &Grid,
    workload: &Workload,
    context: &ProcessContext,
) -> Vec<Advice> {
    let plan = Plan::new(arm, grid, workload, &context.variables);
    let has = |name: &str| context.programs.contains(name);
    let one = |tool: &str, line: Option<String>, fits: bool| {
        line.map(|line| Advice { tool: tool.to_owned(), line, fits })
    };
    [
        one("shell", plan.shell(), true),
        one("taskset", plan.taskset(), true),
        one("numactl", plan.numactl(), context.numa_nodes > 1 && has("numactl")),
        one("OpenMP", plan.openmp(), context.openmp),
        one("JVM", plan.jvm(), plan.is_java),
        one("Slurm", plan.slurm(), has("srun")),
        one("systemd", plan.systemd(), context.systemd),
        one("Docker", plan.docker(), has("docker") || has("podman")),
        one("Kubernetes", plan.kubernetes(), context.kubernetes),
    ]
    .into_iter()
    .flatten()
    .collect()
}

struct Plan<'a> {
    arm: &'a Arm,
    grid: &'a Grid,
    mode: Mode,
    /// The command with its number of workers.
    argv: Vec<String>,
    /// Variables with that number, as a shell takes them before a command.
    variables: Vec<(String, String)>,
    is_java: bool,
    is_mpi: bool,
}

impl<'a> Plan<'a> {
    fn new(
        arm: &'a Arm,
        grid: &'a Grid,
        workload: &Workload,
        variables: &[(String, String)],
    ) -> Self {
        let workers = arm.workers.to_string();
        let told =
            |(name, value): &(String, String)| (name.clone(), value.replace(WORKERS, &workers));
        let argv: Vec<String> =
            workload.command.iter().map(|text| text.replace(WORKERS, &workers)).collect();
        let program = argv.first().map_or("", |it| it.rsplit('/').next().unwrap_or(it));
        Self {
            is_java: program == "java",
            is_mpi: ["mpirun", "mpiexec", "orterun", "prterun"].contains(&program),
            arm,
            grid,
            mode: workload.mode,
            variables: variables.iter().map(told).collect(),
            argv,
        }
    }

    fn is_pinned(&self) -> bool {
        !self.arm.cpus.is_empty()
    }

    /// True if no two workers share a core.
    fn is_one_a_core(&self) -> bool {
        matches!(self.arm.placement, Placement::Spread(_))
    }

    fn cpus(&self) -> String {
        self.arm.cpus.iter().copied().collect::<CpuSet>().to_string()
    }

    fn command(&self) -> Option<String> {
        (!self.argv.is_empty()).then(|| shell_words::join(&self.argv))
    }

    /// The assignments that stand before a command, those of OpenMP left out where the line has its own.
    fn assignments(&self, has_openmp: bool) -> String {
        let is_meant = |name: &str| !(has_openmp && name.starts_with("OMP_"));
        let meant = self.variables.iter().filter(|(name, _)| is_meant(name));
        meant.map(|(name, value)| format!("{name}={} ", shell_words::quote(value))).collect()
    }

    fn shell(&self) -> Option<String> {
        let command = format!("{}{}", self.assignments(false), self.command()?);
        match (self.mode, self.is_pinned()) {
            (_, true) => None,
            (Mode::Copies, false) if self.arm.workers > 1 => {
                Some(format!("for copy in $(seq {}); do {command} & done; wait", self.arm.workers))
            }
            (_, false) => Some(command),
        }
    }

    fn taskset(&self) -> Option<String> {
        let command = self.command().filter(|_| self.is_pinned())?;
        let variables = self.assignments(false);
        Some(match self.mode {
            Mode::Copies if self.arm.workers > 1 => {
                let cpus: Vec<String> = self.arm.cpus.iter().map(u32::to_string).collect();
                let cpus = cpus.join(" ");
                format!("for cpu in {cpus}; do {variables}taskset -c $cpu {command} & done; wait")
            }
            _ => format!("{variables}taskset -c {} {command}", self.cpus()),
        })
    }

    fn numactl(&self) -> Option<String> {
        let command = self.command().filter(|_| self.is_pinned() && self.mode != Mode::Copies)?;
        let variables = self.assignments(false);
        Some(format!("{variables}numactl --physcpubind={} {command}", self.cpus()))
    }

    /// Places are whole cores where all of them are used, and else the logical CPUs themselves.
    fn openmp(&self) -> Option<String> {
        let is_one_process = self.mode != Mode::Copies && !self.is_mpi;
        let command = self.command().filter(|_| is_one_process)?;
        let variables = self.assignments(true);
        let workers = self.arm.workers;
        let place = match self.arm.placement {
            Placement::Free(_) => String::new(),
            Placement::Spread(_) if self.arm.cores == self.grid.cores() => {
                "OMP_PLACES=cores OMP_PROC_BIND=spread ".to_owned()
            }
            Placement::Full(_) => "OMP_PLACES=threads OMP_PROC_BIND=close ".to_owned(),
            _ => {
                let places: Vec<String> =
                    self.arm.cpus.iter().map(|cpu| format!("{{{cpu}}}")).collect();
                format!("OMP_PLACES='{}' OMP_PROC_BIND=close ", places.join(","))
            }
        };
        Some(format!("{variables}OMP_NUM_THREADS={workers} {place}{command}"))
    }

    fn jvm(&self) -> Option<String> {
        let is_meant = self.is_java && self.mode != Mode::Copies;
        let (program, rest) = self.argv.split_first().filter(|_| is_meant)?;
        let option = format!("-XX:ActiveProcessorCount={}", self.arm.workers);
        let argv = [std::slice::from_ref(program), &[option], rest].concat();
        let command = shell_words::join(argv);
        let variables = self.assignments(false);
        match self.is_pinned() {
            true => Some(format!("{variables}taskset -c {} {command}", self.cpus())),
            false => Some(format!("{variables}{command}")),
        }
    }

    fn slurm(&self) -> Option<String> {
        let (workers, width) = (self.arm.workers, self.grid.smt_width());
        let tasks = match (self.mode, self.is_mpi) {
            (Mode::Copies, _) | (_, true) => format!("--ntasks={workers}"),
            _ => format!("--ntasks=1 --cpus-per-task={workers}"),
        };
        let hint = match self.is_one_a_core() {
            true => "--hint=nomultithread".to_owned(),
            false => format!("--threads-per-core={width}"),
        };
        // What of mpirun's line is the program, and what an option, only mpirun knows.
        let rest = if self.is_mpi { "PROGRAM".to_owned() } else { self.command()? };
        Some(format!("{}srun {tasks} {hint} {rest}", self.assignments(false)))
    }

    fn systemd(&self) -> Option<String> {
        self.is_pinned().then(|| format!("CPUAffinity={}", self.cpus()))
    }

    fn docker(&self) -> Option<String> {
        Some(match self.is_pinned() {
            true => format!("docker run --cpuset-cpus={} IMAGE", self.cpus()),
            false => format!("docker run --cpus={} IMAGE", self.arm.workers.min(self.grid.cpus())),
        })
    }

    /// Whole cores for a container of the Guaranteed class, so that no other one runs on the siblings.
    fn kubernetes(&self) -> Option<String> {
        let cpus = match self.is_one_a_core() {
            true => self.arm.workers * self.grid.smt_width(),
            false => self.arm.workers,
        };
        self.is_pinned().then(|| {
            format!("cpuManagerPolicyOptions: {{full-pcpus-only: \"true\"}}, and resources.limits.cpu: \"{cpus}\"")
        })
    }
}
