//! Sweeps of predictions as job arrays.

use corun_record::{Document, KeptRunList, PredictionSweep, Record};

use crate::fleet::campaign::{Outcome, Scratch, files, until};
use crate::fleet::cluster::Cluster;

/// A sweep of programs in the directory of the campaign, its result as JSON.
fn sweep(scratch: &Scratch, options: &[&str]) -> Outcome {
    let directory = scratch.directory();
    let directory = ["--slurm", directory.to_str().unwrap()];
    let shared = ["predict", "--json=-", "--placement=spread", "--length=100k"];
    scratch.run(&[&shared[..], &directory, options].concat())
}

fn predicted(outcome: &Outcome) -> PredictionSweep {
    Record::<PredictionSweep>::from_json(&outcome.output).unwrap().body
}

#[test]
fn a_sweep_is_submitted_once_and_shown_when_it_is_done() {
    let Some(cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    let program = scratch.program("it's \"a\"\nprogram", "[ \"$1\" = 'x y' ]");
    let program = shell_words::join([program.to_str().unwrap(), "x y", "$HOME;\n"]);
    let options = ["--model=zen3,zen4", "--workload=fib", "--program", &program];
    let first = sweep(&scratch, &options);
    assert_eq!(first.exit, Some(0), "{first:?}");
    assert!(first.errors.contains("2 of 2 programs were submitted"), "{first:?}");
    // What waits, runs or is done is not submitted again.
    let again = sweep(&scratch, &options);
    assert!(again.errors.contains("Nothing was submitted"), "{again:?}");
    let status = scratch.ended();
    assert_eq!((status.tasks.done, status.tasks.total()), (2, 2), "{status:#?}");
    let shown = sweep(&scratch, &options);
    assert_eq!(shown.exit, Some(0), "{shown:?}");
    let found = predicted(&shown);
    assert_eq!((found.cells.len(), found.predictions().count()), (4, 4), "{found:?}");
    assert_eq!(scratch.collect().collected.unwrap().added, 2);
    // Another sweep needs another directory.
    let other = sweep(&scratch, &["--model=zen3", "--workload=fib"]);
    assert_eq!(other.exit, Some(2), "{other:?}");
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_sweep_whose_node_dies_is_resumed_with_its_finished_cells() {
    let Some(mut cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    let options = ["--model=all", "--set=main.nanoseconds=60,70,80,90,100,110", "--program=true"];
    assert_eq!(sweep(&scratch, &options).exit, Some(0));
    let store = scratch.directory().join("kept/00000.db");
    let kept = || {
        let words = ["runs", "list", "--json", "-", "--store", store.to_str().unwrap()];
        let list = Record::<KeptRunList>::from_json(&scratch.done(&words)).unwrap();
        list.body.runs
    };
    until("a cell is kept", || store.exists() && kept().iter().any(|it| it.blocks >= Some(1)));
    let begun = kept().remove(0);
    assert_eq!(begun.ending, None, "the sweep has ended already");
    cluster.crash_node(&scratch.status().nodes[0].node);
    let status = scratch.ended();
    assert_eq!((status.tasks.done, status.tasks.total()), (1, 1), "{status:#?}");
    assert_eq!(files(&scratch.directory().join("attempts")).len(), 2);
    // The second attempt went on with the run of the first one.
    let ended = kept();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0].id, begun.id);
    assert!(ended[0].ending.is_some());
    let found = predicted(&sweep(&scratch, &options));
    assert_eq!(found.predictions().count(), found.cells.len());
}
