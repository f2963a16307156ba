//! systemd reads the unit and finds little that the service could do.

use std::process::Command;

use corun_testing::{repository, skip};

/// An exposure of 1.5 of 10, in the unit of `--threshold`.
const MOST_EXPOSED: &str = "--threshold=15";

#[test]
fn the_unit_is_understood_and_confined() {
    if which::which("systemd-analyze").is_err() {
        return skip("systemd-analyze", "systemd is not installed");
    }
    let unit = repository().join("contrib/systemd/corun-exporter.service");
    let unit = std::fs::read_to_string(unit).expect("the repository has a unit");
    // What it starts and where its manual is are not installed here.
    let unit = unit.replace("/usr/bin/corun ", "/bin/true ").replace("\nDocumentation=", "\n#");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("corun-exporter.service");
    std::fs::write(&file, unit).expect("a file can be written");
    for arguments in [&["verify"][..], &["security", "--offline=true", MOST_EXPOSED]] {
        let mut analyze = Command::new("systemd-analyze");
        let output = analyze.args(arguments).arg(&file).output().expect("systemd-analyze starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {said}{errors}");
    }
}
