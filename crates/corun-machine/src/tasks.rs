//! Who used the CPUs: the CPU time of every task that can be seen.
//!
//! The fields of `/proc/PID/stat` are described in `proc_pid_stat(5)`.

use std::collections::HashMap;

use corun_files::TaskStat;

use crate::SystemFiles;

/// The CPU time of each task since it started, by its number.
#[derive(Debug, Default)]
pub(crate) struct Tasks(HashMap<u32, Task>);

#[derive(Debug, PartialEq)]
struct Task {
    name: String,
    ticks: u64,
    started: u64,
}

/// A task and the CPU time that it used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskTime {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// In seconds.
    pub(crate) used_s: f64,
}

impl Tasks {
    /// Reads all tasks (processes, and threads of the kernel) but the one that asks.
    pub(crate) fn read(files: &mut impl SystemFiles) -> Self {
        let own = files.read("proc/self/stat").ok().and_then(|text| {
            let id = text.split(' ').next()?;
            id.parse::<u32>().ok()
        });
        let ids = files.list("proc").into_iter().filter_map(|name| name.parse().ok());
        let others = ids.filter(|&id| Some(id) != own);
        let read = |id| Some((id, Task::parse(files.read(&format!("proc/{id}/stat")).ok()?)?));
        Self(others.filter_map(read).collect())
    }

    /// Use of each task since `earlier`, the busiest first; idle ones are left out, and so are
    /// those that have ended meanwhile. A new task used all that it has.
    pub(crate) fn since(self, earlier: &Self) -> Vec<TaskTime> {
        let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
        let used = |(id, task): (u32, Task)| {
            let before = earlier.0.get(&id).filter(|before| before.started == task.started);
            let ticks = task.ticks.saturating_sub(before.map_or(0, |before| before.ticks));
            let used_s = ticks as f64 / ticks_per_second;
            (ticks > 0).then_some(TaskTime { id, name: task.name, used_s })
        };
        let mut tasks: Vec<TaskTime> = self.0.into_iter().filter_map(used).collect();
        tasks.sort_by(|one, two| two.used_s.total_cmp(&one.used_s).then(one.id.cmp(&two.id)));
        tasks
    }
}

impl Task {
    fn parse(text: &str) -> Option<Self> {
        let stat = TaskStat::parse(text)?;
        let ticks = stat.field(14)?.checked_add(stat.field(15)?)?;
        Some(Self { name: stat.name().into_owned(), ticks, started: stat.field(22)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_given_anew_is_another_task() {
        let tasks = |ticks, started| {
            Tasks(HashMap::from([(9, Task { name: "a".to_owned(), ticks, started })]))
        };
        let used =
            |after: Tasks| after.since(&tasks(500, 1)).first().map_or(0.0, |task| task.used_s);
        let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(used(tasks(507, 1)), 7.0 * tick);
        assert_eq!(used(tasks(7, 2)), 7.0 * tick);
        assert_eq!(used(tasks(500, 1)), 0.0);
    }
}
