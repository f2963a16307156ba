//! Time of a campaign of many nodes from its result files to the store, and to the report; real time, and processor time,
//! which other programs disturb less: `cargo bench -p corun-nodes --bench campaign`.

#[path = "../tests/campaign/cluster.rs"]
mod cluster;

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::Cluster;
use corun_fleet::layout::{Attempt, Directory, TaskResult, attempt_file};
use corun_fleet::{Campaign, Facts, Plan, collect, prepare, results};
use corun_nodes::{NodeRun, ReportRequest, report};
use corun_record::{Document, Run};
use corun_store::Store;
use serde_json::value::RawValue;

const REPEATS: u32 = 3;

fn main() {
    for nodes in [100, 400, 1600] {
        let folder = tempfile::tempdir().expect("a folder");
        let directory = Directory::new(folder.path().join("it.fleet"));
        let (plan, size) = finished(nodes, &directory);
        let path = folder.path().join("corun.db");
        let (collected, collecting) = timed(|| {
            let found = results::read(&plan, &directory).expect("results");
            let mut store = Store::open(&path).expect("a store");
            collect(&plan, &directory, &found, &mut store).expect("they are collected")
        });
        assert_eq!(collected.added, nodes * REPEATS);
        let (types, reporting) = timed(|| reported(&plan, &directory));
        println!(
            "{nodes} nodes, {} results of {} kB: collected in {collecting}, reported in {reporting}, {types} type",
            collected.added,
            size / plan.tasks.len() / 1000,
        );
    }
}

/// The campaign's directory with a result for each task, and the size of all documents.
fn finished(nodes: u32, directory: &Directory) -> (Plan, usize) {
    let text = format!(
        "format = \"corun-campaign\"\nversion = 1\nname = \"it\"\nrepeats = {REPEATS}\n[[program]]\nname = \"solver\"\n\
         workload = \"fib\"\n"
    );
    let campaign = Campaign::from_toml("it.toml", &text).expect("a campaign");
    let names = (1..=nodes).map(|it| format!("n{it}")).collect();
    let facts = Facts { nodes: names, ..Facts::default() };
    let plan = Plan::of(&campaign, facts).expect("a plan");
    let plan = prepare(plan, directory, Path::new("/bin/sh")).expect("a directory");
    let cluster = Cluster { repeats: REPEATS, ..Cluster::of(nodes) };
    let mut size = 0;
    for (task, run) in (0..).zip(cluster.runs(1, |_| ())) {
        let document = run.run.to_json();
        size += document.len();
        let attempt = Attempt {
            campaign: plan.campaign.clone(),
            task,
            attempt: "1-0".to_owned(),
            node: run.node,
            job: Some("1".to_owned()),
            started: run.run.started,
            online_cpus: "0-7".to_owned(),
            allowed_cpus: "0-7".to_owned(),
            cpus_differ: None,
        };
        let file = directory.results().join(attempt_file(task, &attempt.attempt));
        let result = TaskResult {
            format: TaskResult::FORMAT.to_owned(),
            version: TaskResult::VERSION,
            ended: attempt.started.clone(),
            attempt,
            failure: None,
            document: Some(RawValue::from_string(document.trim().to_owned()).expect("JSON")),
        };
        let text = serde_json::to_string(&result).expect("JSON");
        std::fs::write(file, text).expect("a result is written");
    }
    (plan, size)
}

/// Reads the results and makes the report; the number of hardware types in it.
fn reported(plan: &Plan, directory: &Directory) -> usize {
    let found = results::read(plan, directory).expect("results");
    let run = |result: &TaskResult| NodeRun {
        node: result.attempt.node.clone(),
        program: "solver".to_owned(),
        condition: None,
        run: Run::from_json(result.document.as_ref().expect("a document").get()).expect("a run"),
        is_search: false,
    };
    let runs: Vec<NodeRun> = results::counted(directory, &found).into_values().map(run).collect();
    let request = ReportRequest {
        campaign: None,
        confidence: 0.95,
        practical: 0.02,
        error_rate: 0.05,
        unmeasured: Vec::new(),
    };
    report(&runs, &request).0.types.len()
}

/// Result of a closure, and the real and the processor time that it took.
fn timed<T>(act: impl FnOnce() -> T) -> (T, String) {
    // All is done in this thread; its first field is the time on a CPU in nanoseconds.
    let processor = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("/proc");
        let ns = text.split(' ').next().and_then(|it| it.parse().ok());
        Duration::from_nanos(ns.expect("a number"))
    };
    let (begun, used) = (Instant::now(), processor());
    let found = act();
    (found, format!("{:.2?} ({:.2?} of processor time)", begun.elapsed(), processor() - used))
}
