//! A cluster that does not exist, whose true figures are known, and the runs that corun would make on it.

use std::collections::BTreeMap;

use corun_nodes::NodeRun;
use corun_record::{
    Arm, ClockProbe, Design, Document, Ending, Estimate, Evidence, MachineSummary, Metric, Mode,
    Observation, Placement, Run, Sample, Source, Workload,
};
use corun_stats::{level_of_each, paired};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

pub(crate) const BLOCKS: u32 = 8;
/// Workers in each arm.
const WORKERS: [(&str, u32); 2] = [("spread", 4), ("full", 8)];

/// Nodes of one hardware type, as they are by default.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) model: &'static str,
    pub(crate) nodes: u32,
    pub(crate) repeats: u32,
    /// The logarithm of the mean yield.
    pub(crate) yielded: f64,
    /// The standard deviation between nodes on the log scale: of speed and of yield.
    pub(crate) between: f64,
    /// The noise of one block.
    pub(crate) noise: f64,
}

impl Cluster {
    pub(crate) fn of(nodes: u32) -> Self {
        Self { model: "Made up", nodes, repeats: 1, yielded: 0.2, between: 0.01, noise: 0.008 }
    }

    /// The runs of all nodes; `odd` changes what it wants of a node.
    pub(crate) fn runs(&self, seed: u64, odd: impl Fn(&mut Node)) -> Vec<NodeRun> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut normal = move || -> f64 { StandardNormal.sample(&mut random) };
        let mut runs = Vec::new();
        for index in 1..=self.nodes {
            let mut node = Node {
                name: format!("n{index}"),
                speed: self.between * normal(),
                yielded: self.yielded + self.between * normal(),
                clock: 3.0,
                foreign: 0.0,
                machine: machine(self.model),
            };
            odd(&mut node);
            for repeat in 0..self.repeats {
                runs.push(node.run(repeat, self.noise, &mut normal));
            }
        }
        runs
    }
}

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// The logarithm of its speed, over that of the mean.
    pub(crate) speed: f64,
    /// The logarithm of its yield.
    pub(crate) yielded: f64,
    pub(crate) clock: f64,
    /// Share of its CPUs that other work takes.
    pub(crate) foreign: f64,
    pub(crate) machine: MachineSummary,
}

fn machine(model: &str) -> MachineSummary {
    let caches = [("L1d", 48 << 10), ("L2", 2 << 20), ("L3", 32 << 20)];
    MachineSummary {
        cpu_model: Some(model.to_owned()),
        kernel: Some("6.1.0".to_owned()),
        online_cpus: 8,
        allowed_cpus: 8,
        cores: 4,
        smt_width: 2,
        caches: caches.map(|(level, bytes)| (level.to_owned(), vec![bytes])).into(),
        smt_control: Some("on".to_owned()),
        smt_active: Some(true),
        governors: vec!["performance".to_owned()],
        turbo: Some(true),
        ..MachineSummary::default()
    }
}

impl Node {
    fn run(&self, repeat: u32, noise: f64, normal: &mut impl FnMut() -> f64) -> NodeRun {
        let arms: Vec<Arm> = WORKERS
            .into_iter()
            .take(if self.machine.smt_width > 1 { 2 } else { 1 })
            .map(|(id, workers)| arm(id, workers))
            .collect();
        let mut logs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut samples = Vec::new();
        for block in 0..BLOCKS {
            for (position, arm) in (0..).zip(&arms) {
                let gain = if arm.id == "full" { self.yielded } else { 0.0 };
                let log = 5.0 + self.speed + gain + noise * normal();
                samples.push(self.sample([block, position], &arm.id, log));
                logs.entry(if arm.id == "full" { "full" } else { "spread" }).or_default().push(log);
            }
        }
        let mut observations: Vec<Observation> = logs
            .iter()
            .map(|(arm, logs)| observation(Metric::Throughput, arm, None, "operations/s", logs))
            .collect();
        if let (Some(full), Some(spread)) = (logs.get("full"), logs.get("spread")) {
            let ratios: Vec<f64> =
                full.iter().zip(spread).map(|(full, spread)| full - spread).collect();
            observations.push(observation(Metric::SmtYield, "full", Some("spread"), "1", &ratios));
        }
        let run = Run {
            format: Run::FORMAT.to_owned(),
            version: Run::VERSION,
            corun_version: "0.1.0".to_owned(),
            started: format!("2026-01-01T{repeat:02}:00:00Z"),
            elapsed_s: 60.0,
            ending: Ending::completed(),
            workload: workload(),
            machine: MachineSummary { host: Some(self.name.clone()), ..self.machine.clone() },
            design: Design {
                seed: repeat.into(),
                blocks: BLOCKS,
                warmup: 1,
                cores: BTreeMap::new(),
                target: 0.01,
                practical: 0.02,
                interim_analyses: Vec::new(),
                max_time_s: 300.0,
            },
            arms,
            not_possible: Vec::new(),
            observations,
            verdicts: Vec::new(),
            caveats: Vec::new(),
            samples,
        };
        NodeRun {
            node: self.name.clone(),
            program: "solver".to_owned(),
            condition: None,
            run,
            is_search: false,
        }
    }

    fn sample(&self, [block, position]: [u32; 2], arm: &str, log: f64) -> Sample {
        let clock = |cpu| ClockProbe { cpu, before_per_ns: self.clock, after_per_ns: self.clock };
        Sample {
            block,
            position,
            arm: arm.to_owned(),
            makespan_s: (-log).exp(),
            throughput: log.exp(),
            evidence: Evidence {
                clocks: vec![clock(0), clock(1)],
                foreign_busy: Some(self.foreign),
                ..Evidence::default()
            },
            ..Sample::default()
        }
    }
}

fn workload() -> Workload {
    Workload {
        name: "solver".to_owned(),
        command: vec!["./solver".to_owned()],
        parameters: BTreeMap::new(),
        mode: Mode::Copies,
        operation: "runs".to_owned(),
        operations: 1.0,
        steady: false,
        load: None,
        program: None,
        input: None,
        prepare: None,
    }
}

fn arm(id: &str, workers: u32) -> Arm {
    Arm {
        id: id.to_owned(),
        ..Arm::new(
            id.parse::<Placement>().expect("a placement"),
            workers,
            4,
            (0..workers).collect(),
        )
    }
}

fn observation(
    metric: Metric,
    arm: &str,
    against: Option<&str>,
    unit: &str,
    logs: &[f64],
) -> Observation {
    let found = paired(logs, level_of_each(0.95, 1)).expect("several blocks");
    let [value, low, high] = found.ratio();
    Observation {
        metric,
        arm: arm.to_owned(),
        against: against.map(str::to_owned),
        of: None,
        unit: unit.to_owned(),
        estimate: Estimate { value, low, high, level: found.level, blocks: found.blocks },
        bootstrap: None,
        source: Source::Measured,
    }
}
