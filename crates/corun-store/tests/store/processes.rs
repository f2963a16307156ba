//! Several processes at once: this test program is started again as each of them.

use std::process::{Child, Command};

use corun_record::Document;
use corun_store::{Filter, Growing, Store};

use crate::runs::{Folder, block, origin, run};

/// The variable that names the store to a process that writes to it.
const STORE: &str = "CORUN_TEST_STORE";
const PROCESSES: usize = 10;
const RUNS: usize = 8;

/// Starts this program again as one of its ignored tests.
pub(crate) fn started(test: &str, folder: &Folder) -> Child {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new(own);
    command.args(["--ignored", "--exact", test]).env(STORE, folder.file("corun.db"));
    command.stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// The store, in a process that was started for it.
pub(crate) fn of_this_process() -> Option<Store> {
    let path = std::env::var_os(STORE)?;
    Some(Store::open(path.as_ref()).unwrap())
}

#[test]
fn ten_processes_that_write_at_once_lose_nothing() {
    let folder = Folder::new();
    // There is no store yet: each of them may be the one that makes it.
    let all: Vec<Child> =
        (0..PROCESSES).map(|_| started("processes::one_of_several_that_write", &folder)).collect();
    for mut process in all {
        assert!(process.wait().unwrap().success());
    }
    let store = folder.store();
    assert_eq!(store.count(&Filter::default()).unwrap(), (PROCESSES * RUNS) as u64);
    let samples = store
        .table(
            corun_store::TidyTable::Samples,
            &store
                .list(&Filter::default())
                .unwrap()
                .iter()
                .map(|(number, _)| *number)
                .collect::<Vec<_>>(),
        )
        .unwrap();
    assert_eq!(samples.lines().count(), 1 + PROCESSES * RUNS * 2 * 3);
}

#[test]
#[ignore = "a part of another test"]
fn one_of_several_that_write() {
    let Some(mut store) = of_this_process() else { return };
    for number in 0..RUNS {
        // No two documents are the same.
        let mut run = run("2026-11-01T00:00:00Z", 3);
        run.elapsed_s = f64::from(std::process::id()) + number as f64 / 100.0;
        if number % 2 == 0 {
            store.add(&origin("measure"), &run.to_json()).unwrap();
            continue;
        }
        let mut growing = Growing::new(origin("measure"), "corun-run", 2);
        growing.begin(&run);
        for number in 0..3 {
            store.add_block(&mut growing, f64::from(number), &block(number)).unwrap();
        }
        store.finish(&growing, &run.to_json()).unwrap();
    }
}
