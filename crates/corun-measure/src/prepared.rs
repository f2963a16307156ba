//! Work that is resolved on this machine and ready to run, for who chooses the arms: sweeps and capacity curves.

use std::time::Duration;

use corun_machine::Machine;
use corun_record::{Arm, Caveat, Mode, Placement, Workload};

use crate::cores::{Core, core_types, usable_cores};
use crate::execution::{
    ExecutionError, Interrupt, KernelTask, LocalExecutor, Task, Work, calibrate,
};
use crate::initial_state::InitialState;
use crate::layout::LayoutError;
use crate::measurement::MeasureError;
use crate::request::{Request, RequestError, WorkRequest};

/// Work with the cores that it may use, and what runs it.
pub struct PreparedWork {
    /// The cores, those that were idlest first.
    pub cores: Vec<Core>,
    /// The work.
    pub workload: Workload,
    /// Executor of the work.
    pub executor: LocalExecutor,
    /// Limits of trust before anything has run.
    pub caveats: Vec<Caveat>,
    /// Time that a run should take, where its size can follow, and the fewest operations of a worker.
    pub(crate) sample_time: Option<(Duration, u64)>,
}

impl PreparedWork {
    /// Resolves the work of a request, whose placements and blocks are not used; nothing is run yet.
    ///
    /// # Errors
    /// If the request is not valid, or there is no CPU to use.
    pub fn new(
        request: &Request,
        machine: &Machine,
        interrupt: Interrupt,
    ) -> Result<Self, MeasureError> {
        Self::in_state(&InitialState::observe(), request, machine, interrupt)
    }

    fn in_state(
        initial_state: &InitialState,
        request: &Request,
        machine: &Machine,
        interrupt: Interrupt,
    ) -> Result<Self, MeasureError> {
        let mut resolved = request.resolve()?;
        let mut cores = initial_state.idlest_first(usable_cores(machine));
        if let Some(wanted) = &request.core_type {
            let known = core_types(&cores);
            cores.retain(|core| core.core_type.as_ref() == Some(wanted));
            if cores.is_empty() {
                return Err(LayoutError::unknown_core_type(wanted, &known).into());
            }
        }
        let (mut cores, divided) = resolved.divide(cores, request.cores)?;
        if let Some(most) = request.cores {
            cores.truncate(most as usize);
        }
        if cores.is_empty() {
            return Err(LayoutError::NoCpu.into());
        }
        Ok(Self {
            executor: LocalExecutor::new(resolved.work, cores.clone(), interrupt, None)?,
            workload: resolved.description,
            caveats: initial_state.caveats().into_iter().chain(divided).collect(),
            sample_time: resolved.sample_time.map(|time| (time, resolved.least_operations)),
            cores,
        })
    }

    /// Several built-in workloads at once, a process a worker: the worker on a logical CPU always runs the same one, and
    /// siblings run different ones. A run of each takes as long as that of any other where it is alone.
    ///
    /// # Errors
    /// If one of them is unknown, is a program of its own or needs several workers, or there is no CPU to use.
    pub fn of_mix(
        names: &[String],
        request: &Request,
        machine: &Machine,
        interrupt: &Interrupt,
    ) -> Result<Self, MeasureError> {
        let initial_state = InitialState::observe();
        let again = || {
            let failed = |error| ExecutionError::System("listen for an interruption", error);
            interrupt.again().map_err(failed)
        };
        let mut kernels: Vec<KernelTask> = Vec::new();
        let mut first = None;
        for name in names {
            let request = with_workload(request, name);
            let mut member = Self::in_state(&initial_state, &request, machine, again()?)?;
            if !matches!(member.executor.task(), Task::Kernel(_)) {
                return Err(RequestError::NotMixed(name.clone()).into());
            }
            member.calibrate(&alone(&member.cores), request.max_time / 8)?;
            if let Task::Kernel(kernel) = member.executor.task() {
                kernels.push(kernel.clone());
            }
            first.get_or_insert((member.cores, member.workload, member.caveats));
        }
        let (cores, workload, caveats) = first.ok_or(LayoutError::NoWorker)?;
        let work = Work {
            task: Task::Kernel(KernelTask::mix(&kernels, &cores)),
            mode: Mode::Copies,
            steady: true,
            operations: 1.0,
            timeout: request.timeout,
            prepare: request.prepare.clone(),
        };
        let workload = Workload {
            name: names.join(" + "),
            parameters: Default::default(),
            operation: "runs".to_owned(),
            operations: 1.0,
            ..workload
        };
        let executor = LocalExecutor::new(work, cores.clone(), again()?, None)?;
        Ok(Self { cores, workload, executor, caveats, sample_time: None })
    }

    /// Finds how many operations of a worker take the time wanted, where that can be chosen.
    ///
    /// # Errors
    /// If the arm cannot be run.
    pub fn calibrate(&mut self, arm: &Arm, deadline: Duration) -> Result<(), ExecutionError> {
        if let Some((time, least)) = self.sample_time {
            calibrate(&mut self.executor, arm, time.as_secs_f64(), least, deadline)?;
            self.workload.operations = self.executor.operations();
        }
        Ok(())
    }
}

/// The request for one workload of a mix.
fn with_workload(request: &Request, name: &str) -> Request {
    let sample_time = match &request.work {
        WorkRequest::Workload { sample_time, .. } => *sample_time,
        WorkRequest::Command(_) | WorkRequest::Service(_) => Duration::from_millis(200),
    };
    Request {
        work: WorkRequest::Workload {
            name: name.to_owned(),
            parameters: Vec::new(),
            copies: true,
            sample_time,
            sizes_programs: false,
        },
        steady: true,
        ..request.clone()
    }
}

/// One worker on the first core.
fn alone(cores: &[Core]) -> Arm {
    let first = &cores[0];
    Arm {
        idle_siblings: first
            .online_siblings
            .iter()
            .copied()
            .filter(|it| *it != first.cpus[0])
            .collect(),
        ..Arm::new(Placement::Single, 1, 1, first.cpus[..1].to_vec())
    }
}
