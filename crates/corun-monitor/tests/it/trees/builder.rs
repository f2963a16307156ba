//! Writes `/proc` and `/sys` as a kernel would show them; written again, they are a later reading.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use corun_monitor::{Options, Source, System};
use corun_record::Activity;
use tempfile::TempDir;

const CPUS: &str = "sys/devices/system/cpu";

/// A system that is shown as files.
pub(crate) struct Tree {
    folder: TempDir,
    cpus: Vec<u32>,
    /// The idle time of each CPU where a test says nothing else, in ticks.
    idle: Cell<u64>,
}

impl Tree {
    /// Cores with these online CPUs, all idle since the system started.
    pub(crate) fn of_cores(cores: &[&[u32]]) -> Self {
        let all: Vec<u32> = cores.concat();
        let folder = tempfile::tempdir().unwrap();
        let tree = Self { folder, cpus: all.clone(), idle: Cell::new(1000) };
        for (core, cpus) in cores.iter().enumerate() {
            for cpu in *cpus {
                let topology = format!("{CPUS}/cpu{cpu}/topology");
                tree.file(&format!("{topology}/physical_package_id"), "0");
                tree.file(&format!("{topology}/core_id"), &core.to_string());
                tree.file(&format!("{topology}/core_cpus_list"), &list(cpus));
                tree.file(&format!("{topology}/package_cpus_list"), &list(&all));
            }
        }
        tree.file(&format!("{CPUS}/present"), &list(&all));
        tree.online(&all);
        tree.idle();
        tree
    }

    /// All CPUs have been idle until now, as they are when a process is written.
    pub(crate) fn idle(&self) {
        let account = format!("0 0 0 {} 0 0 0 0 0 0", self.idle.get());
        let all: Vec<(u32, &str)> = self.cpus.iter().map(|cpu| (*cpu, account.as_str())).collect();
        self.cpus(&all);
        self.idle.set(self.idle.get() + 100);
    }

    /// Which CPUs are online.
    pub(crate) fn online(&self, cpus: &[u32]) {
        self.file(&format!("{CPUS}/online"), &list(cpus));
    }

    /// The accounts of the CPUs.
    pub(crate) fn cpus(&self, accounts: &[(u32, &str)]) {
        let lines: String = accounts.iter().map(|(cpu, it)| format!("cpu{cpu} {it}\n")).collect();
        self.file("proc/stat", &format!("cpu  1 2 3 4 5 6 7 8 9 10\n{lines}intr 9 9 9\nbtime 1"));
    }

    /// A process of one thread.
    pub(crate) fn process(&self, process: u32, it: Shown) {
        self.idle();
        self.file(&format!("proc/{process}/stat"), &it.line(process, 1));
        self.file(&format!("proc/{process}/cgroup"), "0::/user.slice");
    }

    /// A process with these threads, itself among them.
    pub(crate) fn threads(&self, process: u32, threads: &[(u32, Shown)]) {
        let [user, system] = [0, 1].map(|of| threads.iter().map(|(_, it)| it.ticks[of]).sum());
        let whole = Shown { ticks: [user, system], ..threads[0].1 };
        self.process(process, Shown { count: threads.len(), ..whole });
        for (thread, it) in threads {
            let it = Shown { count: threads.len(), ..*it };
            self.file(&format!("proc/{process}/task/{thread}/stat"), &it.line(*thread, 1));
        }
    }

    /// Removes a folder.
    pub(crate) fn gone(&self, folder: &str) {
        fs::remove_dir_all(self.root().join(folder)).unwrap();
    }

    /// Writes a file.
    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Opens it: what is there now is the first reading.
    pub(crate) fn open(&self) -> System {
        System::open(Options { root: self.root().to_owned(), ..Options::default() }).unwrap()
    }
}

/// The activity of a second that ends with what is there now.
pub(crate) fn second(system: &mut System) -> Activity {
    system.next(Duration::from_secs(1)).unwrap()
}

/// Fields of a task in `/proc/PID/stat`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    pub(crate) name: &'static str,
    pub(crate) ticks: [u64; 2],
    pub(crate) started: u64,
    pub(crate) cpu: u32,
    pub(crate) count: usize,
}

impl Shown {
    pub(crate) fn new(name: &'static str, user: u64, system: u64, cpu: u32) -> Self {
        Self { name, ticks: [user, system], started: 777, cpu, count: 1 }
    }

    fn line(&self, id: u32, parent: u32) -> String {
        let Self { name, ticks: [user, system], started, cpu, count } = self;
        format!(
            "{id} ({name}) S {parent} {id} {id} 0 -1 4194304 9 0 0 0 {user} {system} 0 0 20 0 {count} 0 {started} \
             1000 20 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 {cpu} 0 0 0 0 0 1 1 1 1 1 1 1 0"
        )
    }
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
