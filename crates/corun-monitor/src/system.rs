//! The live system, or a captured one, read from `/proc`.
//!
//! An interval lies between two readings of `/proc/stat` and of the tasks; [`crate::co_busy`] watches the siblings meanwhile.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corun_machine::kernel_clock::{now_ns, sleep_until};
use corun_machine::{Machine, RootFiles, SystemFiles};
use corun_record::{
    Activity, Companion, CoreActivity, CpuActivity, TaskActivity, YieldRange, YieldSource, shown,
};

use crate::capacity::capacity_use;
use crate::co_busy::{CoBusy, CoBusyReading, Cores};
use crate::proc::{Accounts, CpuUse, ProcFiles, Task, TaskFiles, hides_tasks};
use crate::tasks::{Process, TaskReading, TaskTable};
use crate::{MonitorError, Source, Tasks};

/// Of so many threads, the busiest, it is read how often they changed their CPU.
const MIGRATING: usize = 32;
/// A task has so many companions at most.
const COMPANIONS: usize = 5;
/// Default cost limit of seeing every switch, in shares of one CPU.
const EXACT_COST: f64 = 0.01;
/// Intervals without any known CPU after which nothing is expected of the next one either.
const UNKNOWN_INTERVALS: usize = 2;
/// Default cost limit of samples, in shares of one CPU.
const SAMPLING_COST: f64 = 0.0025;

/// Options of the reading, and its cost limits.
#[derive(Debug, Clone)]
pub struct Options {
    /// The root below which `/proc` and `/sys` lie.
    pub root: PathBuf,
    /// Machine with the cores, such as siblings that a hypervisor hides; as `/sys` says if there is none.
    pub machine: Option<Machine>,
    /// Which tasks are read.
    pub tasks: Tasks,
    /// True if every switch of a task is recorded where this is permitted and cheap enough.
    pub exact: bool,
    /// Cost limit of every switch, of one CPU, as a share, before it is given up for a while.
    pub exact_cost: f64,
    /// Cost limit of samples of the states of threads, of one CPU, as a share; none are taken at 0.
    pub sampling_cost: f64,
    /// The yields for the capacity; any from 1 to the SMT width if there are none.
    pub yields: Option<YieldRange>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            machine: None,
            tasks: Tasks::default(),
            exact: true,
            exact_cost: EXACT_COST,
            sampling_cost: SAMPLING_COST,
            yields: None,
        }
    }
}

/// The system below a root.
#[derive(Debug)]
pub struct System {
    options: Options,
    machine: Machine,
    files: ProcFiles,
    stat: StatFile,
    before: Accounts,
    after: Accounts,
    /// When `before` was read.
    before_ns: u64,
    tasks: Option<TaskTable>,
    tasks_hidden: bool,
    cores: Cores,
    co_busy: CoBusy,
    ticks_per_second: f64,
}

/// `/proc/stat`, and its text.
#[derive(Debug, Default)]
struct StatFile {
    file: Option<OwnedFd>,
    text: Vec<u8>,
}

impl System {
    /// Opens the system and takes the first reading.
    ///
    /// # Errors
    /// If the machine or `/proc/stat` cannot be read.
    pub fn open(options: Options) -> Result<Self, MonitorError> {
        let machine = match &options.machine {
            Some(machine) => machine.clone(),
            None => Machine::read(&options.root)?,
        };
        let is_live = options.root.canonicalize().is_ok_and(|root| root == Path::new("/"));
        check_stat(&options.root)?;
        let mut files =
            ProcFiles::open(&options.root, is_live).map_err(|error| unreadable("/proc", &error))?;
        let mut stat = StatFile::default();
        let mut before = Accounts::default();
        stat.read(&mut files, &mut before)?;
        let before_ns = if is_live { now_ns() } else { 0 };
        let tasks = match options.tasks {
            Tasks::None => None,
            Tasks::Processes | Tasks::Threads => Some(
                TaskTable::open(&mut files, files_to_keep(is_live), before_ns)
                    .map_err(|error| unreadable("/proc", &error))?,
            ),
        };
        let [mounts, status] = ["self/mountinfo", "self/status"].map(|file| text(&mut files, file));
        let tasks_hidden = tasks.is_some() && hides_tasks(&mounts, &status);
        let cores = Cores::new(&machine, before.online());
        if cores.all.iter().all(|core| core.cpus.is_empty()) {
            return Err(MonitorError::Unreadable {
                file: "/proc/stat".to_owned(),
                found: "no CPU that belongs to a core of this machine".to_owned(),
            });
        }
        let is_sampled = tasks.is_some();
        let co_busy = match is_live {
            true => {
                let exact_cost = if options.exact { options.exact_cost } else { 0.0 };
                let sampling_cost = if is_sampled { options.sampling_cost } else { 0.0 };
                CoBusy::open(&cores, exact_cost, sampling_cost)
            }
            false => CoBusy::none("A captured system runs nothing."),
        };
        let mut system = Self {
            options,
            machine,
            files,
            stat,
            before,
            after: Accounts::default(),
            before_ns,
            tasks,
            tasks_hidden,
            cores,
            co_busy,
            ticks_per_second: rustix::param::clock_ticks_per_second() as f64,
        };
        system.watch_threads();
        Ok(system)
    }

    /// The machine, as it was when CPUs last went online or offline.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Names the threads that the co-busy source watches in the next interval.
    fn watch_threads(&mut self) {
        let busiest = match &self.tasks {
            Some(tasks) if self.co_busy.wants_threads() => tasks.busiest(self.cores.watched()),
            _ => Vec::new(),
        };
        self.co_busy.begin(&busiest, &self.cores);
    }

    /// The uses of the CPUs of each core; a CPU that was offline is left out.
    fn uses(&self, elapsed_s: f64) -> Vec<Vec<CpuUse>> {
        let ticks = elapsed_s * self.ticks_per_second;
        let since = |cpu: u32| self.after.since(&self.before, cpu, ticks);
        // A sandbox, or a capture of one moment, has accounts of which none goes on.
        let is_any_known = self.after.online().any(|cpu| since(cpu).is_some());
        let unaccounted = |cpu: u32| {
            (is_any_known && self.after.stands_still(&self.before, cpu)).then(CpuUse::unaccounted)
        };
        let of = |&cpu: &u32| {
            let mut found = since(cpu).or_else(|| unaccounted(cpu))?;
            found.activity.cpu = cpu;
            Some(found)
        };
        self.cores.all.iter().map(|core| core.cpus.iter().filter_map(of).collect()).collect()
    }

    /// Reads the cores again if CPUs went online or offline.
    fn follow_cpus(&mut self) {
        if self.before.online().eq(self.after.online()) {
            return;
        }
        // Between two states of a CPU its files may be missing: what is known is better than nothing.
        if self.options.machine.is_none()
            && let Ok(machine) = Machine::read(&self.options.root)
        {
            self.machine = machine;
        }
        self.cores = Cores::new(&self.machine, self.after.online());
        if self.files.is_live() {
            self.co_busy.reopen(&self.cores);
        }
    }

    fn task_activities(&mut self, found: &CoBusyReading, interval_ns: u64) -> Vec<TaskActivity> {
        let Some(tasks) = &mut self.tasks else { return Vec::new() };
        read_migrations(tasks, &mut self.files);
        let mut names = Names::new(tasks, found);
        let mut companions = companions(found, interval_ns, &mut names, &mut self.files);
        let mut activities = Vec::new();
        let together = self.options.tasks == Tasks::Processes;
        for process in tasks.active() {
            let of_thread = |thread: &TaskReading| {
                thread_activity(process, thread, self.ticks_per_second, found, &mut companions)
            };
            let threads: Vec<TaskActivity> =
                process.each_thread().iter().filter(|it| it.total() > 0).map(of_thread).collect();
            match together {
                true => activities.extend(as_one(process, threads, self.ticks_per_second)),
                false => activities.extend(threads),
            }
        }
        activities.sort_by(|one, other| {
            other.used().total_cmp(&one.used()).then(one.thread.cmp(&other.thread))
        });
        activities
    }
}

impl Source for System {
    fn next(&mut self, wait: Duration) -> Result<Activity, MonitorError> {
        // The interval in which a machine was suspended says nothing; the next one does.
        for _ in 0..UNKNOWN_INTERVALS {
            let activity = self.interval(wait)?;
            if !activity.cores.is_empty() || activity.interval_s <= 0.0 {
                return Ok(activity);
            }
        }
        Err(MonitorError::NoAccounts)
    }
}

impl System {
    /// Activity of the next interval; without cores where no account of a CPU went on.
    fn interval(&mut self, wait: Duration) -> Result<Activity, MonitorError> {
        let until_ns = self.before_ns.saturating_add(wait.as_nanos() as u64);
        let after_ns = match self.files.is_live() {
            true => {
                let until_ns = until_ns.max(now_ns());
                self.co_busy.wait(&mut self.files, &self.cores, until_ns);
                sleep_until(until_ns);
                now_ns()
            }
            false => until_ns,
        };
        self.stat.read(&mut self.files, &mut self.after)?;
        let interval_ns = after_ns.saturating_sub(self.before_ns);
        let elapsed_s = interval_ns as f64 / 1e9;
        if let Some(tasks) = &mut self.tasks {
            tasks.read(&mut self.files, after_ns).map_err(|error| unreadable("/proc", &error))?;
        }
        let uses = self.uses(elapsed_s);
        let found = self.co_busy.finish(&self.cores, &uses, [self.before_ns, after_ns]);
        let tasks = self.task_activities(&found, interval_ns);
        let cores = self.core_activities(uses, found.cores);
        let width = self.machine.cores.iter().map(|core| core.smt_width).max().unwrap_or(1);
        let any = YieldRange { low: 1.0, high: f64::from(width), source: YieldSource::Any };
        let activity = Activity {
            interval_s: elapsed_s,
            co_busy: found.evidence,
            capacity: capacity_use(&cores, self.options.yields.unwrap_or(any)),
            cores,
            tasks,
            tasks_not_seen: self.tasks.as_ref().map_or(0, TaskTable::not_seen),
            tasks_hidden: self.tasks_hidden,
        };
        self.follow_cpus();
        std::mem::swap(&mut self.before, &mut self.after);
        self.before_ns = after_ns;
        self.watch_threads();
        Ok(activity)
    }

    fn core_activities(&self, uses: Vec<Vec<CpuUse>>, busy: Vec<Vec<f64>>) -> Vec<CoreActivity> {
        let of =
            |((core, uses), busy_siblings): ((&crate::co_busy::Core, Vec<CpuUse>), Vec<f64>)| {
                let cpus: Vec<CpuActivity> = uses.into_iter().map(|it| it.activity).collect();
                CoreActivity { core: core.id, package: core.package, cpus, busy_siblings }
            };
        let all = self.cores.all.iter().zip(uses).zip(busy).map(of);
        all.filter(|core| !core.cpus.is_empty()).collect()
    }
}

/// The text of a file of `/proc`; none where it cannot be read.
fn text(files: &mut ProcFiles, file: &str) -> String {
    let mut text = Vec::new();
    let _ = files.whole(file, &mut None, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

impl StatFile {
    fn read(&mut self, files: &mut ProcFiles, accounts: &mut Accounts) -> Result<(), MonitorError> {
        files
            .whole("stat", &mut self.file, &mut self.text)
            .map_err(|error| unreadable("/proc/stat", &error))?;
        accounts.parse(&self.text);
        match accounts.online().next() {
            Some(_) => Ok(()),
            None => Err(MonitorError::Unreadable {
                file: "/proc/stat".to_owned(),
                found: "no line of a CPU".to_owned(),
            }),
        }
    }
}

/// Refuses a `/proc/stat` that numbers CPUs in its own way, as some containers have it.
fn check_stat(root: &Path) -> Result<(), MonitorError> {
    let mut files = RootFiles::open(root).map_err(|error| unreadable(&shown(root), &error))?;
    let read = files.read("proc/stat").map(drop);
    read.map_err(|error| MonitorError::Unreadable {
        file: "/proc/stat".to_owned(),
        found: error.to_string(),
    })
}

/// Limit of open files of tasks: half of the limit of this process.
fn files_to_keep(is_live: bool) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    if is_live { limit.map_or(usize::MAX, |limit| limit as usize) / 2 } else { 0 }
}

fn unreadable(file: &str, error: &io::Error) -> MonitorError {
    MonitorError::Unreadable { file: file.to_owned(), found: error.to_string() }
}

/// Reads of the busiest threads how often they changed their CPU.
fn read_migrations(tasks: &mut TaskTable, files: &mut ProcFiles) {
    let mut busiest: Vec<u32> = tasks.busiest(MIGRATING).into_iter().map(|(_, it)| it).collect();
    busiest.sort_unstable();
    for process in tasks.active_mut() {
        let id = process.whole.id;
        for thread in process.each_thread_mut() {
            match busiest.binary_search(&thread.id) {
                Ok(_) => thread.read_migrations(files, id),
                Err(_) => thread.migrations = None,
            }
        }
    }
}

/// The names of tasks by their numbers.
struct Names(HashMap<u32, String>);

impl Names {
    /// Those of all tasks that were seen beside others.
    fn new(tasks: &TaskTable, found: &CoBusyReading) -> Self {
        let mut names: HashMap<u32, String> = HashMap::new();
        for (one, other) in found.tasks.pairs.keys() {
            names.insert(*one, String::new());
            names.insert(*other, String::new());
        }
        if !names.is_empty() {
            for thread in tasks.all().flat_map(Process::each_thread) {
                if let Some(name) = names.get_mut(&thread.id) {
                    name.clone_from(&thread.name);
                }
            }
        }
        Self(names)
    }

    /// A task that used too little to be read, or is new, is asked for its name now.
    fn of(&mut self, task: u32, files: &mut ProcFiles) -> String {
        let name = self.0.entry(task).or_default();
        if name.is_empty() {
            let read = files.read(Task::Process(task), "comm", &mut None);
            *name = read.map_or_else(
                |_| "(ended)".to_owned(),
                |text| String::from_utf8_lossy(text.trim_ascii_end()).into_owned(),
            );
        }
        name.clone()
    }
}

/// The companions of each task, those with most time first.
fn companions(
    found: &CoBusyReading,
    interval_ns: u64,
    names: &mut Names,
    files: &mut ProcFiles,
) -> HashMap<u32, Vec<Companion>> {
    let mut pairs: Vec<(u64, u32, u32)> = found
        .tasks
        .pairs
        .iter()
        .flat_map(|(&(one, other), &ns)| [(ns, one, other), (ns, other, one)])
        .collect();
    pairs.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.cmp(other)));
    let mut companions: HashMap<u32, Vec<Companion>> = HashMap::new();
    for (ns, task, companion) in pairs {
        let known = companions.entry(task).or_default();
        if known.len() < COMPANIONS && companion != u32::MAX {
            let together = ns as f64 / interval_ns.max(1) as f64;
            known.push(Companion { thread: companion, name: names.of(companion, files), together });
        }
    }
    companions
}

fn thread_activity(
    process: &Process,
    thread: &TaskReading,
    ticks_per_second: f64,
    found: &CoBusyReading,
    companions: &mut HashMap<u32, Vec<Companion>>,
) -> TaskActivity {
    let [user, system] = thread.shares(ticks_per_second);
    let time = found.tasks.tasks.get(&thread.id);
    let mut cpus = vec![thread.cpu, thread.cpu_before];
    cpus.extend(time.iter().flat_map(|it| &it.cpus));
    cpus.sort_unstable();
    cpus.dedup();
    let beside_busy = time.filter(|it| it.ran_ns > 0);
    TaskActivity {
        thread: thread.id,
        process: process.whole.id,
        parent: process.whole.parent,
        name: thread.name.clone(),
        cgroup: process.cgroup.clone(),
        cpu: thread.cpu,
        cpus,
        user,
        system,
        migrations: thread.migrations,
        beside_busy: beside_busy.map(|it| (it.beside_ns as f64 / it.ran_ns as f64).min(1.0)),
        beside: companions.remove(&thread.id).unwrap_or_default(),
    }
}

/// A process as one task, from those of its threads that used a CPU.
fn as_one(
    process: &Process,
    threads: Vec<TaskActivity>,
    ticks_per_second: f64,
) -> Option<TaskActivity> {
    let busiest = threads.iter().max_by(|one, other| one.used().total_cmp(&other.used()))?;
    let [user, system] = process.whole.shares(ticks_per_second);
    let known = threads.iter().filter_map(|it| Some((it.used(), it.beside_busy?)));
    let used: f64 = known.clone().map(|(used, _)| used).sum();
    let beside: f64 = known.map(|(used, beside)| used * beside).sum();
    let mut cpus: Vec<u32> = threads.iter().flat_map(|it| it.cpus.iter().copied()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let mut companions: Vec<Companion> = threads.iter().flat_map(|it| it.beside.clone()).collect();
    companions.sort_by(|one, other| other.together.total_cmp(&one.together));
    companions.truncate(COMPANIONS);
    let migrations: Vec<u64> = threads.iter().filter_map(|it| it.migrations).collect();
    Some(TaskActivity {
        thread: process.whole.id,
        name: process.whole.name.clone(),
        cpu: busiest.cpu,
        cpus,
        user,
        system,
        migrations: (!migrations.is_empty()).then(|| migrations.iter().sum()),
        beside_busy: (used > 0.0).then(|| beside / used),
        beside: companions,
        ..busiest.clone()
    })
}
