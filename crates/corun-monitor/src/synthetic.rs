//! A machine that does not exist: plausible activities of any topology and number of threads, for tests and benches.

use std::time::Duration;

use corun_record::{
    Activity, CoBusyEvidence, CoBusyMethod, Companion, CoreActivity, CpuActivity, TaskActivity,
    YieldRange, YieldSource,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{MonitorError, Source, capacity_use};

/// A source that makes its intervals up, the same ones for the same seed, without waiting.
#[derive(Debug, Clone)]
pub struct Synthetic {
    random: ChaCha8Rng,
    width: u32,
    /// The package of each core.
    packages: Vec<u32>,
    threads: Vec<Thread>,
}

#[derive(Debug, Clone)]
struct Thread {
    thread: u32,
    process: u32,
    name: &'static str,
    cgroup: String,
    /// The CPU that it runs on, and the share of it that it wants.
    cpu: u32,
    demand: f64,
}

const NAMES: [&str; 8] =
    ["postgres", "nginx", "java", "rustc", "kworker/3:1", "python3", "ffmpeg", "systemd-journal"];

impl Synthetic {
    /// A machine with so many packages, cores a package, siblings a core and threads.
    pub fn new(packages: u32, cores: u32, width: u32, threads: u32, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let cpus = (packages * cores * width).max(1);
        let mut process = 0;
        let threads = (0..threads)
            .map(|number| {
                let thread = 1000 + number;
                // A process has five threads in the mean.
                if process == 0 || random.random_bool(0.2) {
                    process = thread;
                }
                let kind = process as usize % NAMES.len();
                let slice = ["system.slice", "user.slice/user-1000.slice"][process as usize % 2];
                Thread {
                    thread,
                    process,
                    name: NAMES[kind],
                    cgroup: format!("/{slice}/{}.service", NAMES[kind].replace('/', "-")),
                    cpu: random.random_range(0..cpus),
                    demand: random.random::<f64>().powi(3),
                }
            })
            .collect();
        let packages = (0..packages).flat_map(|it| std::iter::repeat_n(it, cores as usize));
        Self { random, width, packages: packages.collect(), threads }
    }

    fn cpus(&self) -> u32 {
        self.packages.len() as u32 * self.width
    }

    /// Siblings are numbered as Linux does on most machines: first one of each core.
    fn core_of(&self, cpu: u32) -> u32 {
        cpu % (self.packages.len() as u32).max(1)
    }
}

impl Source for Synthetic {
    fn next(&mut self, wait: Duration) -> Result<Activity, MonitorError> {
        let cpus = self.cpus();
        let mut moves = vec![0; self.threads.len()];
        for (index, moved) in moves.iter_mut().enumerate() {
            if cpus > 0 && self.random.random_bool(0.1) {
                self.threads[index].cpu = self.random.random_range(0..cpus);
                *moved = self.random.random_range(1..20);
            }
        }
        let mut wanted = vec![0.0; cpus as usize];
        for thread in &self.threads {
            wanted[thread.cpu as usize] += thread.demand;
        }
        let busy: Vec<f64> = wanted.iter().map(|it: &f64| it.min(1.0)).collect();
        let cores: Vec<CoreActivity> =
            (0..self.packages.len() as u32).map(|core| self.core(core, &busy)).collect();
        let yields = YieldRange { low: 1.0, high: f64::from(self.width), source: YieldSource::Any };
        let mut tasks: Vec<TaskActivity> = (0..self.threads.len())
            .map(|index| self.task(index, moves[index], &wanted, &busy))
            .collect();
        tasks.sort_by(|one, other| {
            other.used().total_cmp(&one.used()).then(one.thread.cmp(&other.thread))
        });
        Ok(Activity {
            interval_s: wait.as_secs_f64(),
            co_busy: CoBusyEvidence {
                method: CoBusyMethod::Sampled,
                error: 0.021,
                cost: 0.003,
                not_exact_because: Some("tracing is not permitted to this user".to_owned()),
            },
            capacity: capacity_use(&cores, yields),
            cores,
            tasks,
            tasks_not_seen: 3,
            tasks_hidden: false,
        })
    }
}

impl Synthetic {
    /// A core whose siblings are busy independently of each other.
    fn core(&self, core: u32, busy: &[f64]) -> CoreActivity {
        let cores = self.packages.len() as u32;
        let cpus: Vec<CpuActivity> = (0..self.width)
            .map(|sibling| {
                let cpu = core + sibling * cores;
                let busy = busy[cpu as usize];
                CpuActivity {
                    cpu,
                    user: busy * 0.8,
                    system: busy * 0.2,
                    idle: 1.0 - busy,
                    steal: 0.0,
                }
            })
            .collect();
        let mut busy_siblings = vec![1.0];
        for cpu in &cpus {
            let mut next = vec![0.0; busy_siblings.len() + 1];
            for (count, share) in busy_siblings.iter().enumerate() {
                next[count] += share * cpu.idle;
                next[count + 1] += share * (1.0 - cpu.idle);
            }
            busy_siblings = next;
        }
        CoreActivity { core, package: Some(self.packages[core as usize]), cpus, busy_siblings }
    }

    fn task(&self, index: usize, moves: u64, wanted: &[f64], busy: &[f64]) -> TaskActivity {
        let thread = &self.threads[index];
        let share = |it: &Thread| it.demand / wanted[it.cpu as usize].max(1.0);
        let used = share(thread);
        let core = self.core_of(thread.cpu);
        let is_sibling = |cpu: u32| cpu != thread.cpu && self.core_of(cpu) == core;
        let siblings_idle: f64 = (0..self.cpus())
            .filter(|it| is_sibling(*it))
            .map(|it| 1.0 - busy[it as usize])
            .product();
        // Companions are looked for among some of the threads, so that 10,000 of them cost no 10^8 comparisons.
        let near = self.threads.iter().skip(index + 1).chain(&self.threads).take(64);
        let mut beside: Vec<Companion> = near
            .filter(|it| is_sibling(it.cpu))
            .map(|it| Companion {
                thread: it.thread,
                name: it.name.to_owned(),
                together: used * share(it),
            })
            .collect();
        beside.sort_by(|one, other| other.together.total_cmp(&one.together));
        beside.truncate(3);
        TaskActivity {
            thread: thread.thread,
            process: thread.process,
            parent: if thread.process.is_multiple_of(3) { 1000 } else { 1 },
            name: thread.name.to_owned(),
            cgroup: Some(thread.cgroup.clone()),
            cpu: thread.cpu,
            cpus: vec![thread.cpu],
            user: used * 0.75,
            system: used * 0.25,
            migrations: Some(moves),
            beside_busy: Some(1.0 - siblings_idle),
            beside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_machine() {
        let of = |seed| {
            let mut source = Synthetic::new(2, 4, 2, 50, seed);
            let first = source.next(Duration::from_secs(1)).unwrap();
            (first, source.next(Duration::from_secs(1)).unwrap())
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let (first, second) = of(1);
        assert_ne!(first, second);
        assert_eq!((first.cores.len(), first.tasks.len()), (8, 50));
        for core in &first.cores {
            assert!((core.busy_siblings.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
