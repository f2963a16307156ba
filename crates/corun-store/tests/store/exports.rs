//! Tidy tables: what a program for data reads is what was measured.

use corun_record::Document;
use corun_store::{Filter, TidyTable};

use crate::runs::{Folder, origin, run};

#[test]
fn every_row_says_all_that_it_is_about() {
    let folder = Folder::new();
    let mut store = folder.store();
    let run = run("2026-11-01T00:00:00Z", 2);
    let added = store.add(&origin("measure"), &run.to_json()).unwrap();
    let numbers: Vec<i64> =
        store.list(&Filter::default()).unwrap().iter().map(|(number, _)| *number).collect();
    let rows = |table: TidyTable| {
        let text = store.table(table, &numbers).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        (header, rows)
    };
    let (header, samples) = rows(TidyTable::Samples);
    assert_eq!(samples.len(), run.samples.len());
    let of = |row: usize, name: &str| {
        let column = header.iter().position(|it| it == name).unwrap_or_else(|| panic!("{name}"));
        samples[row][column].to_owned()
    };
    for (row, sample) in run.samples.iter().enumerate() {
        assert_eq!(of(row, "run"), added.id);
        assert_eq!((of(row, "started"), of(row, "host")), (run.started.clone(), "far".to_owned()));
        assert_eq!(
            (of(row, "command"), of(row, "workload")),
            ("measure".to_owned(), "sort 'a, \"b\"'".to_owned())
        );
        assert_eq!(
            (of(row, "arm"), of(row, "placement")),
            (sample.arm.clone(), "spread".to_owned())
        );
        assert_eq!(of(row, "block"), sample.block.to_string());
        assert_eq!(of(row, "value").parse::<f64>().unwrap(), sample.makespan_s);
        assert_eq!((of(row, "unit"), of(row, "clock_ghz")), ("s".to_owned(), "3.5".to_owned()));
        assert_eq!(of(row, "steal_s"), "", "unknown is empty, not 0");
    }
    let (header, observations) = rows(TidyTable::Observations);
    assert_eq!(observations.len(), 1);
    let column = header.iter().position(|it| it == "low").unwrap();
    assert_eq!(&observations[0][column], "1.4");
    assert_eq!(rows(TidyTable::Runs).1.len(), 1);
}
