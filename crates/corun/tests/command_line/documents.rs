//! Every document that a command writes fits its published schema, and reads back the same.

use corun_record::{
    BlockTimings, EndReason, ModelChecks, ModelDescription, ModelDifferences, ModelList,
};

use crate::common::{Outcome, Scratch, corun};
use crate::schema::fitting;

#[track_caller]
fn output(arguments: &[&str]) -> String {
    let outcome = Outcome::of(&mut corun(arguments));
    assert_eq!(outcome.exit, Some(0), "{arguments:?}: {}", outcome.errors);
    outcome.output
}

#[test]
fn models_are_documents() {
    let list = fitting::<ModelList>(&output(&["models", "list", "--json=-"]));
    assert_eq!((list.machine, list.ending.reason), (None, EndReason::Completed));
    let zen4 = list.body.models.iter().find(|it| it.name == "zen4").expect("a model");
    let shown = fitting::<ModelDescription>(&output(&["models", "show", "zen4", "--json=-"])).body;
    assert_eq!((shown.validation, shown.title), (zen4.validation.clone(), zen4.title.clone()));
    assert!(shown.timing_rows > shown.inherited_rows);
    let checks = fitting::<ModelChecks>(&output(&["models", "check", "zen4", "--json=-"])).body;
    assert!(checks.files[0].is_right && checks.files[0].sentences[0].contains(&zen4.validation));
    let differing = output(&["models", "diff", "zen3", "zen4", "--json=-"]);
    assert!(!fitting::<ModelDifferences>(&differing).body.differences.is_empty());
}

#[test]
fn blocks_that_are_timed_are_a_document_beside_the_table() {
    let scratch = Scratch::new();
    let [list, csv] = ["list.csv", "timed.csv"].map(|name| scratch.file(name));
    // add rax, rcx, which takes a cycle; ret
    std::fs::write(&list, "block,cycles\n4801c8,1\nc3,1\n").unwrap();
    let [list, csv] = [list, csv].map(|path| path.to_str().unwrap().to_owned());
    let arguments = ["models", "calibrate", "--json=-", "--csv", &csv, "--block-file", &list];
    let record = fitting::<BlockTimings>(&output(&arguments));
    assert!(record.machine.is_some());
    let found = record.body;
    assert_eq!((found.blocks.len(), found.not_possible[0].block.as_str()), (1, "c3"));
    assert_eq!(found.agreement.map(|it| (it.blocks, it.tau)), Some((1, None)));
    let row = format!("4801c8,{:.3},", found.blocks[0].cycles);
    assert!(scratch.read("timed.csv").contains(&row), "{}", scratch.read("timed.csv"));
}
