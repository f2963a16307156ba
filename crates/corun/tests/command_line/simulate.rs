//! `corun simulate`: recorded programs and blocks of code on other cores.

use std::path::Path;

use corun_blocks::{agreement, is_held_out};
use corun_record::{Blocks, Body, Document, Metric, Placement, Placements, Record, Simulation};
use corun_report::{blocks_to_terminal, placements_to_terminal, simulation_to_terminal};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun};
use crate::schema::validator;

fn of(arguments: &[&str]) -> Outcome {
    Outcome::of(corun(["simulate"]).args(arguments))
}

#[test]
fn measured_blocks_are_predicted_tuned_and_held_out_ones_alike() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/measured/zen4-blocks.csv");
    let outcome = of(&["--model=zen4", "--block-file", file.to_str().unwrap(), "--json=-"]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_str(&outcome.output).unwrap();
    let blocks = answer["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 348);
    for held_out in [false, true] {
        let rows =
            blocks.iter().filter(|row| is_held_out(row["block"].as_str().unwrap()) == held_out);
        let number = |value: &Value| value.as_f64().unwrap_or(0.0);
        let pair = |row: &Value| (number(&row["predicted"]), number(&row["measured"]));
        let score = agreement(&rows.map(pair).collect::<Vec<_>>()).unwrap();
        println!("held out: {held_out}: {score:?}");
        assert!(score.mean <= 0.08, "held out: {held_out}: {score:?}");
        assert!(score.median <= 0.03, "held out: {held_out}: {score:?}");
        assert!(score.tau >= 0.92, "held out: {held_out}: {score:?}");
    }
}

#[test]
fn forms_that_were_drawn_at_random_are_predicted() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/measured/zen5-forms.csv");
    let outcome = of(&["--model=zen5", "--block-file", file.to_str().unwrap(), "--json=-"]);
    let answer: Value = serde_json::from_str(&outcome.output).unwrap();
    let blocks = answer["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 220);
    // A host executes what it has the features for.
    let error = |row: &Value| {
        let (predicted, measured) = (row["predicted"].as_f64()?, row["measured"].as_f64()?);
        Some((predicted - measured).abs() / measured)
    };
    let mut errors: Vec<f64> = blocks.iter().filter_map(error).collect();
    errors.sort_by(f64::total_cmp);
    let far = errors.iter().filter(|error| **error > 0.25).count();
    assert!(errors.len() > 40 && far * 4 <= errors.len(), "{far} of {}", errors.len());
    assert!(errors[errors.len() / 2] < 0.045, "{}", errors[errors.len() / 2]);
}

/// XOP was last in a core of 2015: whatever the host, the block is simulated for another one.
#[test]
fn a_block_that_this_host_cannot_execute_is_simulated() {
    let scratch = Scratch::new();
    let file = scratch.file("blocks.csv");
    // imul rcx, rcx; vpcmov xmm0, xmm1, xmm2, xmm3
    std::fs::write(&file, "block\n480fafc98fe870a2c230\n").unwrap();
    let outcome = of(&["--model=zen2", "--block-file", file.to_str().unwrap(), "--json=-"]);
    let answer: Value = serde_json::from_str(&outcome.output).unwrap();
    assert_eq!(answer["blocks"][0]["predicted"], 3.0, "{answer}");
    let caveats = answer["caveats"].as_array().unwrap();
    let of_kind = |kind| caveats.iter().find(|it| it["kind"] == kind);
    let sentence = of_kind("missing-instructions").unwrap()["sentence"].as_str().unwrap();
    assert!(sentence.contains("(vpcmov)"), "{sentence}");
}

#[test]
fn blocks_without_measurements_get_their_cycles() {
    let scratch = Scratch::new();
    let file = scratch.file("blocks.csv");
    // imul rax, rax; syscall; add rax, 1
    std::fs::write(&file, "# mine\nblock\n480fafc0\n0f05\n4883c001\n").unwrap();
    let outcome = of(&["--model=zen4", "--block-file", file.to_str().unwrap(), "--csv=-"]);
    assert_eq!(outcome.exit, Some(0));
    assert_eq!(outcome.output, "block,predicted\n480fafc0,3.000\n0f05,\n4883c001,1.000\n");
    let shown = of(&["--model=zen4", "--block-file", file.to_str().unwrap()]).output;
    assert!(shown.contains("1 blocks could not be run"), "{shown}");
}

#[test]
fn results_say_how_many_published_figures_of_the_model_are_unchecked() {
    let shown = Outcome::of(&mut corun(["models", "show", "zen4", "--json=-"]));
    let shown: Value = serde_json::from_str(&shown.output).unwrap();
    let sentence = format!("The core model zen4 is {}.", shown["validation"].as_str().unwrap());
    assert!(sentence.contains(&format!("{} unchecked", shown["figures"]["unchecked"])));
    let scratch = Scratch::new();
    let file = scratch.file("blocks.csv");
    std::fs::write(&file, "block\n4883c001\n").unwrap();
    let blocks = format!("--block-file={}", file.display());
    let trace = program_start();
    for input in [
        &["--model=zen4", &blocks][..],
        &["--model=zen4", "--length=1k", &trace],
        &["--model=zen4", "--length=1k", "--placement=spread", &trace],
    ] {
        let json = of(&[input, &["--json=-"]].concat()).output;
        let json: Value = serde_json::from_str(&json).unwrap();
        let caveats = json["caveats"].as_array().unwrap();
        let is_said = |it: &Value| it["sentence"] == sentence && it["kind"] == "unvalidated-model";
        assert!(caveats.iter().any(is_said), "{input:?}: {caveats:?}");
        let text = of(input).output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&sentence), "{input:?}: {text}");
    }
}

#[test]
fn a_table_of_something_else_is_refused_with_its_line() {
    let scratch = Scratch::new();
    let file = scratch.file("blocks.csv");
    for (text, expected) in [
        ("name\nx\n", "expected a column `block` in line 1, found \"name\""),
        ("block\nxyz\n", "expected a block of whole bytes in hexadecimal in line 2, found \"xyz\""),
        ("block,cycles\n90,-1\n", "expected a number of cycles above 0 in line 2, found \"-1\""),
    ] {
        std::fs::write(&file, text).unwrap();
        let outcome = of(&["--model=zen4", "--block-file", file.to_str().unwrap()]);
        assert_eq!(outcome.exit, Some(1), "{text}");
        assert!(outcome.errors.contains(expected), "{}", outcome.errors);
    }
}

#[test]
fn what_is_no_model_and_no_trace_is_refused() {
    let unknown = of(&["--model=zen44", "x.trace"]);
    assert_eq!(unknown.exit, Some(2));
    assert!(unknown.errors.contains("Did you mean `zen4`?"), "{}", unknown.errors);
    let missing = of(&["--model=zen4", "no-such.trace"]);
    assert_eq!(missing.exit, Some(1));
    assert!(missing.errors.starts_with("corun: no-such.trace: "), "{}", missing.errors);
    assert_eq!(of(&["--model=zen4"]).exit, Some(2));
}

#[test]
fn exports_are_opened_before_anything_is_read_and_stand_beside_the_view() {
    let scratch = Scratch::new();
    let nowhere = scratch.file("no-such-folder").join("out.json");
    let nowhere = format!("--json={}", nowhere.display());
    for input in [&["x.trace"][..], &["--block-file=x.csv"], &["--placement=full", "x", "x"]] {
        let refused = of(&[&["--model=zen4", &nowhere], input].concat());
        assert_eq!(refused.exit, Some(1), "{}", refused.errors);
        assert!(refused.errors.contains("no-such-folder"), "{}", refused.errors);
    }
    let file = scratch.file("blocks.csv");
    std::fs::write(&file, "block\n4883c001\n").unwrap();
    let (file, out) = (file.to_str().unwrap(), scratch.file("out"));
    let out = out.to_str().unwrap();
    let blocks = ["--model=zen4", "--block-file", file, "--json", out];
    let twice = of(&[&blocks[..], &["--csv", out]].concat());
    assert_eq!(twice.exit, Some(2));
    assert!(twice.errors.contains("a place of its own for each export"), "{}", twice.errors);
    assert!(!Path::new(out).exists());
    let once = of(&blocks);
    assert_eq!(once.exit, Some(0), "{}", once.errors);
    assert!(once.output.contains("cycles"), "{}", once.output);
    let answer: Value = serde_json::from_str(&scratch.read("out")).unwrap();
    assert_eq!(answer["blocks"][0]["predicted"], 1.0);
}

/// A trace of a program that does nothing.
pub(crate) fn recorded(scratch: &Scratch) -> String {
    let trace = scratch.file("true.trace");
    let recorded = Outcome::of(
        corun(["trace", "--once", "--quiet", "--tracer=ptrace", "-o"])
            .arg(&trace)
            .args(["--", "true"]),
    );
    assert_eq!(recorded.exit, Some(0), "{}", recorded.errors);
    trace.to_str().unwrap().to_owned()
}

#[test]
fn a_recorded_program_takes_cycles_that_add_up() {
    let scratch = Scratch::new();
    let trace = recorded(&scratch);
    for model in ["zen4", "coffee-lake", "netburst-xeon-mp"] {
        let model = format!("--model={model}");
        let outcome = of(&[&model, &trace, "--warmup=1000", "--json=-"]);
        assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
        let answer: Value = serde_json::from_str(&outcome.output).unwrap();
        let cycles = answer["cycles"].as_f64().unwrap();
        let parts = answer["stack"].as_object().unwrap().values();
        let sum: f64 = parts.map(|part| part.as_f64().unwrap()).sum();
        assert!((sum - cycles).abs() < 1e-6 * cycles, "{sum} of {cycles}");
        assert!(answer["instructions"].as_u64().unwrap() > 10_000, "{answer}");
        let again = of(&[&model, &trace, "--warmup=1000", "--json=-"]);
        let body = |text: &str| Record::<Simulation>::from_json(text).unwrap().body;
        assert_eq!(body(&outcome.output), body(&again.output));
    }
}

#[test]
fn workers_run_together_and_placements_are_compared() {
    let scratch = Scratch::new();
    let trace = recorded(&scratch);
    let outcome = of(&[
        "--model=zen4",
        "--placement=single,spread,full,packed,stacked,free@3",
        "--phases=2",
        "--slice=0.001",
        "--json=-",
        &trace,
    ]);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_str(&outcome.output).unwrap();
    let workers = |name: &str| {
        let placements = answer["placements"].as_array().unwrap();
        let found = placements.iter().find(|it| it["placement"] == name).unwrap();
        found["workers"].as_array().unwrap().clone()
    };
    let counts = ["single", "spread", "full", "packed", "stacked", "free@3"];
    assert_eq!(counts.map(|name| workers(name).len()), [1, 1, 2, 2, 2, 3]);
    for worker in workers("full") {
        assert_eq!(worker["cycles"].as_array().unwrap().len(), 2, "{worker}");
        assert!(worker["cycles"][0].as_f64().unwrap() > 0.0, "{worker}");
    }
    let comparisons = answer["comparisons"].as_array().unwrap();
    for smt_yield in comparisons.iter().filter(|it| it["metric"] == "smt_yield") {
        let mean = smt_yield["mean"].as_f64().unwrap();
        assert!((0.5..=2.01).contains(&mean), "{smt_yield}");
    }
    // So short a program runs cold, and a figure of it may be refused.
    let refused = answer["refused"].as_array().cloned().unwrap_or_default();
    let all = || comparisons.iter().chain(&refused);
    let metrics = ["smt_yield", "multitasking_gain", "makespan"];
    assert!(metrics.iter().all(|name| all().any(|it| it["metric"] == **name)), "{answer}");
}

#[test]
fn huge_pages_need_fewer_walks_alone_and_together() {
    let walk = corun_testing::repository().join("benches/accuracy/gate/yields/walk-512K.trace");
    let walk = walk.to_str().unwrap();
    let simulated = |arguments: &[&str]| {
        let outcome = of(&[&["--model=zen4", "--length=300k", walk], arguments].concat());
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
        outcome.output
    };
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&simulated(&[arguments, &["--json=-"]].concat())).unwrap()
    };
    let [small, huge] = ["small", "huge"].map(|size| {
        let answer = json(&[&format!("--pages={size}")]);
        assert_eq!(answer["pages"], size);
        (answer["requests"]["walks"].as_u64().unwrap(), answer["cycles"].as_u64().unwrap())
    });
    assert!(huge.0 < small.0 && huge.1 < small.1, "{huge:?} {small:?}");
    assert_eq!(json(&[])["cycles"], small.1, "small ones are the usual");
    let reported = "with data in pages of 2 MiB\n";
    assert!(simulated(&["--pages=huge"]).contains(reported));
    assert!(!simulated(&[]).contains(reported));

    let together = ["--placement=full", "--phases=1", "--quiet"];
    let cycles = |size: &str| {
        let answer = json(&[&together[..], &[size]].concat());
        answer["placements"][0]["workers"][0]["cycles"][0].as_f64().unwrap()
    };
    assert!(cycles("--pages=huge") < cycles("--pages=small"));
    assert!(simulated(&[&together[..], &["--pages=huge"]].concat()).contains(reported));
}

#[test]
fn a_slice_of_many_rounds_is_reported() {
    let scratch = Scratch::new();
    let trace = recorded(&scratch);
    let stacked = ["--model=zen4", "--quiet", "--placement=stacked", "--length=10k", &trace];
    let reported = of(&[&stacked[..], &["--slice=0.1"]].concat());
    assert_eq!(reported.exit, Some(0), "{}", reported.errors);
    let sentence = "stacked: a slice of 0.1 ms is ";
    assert!(reported.output.contains(sentence), "{}", reported.output);
    let single = ["--model=zen4", "--quiet", "--placement=single", "--length=10k", &trace, &trace];
    let alone = of(&[&single[..], &["--slice=0.1"]].concat());
    assert_eq!((alone.exit, alone.errors.as_str()), (Some(0), ""));
    assert!(!alone.output.contains("a slice of"), "nobody takes turns");
    for slice in ["0", "-1", "1e300", "nan"] {
        let refused = of(&[&stacked[..], &[&format!("--slice={slice}")]].concat());
        assert_eq!(refused.exit, Some(2), "{}", refused.errors);
        assert!(refused.errors.contains("up to 1000000"), "{}", refused.errors);
    }
}

#[test]
fn a_policy_that_changes_nothing_is_said_to() {
    let scratch = Scratch::new();
    let file = scratch.file("blocks.csv");
    std::fs::write(&file, "block\n4883c001\n").unwrap();
    let blocks = ["--block-file", file.to_str().unwrap(), "--csv=-"];
    let set = |policy| of(&[&["--model=ivy-bridge", policy], &blocks[..]].concat());
    let idle = set("--set=predecoder.policy=shared");
    let expected = "corun: front.predecoder.policy=shared changes nothing: ";
    assert!(idle.errors.starts_with(expected), "{}", idle.errors);
    assert_eq!((idle.exit, set("--set=rob.policy=shared").errors.as_str()), (Some(0), ""));
}

#[test]
fn an_impossible_placement_or_setting_is_refused_with_what_is_possible() {
    let scratch = Scratch::new();
    let trace = recorded(&scratch);
    for (arguments, exit, expected) in [
        (&["--placement=full@3"][..], 2, "expected at most 2 workers a core"),
        (&["--placement=fast"], 2, "expected a placement"),
        (&[&trace], 2, "a --placement for several"),
        (&["--set=rob.policy=mine"], 2, "unknown variant `mine`"),
        (
            &["--placement=spread", "--warmup=1000000000"],
            1,
            "expected instructions after the first",
        ),
    ] {
        let all = [&["--model=zen4", &trace], arguments].concat();
        let outcome = of(&all);
        assert_eq!(outcome.exit, Some(exit), "{arguments:?}: {}", outcome.errors);
        assert!(outcome.errors.contains(expected), "{arguments:?}: {}", outcome.errors);
    }
}

/// Asserts that what is written as JSON fits its schema and reads back the same, and that what the terminal
/// shows is made from it alone.
fn is_one_document<B: Body + DeserializeOwned>(
    arguments: &[&str],
    to_terminal: fn(&Record<B>, u16) -> String,
) -> Record<B> {
    let json = of(&[arguments, &["--json=-"]].concat());
    assert_eq!((json.exit, json.errors.as_str()), (Some(0), ""), "{arguments:?}");
    let value: Value = serde_json::from_str(&json.output).unwrap();
    let validator = validator(B::FORMAT);
    let faults: Vec<String> = validator.iter_errors(&value).map(|it| it.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new(), "{arguments:?}");
    let document = Record::<B>::from_json(&json.output).unwrap();
    assert_eq!(document.to_json(), json.output, "{arguments:?}");
    assert_eq!(to_terminal(&document, COLUMNS), of(arguments).output, "{arguments:?}");
    document
}

/// The width of text that does not go to a terminal.
const COLUMNS: u16 = 100;

#[test]
fn every_form_is_shown_from_the_document_that_it_writes() {
    let scratch = Scratch::new();
    let trace = program_start();
    let window = ["--warmup=100k", "--length=20k"];
    let all = [&["--model=ivy-bridge", "--set=rob.policy=shared", &trace][..], &window].concat();
    let simulated = is_one_document::<Simulation>(&all, simulation_to_terminal);
    assert_eq!(simulated.body.core.settings["rob.policy"], "shared");
    assert!(simulated.body.timing_rows.executed >= 20_000, "{:?}", simulated.body.timing_rows);
    assert!(simulated.body.instructions.abs_diff(20_000) < 10, "{}", simulated.body.instructions);
    let seconds = simulated.body.cycles as f64 / (simulated.body.ghz * 1e9);
    assert!((simulated.body.seconds / seconds - 1.0).abs() < 1e-9);

    let both = [&["--model=zen4", "--quiet", &trace][..], &window].concat();
    let placed = ["--placement=spread,full,stacked", "--phases=2", "--slice=0.1", "--pages=huge"];
    let placed =
        is_one_document::<Placements>(&[&both[..], &placed].concat(), placements_to_terminal);
    let counted = |placement| {
        let found = placed.body.placements.iter().find(|it| it.placement == placement).unwrap();
        found.workers.iter().map(|worker| worker.cycles.len()).collect::<Vec<_>>()
    };
    assert_eq!(counted(Placement::Full(None)), [2, 2], "cycles of each phase");
    assert!(placed.body.comparisons.iter().any(|it| it.metric == Metric::SmtYield));
    let has = |kind: &str| placed.caveats.iter().any(|it| it.kind == kind);
    assert!(has("short-window") && has("cycles"), "{:?}", placed.caveats);
    let varied = ["--placement=spread,full", "--phases=1", "--resources"];
    let varied =
        is_one_document::<Placements>(&[&both[..], &varied].concat(), placements_to_terminal);
    assert!(varied.body.resources.len() > 10, "{:?}", varied.body.resources);

    let file = scratch.file("blocks.csv");
    // imul rax, rax; syscall; add rax, 1
    std::fs::write(&file, "block,cycles\n480fafc0,3\n0f05,90\n4883c001,2\n").unwrap();
    let all = ["--model=zen4", "--block-file", file.to_str().unwrap()];
    let blocks = is_one_document::<Blocks>(&all, blocks_to_terminal);
    let agreement = blocks.body.agreement.unwrap();
    assert_eq!((agreement.blocks, agreement.median_error), (3, 0.5));
    assert!(blocks.body.blocks[1].reason.is_some(), "{:?}", blocks.body.blocks);
    std::fs::write(&file, "block,cycles\n4883c001,2\n").unwrap();
    let constant = is_one_document::<Blocks>(&all, blocks_to_terminal);
    assert_eq!(constant.body.agreement.unwrap().tau_b, None, "no ranks to compare");
}

/// The start of a program, which comes with the simulator's own tests.
fn program_start() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"));
    file.join("../corun-sim/tests/data/program-start.trace").to_str().unwrap().to_owned()
}

/// Placements of it, as JSON and for people.
fn placed(arguments: &[&str]) -> (Record<Placements>, String) {
    let trace = program_start();
    let all = [&["--placement=spread,full", "--quiet", &trace], arguments].concat();
    let [json, text] = [&["--json=-"][..], &[]].map(|form| {
        let outcome = of(&[&all[..], form].concat());
        assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""), "{arguments:?}");
        outcome.output
    });
    // Without the ends of lines, which a terminal's width decides.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (Record::from_json(&json).unwrap(), text)
}

#[test]
fn copies_in_step_at_the_start_of_a_program_take_cycles_of_this_world() {
    let window = ["--warmup=500k", "--length=200k", "--phases=1"];
    let (found, _) = placed(&[&["--model=zen4"][..], &window].concat());
    let full =
        found.body.placements.iter().find(|it| it.placement == Placement::Full(None)).unwrap();
    let cycles = full.workers.iter().flat_map(|worker| &worker.cycles);
    assert!(cycles.clone().all(|cycles| (1e5..1e6).contains(cycles)), "{:?}", full.workers);
    assert!((1.0..2.0).contains(&found.body.comparisons[0].mean), "{:?}", found.body.comparisons);
}

#[test]
fn a_copy_is_compared_with_a_run_that_counts_the_same_instructions() {
    // Alone from the start of the window on it takes three times as long as a copy that went round before.
    for window in [["--warmup=100k", "--length=20k"], ["--warmup=150k", "--length=30k"]] {
        let (found, text) = placed(&[&["--model=zen4", "--phases=3"][..], &window].concat());
        let smt_yield = &found.body.comparisons[0];
        assert!((1.3..2.0).contains(&smt_yield.mean), "{window:?}: {smt_yield:?}");
        assert!(smt_yield.low > 1.3 && smt_yield.high < 2.0, "{window:?}: {smt_yield:?}");
        let is_cold = found.caveats.iter().any(|it| it.sentence.contains("cold caches"));
        assert!(found.body.refused.is_empty() && !is_cold, "{text}");
        assert!(text.contains("by where in this window the workers begin"), "{text}");
        assert!(text.contains("other parts of the programs may"), "{text}");
        assert!(!text.contains("by phase"), "{text}");
    }
}

#[test]
fn a_yield_that_cannot_be_is_withheld_with_what_differs_and_cold_caches_are_said() {
    let (found, text) = placed(&["--model=zen4", "--phases=3", "--length=50k"]);
    assert!(found.body.comparisons.is_empty(), "{:?}", found.body.comparisons);
    let reason = &found.body.refused[0].reason;
    assert!(reason.starts_with("expected an SMT yield of 0.300 to 2, found 2."), "{reason}");
    assert!(reason.contains("in full and") && reason.contains("in spread"), "{reason}");
    assert!(text.contains("no figure, since it is implausible"), "{text}");
    let is_cold = found.caveats.iter().any(|it| it.sentence.contains("cold caches decide"));
    assert!(is_cold, "{:?}", found.caveats);
    assert!(text.contains("cold caches decide"), "{text}");
    let alone = of(&["--model=zen4", "--length=50k", &program_start()]);
    assert!(alone.output.contains("warm-up of 0: cold"), "{}", alone.output);
    let warm = of(&["--model=zen4", "--warmup=50k", "--length=50k", &program_start()]);
    assert!(!warm.output.contains("warm-up of"), "{}", warm.output);
}

#[test]
fn a_trace_without_code_is_refused_before_any_work() {
    let scratch = Scratch::new();
    let (foreign, trace) = (scratch.file("one.champ"), scratch.file("one.trace"));
    // Two instructions of ChampSim: an address, and what they read and write.
    let record = |address: u64| {
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(&address.to_le_bytes());
        (bytes[10], bytes[12]) = (1, 2);
        bytes
    };
    std::fs::write(&foreign, [record(0x1000), record(0x1004)].concat()).unwrap();
    let convert = |arguments: &[&str], from: &Path, to: &Path| {
        Outcome::of(corun(["trace", "convert"]).args(arguments).arg(from).arg("-o").arg(to))
    };
    let imported = convert(&["--from=champsim"], &foreign, &trace);
    assert_eq!(imported.exit, Some(0), "{}", imported.errors);
    let expected = "expected the bytes of every instruction, found none of the block at 0x1000";
    let file = trace.to_str().unwrap();
    for arguments in [
        &[][..],
        &["--placement=full"],
        &["--placement=spread,full,stacked", "--phases=1"],
        &["--placement=single", "--warmup=1"],
    ] {
        let refused = of(&[&["--model=zen4", file], arguments].concat());
        assert_eq!(refused.exit, Some(1), "{arguments:?}: {}", refused.errors);
        assert!(refused.errors.contains(expected), "{arguments:?}: {}", refused.errors);
        assert!(refused.errors.contains("corun trace -o FILE -- COMMAND"), "{}", refused.errors);
        assert_eq!(refused.output, "");
    }
    let shown = Outcome::of(corun(["trace", "info"]).arg(&trace));
    assert!(shown.output.contains("no bytes of instructions"), "{}", shown.output);
}

#[test]
fn what_a_damaged_trace_lacks_is_said() {
    let scratch = Scratch::new();
    let mut file = std::fs::read(program_start()).unwrap();
    // Within the closing, behind all events.
    let place = file.len() - 150;
    file[place] ^= 1;
    std::fs::write(scratch.file("damaged"), file).unwrap();
    let mut command = corun(["simulate", "-q", "--model=zen4", "--length=20k", "--json=-"]);
    let found = Outcome::of(command.arg(scratch.file("damaged")));
    assert_eq!(found.exit, Some(0), "{}", found.errors);
    let found: Record<Simulation> = Record::from_json(&found.output).unwrap();
    let caveat = found.caveats.iter().find(|it| it.kind == "damaged-trace").expect("a caveat");
    assert!(caveat.sentence.contains("the trace is damaged in the frame at byte "), "{caveat:?}");
}
