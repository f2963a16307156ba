//! `corun smt` as far as it changes nothing: what switches is tested on a real kernel in a guest.

use corun_machine::switch::SmtStatus;

use crate::common::{Outcome, corun};
use crate::schema::fitting;

fn reported(arguments: &[&str]) -> String {
    let outcome = Outcome::of(&mut corun(arguments));
    let first = outcome.errors.lines().next().unwrap_or_default().replace('"', "'");
    format!("exit {:?}: {first}", outcome.exit)
}

#[test]
fn the_status_agrees_with_the_topology() {
    let status = Outcome::of(&mut corun(["smt", "status", "--json"]));
    assert_eq!(status.exit, Some(0), "{}", status.errors);
    fitting::<SmtStatus>(&status.output);
    let status: serde_json::Value = serde_json::from_str(&status.output).unwrap();
    let topology = Outcome::of(&mut corun(["topo", "--json", "-"])).output;
    let topology: serde_json::Value = serde_json::from_str(&topology).unwrap();
    assert_eq!(status["format"], "corun-smt");
    for property in ["control", "active", "width"] {
        assert_eq!(status[property], topology["smt"][property], "{property}");
    }
    let text = Outcome::of(&mut corun(["smt", "status"]));
    let state = status["smt"].as_str().unwrap();
    assert!(text.output.starts_with(&format!("SMT is {state}")), "{}", text.output);
}

#[test]
fn what_is_not_valid_is_refused_before_anything_is_read() {
    insta::assert_snapshot!(
        [
            reported(&["smt", "run", "--state", "sideways", "--", "true"]),
            reported(&["smt", "run", "--state", "off"]),
            reported(&["smt", "run", "--", "true"]),
            reported(&["measure", "--smt-switch", "--blocks", "5", "--", "true"]),
        ]
        .join("\n"), @r"
    exit Some(2): error: invalid value 'sideways' for '--state <on|off>': expected `on` or `off`, found 'sideways'
    exit Some(2): error: the following required arguments were not provided:
    exit Some(2): error: the following required arguments were not provided:
    exit Some(2): corun: expected at least 6 blocks where SMT is switched, found 5
    ");
}
