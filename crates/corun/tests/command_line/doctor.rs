//! `corun doctor`: a report for people, JSON for programs, no failure because of what it finds unless asked for.

use corun_machine::doctor::{Report, Severity};
use corun_record::Record;

use crate::common::{Outcome, Scratch, corun};
use crate::schema::fitting;

/// The report on this machine, or on the one below a root, that `--json -` wrote.
#[track_caller]
fn report(arguments: &[&str]) -> Record<Report> {
    let outcome = Outcome::of(corun(["doctor", "--watch=10ms", "--json=-"]).args(arguments));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{}", outcome.output);
    fitting(&outcome.output)
}

/// A captured machine of two cores without siblings.
fn captured() -> Scratch {
    let scratch = Scratch::new();
    for (path, text) in [
        ("present", "0-1\n"),
        ("online", "0-1\n"),
        ("smt/control", "notsupported\n"),
        ("cpu0/topology/core_cpus_list", "0\n"),
        ("cpu1/topology/core_cpus_list", "1\n"),
        ("vulnerabilities/mds", "Mitigation: Clear CPU buffers; SMT disabled\n"),
    ] {
        let path = scratch.file("sys/devices/system/cpu").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    scratch
}

#[test]
fn this_machine_gets_a_report_for_people_and_the_same_checks_in_json() {
    let outcome = Outcome::of(&mut corun(["doctor", "--watch=10ms"]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    assert!(!outcome.output.contains('\u{1b}'), "colour without a terminal");
    let text = outcome.unwrapped();
    for diagnosis in report(&[]).body.diagnoses {
        assert!(text.contains(&format!(" {}: ", diagnosis.check)), "{}\n{text}", diagnosis.check);
    }
}

#[test]
fn another_machine_is_examined_below_its_root() {
    let scratch = captured();
    let root = scratch.path().display().to_string();
    let record = report(&["--root", &root]);
    let machine = record.machine.expect("a captured machine");
    assert_eq!((machine.cores, machine.kernel), (2, None));
    assert!(record.caveats.iter().any(|it| it.kind == "smt"), "{:?}", record.caveats);
    let report = record.body;
    assert_eq!(report.watched_s, None);
    assert_eq!(report.diagnosis("smt").map(|smt| smt.severity), Some(Severity::Spoils));
    assert_eq!(report.diagnosis("load").map(|load| load.severity), Some(Severity::Unknown));
    assert_eq!(report.smt_vulnerabilities[0].name, "mds");
    let text = Outcome::of(&mut corun(["doctor", "--root", &root])).unwrapped();
    assert!(text.contains("a captured tree, not watched"), "{text}");
    assert!(text.contains("seen /sys/devices/system/cpu/smt/control: notsupported"), "{text}");
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.file("empty")).unwrap();
    let reported = |arguments: &[&str]| {
        let mut command = corun(["doctor"]);
        Outcome::of(command.args(arguments).current_dir(scratch.path())).reported(scratch.path())
    };
    insta::assert_snapshot!(reported(&["--root", "empty"]), @r"
    exit 3
    corun: no CPUs found below empty/sys/devices/system/cpu: expected folders cpu0, cpu1, ... or a list in `present`
      Mount sysfs at /sys below that root, or name the directory that holds the captured /sys.
    ");
    assert!(reported(&["--watch", "0s"]).starts_with("exit 2"));
    assert!(reported(&["--json", "missing/report.json"]).starts_with("exit 1"));
}

#[test]
fn findings_fail_it_from_the_severity_on_that_is_named() {
    let scratch = captured();
    let root = scratch.path().display().to_string();
    let outcome = |severity: &str| {
        Outcome::of(&mut corun(["doctor", "--root", &root, "--fail-on", severity]))
    };
    let spoils = outcome("spoils");
    assert_eq!(spoils.exit, Some(1), "{}", spoils.errors);
    assert!(!spoils.output.is_empty(), "the report comes all the same");
    insta::assert_snapshot!(spoils.errors, @r#"
    corun: expected no finding from "spoils" on, found smt (spoils)
      Follow the advice of the findings, or measure elsewhere.
    "#);
    let unknown = outcome("unknown");
    assert_eq!(unknown.exit, Some(1));
    assert!(unknown.errors.contains("load (unknown)"), "{}", unknown.errors);
    assert_eq!(outcome("note").exit, Some(2));
}

#[test]
fn a_machine_without_such_findings_does_not_fail_it() {
    let scratch = captured();
    let cpus = scratch.file("sys/devices/system/cpu");
    for cpu in ["cpu0", "cpu1"] {
        std::fs::write(cpus.join(cpu).join("topology/core_cpus_list"), "0-1\n").unwrap();
    }
    std::fs::write(cpus.join("smt/control"), "on\n").unwrap();
    let root = scratch.path().display().to_string();
    let outcome = Outcome::of(&mut corun(["doctor", "--root", &root, "--fail-on=spoils"]));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{}", outcome.output);
}
