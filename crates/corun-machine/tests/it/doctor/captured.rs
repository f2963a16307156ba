//! Captured machines of twenty years: the doctor has something to say of each of them.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use bzip2::read::BzDecoder;
use corun_machine::doctor::{Report, Severity, draw};

use crate::hwloc::captured::CapturedFiles;

/// Checks that can only be made by watching.
const WATCHED: [&str; 2] = ["load", "interrupts"];

#[test]
fn every_captured_machine_is_examined() {
    let Some(folder) = corun_testing::reference("topologies/hwloc") else {
        return corun_testing::skip(
            "hwloc_corpus",
            "the captured machines are not beside the repository",
        );
    };
    let mut machines = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "bz2") {
            continue;
        }
        // Archives of something else than a machine's files have no CPUs.
        let mut files = unpack(&path);
        let Some(report) = Report::from_files(&mut files, None) else { continue };
        crate::doctor::evidence::assert_it_was_read(&report, &mut files);
        machines += 1;
        let at = path.display();
        assert!(!draw(&report, 80, false).is_empty());
        assert!(report.diagnosis("smt").is_some_and(|it| it.severity != Severity::Unknown), "{at}");
        for check in WATCHED {
            assert_eq!(report.diagnosis(check).unwrap().severity, Severity::Unknown, "{at}");
        }
    }
    assert!(machines > 30, "{machines} machines");
}

/// Unpacks what the doctor may read of a captured machine, whose tree lies in a folder of its own.
fn unpack(archive: &Path) -> CapturedFiles {
    let mut files = CapturedFiles::default();
    let mut archive = tar::Archive::new(BzDecoder::new(File::open(archive).unwrap()));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path: std::path::PathBuf = entry.path().unwrap().components().skip(1).collect();
        let path = path.to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        if !path.contains("/memory") && entry.read_to_end(&mut bytes).is_ok() {
            files.insert(path, &bytes);
        }
    }
    files
}
