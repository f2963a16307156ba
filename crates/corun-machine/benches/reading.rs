//! Reading the topology of 1,024 CPUs against merely reading the same files.
//!
//! `cargo bench -p corun-machine --bench reading` writes a synthetic tree to a temporary directory
//! (in memory where /dev/shm is one), notes which files a reading opens, and times both sides in
//! alternating rounds. The median ratio must stay below 1.5.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use corun_machine::{CpuSet, FileError, Machine, RootFiles, SystemFiles};

const CPUS: u32 = 1024;
const ROUNDS: usize = 31;
const LIMIT: f64 = 1.5;

fn main() -> ExitCode {
    let place = if Path::new("/dev/shm").is_dir() {
        PathBuf::from("/dev/shm")
    } else {
        std::env::temp_dir()
    };
    let tree = tempfile::tempdir_in(place).expect("a temporary directory can be made");
    write_tree(tree.path());

    let mut noting = Noting {
        files: RootFiles::open(tree.path()).expect("the tree is there"),
        read: Vec::new(),
    };
    let machine = Machine::from_files(&mut noting).expect("the tree has CPUs");
    assert_eq!(machine.cores.len(), CPUS as usize / 2);
    assert_eq!(machine.findings, []);
    let files: Vec<PathBuf> = noting.read.iter().map(|file| tree.path().join(file)).collect();

    let (mut topology, mut merely) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        topology.push(timed(|| Machine::read(tree.path()).expect("the tree has CPUs")));
        merely.push(timed(|| {
            files
                .iter()
                .map(|file| fs::read(file).expect("it was read before").len())
                .sum::<usize>()
        }));
    }
    let mut ratios: Vec<f64> = topology
        .iter()
        .zip(&merely)
        .map(|(one, other)| one.as_secs_f64() / other.as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    topology.sort();
    merely.sort();
    let ratio = ratios[ROUNDS / 2];
    println!("{CPUS} CPUs, {} files, medians of {ROUNDS} rounds", files.len());
    println!("topology      {:8.2} ms", milliseconds(topology[ROUNDS / 2]));
    println!("merely read   {:8.2} ms", milliseconds(merely[ROUNDS / 2]));
    println!("ratio         {ratio:8.2}    (limit {LIMIT})");
    if ratio < LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = work();
    let elapsed = start.elapsed();
    black_box(result);
    elapsed
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Two packages of 16 L3 caches, each with 16 cores of two siblings; a node an L3 cache.
fn write_tree(root: &Path) {
    let cpus = root.join("sys/devices/system/cpu");
    let cores = CPUS / 2;
    let write = |path: PathBuf, text: String| {
        fs::create_dir_all(path.parent().expect("every file is in a folder"))
            .expect("a folder can be made");
        fs::write(path, text + "\n").expect("a file can be written");
    };
    let sharers = |group: u32, size: u32| -> CpuSet {
        (group * size..(group + 1) * size).flat_map(|core| [core, core + cores]).collect()
    };
    for cpu in 0..CPUS {
        let core = cpu % cores;
        let folder = cpus.join(format!("cpu{cpu}"));
        let (package, siblings) = (core / 256, sharers(core, 1));
        for (file, text) in [
            ("physical_package_id", package.to_string()),
            ("die_id", "0".to_owned()),
            ("cluster_id", "65535".to_owned()),
            ("core_id", (core % 256).to_string()),
            ("core_cpus_list", siblings.to_string()),
            ("package_cpus_list", sharers(package, 256).to_string()),
        ] {
            write(folder.join("topology").join(file), text);
        }
        let caches = [
            (1, "Data", "32K", 8, &siblings),
            (1, "Instruction", "32K", 8, &siblings),
            (2, "Unified", "1024K", 8, &siblings),
            (3, "Unified", "32768K", 16, &sharers(core / 16, 16)),
        ];
        for (index, (level, kind, size, ways, cpus)) in caches.into_iter().enumerate() {
            let cache = folder.join(format!("cache/index{index}"));
            write(cache.join("level"), level.to_string());
            write(cache.join("type"), kind.to_owned());
            write(cache.join("size"), size.to_owned());
            write(cache.join("coherency_line_size"), "64".to_owned());
            write(cache.join("ways_of_associativity"), ways.to_string());
            write(cache.join("shared_cpu_map"), mask(cpus));
        }
    }
    for node in 0..32 {
        let folder = root.join(format!("sys/devices/system/node/node{node}"));
        write(folder.join("cpulist"), sharers(node, 16).to_string());
        write(folder.join("meminfo"), format!("Node {node} MemTotal:       16318016 kB"));
    }
    write(cpus.join("present"), format!("0-{}", CPUS - 1));
    write(cpus.join("online"), format!("0-{}", CPUS - 1));
    write(cpus.join("smt/control"), "on".to_owned());
    write(cpus.join("smt/active"), "1".to_owned());
    // One record: corun reads no further, and reading a thousand would flatter the ratio.
    write(root.join("proc/cpuinfo"), "model name : Synthetic CPU\nflags : fpu".to_owned());
}

/// The kernel's mask form, for all CPUs of the tree.
fn mask(cpus: &CpuSet) -> String {
    let word = |word: u32| {
        let bits = cpus
            .iter()
            .filter(|cpu| cpu / 32 == word)
            .fold(0u32, |bits, cpu| bits | 1 << (cpu % 32));
        format!("{bits:08x}")
    };
    (0..CPUS / 32).rev().map(word).collect::<Vec<_>>().join(",")
}

/// Files that notes what was read from them.
struct Noting {
    files: RootFiles,
    read: Vec<String>,
}

impl SystemFiles for Noting {
    fn read(&mut self, path: &str) -> Result<&str, FileError> {
        let text = self.files.read(path)?;
        self.read.push(path.to_owned());
        Ok(text)
    }

    fn read_start(&mut self, path: &str) -> Result<&str, FileError> {
        let text = self.files.read_start(path)?;
        self.read.push(path.to_owned());
        Ok(text)
    }

    fn list(&mut self, directory: &str) -> Vec<String> {
        self.files.list(directory)
    }
}
