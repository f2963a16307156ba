//! Times of the store: a list of 10,000 runs, one run of them, and a block.
//!
//! `cargo bench -p corun-store` makes a store of 1,000,000 samples and prints
//! the figures of docs/store.md. `-- RUNS` makes another number of runs.

use std::path::Path;
use std::time::{Duration, Instant};

use corun_record::{Document, Sample};
use corun_store::{Filter, Growing, Origin, Store, TidyTable};

#[path = "../tests/store/runs.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod runs;

/// Samples of a run: with 10,000 runs a million.
const SAMPLES: u32 = 100;
/// Each is timed so often; the median counts.
const ROUNDS: usize = 21;

fn main() {
    let runs = std::env::args().find_map(|it| it.parse().ok()).unwrap_or(10_000);
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("corun.db");
    let began = Instant::now();
    let text = filled(&path, runs);
    println!(
        "{runs} runs with {} samples, made in {:.1} s",
        runs * SAMPLES,
        began.elapsed().as_secs_f64()
    );
    let megabytes = path.metadata().expect("the store is there").len() as f64 / 1e6;
    println!("size: {megabytes:.0} MB; the documents as text: {:.0} MB", text as f64 / 1e6);

    report("list of all runs", || {
        let store = opened(&path);
        assert_eq!(store.list(&Filter::default()).expect("a list").len(), runs as usize);
    });
    report("list of one workload, 30 rows", || {
        let workload = Some("sort 42".to_owned());
        let filter = Filter { workload, limit: Some(30), ..Filter::default() };
        assert!(!opened(&path).list(&filter).expect("a list").is_empty());
    });
    let mut at = 0;
    report("one run: its document", || {
        at += 1;
        let store = opened(&path);
        let number =
            store.find(&format!("last~{}", at * 7), corun_store::RunKind::Finished).expect("a run");
        assert!(store.document(number).expect("it can be read").is_some());
    });
    report("one run: its samples as CSV", || {
        at += 1;
        let store = opened(&path);
        let number =
            store.find(&format!("last~{}", at * 7), corun_store::RunKind::Finished).expect("a run");
        let table = store.table(TidyTable::Samples, &[number]).expect("a table");
        assert_eq!(table.lines().count(), SAMPLES as usize + 1);
    });
    let mut store = opened(&path);
    let mut growing = Growing::new(Origin::default(), "corun-run", 2);
    growing.begin(&runs::run("2026-11-01T00:00:00Z", 0));
    let mut block = 0;
    report("a block of two samples, on the disk", || {
        store.add_block(&mut growing, 1.0, &runs::block(block)).expect("it is kept");
        block += 1;
    });
}

fn opened(path: &Path) -> Store {
    Store::open(path).expect("the store is there")
}

/// Fills a store, and says how long its documents are as text.
fn filled(path: &Path, runs: u32) -> usize {
    let mut store = opened(path);
    let mut length = 0;
    for number in 0..runs {
        let (day, minute) = (number / 1440, number % 1440);
        let started = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:00Z",
            2020 + day / 336,
            1 + day / 28 % 12,
            1 + day % 28,
            minute / 60,
            minute % 60
        );
        let mut run = runs::run(&started, SAMPLES / 2);
        run.workload.command[1] = (number % 100).to_string();
        for sample in &mut run.samples {
            disturb(sample, number);
        }
        let json = run.to_json();
        length += json.len();
        store.add(&runs::origin("measure"), &json).expect("it is kept");
    }
    length
}

/// Figures that differ in all of their digits, as measured ones do.
fn disturb(sample: &mut Sample, number: u32) {
    let seed = f64::from(number) * 1e-3 + f64::from(sample.block * 2 + sample.position);
    let digits = |place: f64| (seed * place).sin().abs();
    sample.makespan_s = 1.0 + digits(1.1);
    sample.throughput = 1.0 / sample.makespan_s;
    sample.workers[0].seconds = sample.makespan_s;
    let evidence = &mut sample.evidence;
    evidence.aperf_ghz = Some(3.0 + digits(1.3));
    evidence.steal_s = Some(digits(1.7));
    evidence.foreign_busy = Some(digits(1.9));
    evidence.cpu_wait = Some(digits(2.3));
    evidence.migrations = Some(u64::from(number % 7));
    (evidence.user_s, evidence.system_s) = (digits(2.9), digits(3.1));
}

fn report(what: &str, mut act: impl FnMut()) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            act();
            began.elapsed()
        })
        .collect();
    times.sort();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{what}: {:.2} ms (longest of {ROUNDS}: {:.2} ms)",
        milliseconds(times[ROUNDS / 2]),
        milliseconds(times[ROUNDS - 1])
    );
}
