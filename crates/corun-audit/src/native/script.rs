//! A task of a load: a thread that follows its script and notes where it runs.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

use corun_machine::kernel_clock::{cpu_time_ns, now_ns, sleep_until, this_cpu};
use corun_machine::{Affinity, CpuSet};

use crate::load::{Process, ScriptStep, Task};
use crate::timeline::{TaskLog, Wake};

/// Number of times that a working task notes where it is for each time that it asks the kernel how much it has done.
const LOOKS: u32 = 100;

/// The tasks of a process while they run.
pub(super) struct ScriptRunner<'a> {
    tasks: &'a [Task],
    length_ns: u64,
    start_ns: u64,
    logs: Mutex<Vec<TaskLog>>,
    refusal: Mutex<Option<String>>,
}

impl<'a> ScriptRunner<'a> {
    pub(super) fn new(process: &'a Process, start_ns: u64) -> Self {
        let (tasks, length_ns) = (&process.tasks[..], process.length_ns());
        let logs = Mutex::new(vec![TaskLog::default(); tasks.len()]);
        Self { tasks, length_ns, start_ns, logs, refusal: Mutex::default() }
    }

    /// Runs all tasks to their ends; what they noted.
    ///
    /// # Errors
    /// First refusal of the system, with its task.
    pub(super) fn perform(self) -> Result<Vec<TaskLog>, String> {
        thread::scope(|scope| {
            for (place, task) in self.tasks.iter().enumerate() {
                if !task.is_begun_by_another {
                    self.begin(scope, place);
                }
            }
        });
        match self.refusal.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(refusal) => Err(refusal),
            None => Ok(self.logs.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn begin<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, place: usize) {
        let Some(task) = self.tasks.get(place) else { return };
        let follow = move || match self.follow(scope, task) {
            Ok(log) => {
                let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
                logs[place] = log;
            }
            Err(refusal) => self.refuse(refusal),
        };
        if let Err(error) = thread::Builder::new().spawn_scoped(scope, follow) {
            self.refuse(format!("the system refuses another thread: {error}"));
        }
    }

    fn refuse(&self, refusal: String) {
        let mut first = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(refusal);
    }

    fn follow<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        task: &Task,
    ) -> Result<TaskLog, String> {
        let mut log = TaskLog::default();
        log.see(self.now_ns(), this_cpu());
        let cpu_at_birth_ns = cpu_time_ns();
        be_punctual();
        if task.nice != 0 {
            be_nice(task.nice)?;
        }
        for step in &task.steps {
            // A machine too slow for the load leaves out what comes after its end.
            if self.length_ns > 0 && self.now_ns() >= self.length_ns {
                break;
            }
            match step {
                ScriptStep::MayUse(cpus) => {
                    keep_to(cpus)?;
                    log.see(self.now_ns(), this_cpu());
                }
                ScriptStep::BusyUntil(end_ns) => loop {
                    let now_ns = self.now_ns();
                    log.see(now_ns, this_cpu());
                    if now_ns >= *end_ns {
                        break;
                    }
                },
                ScriptStep::Work(work_ns) => {
                    let done_ns = cpu_time_ns() + work_ns;
                    while cpu_time_ns() < done_ns && self.now_ns() < self.length_ns {
                        for _ in 0..LOOKS {
                            log.see(self.now_ns(), this_cpu());
                        }
                    }
                }
                ScriptStep::SleepUntil(due_ns) => self.sleep(*due_ns, &mut log),
                ScriptStep::SleepFor(length_ns) => self.sleep(self.now_ns() + length_ns, &mut log),
                ScriptStep::Begin(place) => self.begin(scope, *place),
            }
            log.steps_ended_ns.push(self.now_ns());
            log.cpu_at_steps_ns.push(cpu_time_ns() - cpu_at_birth_ns);
        }
        Ok(log)
    }

    fn sleep(&self, due_ns: u64, log: &mut TaskLog) {
        let from_cpu = this_cpu();
        let is_late = self.now_ns() >= due_ns;
        sleep_until(self.start_ns + due_ns);
        let (ran_ns, to_cpu) = (self.now_ns(), this_cpu());
        log.see(ran_ns, to_cpu);
        if !is_late {
            log.wakes.push(Wake { from_cpu, to_cpu, due_ns, ran_ns });
        }
    }

    /// Nanoseconds from the common start; 0 before it.
    fn now_ns(&self) -> u64 {
        now_ns().saturating_sub(self.start_ns)
    }
}

/// Lets the calling thread run on these CPUs only.
pub(super) fn keep_to(cpus: &[u32]) -> Result<(), String> {
    let wanted: CpuSet = cpus.iter().copied().collect();
    match Affinity::new(&wanted).apply_and_verify(0) {
        Ok(got) if got == wanted => Ok(()),
        Ok(got) => Err(format!("the kernel gives a task CPUs {got} instead of {wanted}")),
        Err(error) => Err(format!("the kernel does not let a task keep to CPUs {wanted}: {error}")),
    }
}

/// Has the calling thread woken when it is due, not within the usual 50 us after.
fn be_punctual() {
    // SAFETY: changes the calling thread's timers alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

fn be_nice(nice: i32) -> Result<(), String> {
    // SAFETY: on Linux this is about the calling thread alone.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } {
        0 => Ok(()),
        _ => {
            let error = std::io::Error::last_os_error();
            Err(format!("the kernel does not let a task have nice {nice}: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::MS;

    fn process(tasks: Vec<Task>) -> Process {
        Process { tasks, ..Process::default() }
    }

    #[test]
    fn a_troupe_follows_its_scripts_and_begins_one_another() {
        let first = Task::new(vec![
            ScriptStep::BusyUntil(2 * MS),
            ScriptStep::Begin(1),
            ScriptStep::BusyUntil(4 * MS),
        ]);
        let second = Task::new(vec![ScriptStep::SleepUntil(5 * MS), ScriptStep::BusyUntil(6 * MS)]);
        let second = Task { is_begun_by_another: true, ..second };
        let logs = ScriptRunner::new(&process(vec![first, second]), now_ns()).perform().unwrap();
        assert!(logs[0].steps_ended_ns.len() == logs[0].cpu_at_steps_ns.len());
        assert!(logs[1].intervals.iter().all(|interval| interval.from_ns >= 2 * MS));
        assert!(logs[1].wakes.iter().all(|wake| wake.ran_ns >= 5 * MS));
    }

    #[test]
    fn a_mask_without_a_cpu_is_reported() {
        let lost = process(vec![Task::new(vec![ScriptStep::MayUse(vec![99_999])])]);
        let logs = ScriptRunner::new(&lost, now_ns()).perform();
        assert!(logs.unwrap_err().contains("CPUs 99999"));
    }
}
