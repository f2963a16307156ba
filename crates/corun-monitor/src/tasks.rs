//! Activity of processes and threads between two readings of `/proc`.
//!
//! Every process is read each time, as it may be new. The threads of a process are read only if it used a CPU, and
//! then those first that were active lately: mostly they account for all that it used. All its threads are searched
//! for the rest, where that is worth reading so many.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::OwnedFd;

use corun_files::decimal;

use crate::proc::{Stat, Task, TaskFiles};

/// Less than this share of what a process used is not searched for among its quiet threads.
const UNEXPLAINED: f64 = 0.1;
/// Nor is less than this, in ticks: process and threads are rounded apart.
const ROUNDING: u64 = 2;
/// For each tick that active threads do not account for, so many threads may be searched: that takes 0.5 to 0.7 ticks.
const SEARCHED_FOR_A_TICK: u64 = 1000;
/// A thread counts as active for so many readings after it used a CPU. Otherwise each tick of a thread that seldom uses
/// one would need a search of all threads.
const RECENT: u32 = 100;

/// All tasks that can be seen.
#[derive(Debug)]
pub(crate) struct TaskTable {
    processes: HashMap<u32, Process>,
    /// The number of the last reading, and when it was.
    reading: u32,
    read_ns: u64,
    not_seen: u64,
    /// Number of files that may still be kept open.
    room: usize,
    ids: Vec<u32>,
}

/// A process and, if it has several, its threads.
#[derive(Debug)]
pub(crate) struct Process {
    /// The process as a whole.
    pub(crate) whole: TaskReading,
    /// Threads by their numbers; none if it has only one.
    pub(crate) threads: Vec<TaskReading>,
    /// Control group, if it used a CPU and the group can be read.
    pub(crate) cgroup: Option<String>,
    thread_count: u64,
    /// The ticks that its active threads did not account for since all were searched.
    unexplained: u64,
    /// When it was last seen to have used no CPU: nor did its threads.
    quiet_ns: u64,
}

/// Last reading of a task.
#[derive(Debug, Default)]
pub(crate) struct TaskReading {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) parent: u32,
    /// The CPU that it ran on last, and the one before that reading.
    pub(crate) cpu: u32,
    pub(crate) cpu_before: u32,
    pub(crate) is_running: bool,
    /// The ticks that it used in its own code and in the kernel since the reading before.
    pub(crate) used: [u64; 2],
    /// Time since then.
    pub(crate) since_ns: u64,
    /// Number of migrations, by now, and in the interval where that is known.
    migrated: Option<u64>,
    pub(crate) migrations: Option<u64>,
    ticks: [u64; 2],
    started: u64,
    is_new: bool,
    reading: u32,
    read_ns: u64,
    /// The last reading in which it used a CPU or ran.
    active_in: Option<u32>,
    file: Option<OwnedFd>,
}

impl TaskTable {
    /// Takes the first reading, which all later ones are compared with. `room` files may be kept open.
    ///
    /// # Errors
    /// If `/proc` cannot be listed.
    pub(crate) fn open(files: &mut impl TaskFiles, room: usize, now_ns: u64) -> io::Result<Self> {
        let mut table = Self {
            processes: HashMap::new(),
            reading: 0,
            read_ns: now_ns,
            not_seen: 0,
            room,
            ids: Vec::new(),
        };
        table.read(files, now_ns)?;
        for process in table.processes.values_mut() {
            process.whole.forget_use();
            process.threads.iter_mut().for_each(TaskReading::forget_use);
        }
        Ok(table)
    }

    /// Takes a further reading.
    ///
    /// # Errors
    /// If `/proc` cannot be listed; a task that cannot be read is counted.
    pub(crate) fn read(&mut self, files: &mut impl TaskFiles, now_ns: u64) -> io::Result<()> {
        let is_first = self.reading == 0;
        self.reading += 1;
        self.not_seen = 0;
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        files.processes(&mut ids)?;
        for &id in &ids {
            if self.read_process(files, id, now_ns).is_err() {
                self.not_seen += 1;
                continue;
            }
            let Some(process) = self.processes.get_mut(&id) else { continue };
            let is_active = process.whole.total() > 0 && !is_first;
            if process.thread_count < 2 {
                self.room += process.close_threads();
            } else if is_active || is_first {
                let reading = Reading { number: self.reading, now_ns, before_ns: self.read_ns };
                self.not_seen +=
                    process.read_threads(files, reading, &mut self.room, &mut self.ids);
            } else {
                process.threads.iter_mut().for_each(|it| it.used = [0; 2]);
            }
            if is_active {
                process.cgroup = cgroup(files, id);
            } else {
                process.quiet_ns = now_ns;
            }
        }
        self.ids = ids;
        let (reading, room) = (self.reading, &mut self.room);
        self.processes.retain(|_, process| {
            let is_there = process.whole.reading == reading;
            if !is_there {
                *room += process.kept();
            }
            is_there
        });
        self.read_ns = now_ns;
        Ok(())
    }

    /// Number of tasks of the last reading that were listed and could not be read.
    pub(crate) fn not_seen(&self) -> u64 {
        self.not_seen
    }

    /// All processes.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Process> {
        self.processes.values()
    }

    /// The processes that used a CPU.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Process> {
        self.processes.values().filter(|process| process.whole.total() > 0)
    }

    /// Active processes, to add to what is known of them.
    pub(crate) fn active_mut(&mut self) -> impl Iterator<Item = &mut Process> {
        self.processes.values_mut().filter(|process| process.whole.total() > 0)
    }

    /// The threads that used most, or run now, with their processes: at most so many, the busiest first.
    pub(crate) fn busiest(&self, most: usize) -> Vec<(u32, u32)> {
        let mut busy: Vec<(u64, bool, u32, u32)> = Vec::new();
        for process in self.processes.values() {
            for thread in process.each_thread() {
                if thread.is_running || thread.total() > 0 {
                    busy.push((thread.total(), thread.is_running, process.whole.id, thread.id));
                }
            }
        }
        busy.sort_unstable_by(|one, other| other.cmp(one));
        busy.truncate(most);
        busy.into_iter().map(|(_, _, process, thread)| (process, thread)).collect()
    }

    fn read_process(&mut self, files: &mut impl TaskFiles, id: u32, now_ns: u64) -> io::Result<()> {
        let reading = Reading { number: self.reading, now_ns, before_ns: self.read_ns };
        match self.processes.entry(id) {
            Entry::Occupied(mut known) => {
                let process = known.get_mut();
                let had_file = process.whole.file.is_some();
                let read = process.read(files, reading, &mut self.room);
                match read {
                    // The number may have been given to another process, which its file does not show.
                    Err(_) if had_file => process.read(files, reading, &mut self.room),
                    read => read,
                }
            }
            Entry::Vacant(place) => {
                let mut process = Process::new(id);
                process.read(files, reading, &mut self.room)?;
                place.insert(process);
                Ok(())
            }
        }
    }
}

/// Which reading it is, and when it and the one before were taken.
#[derive(Debug, Clone, Copy)]
struct Reading {
    number: u32,
    now_ns: u64,
    before_ns: u64,
}

impl Process {
    fn new(id: u32) -> Self {
        Self {
            whole: TaskReading::new(id),
            threads: Vec::new(),
            cgroup: None,
            thread_count: 1,
            unexplained: 0,
            quiet_ns: 0,
        }
    }

    /// Threads; the process itself where it has only one.
    pub(crate) fn each_thread(&self) -> &[TaskReading] {
        if self.threads.is_empty() { std::slice::from_ref(&self.whole) } else { &self.threads }
    }

    /// Threads, to add to what is known of them.
    pub(crate) fn each_thread_mut(&mut self) -> &mut [TaskReading] {
        match self.threads.is_empty() {
            true => std::slice::from_mut(&mut self.whole),
            false => &mut self.threads,
        }
    }

    fn kept(&self) -> usize {
        let all = self.threads.iter().chain([&self.whole]);
        all.filter(|known| known.file.is_some()).count()
    }

    fn read(
        &mut self,
        files: &mut impl TaskFiles,
        reading: Reading,
        room: &mut usize,
    ) -> io::Result<()> {
        let task = Task::Process(self.whole.id);
        let (threads, is_another) = self.whole.read(files, task, reading, 0, room)?;
        self.thread_count = threads;
        if is_another {
            *room += self.close_threads();
        }
        Ok(())
    }

    /// Forgets its threads; how many files of theirs were open.
    fn close_threads(&mut self) -> usize {
        self.threads.drain(..).filter(|it| it.file.is_some()).count()
    }

    /// Reads its threads, as many as are needed to account for what it used; how many could not be read.
    fn read_threads(
        &mut self,
        files: &mut impl TaskFiles,
        reading: Reading,
        room: &mut usize,
        ids: &mut Vec<u32>,
    ) -> u64 {
        let (process, quiet_ns) = (self.whole.id, self.quiet_ns);
        let mut read = |thread: &mut TaskReading, room: &mut usize| {
            let task = Task::Thread(process, thread.id);
            thread.read(files, task, reading, quiet_ns, room).is_ok()
        };
        let mut explained = 0;
        for thread in &mut self.threads {
            thread.used = [0; 2];
            if thread.was_active(reading.number) && read(thread, room) {
                explained += thread.total();
            }
        }
        let used = self.whole.total();
        let unexplained = used.saturating_sub(explained);
        let is_enough = unexplained < ROUNDING || (unexplained as f64) < UNEXPLAINED * used as f64;
        self.unexplained += if is_enough { 0 } else { unexplained };
        let is_worth_it = self.unexplained * SEARCHED_FOR_A_TICK >= self.thread_count;
        if !self.threads.is_empty() && (is_enough || !is_worth_it) {
            return 0;
        }
        self.unexplained = 0;
        ids.clear();
        if files.threads(process, ids).is_err() {
            return 1;
        }
        ids.sort_unstable();
        let mut not_seen = 0;
        let mut known = std::mem::take(&mut self.threads).into_iter().peekable();
        for &id in &*ids {
            // Those before it have ended.
            while let Some(ended) = known.next_if(|it| it.id < id) {
                *room += usize::from(ended.file.is_some());
            }
            let mut thread =
                known.next_if(|it| it.id == id).unwrap_or_else(|| TaskReading::new(id));
            let task = Task::Thread(process, id);
            let is_read = thread.reading == reading.number
                || thread.read(files, task, reading, quiet_ns, room).is_ok();
            if thread.is_new && id == process && !self.whole.is_new {
                // Until now it was the whole process.
                thread.forget_use();
            }
            match is_read {
                true => self.threads.push(thread),
                false => not_seen += 1,
            }
        }
        *room += known.filter(|it| it.file.is_some()).count();
        not_seen
    }
}

impl TaskReading {
    fn new(id: u32) -> Self {
        Self { id, is_new: true, ..Self::default() }
    }

    /// The ticks that it used since the reading before.
    pub(crate) fn total(&self) -> u64 {
        self.used[0] + self.used[1]
    }

    /// The share of one CPU that it used, in its own code and in the kernel.
    pub(crate) fn shares(&self, ticks_per_second: f64) -> [f64; 2] {
        let ticks = self.since_ns as f64 / 1e9 * ticks_per_second;
        self.used.map(|used| if ticks > 0.0 { used as f64 / ticks } else { 0.0 })
    }

    /// Reads how often it changed its CPU; unknown where the kernel does not tell.
    pub(crate) fn read_migrations(&mut self, files: &mut impl TaskFiles, process: u32) {
        let text = files.read(Task::Thread(process, self.id), "sched", &mut None);
        let by_now = text.ok().and_then(migrations);
        self.migrations = match (self.migrated, by_now) {
            (Some(before), Some(now)) => Some(now.saturating_sub(before)),
            (None, Some(now)) if self.is_new => Some(now),
            _ => None,
        };
        self.migrated = by_now;
    }

    /// True if it used a CPU not long before this reading.
    fn was_active(&self, reading: u32) -> bool {
        self.active_in.is_some_and(|last| reading - last <= RECENT)
    }

    /// Takes its present state as where it starts from.
    fn forget_use(&mut self) {
        self.used = [0; 2];
        self.is_new = false;
        self.active_in = self.active_in.filter(|_| self.is_running);
    }

    /// Reads it; how many threads its process has, and whether its number was given to another task.
    fn read(
        &mut self,
        files: &mut impl TaskFiles,
        task: Task,
        reading: Reading,
        quiet_ns: u64,
        room: &mut usize,
    ) -> io::Result<(u64, bool)> {
        *room += usize::from(self.file.is_some());
        let read = files.read(task, "stat", &mut self.file);
        let stat = match read {
            Ok(line) => Stat::parse(line).ok_or(io::ErrorKind::InvalidData),
            Err(error) => {
                self.file = None;
                return Err(error);
            }
        };
        let stat = stat?;
        let is_another = self.reading > 0 && self.started != stat.started;
        if is_another {
            *self = Self { file: self.file.take(), ..Self::new(self.id) };
        } else if self.reading > 0 {
            self.is_new = false;
        }
        let ticks = [stat.user, stat.system];
        self.used = [0, 1].map(|of| ticks[of].saturating_sub(self.ticks[of]));
        // What is new has used all that it has.
        let before_ns = if self.is_new { reading.before_ns } else { self.read_ns };
        self.since_ns = reading.now_ns.saturating_sub(before_ns.max(quiet_ns));
        self.ticks = ticks;
        self.started = stat.started;
        self.parent = stat.parent;
        self.is_running = stat.is_running();
        if self.is_running || self.total() > 0 {
            self.active_in = Some(reading.number);
        }
        self.cpu_before = if self.is_new { stat.cpu } else { self.cpu };
        self.cpu = stat.cpu;
        if self.name.as_bytes() != stat.name {
            self.name = String::from_utf8_lossy(stat.name).into_owned();
        }
        let threads = stat.threads;
        self.reading = reading.number;
        self.read_ns = reading.now_ns;
        match *room {
            0 => self.file = None,
            _ => *room -= usize::from(self.file.is_some()),
        }
        Ok((threads, is_another))
    }
}

/// The line `se.nr_migrations : 17` of `/proc/PID/sched`.
fn migrations(text: &[u8]) -> Option<u64> {
    let line = text.split(|&byte| byte == b'\n').find(|it| it.starts_with(b"se.nr_migrations"))?;
    decimal(line.rsplit(|&byte| byte == b' ').next()?)
}

/// The control group of a process: that of the CPU controller of version 1, or that of version 2.
fn cgroup(files: &mut impl TaskFiles, process: u32) -> Option<String> {
    let text = files.read(Task::Process(process), "cgroup", &mut None).ok()?;
    let mut unified = None;
    for line in text.split(|&byte| byte == b'\n') {
        let mut fields = line.splitn(3, |&byte| byte == b':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let group = || Some(String::from_utf8_lossy(group).into_owned());
        if controllers.split(|&byte| byte == b',').any(|it| it == b"cpu") {
            return group();
        }
        if controllers.is_empty() {
            unified = group();
        }
    }
    unified
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes that end between being listed and being read, as they do all the time.
    struct Vanishing {
        processes: Vec<u32>,
        gone: Vec<u32>,
        ticks: u64,
        reads: usize,
        lists: usize,
        threads: u64,
        text: String,
    }

    impl TaskFiles for Vanishing {
        fn processes(&mut self, into: &mut Vec<u32>) -> io::Result<()> {
            into.extend(&self.processes);
            Ok(())
        }

        /// Every process has itself and one more thread.
        fn threads(&mut self, process: u32, into: &mut Vec<u32>) -> io::Result<()> {
            self.lists += 1;
            into.extend([process, process + 1]);
            Ok(())
        }

        fn read(&mut self, task: Task, file: &str, _: &mut Option<OwnedFd>) -> io::Result<&[u8]> {
            let (id, ticks) = match task {
                Task::Process(id) => (id, self.ticks),
                Task::Thread(process, id) => (id, if id == process { 0 } else { self.ticks }),
            };
            let threads = self.threads;
            if file != "stat" || self.gone.contains(&id) {
                return Err(rustix::io::Errno::SRCH.into());
            }
            self.reads += 1;
            self.text = format!(
                "{id} (a) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 {threads} 0 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0"
            );
            Ok(self.text.as_bytes())
        }
    }

    fn vanishing(processes: &[u32]) -> Vanishing {
        let processes = processes.to_vec();
        let text = String::new();
        Vanishing { processes, gone: Vec::new(), ticks: 0, reads: 0, lists: 0, threads: 2, text }
    }

    #[test]
    fn what_ends_while_it_is_read_is_counted_and_forgotten() {
        let mut files = vanishing(&[10, 20, 30]);
        let mut table = TaskTable::open(&mut files, 0, 0).unwrap();
        files.ticks = 50;
        files.gone = vec![20, 31];
        table.read(&mut files, 1_000_000_000).unwrap();
        let active: Vec<u32> = {
            let mut ids: Vec<u32> = table.active().map(|it| it.whole.id).collect();
            ids.sort_unstable();
            ids
        };
        // Of process 30 a thread has ended, which is found out when its own use cannot be explained.
        assert_eq!((active, table.not_seen()), (vec![10, 30], 2));
        assert_eq!(table.busiest(1), [(10, 11)]);
        files.gone.clear();
        files.processes = vec![20];
        table.read(&mut files, 2_000_000_000).unwrap();
        let back: Vec<&Process> = table.all().collect();
        assert_eq!((back.len(), back[0].whole.id, back[0].whole.total()), (1, 20, 50));
    }

    #[test]
    fn active_threads_are_read_alone_as_long_as_they_explain_what_was_used() {
        let mut files = vanishing(&[10]);
        let mut table = TaskTable::open(&mut files, 0, 0).unwrap();
        for second in 1..4_u64 {
            files.ticks += 50;
            files.reads = 0;
            table.read(&mut files, second * 1_000_000_000).unwrap();
            assert_eq!(table.busiest(1), [(10, 11)]);
            let thread = &table.active().next().unwrap().each_thread()[1];
            assert_eq!(thread.shares(100.0), [0.5, 0.0]);
        }
        assert!(files.reads <= 3, "{}", files.reads);
        files.reads = 0;
        table.read(&mut files, 9_000_000_000).unwrap();
        assert_eq!(files.reads, 1, "a process that used nothing");
    }

    #[test]
    fn a_thread_that_was_active_lately_is_read_before_all_are_listed() {
        let mut files = vanishing(&[10]);
        let mut table = TaskTable::open(&mut files, 0, 0).unwrap();
        files.lists = 0;
        for (second, ticks) in [(1, 50), (2, 0), (3, 0), (4, 5), (5, 0), (6, 7)] {
            files.ticks += ticks;
            table.read(&mut files, second * 1_000_000_000).unwrap();
            let used: Vec<u64> = table.active().map(|it| it.each_thread()[1].total()).collect();
            assert_eq!(used, [ticks].into_iter().filter(|it| *it > 0).collect::<Vec<_>>());
        }
        assert!(files.lists <= 1, "{}", files.lists);
    }

    #[test]
    fn thousands_of_threads_are_searched_when_enough_is_not_accounted_for() {
        let mut files = vanishing(&[10]);
        files.threads = 5000;
        let mut table = TaskTable::open(&mut files, 0, 0).unwrap();
        files.lists = 0;
        files.ticks += 4;
        table.read(&mut files, 1_000_000_000).unwrap();
        assert_eq!((files.lists, table.busiest(1)), (0, vec![]));
        files.ticks += 4;
        table.read(&mut files, 2_000_000_000).unwrap();
        assert_eq!((files.lists, table.busiest(1)), (1, vec![(10, 11)]));
        // It may have used them at any time since it was read.
        let thread = &table.active().next().unwrap().each_thread()[1];
        assert_eq!(thread.shares(100.0), [0.04, 0.0]);
    }
}
