//! A controlled load: processes, their tasks, and what each task does when.
//!
//! Tasks follow a script by the clock, so that no other process has to direct them: a
//! director would need a CPU itself.

use serde::{Deserialize, Serialize};

/// A millisecond in the nanoseconds that all times here are given in.
pub const MS: u64 = 1_000_000;

/// Work may take so many times as long as all of it would on one CPU, as others may run there too.
const TIMEOUT: u64 = 8;

/// Processes that run at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// The processes, each in a session of its own.
    pub processes: Vec<Process>,
}

/// A process with its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The logical CPUs that all its tasks are pinned to; `None` leaves them free.
    pub cpus: Option<Vec<u32>>,
    /// The control group that it is in while it runs.
    pub group: Option<Group>,
    /// Tasks (threads).
    pub tasks: Vec<Task>,
}

/// A control group of version 2, made for one process and taken away after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The folder of the new group.
    pub folder: String,
    /// The group's `cpu.max`: microseconds of CPU time, and the period that they are for.
    pub cpu_max: [u64; 2],
}

/// A task: a thread and its script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// True if another task begins it, by [`ScriptStep::Begin`].
    pub is_begun_by_another: bool,
    /// Nice value.
    pub nice: i32,
    /// Steps of the task.
    pub steps: Vec<ScriptStep>,
}

/// One thing that a task does; times are nanoseconds from the common start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScriptStep {
    /// Lets itself run on these logical CPUs only.
    MayUse(Vec<u32>),
    /// Computes until then, and notes where.
    BusyUntil(u64),
    /// Computes until it has been given so much CPU time more, and notes where; not beyond the load's end.
    Work(u64),
    /// Sleeps until then, and notes where it was woken and how late.
    SleepUntil(u64),
    /// Sleeps for so long, and notes the same.
    SleepFor(u64),
    /// Begins another task of its process, by its place.
    Begin(usize),
}

impl Load {
    /// One process of these tasks.
    pub fn of(tasks: Vec<Task>) -> Self {
        Self { processes: vec![Process { tasks, ..Process::default() }] }
    }

    /// Holds every process on these logical CPUs.
    #[must_use]
    pub fn pinned_to(mut self, cpus: Option<&[u32]>) -> Self {
        for process in &mut self.processes {
            process.cpus = cpus.map(<[u32]>::to_vec);
        }
        self
    }

    /// True if it ends when its work is done, and not by the clock.
    pub fn has_work(&self) -> bool {
        self.processes.iter().flat_map(|it| &it.tasks).any(|task| task.work_ns() > 0)
    }

    /// When the last step ends that has a time, in nanoseconds from the common start; of work the latest
    /// that is waited for.
    pub fn length_ns(&self) -> u64 {
        self.processes.iter().map(Process::length_ns).max().unwrap_or(0)
    }
}

impl Process {
    /// As [`Load::length_ns`], of this process alone.
    pub fn length_ns(&self) -> u64 {
        let ends = self.tasks.iter().flat_map(|task| &task.steps).filter_map(|step| match step {
            ScriptStep::BusyUntil(end) | ScriptStep::SleepUntil(end) => Some(*end),
            ScriptStep::MayUse(_)
            | ScriptStep::SleepFor(_)
            | ScriptStep::Begin(_)
            | ScriptStep::Work(_) => None,
        });
        let work: u64 = self.tasks.iter().map(Task::work_ns).sum();
        ends.max().unwrap_or(0) + TIMEOUT * work
    }
}

impl Task {
    /// A task that follows these steps.
    pub fn new(steps: Vec<ScriptStep>) -> Self {
        Self { steps, ..Self::default() }
    }

    /// A task that computes from the common start until `end_ns`, and counts once it has settled.
    pub fn busy(settled_ns: u64, end_ns: u64) -> Self {
        let busy = [settled_ns, end_ns].map(ScriptStep::BusyUntil);
        Self::new([ScriptStep::SleepUntil(0)].into_iter().chain(busy).collect())
    }

    /// A task that begins at the common start and ends when it has been given so much CPU time.
    pub fn working(work_ns: u64) -> Self {
        Self::new(vec![ScriptStep::SleepUntil(0), ScriptStep::Work(work_ns)])
    }

    fn work_ns(&self) -> u64 {
        let work =
            |step: &ScriptStep| if let ScriptStep::Work(work_ns) = step { *work_ns } else { 0 };
        self.steps.iter().map(work).sum()
    }

    /// The task with a nice value.
    #[must_use]
    pub fn nice(self, nice: i32) -> Self {
        Self { nice, ..self }
    }
}
