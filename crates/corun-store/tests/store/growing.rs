//! A run that grows block by block, and its process killed.

use std::os::unix::process::ExitStatusExt;

use corun_record::{
    Actionable, Document, EndReason, Ending, PredictionSweep, Record, Run, SweepCell,
};
use corun_store::{Filter, Growing, RunKind, StoreError, TidyTable};
use rustix::process::{Signal, getpid, kill_process};

use crate::processes::{of_this_process, started};
use crate::runs::{Folder, block, origin, run};

const STARTED: &str = "2026-11-01T00:00:00Z";

#[test]
fn a_killed_process_leaves_its_finished_blocks() {
    let folder = Folder::new();
    let status = started("growing::one_that_is_killed", &folder).wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    let mut store = folder.store();
    let (number, listed) = store.list(&Filter::default()).unwrap().remove(0);
    assert_eq!((listed.ending, listed.is_running, listed.blocks), (None, false, Some(3)));
    assert_eq!(store.table(TidyTable::Samples, &[number]).unwrap().lines().count(), 1 + 3 * 2);
    // It has no answer, so that it is not the last that has one.
    assert!(matches!(store.document_of("last"), Err(StoreError::NoRun { .. })));
    let error = store.document_of(&listed.id).unwrap_err();
    assert!(error.next_step().contains(&format!("--resume {}", listed.id)), "{error}");

    let unfinished = store.resume("last").unwrap();
    assert_eq!((unfinished.number, unfinished.elapsed_s), (number, 2.0));
    assert_eq!(unfinished.line, origin("").line);
    let expected = Run { elapsed_s: 0.0, observations: Vec::new(), ..run(STARTED, 3) };
    assert_eq!(unfinished.run.samples, expected.samples);
    assert_eq!((unfinished.run.design.seed, unfinished.run.design.blocks), (1, 3));
    // Claimed: no other process goes on with it.
    let again = folder.store().resume(&listed.id);
    assert!(matches!(again, Err(StoreError::Unfinished { is_running: true, .. })));

    let mut growing = Growing::going_on(number);
    growing.begin(&unfinished.run);
    store.add_block(&mut growing, 4.0, &block(3)).unwrap();
    assert_eq!(store.listed(number).unwrap().blocks, Some(4));
    store.finish(&growing, &run(STARTED, 4).to_json()).unwrap();
    let finished = store.listed(number).unwrap();
    assert_eq!((finished.ending, finished.blocks), (Some(EndReason::BlocksDone), None));
    assert_eq!(store.find("last", RunKind::Finished).unwrap(), number);
    assert_eq!(store.count(&Filter::default()).unwrap(), 1);
    assert!(matches!(store.resume("last"), Err(StoreError::NoRun { .. })));
    assert!(matches!(store.resume(&listed.id), Err(StoreError::NotResumable { .. })));
}

#[test]
#[ignore = "a part of another test"]
fn one_that_is_killed() {
    let Some(mut store) = of_this_process() else { return };
    let mut growing = Growing::new(origin("measure"), "corun-run", 2);
    growing.begin(&Run { samples: Vec::new(), observations: Vec::new(), ..run(STARTED, 0) });
    for number in 0..3 {
        store.add_block(&mut growing, f64::from(number), &block(number)).unwrap();
    }
    kill_process(getpid(), Signal::KILL).unwrap();
    unreachable!("SIGKILL ends every process");
}

#[test]
fn a_run_without_a_block_leaves_nothing() {
    let folder = Folder::new();
    let store = folder.store();
    let mut growing = Growing::new(origin("measure"), "corun-run", 2);
    growing.begin(&run(STARTED, 0));
    drop(growing);
    assert_eq!(store.count(&Filter::default()).unwrap(), 0);
}

#[test]
fn an_interrupted_run_goes_on_from_its_document() {
    let folder = Folder::new();
    let mut store = folder.store();
    let ending = Ending { reason: EndReason::Interrupted, sentence: "interrupted".to_owned() };
    let document = Run { ending, ..run(STARTED, 2) }.to_json();
    let added = store.add(&origin("measure"), &document).unwrap();
    let unfinished = store.resume("last").unwrap();
    assert_eq!((unfinished.id, unfinished.run.samples.len()), (added.id, 4));
    let mut growing = Growing::going_on(unfinished.number);
    store.add_block(&mut growing, 4.0, &block(2)).unwrap();
    // Killed once more, it has the blocks of both, and no answer that knows fewer.
    drop(store);
    rusqlite::Connection::open(folder.file("corun.db"))
        .unwrap()
        .execute("UPDATE runs SET writer = NULL", [])
        .unwrap();
    let mut store = folder.store();
    let (number, listed) = store.list(&Filter::default()).unwrap().remove(0);
    assert_eq!((listed.ending, listed.blocks, listed.answer.as_str()), (None, Some(3), ""));
    let lines = |table| store.table(table, &[number]).unwrap().lines().count();
    assert_eq!((lines(TidyTable::Samples), lines(TidyTable::Observations)), (1 + 3 * 2, 1));
    assert_eq!(store.document(number).unwrap(), None);
    assert!(matches!(store.document_of(&listed.id), Err(StoreError::Unfinished { .. })));
    // The interrupted answer can be imported again, as another run.
    assert!(store.add(&origin("measure"), &document).unwrap().is_new);
    let resumed = store.resume(&listed.id).unwrap().run;
    assert_eq!((resumed.samples.len(), resumed.design.blocks), (6, 3));
}

/// A sweep of one program on three models without predictions.
fn sweep() -> Record<PredictionSweep> {
    let cell = |model: &str| SweepCell {
        program: "sort".to_owned(),
        model: model.to_owned(),
        settings: Vec::new(),
        prediction: None,
        failure: None,
    };
    let cells = ["a", "b", "c"].map(cell).to_vec();
    Record::new(STARTED.to_owned(), 0.0, PredictionSweep { options: Vec::new(), cells })
}

/// A cell that is marked as finished; what was predicted of it does not matter here.
fn finished(place: usize) -> SweepCell {
    let cell = sweep().body.cells.remove(place);
    SweepCell { failure: Some(format!("mark {place}")), ..cell }
}

#[test]
fn a_killed_sweep_leaves_its_finished_cells_and_is_resumed_with_them() {
    let folder = Folder::new();
    let status = started("growing::a_sweep_that_is_killed", &folder).wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    let mut store = folder.store();
    let (number, listed) = store.list(&Filter::default()).unwrap().remove(0);
    assert_eq!((listed.ending, listed.is_running, listed.blocks), (None, false, Some(2)));
    let error = store.document_of(&listed.id).unwrap_err();
    assert!(error.next_step().contains(&format!("--resume {}", listed.id)), "{error}");
    assert!(matches!(store.resume("last"), Err(StoreError::NoRun { .. })));

    let resumed = store.resume_sweep("last").unwrap();
    assert_eq!((resumed.number, &resumed.id), (number, &listed.id));
    assert_eq!(resumed.sweep.cells, [finished(0), finished(1), sweep().body.cells.remove(2)]);
    let again = folder.store().resume_sweep(&listed.id);
    assert!(matches!(again, Err(StoreError::Unfinished { is_running: true, .. })));

    let mut growing = Growing::going_on(number);
    growing.begin_sweep(&sweep());
    store.add_cell(&mut growing, 3.0, &finished(2)).unwrap();
    assert_eq!(store.listed(number).unwrap().blocks, Some(3));
    store.finish(&growing, &sweep().to_json()).unwrap();
    assert_eq!(
        (store.count(&Filter::default()).unwrap(), store.find("last", RunKind::Finished).unwrap()),
        (1, number)
    );
    // Its answer takes the place of the cells.
    let unpredicted = store.resume_sweep(&listed.id).unwrap().sweep;
    assert_eq!(unpredicted, sweep().body);
}

#[test]
#[ignore = "a part of another test"]
fn a_sweep_that_is_killed() {
    let Some(mut store) = of_this_process() else { return };
    let mut growing = Growing::new(origin("sweep"), "corun-sweep", 1);
    growing.begin_sweep(&sweep());
    for place in 0..2 {
        store.add_cell(&mut growing, 1.0, &finished(place)).unwrap();
    }
    kill_process(getpid(), Signal::KILL).unwrap();
    unreachable!("SIGKILL ends every process");
}
