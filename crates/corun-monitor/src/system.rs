//! The live system, or a captured one, read from `/proc`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use corun_machine::evidence::CpuTimes;
use corun_machine::{Machine, RootFiles};
use corun_record::{Activity, CoreActivity, CpuActivity, YieldRange, YieldSource};

use crate::capacity::capacity_use;
use crate::{MonitorError, Source, Tasks};

/// What is read, and how much it may cost.
#[derive(Debug, Clone)]
pub struct Options {
    /// The root below which `/proc` and `/sys` lie.
    pub root: PathBuf,
    /// Which tasks are read.
    pub tasks: Tasks,
    /// Whether every switch of a task is recorded where this is permitted and cheap enough.
    pub exact: bool,
    /// The yields for the capacity; any from 1 to the SMT width if there are none.
    pub yields: Option<YieldRange>,
}

impl Default for Options {
    fn default() -> Self {
        Self { root: PathBuf::from("/"), tasks: Tasks::default(), exact: true, yields: None }
    }
}

/// The system below a root.
#[derive(Debug)]
pub struct System {
    options: Options,
    machine: Machine,
    files: RootFiles,
    before: CpuTimes,
}

impl System {
    /// Opens the system and takes the first reading.
    ///
    /// # Errors
    /// If the machine or `/proc/stat` cannot be read.
    pub fn open(options: Options) -> Result<Self, MonitorError> {
        let machine = Machine::read(&options.root)?;
        let mut files =
            RootFiles::open(&options.root).map_err(|error| unreadable(&options.root, &error))?;
        let before = times(&mut files)?;
        Ok(Self { options, machine, files, before })
    }

    /// The machine, as it was when the system was opened.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }
}

impl Source for System {
    fn next(&mut self, wait: Duration) -> Result<Activity, MonitorError> {
        std::thread::sleep(wait);
        let after = times(&mut self.files)?;
        let width = self.machine.cores.iter().map(|core| core.smt_width).max().unwrap_or(1);
        let any = YieldRange { low: 1.0, high: f64::from(width), source: YieldSource::Any };
        let cores: Vec<CoreActivity> = self
            .machine
            .cores
            .iter()
            .map(|core| {
                let cpus: Vec<CpuActivity> = core
                    .cpus
                    .iter()
                    .filter_map(|cpu| {
                        let since = after.since(&self.before, cpu)?;
                        let user = (since.busy_s / wait.as_secs_f64()).clamp(0.0, 1.0);
                        Some(CpuActivity { cpu, user, idle: 1.0 - user, ..CpuActivity::default() })
                    })
                    .collect();
                let busiest = cpus.iter().map(CpuActivity::busy).fold(0.0, f64::max);
                let mut busy_siblings = vec![0.0; cpus.len() + 1];
                busy_siblings[0] = 1.0 - busiest;
                if let Some(one) = busy_siblings.get_mut(1) {
                    *one = busiest;
                }
                CoreActivity { core: core.id, package: core.package, cpus, busy_siblings }
            })
            .filter(|core| !core.cpus.is_empty())
            .collect();
        self.before = after;
        Ok(Activity {
            interval_s: wait.as_secs_f64(),
            capacity: capacity_use(&cores, self.options.yields.unwrap_or(any)),
            cores,
            ..Activity::default()
        })
    }
}

fn times(files: &mut RootFiles) -> Result<CpuTimes, MonitorError> {
    CpuTimes::read(files).ok_or_else(|| MonitorError::Unreadable {
        file: "/proc/stat".to_owned(),
        found: "nothing that can be read".to_owned(),
    })
}

fn unreadable(root: &Path, error: &std::io::Error) -> MonitorError {
    MonitorError::Unreadable { file: root.display().to_string(), found: error.to_string() }
}
