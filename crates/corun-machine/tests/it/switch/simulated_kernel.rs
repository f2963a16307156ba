//! A kernel that only exists in a table: what hotplug does to CPUs, interrupts, masks and cpusets.
//!
//! It does to others what Linux 6.1 does: `on` brings every CPU up, an interrupt or a task whose
//! CPUs all went away may use any, a cpuset of version 1 loses offline CPUs for good, and the tasks
//! of a set that became empty move to its parent.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use corun_machine::switch::System;
use corun_machine::{CpuSet, FileError, SystemFiles};

const CPUS: &str = "sys/devices/system/cpu";

/// The kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub cores: u32,
    pub width: u32,
    pub online: BTreeSet<u32>,
    /// Text of `smt/control`, where there is one.
    pub control: Option<String>,
    pub irqs: BTreeMap<u32, CpuSet>,
    pub boot_line: String,
    /// Masks by task.
    pub tasks: BTreeMap<u32, CpuSet>,
    /// Sets below the root one: CPUs and tasks by name; a child's name begins with its parent's.
    pub cpusets: BTreeMap<String, (CpuSet, BTreeSet<u32>)>,
}

impl Kernel {
    /// All CPUs online, SMT on.
    pub(crate) fn new(cores: u32, width: u32) -> Self {
        Self {
            cores,
            width,
            online: (0..cores * width).collect(),
            control: Some("on".to_owned()),
            boot_line: String::new(),
            irqs: BTreeMap::new(),
            tasks: BTreeMap::new(),
            cpusets: BTreeMap::new(),
        }
    }

    pub(crate) fn cpus(&self) -> CpuSet {
        (0..self.cores * self.width).collect()
    }

    fn core_of(&self, cpu: u32) -> u32 {
        cpu / self.width
    }

    /// Effects on the others when a CPU goes.
    fn take_offline(&mut self, cpu: u32) {
        self.online.remove(&cpu);
        let online: CpuSet = self.online.iter().copied().collect();
        let all = self.cpus();
        for mask in self.irqs.values_mut().chain(self.tasks.values_mut()) {
            if mask.is_disjoint(&online) {
                *mask = all.clone();
            }
        }
        let names: Vec<String> = self.cpusets.keys().rev().cloned().collect();
        for name in names {
            let Some((cpus, tasks)) = self.cpusets.get_mut(&name) else { continue };
            *cpus = cpus.intersection(&online);
            if cpus.is_empty() {
                let moved = std::mem::take(tasks);
                let parent = name.rsplit_once('/').map(|(parent, _)| parent.to_owned());
                if let Some((_, tasks)) = parent.and_then(|it| self.cpusets.get_mut(&it)) {
                    tasks.extend(moved);
                }
            }
        }
    }

    /// Threads of each core that the switch allows.
    pub(crate) fn allowed_threads(&self) -> u32 {
        match self.control.as_deref() {
            Some("off") => 1,
            Some(number) => number.parse().unwrap_or(self.width),
            None => self.width,
        }
    }

    /// `on`, `off` and, as on powerpc, a number of threads; `half` gives up half-way.
    fn switch(&mut self, word: &str, half: bool) -> io::Result<()> {
        if self.control.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let threads = match word {
            "on" => self.width,
            "off" => 1,
            number => number.parse().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?,
        };
        let (width, before) = (self.width, self.allowed_threads());
        let goes = |cpu: &u32| cpu % width >= threads;
        // What the switch allows already, it does not bring up.
        let comes = |cpu: &u32| cpu % width < threads && threads > before;
        let all = self.cpus();
        let count = if half { all.len() / 2 } else { all.len() };
        for cpu in all.iter().take(count) {
            if goes(&cpu) && self.online.contains(&cpu) {
                self.take_offline(cpu);
            } else if comes(&cpu) {
                self.online.insert(cpu);
            }
        }
        if half {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        self.control = Some(match threads {
            1 => "off".to_owned(),
            all if all == width => "on".to_owned(),
            some => some.to_string(),
        });
        Ok(())
    }

    fn set_online(&mut self, cpu: u32, text: &str) -> io::Result<()> {
        match text {
            "0" => self.take_offline(cpu),
            "1" if cpu % self.width >= self.allowed_threads() => {
                return Err(io::Error::from_raw_os_error(libc::EPERM));
            }
            "1" => drop(self.online.insert(cpu)),
            _ => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
        Ok(())
    }

    /// Everything there is to read.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut add = |path: String, text: String| drop(files.insert(path, text));
        let all = self.cpus();
        let online: CpuSet = self.online.iter().copied().collect();
        add(format!("{CPUS}/present"), all.to_string());
        add(format!("{CPUS}/possible"), all.to_string());
        add(format!("{CPUS}/online"), online.to_string());
        if let Some(control) = &self.control {
            add(format!("{CPUS}/smt/control"), control.clone());
        }
        for cpu in all.iter() {
            if cpu > 0 {
                let online = u8::from(online.contains(cpu));
                add(format!("{CPUS}/cpu{cpu}/online"), online.to_string());
            } else {
                add(format!("{CPUS}/cpu{cpu}/uevent"), String::new());
            }
            if online.contains(cpu) {
                let core = self.core_of(cpu);
                let siblings: CpuSet =
                    online.iter().filter(|other| self.core_of(*other) == core).collect();
                let topology = format!("{CPUS}/cpu{cpu}/topology");
                add(format!("{topology}/core_id"), core.to_string());
                add(format!("{topology}/physical_package_id"), "0".to_owned());
                add(format!("{topology}/thread_siblings_list"), siblings.to_string());
            }
        }
        add("proc/cmdline".to_owned(), self.boot_line.clone());
        // Threads of a core count in the lowest bits of the APIC's number.
        let apic = |cpu: u32| {
            let core = cpu / self.width;
            core * self.width.next_power_of_two() + cpu % self.width
        };
        let about = |cpu: u32| format!("processor\t: {cpu}\napicid\t\t: {}\n", apic(cpu));
        let cpuinfo: Vec<String> = online.iter().map(about).collect();
        add("proc/cpuinfo".to_owned(), cpuinfo.join("\n"));
        for (irq, cpus) in &self.irqs {
            add(format!("proc/irq/{irq}/smp_affinity_list"), cpus.to_string());
        }
        for (task, cpus) in &self.tasks {
            let folder = format!("proc/{task}/task/{task}");
            add(format!("{folder}/status"), format!("Name:\tt\nCpus_allowed_list:\t{cpus}\n"));
            let stat = format!("{task} (t) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {task} 0 0");
            add(format!("{folder}/stat"), stat);
        }
        if !self.cpusets.is_empty() {
            add("proc/mounts".to_owned(), "cpuset /cs cgroup rw,cpuset 0 0".to_owned());
        }
        for (name, (cpus, tasks)) in &self.cpusets {
            add(format!("cs/{name}/cpuset.cpus"), cpus.to_string());
            let tasks: Vec<String> = tasks.iter().map(u32::to_string).collect();
            add(format!("cs/{name}/tasks"), tasks.join("\n"));
        }
        files
    }

    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        let list = || CpuSet::from_list(text).map_err(|_| io::ErrorKind::InvalidInput);
        if path == format!("{CPUS}/smt/control") {
            return self.switch(text, false);
        }
        if let Some(irq) = path.strip_prefix("proc/irq/").and_then(|rest| rest.split_once('/')) {
            let irq = irq.0.parse().map_err(|_| io::ErrorKind::NotFound)?;
            self.irqs.insert(irq, list()?);
            return Ok(());
        }
        if let Some(name) = path.strip_prefix("cs/") {
            let (name, file) = name.rsplit_once('/').ok_or(io::ErrorKind::NotFound)?;
            if file == "tasks" {
                let task: u32 = text.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
                for (_, tasks) in self.cpusets.values_mut() {
                    tasks.remove(&task);
                }
            }
            let set = self.cpusets.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
            match file {
                "tasks" if set.0.is_empty() => {
                    return Err(io::Error::from_raw_os_error(libc::ENOSPC));
                }
                "tasks" => {
                    set.1.insert(text.parse().map_err(|_| io::ErrorKind::InvalidInput)?);
                }
                _ => set.0 = list()?,
            }
            return Ok(());
        }
        let cpu =
            path.strip_prefix(&format!("{CPUS}/cpu")).and_then(|it| it.strip_suffix("/online"));
        match cpu.and_then(|cpu| cpu.parse().ok()) {
            Some(cpu) => self.set_online(cpu, text),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The kernel as corun meets it: every write is counted, and some may fail or never come.
#[derive(Debug, Clone)]
pub(crate) struct Met {
    pub kernel: Kernel,
    /// So many writes are still carried out; what comes later is not written any more.
    pub writes_left: usize,
    /// The write that fails, counted from now; the switch has then done half of its work.
    pub fails_at: Option<usize>,
    pub written: Vec<String>,
    text: String,
}

impl Met {
    pub(crate) fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            writes_left: usize::MAX,
            fails_at: None,
            written: Vec::new(),
            text: String::new(),
        }
    }

    /// True if this write is the one that fails.
    fn fails(&self) -> bool {
        self.fails_at == Some(self.written.len() - 1)
    }

    fn may_write(&mut self, what: String) -> bool {
        self.written.push(what);
        let may = self.writes_left > 0;
        self.writes_left = self.writes_left.saturating_sub(1);
        may
    }
}

impl SystemFiles for Met {
    fn read(&mut self, path: &str) -> Result<&str, FileError> {
        self.text = self.kernel.files().remove(path).ok_or(FileError::Missing)?;
        Ok(self.text.trim())
    }

    fn list(&mut self, directory: &str) -> Vec<String> {
        let below = format!("{directory}/");
        let files = self.kernel.files();
        let names: BTreeSet<String> = files
            .keys()
            .filter_map(|path| path.strip_prefix(&below))
            .map(|rest| rest.split('/').next().unwrap_or(rest).to_owned())
            .collect();
        names.into_iter().collect()
    }
}

impl System for Met {
    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        let may = self.may_write(format!("{path} {text}"));
        match (self.fails(), path.ends_with("smt/control")) {
            (true, true) => self.kernel.switch(text, true),
            (true, false) => Err(io::Error::from_raw_os_error(libc::EBUSY)),
            (false, _) if may => self.kernel.write(path, text),
            (false, _) => Ok(()),
        }
    }

    fn set_affinity(&mut self, task: u32, cpus: &CpuSet) -> io::Result<()> {
        let may = self.may_write(format!("affinity of {task} {cpus}"));
        if self.fails() {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        if may {
            self.kernel.tasks.insert(task, cpus.clone());
        }
        Ok(())
    }

    fn pause(&mut self) {}
}
