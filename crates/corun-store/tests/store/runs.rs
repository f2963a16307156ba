//! Runs that are made up, and folders for stores.

use std::path::PathBuf;

use corun_record::{
    Arm, Design, Document, EndReason, Ending, Estimate, Evidence, MachineSummary, Metric, Mode,
    Observation, Placement, Run, Sample, Source, WorkerSample, Workload,
};
use corun_store::{Origin, Store};
use tempfile::TempDir;

/// A folder for a store, which goes away with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder for temporary files"))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.file("corun.db")).expect("a store")
    }
}

pub(crate) fn origin(command: &str) -> Origin {
    Origin {
        command: command.to_owned(),
        line: vec!["measure".into(), "--".into(), "sort".into()],
        folder: "/somewhere".to_owned(),
        host: Some("box".to_owned()),
        started: None,
        tags: Vec::new(),
    }
}

/// A run of `sort` with so many blocks of two samples.
pub(crate) fn run(started: &str, blocks: u32) -> Run {
    let arm = |id: &str, twin_of: Option<&str>| Arm {
        id: id.to_owned(),
        twin_of: twin_of.map(str::to_owned),
        ..Arm::new(Placement::Spread(None), 2, 2, vec![0, 1])
    };
    let arms = vec![arm("spread", None), arm("spread.aa", Some("spread"))];
    let value = 1.5;
    let estimate = Estimate { value, low: 1.4, high: 1.6, level: 0.95, blocks };
    Run {
        format: Run::FORMAT.to_owned(),
        version: Run::VERSION,
        corun_version: "0.1.0".to_owned(),
        started: started.to_owned(),
        elapsed_s: 3.0,
        ending: Ending { reason: EndReason::BlocksDone, sentence: "all were done".to_owned() },
        workload: Workload {
            name: "sort".to_owned(),
            command: vec!["sort".to_owned(), "a, \"b\"".to_owned()],
            parameters: Default::default(),
            mode: Mode::Copies,
            operation: "runs".to_owned(),
            operations: 1.0,
            steady: false,
            load: None,
            program: None,
            input: None,
            prepare: None,
        },
        machine: MachineSummary { host: Some("far".to_owned()), ..MachineSummary::default() },
        design: Design {
            seed: 1,
            blocks,
            warmup: 0,
            cores: Default::default(),
            target: 0.01,
            practical: 0.02,
            interim_analyses: Vec::new(),
            max_time_s: 60.0,
        },
        arms,
        not_possible: Vec::new(),
        observations: vec![Observation {
            metric: Metric::Makespan,
            arm: "spread".to_owned(),
            against: None,
            of: None,
            unit: "s".to_owned(),
            estimate,
            bootstrap: None,
            source: Source::Measured,
        }],
        verdicts: Vec::new(),
        caveats: Vec::new(),
        samples: (0..blocks).flat_map(block).collect(),
    }
}

/// The two samples of a block.
pub(crate) fn block(block: u32) -> [Sample; 2] {
    ["spread", "spread.aa"].map(|arm| Sample {
        block,
        position: u32::from(arm == "spread.aa"),
        arm: arm.to_owned(),
        makespan_s: 1.0 + f64::from(block) / 7.0,
        throughput: 2.0,
        workers: vec![WorkerSample {
            seconds: 1.0,
            subtracted_s: None,
            runs: 1,
            cpus: [(0, 1)].into(),
            check: None,
        }],
        evidence: Evidence { aperf_ghz: Some(3.5), user_s: 1.0, ..Evidence::default() },
        ..Sample::default()
    })
}
