//! `corun models calibrate --block-file`: blocks from a list, timed, or refused with a reason.

use corun_record::CoreCalibration;

use crate::common::{Outcome, Scratch, corun};
use crate::schema::fitting;

/// The end of `corun models calibrate` with this list.
fn calibrate(list: &str, more: &[&str]) -> (Outcome, Scratch) {
    let scratch = Scratch::new();
    let file = scratch.path().join("list.csv");
    std::fs::write(&file, list).unwrap();
    let mut command = corun(["models", "calibrate", "--csv=-"]);
    command.arg("--block-file").arg(&file).args(more);
    (Outcome::of(&mut command), scratch)
}

#[test]
fn a_block_that_cannot_be_run_is_left_out_with_its_reason() {
    // add rax, rcx; ret
    let (outcome, _scratch) = calibrate("block\n4801c8\nc3\n", &[]);
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let rows: Vec<&str> = outcome.output.lines().skip(1).collect();
    assert_eq!(rows[0], "block,cycles,p10,p90,front_end");
    assert!(rows[1].starts_with("4801c8,") && rows.len() == 2, "{rows:?}");
    let reason = "left out: c3: expected straight-line code, found that the instruction at byte 0 \
                  goes to 0x2324000 (iteration 0)";
    assert!(outcome.errors.contains(reason), "{}", outcome.errors);
}

#[test]
fn a_wrong_list_is_reported_by_its_line() {
    let (outcome, scratch) = calibrate("block\n48xx\n", &[]);
    insta::assert_snapshot!(outcome.reported(scratch.path()), @r#"
    exit 1
    corun: FOLDER/list.csv: expected a block of whole bytes in hexadecimal in line 2, found "48xx"
      Give a CSV file with a column `block`: machine code in hexadecimal, such as 4801c8. A column `cycles` may say how long each takes; lines that begin with # are left out.
    "#);
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    let (outcome, _scratch) = calibrate("block\n90\n", &["--cpu=99999"]);
    assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
    assert!(outcome.errors.contains("expected a logical CPU that may be used, found 99999"));
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_measured_core_is_a_model_that_everything_takes() {
    let scratch = Scratch::new();
    let mut command = corun(["models", "calibrate", "--quick", "--output"]);
    command.arg(scratch.path()).arg("--json").arg(scratch.file("measured.json"));
    let outcome = Outcome::of(&mut command);
    if outcome.errors.contains("expected a clock that keeps still") {
        assert_eq!(outcome.exit, Some(1), "{}", outcome.errors);
        return corun_testing::skip("steady clock", "other work changed the core's clock");
    }
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let measured = fitting::<CoreCalibration>(&scratch.read("measured.json"));
    assert_eq!(measured.caveats[0].kind, "disturbed-samples");
    assert!(!measured.body.not_measured.is_empty());
    if measured.body.timing_rows == 0 {
        assert!(
            measured.caveats.iter().any(|it| it.kind == "shared-core"),
            "{:?}",
            measured.caveats
        );
        return corun_testing::skip("steady clock", "other work kept slots of the core");
    }
    let file = scratch.file("host.toml");
    let file = file.to_str().unwrap();
    let table = scratch.read("host-timing.csv");
    assert!(table.contains("\nform,slots,latency,ports,late,source\n"), "{table}");
    let rows = table.lines().filter(|line| !line.starts_with('#')).count() - 1;
    assert_eq!(rows, measured.body.timing_rows);
    if !table.contains("\nadd r64 r64,") {
        assert!(measured.caveats.iter().any(|it| it.kind == "shared-core"), "{table}");
        return corun_testing::skip("steady clock", "other work kept slots of the core");
    }
    let checked = Outcome::of(&mut corun(["models", "check", file]));
    assert!(checked.output.starts_with(&format!("{file}: right; ")), "{}", checked.output);
    let differing = Outcome::of(&mut corun(["models", "diff", file, "zen3"]));
    assert_eq!(differing.exit, Some(0), "{}", differing.errors);
    // add rax, rax: what it takes is the table's that was written.
    let blocks = scratch.file("blocks.csv");
    std::fs::write(&blocks, "block\n4801c0\n").unwrap();
    let mut command = corun(["simulate", "--csv=-", "--model", file, "--block-file"]);
    let simulated = Outcome::of(command.arg(&blocks));
    assert!(simulated.output.starts_with("block,predicted\n4801c0,"), "{}", simulated.errors);
    std::fs::remove_file(scratch.file("host-timing.csv")).unwrap();
    let missing = Outcome::of(&mut command);
    assert_eq!(missing.exit, Some(1));
    assert!(
        missing.errors.contains("expected a timing table in the folder of the model that names it"),
        "{}",
        missing.errors
    );
}

#[test]
fn a_base_or_a_place_that_is_not_there_is_refused() {
    for (arguments, expected) in [
        (["--base=zen33", "--output=host.toml"], "Did you mean `zen3`?"),
        (["--quick", "--output=host.csv"], "expected a file that ends in .toml or a folder"),
        (["--base=zen3", "--block-file=x.csv"], "cannot be used with"),
    ] {
        let outcome = Outcome::of(corun(["models", "calibrate"]).args(arguments));
        assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
        assert!(outcome.errors.contains(expected), "{}", outcome.errors);
    }
}
