//! What corun answered is kept, found again, and never stands in the way of an answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use corun_record::{Document, KeptRun, KeptRunList, Record, Run, Sample};
use serde_json::json;

use crate::common::{FEWEST, Outcome, Scratch, corun, measure_one_worker};
use crate::counted_runs::{self, RUNS_A_BLOCK};
use crate::schema::fitting;

/// corun with a store of the test's own.
fn with_store(mut command: Command, scratch: &Scratch) -> Command {
    command.env("CORUN_STORE", scratch.file("corun.db"));
    command
}

fn runs(scratch: &Scratch, arguments: &[&str]) -> Outcome {
    let all = [&["runs"], arguments].concat();
    Outcome::of(&mut with_store(corun(all), scratch))
}

#[track_caller]
fn done(outcome: Outcome) -> String {
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{}", outcome.output);
    outcome.output
}

fn listed(scratch: &Scratch) -> Vec<KeptRun> {
    let list: Record<KeptRunList> = fitting(&done(runs(scratch, &["list", "--json=-"])));
    list.body.runs
}

fn measured(scratch: &Scratch, more: &[&str]) -> Outcome {
    let mut command = with_store(measure_one_worker(FEWEST), scratch);
    Outcome::of(command.args(more).args(["--", "true"]))
}

#[test]
fn an_answer_is_shown_again_as_it_was() {
    let scratch = Scratch::new();
    let shown = done(measured(&scratch, &["--verbose"]));
    assert_eq!(done(runs(&scratch, &["show", "last"])), shown);
    let [run] = &listed(&scratch)[..] else { panic!("one run") };
    assert_eq!((run.command.as_str(), run.workload.as_str()), ("measure", "true"));
    assert!(run.line.ends_with(&["--".to_owned(), "true".to_owned()]), "{:?}", run.line);
    let document = done(runs(&scratch, &["show", &run.id[..7], "--json=-"]));
    let kept = Run::from_json(&document).unwrap();
    assert_eq!(kept.samples.len(), FEWEST as usize * RUNS_A_BLOCK);
    assert_eq!(done(runs(&scratch, &["export", "last", "--json=-"])), document);
    // What is written to a file is kept as well, and listings are not.
    done(measured(&scratch, &["--json=-"]));
    let simulated = ["schedule", "--topology=1x2x2", "--yield=1.2", "--load=make:jobs=2", "-q"];
    let shown = done(Outcome::of(&mut with_store(corun(simulated), &scratch)));
    done(Outcome::of(&mut with_store(corun(["models", "list"]), &scratch)));
    let mut commands: Vec<String> = listed(&scratch).into_iter().map(|run| run.command).collect();
    commands.sort();
    assert_eq!(commands, ["measure", "measure", "schedule"]);
    let schedule = listed(&scratch).into_iter().find(|run| run.command == "schedule").unwrap();
    assert_eq!(done(runs(&scratch, &["show", &schedule.id])), shown);
}

#[test]
fn nothing_is_kept_where_that_is_asked_for() {
    let scratch = Scratch::new();
    done(measured(&scratch, &["--no-store"]));
    done(Outcome::of(measure_one_worker(FEWEST).args(["--", "true"])));
    assert!(!scratch.file("corun.db").exists());
    let outcome = Outcome::of(&mut corun(["runs", "list"]));
    assert_eq!(outcome.exit, Some(2), "an empty CORUN_STORE: {}", outcome.output);
    let empty = done(runs(&scratch, &["list"]));
    assert!(empty.starts_with("No run was found in "), "{empty}");
    assert!(!scratch.file("corun.db").exists(), "who only looks makes no store");
    let mut other = with_store(measure_one_worker(FEWEST), &scratch);
    done(Outcome::of(other.arg("--store").arg(scratch.file("other.db")).args(["--", "true"])));
    assert!(scratch.file("other.db").exists() && !scratch.file("corun.db").exists());
}

/// A store that cannot be written costs a remark, and no answer.
#[test]
fn an_answer_does_not_depend_on_its_store() {
    let scratch = Scratch::new();
    std::fs::write(scratch.file("damaged.db"), "no database, but long enough for one. ".repeat(99))
        .unwrap();
    let with = |set: &dyn Fn(&mut Command)| {
        let mut command = measure_one_worker(FEWEST);
        command.env_remove("CORUN_STORE");
        set(&mut command);
        Outcome::of(command.args(["--", "true"]))
    };
    let file = |name: &str| {
        let path = scratch.file(name);
        with(&move |command| {
            command.env("CORUN_STORE", &path);
        })
    };
    for (what, outcome, said) in [
        ("a damaged file", file("damaged.db"), "damaged"),
        ("a folder that cannot be made", file("damaged.db/x/corun.db"), "Not a directory"),
        (
            "a file system that is read only, or nobody's",
            with(&|command| {
                command.args(["--store", "/sys/corun.db"]);
            }),
            "/sys/corun.db",
        ),
        (
            "no home",
            with(&|command| {
                command.env_remove("HOME").env_remove("XDG_DATA_HOME");
            }),
            "found neither XDG_DATA_HOME nor HOME",
        ),
    ] {
        assert_eq!(outcome.exit, Some(0), "{what}: {}", outcome.errors);
        assert!(outcome.output.contains("spread"), "{what}: {}", outcome.output);
        assert!(
            outcome.errors.starts_with("corun: this run is not kept: "),
            "{what}: {}",
            outcome.errors
        );
        assert!(outcome.errors.contains(said), "{what}: {}", outcome.errors);
        assert_eq!(outcome.errors.lines().count(), 2, "said once: {}", outcome.errors);
    }
    let damaged = std::fs::read_to_string(scratch.file("damaged.db")).unwrap();
    assert!(damaged.starts_with("no database"), "it is left as it is");
}

/// SIGKILL in the fourth block of six; three are kept, and the three others follow as they would have.
#[test]
fn a_killed_measurement_goes_on_where_it_was() {
    const BLOCKS: u32 = 6;
    const FINISHED: usize = 3;
    let scratch = Scratch::new();
    // Whoever started this copy is corun.
    let script = counted_runs::script(
        &scratch,
        FINISHED * RUNS_A_BLOCK + 1,
        "[ -e \"$folder/killed\" ] || { touch \"$folder/killed\"; kill -9 $PPID; exit 1; }",
    );
    let killed =
        Outcome::of(with_store(measure_one_worker(BLOCKS), &scratch).arg("--").arg(&script));
    assert_eq!((killed.exit, killed.output.as_str()), (None, ""), "{}", killed.errors);
    let [run] = &listed(&scratch)[..] else { panic!("one run") };
    assert_eq!((run.ending, run.is_running, run.blocks), (None, false, Some(FINISHED as u32)));
    let table = done(runs(&scratch, &["list"]));
    assert!(table.contains("unfinished,"), "{table}");
    let shown = runs(&scratch, &["show", &run.id]);
    assert!(
        shown.errors.contains(&format!("corun measure --resume {}", run.id)),
        "{}",
        shown.errors
    );
    let before = done(runs(&scratch, &["export", &run.id, "--csv=-"]));
    assert_eq!(before.lines().count(), 1 + FINISHED * RUNS_A_BLOCK);

    let mut resumed = with_store(corun(["measure", "--resume=last", "--json=-"]), &scratch);
    let resumed = Outcome::of(&mut resumed);
    assert_eq!(resumed.exit, Some(0), "{}", resumed.errors);
    let resumed = resumed.run();
    assert_eq!((resumed.design.blocks, resumed.design.seed), (BLOCKS, 1));
    assert_eq!(resumed.samples.len(), BLOCKS as usize * RUNS_A_BLOCK);
    // The samples before are those that were kept: the same times to the last digit.
    let after = done(runs(&scratch, &["export", &run.id, "--csv=-"]));
    assert!(after.starts_with(&before), "{before}\n{after}");
    // The order of all blocks is that of the seed.
    std::fs::remove_file(scratch.file("runs")).unwrap();
    let whole = Outcome::of(measure_one_worker(BLOCKS).args(["--json=-", "--"]).arg(&script)).run();
    let order = |run: &Run| {
        let place = |sample: &Sample| (sample.block, sample.position, sample.arm.clone());
        run.samples.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(order(&resumed), order(&whole));
    assert_eq!(listed(&scratch).len(), 1, "it is the same run");
    let again = Outcome::of(&mut with_store(corun(["measure", "--resume", &run.id]), &scratch));
    assert!(again.errors.contains("it ended as planned"), "{}", again.errors);
}

#[test]
fn a_run_is_not_gone_on_with_elsewhere_or_otherwise() {
    let scratch = Scratch::new();
    let script = counted_runs::script(&scratch, 2 * RUNS_A_BLOCK, "kill -9 $PPID; exit 1");
    let killed = Outcome::of(with_store(measure_one_worker(9), &scratch).arg("--").arg(&script));
    assert_eq!(killed.exit, None, "{}", killed.errors);
    let refused = |command: &mut Command, said: &str| {
        let outcome = Outcome::of(command);
        assert_ne!(outcome.exit, Some(0), "{said}");
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
    };
    let resume = || with_store(corun(["measure", "--resume=last"]), &scratch);
    refused(resume().current_dir("/"), "expected the folder in which");
    refused(resume().arg("sort"), "cannot be used with");
    for option in
        ["--blocks=3", "--placement=spread", "--cores=1", "--smt-switch", "--seed=1", "--target=1%"]
    {
        refused(resume().arg(option), "cannot be used with");
    }
    // The machine that it was begun on, as it is kept.
    let store = scratch.file("corun.db");
    let Some(()) = sqlite(&store, "UPDATE runs SET folder = '/'") else { return };
    refused(resume().current_dir("/tmp"), "cd /, and resume it there");
    refused(resume().current_dir("/").env("CORUN_STORE", "/nowhere.db"), "no run is kept");
}

/// What the program's files held is kept with a run: it is resumed beside others only where that is asked for.
#[test]
fn replaced_files_are_noticed() {
    const BLOCKS: u32 = 4;
    const FINISHED: usize = 2;
    let scratch = Scratch::new();
    let script = counted_runs::script(&scratch, FINISHED * RUNS_A_BLOCK, "kill -9 $PPID; exit 1");
    let input = scratch.file("input");
    std::fs::write(&input, "first").unwrap();
    let mut begun = with_store(measure_one_worker(BLOCKS), &scratch);
    let killed = Outcome::of(begun.arg("--stdin").arg(&input).arg("--").arg(&script));
    assert_eq!(killed.exit, None, "{}", killed.errors);
    let resume = |more: &[&str]| {
        let mut command = with_store(corun(["measure", "--resume=last"]), &scratch);
        Outcome::of(command.args(more))
    };
    let refused = |said: &str| {
        let outcome = resume(&[]);
        assert_eq!(outcome.exit, Some(3), "{said}: {}", outcome.errors);
        assert!(outcome.errors.contains(said), "{said}: {}", outcome.errors);
        assert!(outcome.errors.contains("--even-if-changed"), "{}", outcome.errors);
    };
    std::fs::write(&input, "other").unwrap();
    refused(
        "its standard input: 5 bytes (sha256 a7937b64b8ca) before, 5 bytes (sha256 d9298a10d1b0) now",
    );
    std::fs::write(&input, "first").unwrap();
    let own = std::fs::read_to_string(&script).unwrap();
    std::fs::write(&script, "#!/bin/sh\nexit 0\n").unwrap();
    refused("the program's file: ");
    let answer = resume(&["--even-if-changed", "--json=-"]);
    assert_eq!(answer.exit, Some(0), "{}", answer.errors);
    let run = answer.run();
    assert_eq!(run.samples.len(), BLOCKS as usize * RUNS_A_BLOCK);
    let said = run.caveats.iter().find(|it| it.kind == "changed-files").expect("a caveat");
    let next = FINISHED + 1;
    let before =
        format!("Files were replaced before block {next}: the program's file: {} bytes", own.len());
    assert!(said.sentence.starts_with(&before), "{}", said.sentence);
    let alone = Outcome::of(&mut corun(["measure", "--even-if-changed", "true"]));
    assert_eq!(alone.exit, Some(2), "{}", alone.errors);
}

/// `--brief` is about what is shown now, whatever the run was begun with.
#[test]
fn a_run_that_goes_on_is_shown_as_it_is_asked_for() {
    let scratch = Scratch::new();
    let mut shown = Vec::new();
    for options in [&[][..], &["--brief"]] {
        let name = format!("runs-of-{}", options.len());
        let store = scratch.file(&name);
        let script = counted_runs::script(
            &scratch,
            2 * RUNS_A_BLOCK,
            "[ -e \"$folder/killed\" ] || { touch \"$folder/killed\"; kill -9 $PPID; exit 1; }",
        );
        let mut begun = measure_one_worker(3);
        let killed = Outcome::of(begun.env("CORUN_STORE", &store).arg("--").arg(&script));
        assert_eq!(killed.exit, None, "{}", killed.errors);
        let mut command = corun(["measure", "--resume=last"]);
        shown.push(done(Outcome::of(command.args(options).env("CORUN_STORE", &store))));
        for left in ["runs", "killed"] {
            std::fs::remove_file(scratch.file(left)).unwrap();
        }
    }
    let has_more = |text: &String| text.contains("all figures: --verbose");
    assert_eq!((has_more(&shown[0]), has_more(&shown[1])), (true, false), "{shown:?}");
}

/// Changes a store by another program than corun.
fn sqlite(store: &Path, change: &str) -> Option<()> {
    match Command::new("sqlite3").arg(store).arg(change).status() {
        Ok(status) => {
            assert!(status.success(), "{change}");
            Some(())
        }
        Err(_) => {
            corun_testing::skip("stores changed by sqlite3", "there is no sqlite3");
            None
        }
    }
}

#[test]
fn tags_and_notes_are_found_again() {
    let scratch = Scratch::new();
    done(measured(&scratch, &[]));
    done(measured(&scratch, &[]));
    let first = listed(&scratch)[1].id.clone();
    done(runs(&scratch, &["tag", &first, "before", "v1"]));
    done(runs(&scratch, &["note", "before", "cold\u{1b}[2J", "start"]));
    let table = done(runs(&scratch, &["list", "--tag", "v*"]));
    let pieces = ["before", "v1", "(cold\\u{1b}[2J", "start)"];
    assert!(pieces.iter().all(|piece| table.contains(piece)), "{table}");
    assert!(!table.contains('\u{1b}'));
    done(runs(&scratch, &["tag", "--remove", "before", "v1"]));
    assert_eq!(listed(&scratch)[1].tags, ["before"]);
    for (arguments, said) in [
        (&["tag", "last", "a b"][..], "expected a tag without spaces"),
        (&["show", "befor"], "Did you mean `before`?"),
        (&["show", "ffffffff0"], "expected a run in "),
        (&["list", "--since", "yesterday"], "expected a date such as"),
        (&["export", "last"], "--json"),
        (&["export", "last", "last~1", "--json=-"], "expected one run for --json"),
        (&["delete"], "expected runs to delete"),
        (&["delete", "--workload", "true"], "Add --all"),
        (&["delete", "--workload", "nothing"], "found none"),
        (&["delete", "last", "--workload", "true"], "found both"),
    ] {
        let outcome = runs(&scratch, arguments);
        assert_eq!(outcome.exit, Some(2), "{arguments:?}");
        assert!(outcome.errors.contains(said), "{arguments:?}: {}", outcome.errors);
    }
    assert_eq!(listed(&scratch).len(), 2);
    assert_eq!(done(runs(&scratch, &["delete", "last"])), "1 run deleted\n");
    assert_eq!(done(runs(&scratch, &["delete", "--workload=*", "--all"])), "1 run deleted\n");
}

#[test]
fn a_directory_is_read_by_other_programs() {
    let scratch = Scratch::new();
    done(measured(&scratch, &[]));
    done(measured(&scratch, &[]));
    let folder = scratch.file("runs-of-today");
    let directory = folder.to_str().unwrap();
    done(runs(&scratch, &["export", "--directory", directory]));
    let again = runs(&scratch, &["export", "--directory", directory]);
    assert!(again.errors.contains("expected a folder that can be made"), "{}", again.errors);
    // Imported elsewhere, the same documents are there once.
    let elsewhere = Scratch::new();
    let documents: Vec<String> = std::fs::read_dir(folder.join("documents"))
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    let files: Vec<&str> = documents.iter().map(String::as_str).collect();
    let import = [&["import", "--tag=far"], &files[..]].concat();
    assert_eq!(done(runs(&elsewhere, &import)).matches(": kept as ").count(), 2);
    assert_eq!(done(runs(&elsewhere, &import)).matches(": kept already as ").count(), 2);
    assert!(listed(&elsewhere).iter().all(|run| run.tags == ["far"] && run.host.is_some()));
    // And back where they come from.
    let back = [&["import"], &files[..]].concat();
    assert_eq!(done(runs(&scratch, &back)).matches(": kept already as ").count(), 2);

    let program = "
import csv, json, os, sys
os.chdir(sys.argv[1])
rows = list(csv.DictReader(open('samples.csv')))
runs = {row['run']: row for row in csv.DictReader(open('runs.csv'))}
for run in runs:
    document = json.load(open(f'documents/{run}.json'))
    own = [row for row in rows if row['run'] == run]
    assert [float(row['value']) for row in own] == [it['makespan_s'] for it in document['samples']]
    assert all(row['started'] == document['started'] and row['unit'] == 's' for row in own)
observations = list(csv.DictReader(open('observations.csv')))
assert all(float(row['low']) <= float(row['high']) for row in observations)
print(len(runs), len(rows))
";
    match Command::new("python3").args(["-c", program, directory]).output() {
        Ok(output) => {
            let said = Outcome::from(output);
            let samples = 2 * FEWEST as usize * RUNS_A_BLOCK;
            assert_eq!(said.output, format!("2 {samples}\n"), "{}", said.errors);
        }
        Err(_) => corun_testing::skip("exports read by Python", "there is no python3"),
    }
}

#[test]
fn what_hyperfine_measured_is_a_run() {
    let scratch = Scratch::new();
    let export = json!({ "results": [
        { "command": "sleep 0.1", "mean": 0.11, "user": 0.001, "system": 0.002, "times": [0.10, 0.12, 0.11],
          "exit_codes": [0, 0, 0], "parameters": { "delay": "0.1" } },
        { "command": "gzip -k <script>", "mean": 1.5, "user": 1.0, "system": 0.1, "times": [1.5, 1.6],
          "exit_codes": [0, 0] } ] });
    let file = scratch.file("hyperfine.json");
    std::fs::write(&file, export.to_string()).unwrap();
    let partly = r#"{"results":[{"command":"x"},{"command":"true","times":[0.001]}]}"#;
    std::fs::write(scratch.file("bad.json"), partly).unwrap();
    let bad = scratch.file("bad.json");
    let files = [bad.to_str().unwrap(), file.to_str().unwrap()];
    let outcome = runs(&scratch, &["import", "--host=far", files[0], files[1]]);
    assert_eq!(outcome.exit, Some(1), "a bad result is reported");
    let said = "bad.json: expected what hyperfine exports, found no times of \"x\"";
    assert!(outcome.errors.contains(said), "{}", outcome.errors);
    assert_eq!(outcome.output.matches(": kept as ").count(), 3, "and keeps no other out");
    assert_eq!(
        done(runs(&scratch, &["import", files[1]])).matches(": kept already as ").count(),
        2
    );
    let runs_by_workload: BTreeMap<String, KeptRun> =
        listed(&scratch).into_iter().map(|run| (run.workload.clone(), run)).collect();
    let sleep = &runs_by_workload["sleep 0.1"];
    assert_eq!((sleep.command.as_str(), sleep.host.as_deref()), ("hyperfine", Some("far")));
    let shown = done(runs(&scratch, &["show", &sleep.id]));
    assert!(shown.contains("free@1") && shown.contains("hyperfine"), "{shown}");
    let csv = done(runs(&scratch, &["export", &sleep.id, "--csv=-"]));
    assert_eq!(csv.lines().count(), 4, "{csv}");
}

#[test]
fn fast_commands_and_shell_lines_of_hyperfine_stay_what_they_are() {
    let scratch = Scratch::new();
    let export = json!({ "results": [
        { "command": "tiny", "times": [0.0, 0.0, 0.0006], "exit_codes": [0, 0, 0] },
        { "command": "sort big.txt | uniq -c > /dev/null", "times": [0.2, 0.21], "exit_codes": [0, 0] },
        { "command": "long", "times": [1e308, 1e308] },
        { "command": "short", "times": [1e-320, 1e-320] } ] });
    let file = scratch.file("hyperfine.json");
    std::fs::write(&file, format!("\u{feff}{export}")).unwrap();
    let outcome = runs(&scratch, &["import", file.to_str().unwrap()]);
    assert_eq!(outcome.output.matches(": kept as ").count(), 2, "{}", outcome.errors);
    for refused in ["\"long\" without a time in seconds", "\"short\" without a time in seconds"] {
        assert!(outcome.errors.contains(refused), "{}", outcome.errors);
    }
    let shown = |workload: &str, arguments: &[&str]| {
        let run = listed(&scratch).into_iter().find(|run| run.workload == workload);
        let run = run.unwrap_or_else(|| panic!("{workload}: {:?}", listed(&scratch)));
        done(runs(&scratch, &[&[arguments[0], &run.id], &arguments[1..]].concat()))
    };
    let tiny = shown("tiny", &["export", "--csv=-"]);
    assert_eq!(tiny.lines().count(), 4, "{tiny}");
    assert!(shown("tiny", &["show"]).contains("2 of 3 runs have a time of 0"));
    let line = "sh -c 'sort big.txt | uniq -c > /dev/null'";
    assert!(shown(line, &["export", "--csv=-"]).contains(line));
    assert!(shown(line, &["show"]).contains(line));
}

#[test]
fn what_is_imported_is_checked_before_it_is_kept() {
    let scratch = Scratch::new();
    let document = Outcome::of(measure_one_worker(FEWEST).args(["--json=-", "--", "true"])).output;
    let run = Run::from_json(&document).unwrap();
    let file = |name: &str, text: &str| {
        let path = scratch.file(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let whole = file("whole.json", &document);
    let dated = file("dated.json", &document.replace(&run.started, "yesterday"));
    let mut doubled = run.clone();
    doubled.samples.push(run.samples[0].clone());
    let doubled = file("doubled.json", &doubled.to_json());
    for (arguments, exit, said) in [
        (&["import", "--tag=a b", &whole][..], 2, "expected a tag without spaces".to_owned()),
        (
            &["import", &dated],
            1,
            "dated.json: expected the start in RFC 3339, such as 2026-11-01T18:30:00Z, found \"yesterday\" in `started`"
                .to_owned(),
        ),
        (&["import", &doubled], 1, "expected one sample at each position of a block".to_owned()),
    ] {
        let outcome = runs(&scratch, arguments);
        assert_eq!(outcome.exit, Some(exit), "{arguments:?}: {}", outcome.output);
        assert!(outcome.errors.contains(&said), "{arguments:?}: {}", outcome.errors);
    }
    assert!(listed(&scratch).is_empty());
    // Elsewhere it was an hour later.
    let there = run.started.replace('Z', "+01:00");
    let abroad = file("abroad.json", &document.replace(&run.started, &there));
    done(runs(&scratch, &["import", &abroad]));
    let listed = listed(&scratch);
    assert!(listed[0].started < run.started && listed[0].started.ends_with('Z'), "{listed:?}");
}
