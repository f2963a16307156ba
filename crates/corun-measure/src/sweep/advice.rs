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

/// What is around the program: which tools have a use for a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
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
}

/// Programs whose presence says that a line is of use.
const TOOLS: [&str; 4] = ["numactl", "srun", "docker", "podman"];

/// The libraries that carry OpenMP.
const OPENMP_LIBRARIES: &str = r"lib(gomp|omp|iomp5)\.so";
/// The variable by which a program with OpenMP is told how many threads to use.
const OPENMP_VARIABLE: &str = "OMP_NUM_THREADS";
/// A larger executable is not searched.
const EXECUTABLE: InputKind = InputKind { name: "program", most: 64 << 20 };

impl Surroundings {
    /// Looks around on this machine, for a program with this environment.
    pub fn observe(
        machine: &Machine,
        environment: &[(OsString, OsString)],
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
        }
    }
}

/// Whether an executable names a library of OpenMP, as those do that are linked with one.
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
    surroundings: &Surroundings,
) -> Vec<Advice> {
    let plan = Plan::new(arm, grid, workload);
    let has = |name: &str| surroundings.programs.contains(name);
    let one = |tool: &str, line: Option<String>, fits: bool| {
        line.map(|line| Advice { tool: tool.to_owned(), line, fits })
    };
    [
        one("shell", plan.shell(), true),
        one("taskset", plan.taskset(), true),
        one("numactl", plan.numactl(), surroundings.numa_nodes > 1 && has("numactl")),
        one("OpenMP", plan.openmp(), surroundings.openmp),
        one("JVM", plan.jvm(), plan.is_java),
        one("Slurm", plan.slurm(), has("srun")),
        one("systemd", plan.systemd(), surroundings.systemd),
        one("Docker", plan.docker(), has("docker") || has("podman")),
        one("Kubernetes", plan.kubernetes(), surroundings.kubernetes),
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
    is_java: bool,
    is_mpi: bool,
}

impl<'a> Plan<'a> {
    fn new(arm: &'a Arm, grid: &'a Grid, workload: &Workload) -> Self {
        let workers = arm.workers.to_string();
        let argv: Vec<String> =
            workload.command.iter().map(|text| text.replace(WORKERS, &workers)).collect();
        let program = argv.first().map_or("", |it| it.rsplit('/').next().unwrap_or(it));
        Self {
            is_java: program == "java",
            is_mpi: ["mpirun", "mpiexec", "orterun", "prterun"].contains(&program),
            arm,
            grid,
            mode: workload.mode,
            argv,
        }
    }

    fn is_pinned(&self) -> bool {
        !self.arm.cpus.is_empty()
    }

    /// Whether no two workers share a core.
    fn is_one_a_core(&self) -> bool {
        matches!(self.arm.placement, Placement::Spread(_))
    }

    fn cpus(&self) -> String {
        self.arm.cpus.iter().copied().collect::<CpuSet>().to_string()
    }

    fn command(&self) -> Option<String> {
        (!self.argv.is_empty()).then(|| shell_words::join(&self.argv))
    }

    fn shell(&self) -> Option<String> {
        let command = self.command()?;
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
        Some(match self.mode {
            Mode::Copies if self.arm.workers > 1 => {
                let cpus: Vec<String> = self.arm.cpus.iter().map(u32::to_string).collect();
                format!("for cpu in {}; do taskset -c $cpu {command} & done; wait", cpus.join(" "))
            }
            _ => format!("taskset -c {} {command}", self.cpus()),
        })
    }

    fn numactl(&self) -> Option<String> {
        let command = self.command().filter(|_| self.is_pinned())?;
        (self.mode != Mode::Copies)
            .then(|| format!("numactl --physcpubind={} {command}", self.cpus()))
    }

    fn openmp(&self) -> Option<String> {
        let command = self.command().filter(|_| self.mode != Mode::Copies)?;
        let workers = self.arm.workers;
        let (places, bind) = match self.arm.placement {
            Placement::Free(_) => return Some(format!("OMP_NUM_THREADS={workers} {command}")),
            Placement::Spread(_) => ("cores", "spread"),
            Placement::Packed(_) => ("threads", "close"),
            _ => ("threads", "spread"),
        };
        Some(format!(
            "OMP_NUM_THREADS={workers} OMP_PLACES={places} OMP_PROC_BIND={bind} {command}"
        ))
    }

    fn jvm(&self) -> Option<String> {
        let option = format!("-XX:ActiveProcessorCount={}", self.arm.workers);
        let (program, rest) = self.argv.split_first().filter(|_| self.is_java)?;
        let argv = [std::slice::from_ref(program), &[option], rest].concat();
        let command = shell_words::join(argv);
        match self.is_pinned() {
            true => Some(format!("taskset -c {} {command}", self.cpus())),
            false => Some(command),
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
        let rest = if self.is_mpi { self.without_mpirun() } else { self.command()? };
        Some(format!("srun {tasks} {hint} {rest}"))
    }

    /// The program that mpirun starts: what follows its options, which have a value or none.
    fn without_mpirun(&self) -> String {
        let is_value = |text: &String| text.parse::<u32>().is_ok();
        let options = |text: &&String| text.starts_with('-') || is_value(text);
        let rest: Vec<&String> = self.argv.iter().skip(1).skip_while(options).collect();
        shell_words::join(rest)
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
