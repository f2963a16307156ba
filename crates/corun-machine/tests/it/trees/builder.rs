//! Builds a captured tree in a temporary directory, file by file as a kernel would show it.

use std::fs;
use std::path::Path;

use corun_machine::{CpuSet, Machine, MachineError};
use tempfile::TempDir;

/// A tree under construction.
pub(crate) struct Tree(TempDir);

const CPUS: &str = "sys/devices/system/cpu";

impl Tree {
    /// A tree with nothing in it.
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// One package of these cores, all online: topology files, `present` and `online`, an L1 data
    /// cache a core and an L3 cache for all.
    pub(crate) fn of_cores(cores: &[&[u32]]) -> Self {
        Self::empty().package(0, cores).all_present().all_online()
    }

    /// Adds a package of online cores.
    pub(crate) fn package(mut self, package: u32, cores: &[&[u32]]) -> Self {
        let all: CpuSet = cores.concat().into_iter().collect();
        for (core_id, core) in cores.iter().enumerate() {
            let siblings: CpuSet = core.iter().copied().collect();
            for cpu in *core {
                let topology = format!("{CPUS}/cpu{cpu}/topology");
                self = self
                    .file(&format!("{topology}/physical_package_id"), package)
                    .file(&format!("{topology}/core_id"), core_id)
                    .file(&format!("{topology}/core_cpus_list"), &siblings)
                    .file(&format!("{topology}/package_cpus_list"), &all)
                    .cache(*cpu, 0, (1, "Data", "32K", 8), &siblings)
                    .cache(*cpu, 1, (3, "Unified", "16M", 16), &all);
            }
        }
        self
    }

    /// Adds a description of a cache (level, type, size, ways) to a CPU.
    pub(crate) fn cache(
        self,
        cpu: u32,
        index: u32,
        (level, kind, size, ways): (u32, &str, &str, u32),
        cpus: &CpuSet,
    ) -> Self {
        let folder = format!("{CPUS}/cpu{cpu}/cache/index{index}");
        self.file(&format!("{folder}/level"), level)
            .file(&format!("{folder}/type"), kind)
            .file(&format!("{folder}/size"), size)
            .file(&format!("{folder}/coherency_line_size"), 64)
            .file(&format!("{folder}/ways_of_associativity"), ways)
            .file(&format!("{folder}/shared_cpu_list"), cpus)
    }

    /// Takes a CPU offline as kernels do: its own folders shrink and others forget it.
    pub(crate) fn offline(mut self, cpu: u32) -> Self {
        for folder in ["topology", "cache"] {
            fs::remove_dir_all(self.path(&format!("{CPUS}/cpu{cpu}/{folder}"))).unwrap();
        }
        for other in self.folders().iter() {
            for name in [
                "topology/core_cpus_list",
                "topology/package_cpus_list",
                "cache/index0/shared_cpu_list",
                "cache/index1/shared_cpu_list",
            ] {
                let file = format!("{CPUS}/cpu{other}/{name}");
                if let Ok(text) = fs::read_to_string(self.path(&file)) {
                    let without = CpuSet::from_list(&text).unwrap().difference(&[cpu].into());
                    self = self.file(&file, &without);
                }
            }
        }
        let online = fs::read_to_string(self.path(&format!("{CPUS}/online"))).unwrap();
        let online = CpuSet::from_list(&online).unwrap().difference(&[cpu].into());
        self.file(&format!("{CPUS}/online"), &online)
    }

    /// Writes `smt/control` and `smt/active`.
    pub(crate) fn smt(self, control: &str, active: &str) -> Self {
        self.file(&format!("{CPUS}/smt/control"), control)
            .file(&format!("{CPUS}/smt/active"), active)
    }

    /// Lists all CPUs that have a folder as present.
    pub(crate) fn all_present(self) -> Self {
        let all = self.folders();
        self.file(&format!("{CPUS}/present"), &all)
    }

    /// Lists all CPUs that have a folder as online.
    pub(crate) fn all_online(self) -> Self {
        let all = self.folders();
        self.file(&format!("{CPUS}/online"), &all)
    }

    /// Writes a file, ended by a newline; what was there is gone.
    pub(crate) fn file(self, path: &str, content: impl std::fmt::Display) -> Self {
        self.raw(path, format!("{content}\n").as_bytes())
    }

    /// Writes a file byte by byte.
    pub(crate) fn raw(self, path: &str, bytes: &[u8]) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Removes a file.
    pub(crate) fn without(self, path: &str) -> Self {
        fs::remove_file(self.path(path)).unwrap();
        self
    }

    /// Puts a directory where a file should be: no user can read it, not even root.
    pub(crate) fn unreadable(self, path: &str) -> Self {
        let path = self.path(path);
        fs::remove_file(&path).unwrap();
        fs::create_dir(path).unwrap();
        self
    }

    /// Puts a symbolic link where a file may be.
    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        let path = self.path(path);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    /// The root.
    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Reads the machine.
    pub(crate) fn read(&self) -> Result<Machine, MachineError> {
        Machine::read(self.root())
    }

    /// Reads the machine, which must be there.
    pub(crate) fn machine(&self) -> Machine {
        self.read().unwrap()
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.root().join(path)
    }

    fn folders(&self) -> CpuSet {
        let entries = fs::read_dir(self.path(CPUS)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect()
    }
}
