//! Programs beside themselves, beside others, and with threads of their own.

use corun_record::{
    Answer, Document, Effect, KnownBy, Metric, Placement, Prediction, PredictionTable, Source,
};

use super::{counts, kinds, predict, read};
use crate::common::{Outcome, Scratch, corun};
use crate::one_cpu::on_one_cpu;

#[test]
fn a_busy_sibling_is_predicted_with_its_interval_and_causes() {
    let options = [
        "--no-measure",
        "--sample=60:4k",
        "--warmup=20k",
        "--json=-",
        "--what-if=rob.policy=shared",
    ];
    let of = || {
        Outcome::of(corun(["predict", "--quiet", "--model=zen4"]).args(options).args(counts(300)))
    };
    let prediction = read(&of());
    let [full] = &prediction.beside[..] else { panic!("{:?}", prediction.beside) };
    assert_eq!((full.placement, full.threads), (Placement::Full(None), 2));
    let slowdown = full.slowdown;
    assert!(1.0 < slowdown.value && slowdown.value < 2.2, "{slowdown:?}");
    assert!(slowdown.low < slowdown.value && slowdown.value < slowdown.high, "{slowdown:?}");
    let work = prediction.estimate(Metric::SmtYield, Source::Predicted).expect("a yield");
    let a_cycle = prediction.estimate(Metric::YieldInCycles, Source::Predicted).expect("a yield");
    assert!((a_cycle.value - 2.0 / slowdown.value).abs() < 1e-9);
    let clock = prediction.core.sibling_clock.as_ref().expect("the model's");
    assert!(
        (clock.low, clock.high) == (0.887, 1.0) && clock.known == KnownBy::Assumed,
        "{clock:?}"
    );
    let seconds = clock.work_a_second(a_cycle);
    assert!((work.value - seconds.value).abs() + (work.low - seconds.low).abs() < 1e-9, "{work:?}");
    assert!(kinds(&prediction).contains(&"sibling-clock"), "{:?}", kinds(&prediction));
    let sum: f64 = full.stack.iter().map(|part| part.share).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    assert!(!full.causes.is_empty() && full.apart.is_some());
    let [changed] = &prediction.what_if[..] else { panic!("{:?}", prediction.what_if) };
    assert_eq!(changed.setting, "rob.policy=shared");
    let [verdict] = &prediction.verdicts[..] else { panic!("{:?}", prediction.verdicts) };
    assert_eq!((verdict.arm.as_str(), verdict.against.as_str()), ("full", "spread"));
    let simulated = [2.0 / slowdown.high, 2.0 / slowdown.low];
    assert_eq!((verdict.metric, verdict.simulated), (Metric::SmtYield, simulated));
    let expected = match () {
        () if simulated[0] >= 0.95 && simulated[1] <= 1.05 => Answer::NoPracticalEffect,
        () if work.low > 1.0 => Answer::Helps,
        () if work.high < 1.0 => Answer::Hurts,
        () => Answer::Inconclusive,
    };
    assert_eq!(verdict.answer, expected);
}

#[test]
fn several_cores_are_a_table_and_another_program_can_run_beside() {
    let options =
        ["--no-measure", "--model=zen4,ivy-bridge", "--sample=60:4k", "--warmup=20k", "--json=-"];
    let outcome = Outcome::of(corun(["predict", "--quiet"]).args(options).args(counts(300)));
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    let table = PredictionTable::from_json(&outcome.output).expect("a table");
    let models: Vec<&str> = table.predictions.iter().map(|it| it.core.model.as_str()).collect();
    assert_eq!(models, ["zen4", "ivy-bridge"]);
    assert!(table.predictions.iter().all(|it| it.beside.len() == 1));

    let options = [
        "--no-measure",
        "--sample=60:4k",
        "--warmup=20k",
        "--json=-",
        "--beside=sh -c 'echo a; echo b'",
    ];
    let mut command = corun(["predict", "--quiet", "--model=zen4"]);
    let pair = read(&Outcome::of(command.args(options).args(counts(300))));
    let [full] = &pair.beside[..] else { panic!("{:?}", pair.beside) };
    assert_eq!(full.beside[0][1..], ["-c", "echo a; echo b"]);
    let other = full.slowdown_of_other.expect("the other one's");
    let work = pair.estimate(Metric::YieldInCycles, Source::Predicted).expect("a yield");
    assert!((work.value - 1.0 / full.slowdown.value - 1.0 / other.value).abs() < 1e-9);
}

#[test]
fn placements_that_have_no_prediction_are_named_with_what_has() {
    let refused = |options: &[&str]| {
        let mut command = corun(["predict", "--quiet", "--model=zen3"]);
        let outcome = Outcome::of(command.args(options).args(["--", "true"]));
        assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
        outcome.errors
    };
    let text = refused(&["--placement=free@4"]);
    assert!(
        text.contains("expected spread, full, full@K, packed or stacked, found free@4"),
        "{text}"
    );
    let text = refused(&["--placement=spread", "--what-if=rob.policy=shared"]);
    assert!(text.contains("expected a placement with a busy sibling for --what-if"), "{text}");
    let text = refused(&["--placement=packed", "--beside=true"]);
    assert!(text.contains("with --beside"), "{text}");
}

#[test]
fn without_siblings_nothing_is_measured_on_them_and_the_program_does_not_run() {
    let scratch = Scratch::new();
    let script = scratch.script("echo ran > \"$folder/runs\"");
    let script = script.to_str().expect("plain");
    for option in ["--measure", "--record=."] {
        let command = ["predict", "--quiet", "--model=zen3", option, "--", script];
        let command = match option {
            // A record is of the host's own core.
            "--record=." => vec!["predict", "--quiet", option, "--", script],
            _ => command.to_vec(),
        };
        let outcome = on_one_cpu(&command);
        assert_eq!((outcome.exit, outcome.output.as_str()), (Some(3), ""), "{}", outcome.errors);
        let expected = "corun: expected ";
        assert!(outcome.errors.starts_with(expected), "{}", outcome.errors);
    }
    let outcome = on_one_cpu(&["predict", "--quiet", "--model=zen3", "--measure", "--", script]);
    for part in
        ["expected siblings to measure on, found none: ", "leave --measure and --record out"]
    {
        assert!(outcome.errors.contains(part), "{}", outcome.errors);
    }
    assert!(!scratch.path().join("runs").exists());
}

#[test]
fn what_is_measured_on_siblings_has_to_be_predicted_beside_them() {
    let refused = |options: &[&str], part: &str| {
        let mut command = corun(["predict", "--quiet", "--model=zen3"]);
        let outcome = Outcome::of(command.args(options).args(["--", "true"]));
        assert_eq!(outcome.exit, Some(2), "{}", outcome.errors);
        assert!(outcome.errors.contains(part), "{}", outcome.errors);
    };
    refused(&["--measure", "--placement=spread"], "expected a placement with a busy sibling");
    refused(&["--measure", "--no-measure"], "cannot be used with");
    refused(&["--measure", "--beside=true"], "cannot be used with");
    let mut command = corun(["predict", "--quiet", "--record=missing/folder"]);
    let outcome = Outcome::of(command.args(["--", "true"]));
    // Before anything else is done; of a host without a model that is said first.
    assert!(matches!(outcome.exit, Some(1 | 3)), "{}", outcome.errors);
    refused(&["--record=.", "--set=main.nanoseconds=99"], "the model as it is for --record");
    refused(&["--work=per-worker"], "expected {workers} in the command");
}

#[test]
fn copies_that_take_turns_lose_switches_and_refills() {
    let options =
        ["--no-measure", "--placement=full,stacked", "--sample=60:4k", "--warmup=20k", "--json=-"];
    let mut command = corun(["predict", "--quiet", "--model=zen4", "--seed=7"]);
    let prediction = read(&Outcome::of(command.args(options).args(counts(300))));
    let stacked = prediction.stacked.as_ref().expect("it was asked for");
    let work = prediction.estimate(Metric::TimeSlicing, Source::Predicted).expect("the work");
    assert_eq!(*work, stacked.work);
    // No more than the switch is sure, and a shell has more in the caches than nothing.
    assert!(work.value < 1.0 - 1e-3 * stacked.switch_us / stacked.slice_ms + 1e-9, "{stacked:?}");
    assert!(work.value > 0.8 && stacked.refill_cycles > 100.0, "{stacked:?}");
    let of = |metric| prediction.estimate(metric, Source::Predicted).expect("it").value;
    let gain = of(Metric::SmtYield) / work.value;
    assert!((of(Metric::MultitaskingGain) - gain).abs() < 1e-9);
    assert_eq!(prediction.seed, Some(7));
    let mut alone = corun(["predict", "--quiet", "--model=zen4", "--placement=spread,stacked"]);
    let alone = read(&Outcome::of(alone.args(["--no-measure", "--json=-"]).args(counts(20))));
    assert!(alone.stacked.is_some() && alone.beside.is_empty());
}

/// Workers of a process that each do as much in memory of their own.
fn kernel_worker(workers: &str, operations: &str) -> Vec<String> {
    let corun = env!("CARGO_BIN_EXE_corun").to_owned();
    let workers = ["--workers", "--threads"].map(|option| format!("{option}={workers}"));
    let [all, threads] = workers;
    let operations = format!("--operations={operations}");
    let words = ["kernel-worker".to_owned(), all, threads, operations, "fib".to_owned()];
    ["--".to_owned(), corun].into_iter().chain(words).collect()
}

#[test]
fn a_program_with_a_number_of_threads_has_them_on_one_core() {
    let words = kernel_worker("{workers}", "100000");
    let predicted = |options: &[&str]| {
        let mut command = corun(["predict", "--quiet", "--model=zen4", "--no-measure", "--whole"]);
        read(&Outcome::of(command.args(options).arg("--json=-").args(&words)))
    };
    let yield_of = |it: &Prediction| {
        it.estimate(Metric::YieldInCycles, Source::Predicted).expect("a yield").value
    };
    let per_worker = || predicted(&["--work=per-worker"]);
    let prediction = per_worker();
    let [full] = &prediction.beside[..] else { panic!("{:?}", prediction.beside) };
    assert_eq!((full.placement, full.threads), (Placement::Full(None), 2));
    assert!(full.is_one_process && full.beside.is_empty() && full.apart.is_none());
    let work = yield_of(&prediction);
    assert!((work - 2.0 / full.slowdown.value).abs() < 1e-9);
    assert!((0.8..2.05).contains(&work), "{work}");
    let sum: f64 = full.stack.iter().map(|part| part.share).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    assert!(prediction.command.contains(&"--threads=1".to_owned()), "{:?}", prediction.command);
    assert!(kinds(&prediction).contains(&"threads-together"), "{:?}", kinds(&prediction));
    // What each does here is the same: of a fixed total it would be half. A busy machine changes how threads that are
    // recorded take turns, so that one pair of recordings in three must agree.
    let differs = |work: f64| (2.0 * yield_of(&predicted(&[])) / work - 1.0).abs();
    let agrees = differs(work) < 0.05 || (0..2).any(|_| differs(yield_of(&per_worker())) < 0.05);
    assert!(agrees, "no pair of recordings agrees");
}

#[test]
fn threads_are_those_of_the_program_that_does_the_work() {
    let options = ["--model=zen4", "--no-measure", "--whole", "--json=-", "--work=per-worker"];
    let mut command = corun(["predict", "--quiet"]);
    // A shell becomes the program with its number of threads.
    let [dashes, words @ ..] = &kernel_worker("{workers}", "100000")[..] else {
        panic!("no words")
    };
    let command = command.args(options).args([dashes, "sh", "-c", "exec \"$@\"", "word"]);
    let prediction = read(&Outcome::of(command.args(words)));
    assert!(prediction.command.contains(&"--threads=1".to_owned()), "{:?}", prediction.command);
    let [full] = &prediction.beside[..] else { panic!("{:?}", prediction.beside) };
    assert!(full.is_one_process && full.threads == 2, "{full:?}");
    // With two workers a process that is not traced does the work.
    let script = "work() { i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; }\n\
                  if [ $0 = 1 ]; then work; else (work); fi; exit 0";
    let mut command = corun(["predict", "--quiet"]);
    let command = command.args(options).args(["--", "sh", "-c", script, "{workers}"]);
    let refused = Outcome::of(command);
    assert_eq!(refused.exit, Some(1), "{}", refused.output);
    assert!(refused.errors.contains("processes which `sh` starts"), "{}", refused.errors);
}

#[test]
fn threads_of_a_program_can_be_packed() {
    let options = ["--no-measure", "--placement=spread,packed", "--whole", "--json=-"];
    let mut command = corun(["predict", "--quiet", "--model=zen4"]);
    // Enough work to outweigh the start of the program, which one thread does alone.
    let words = kernel_worker("2", "300000");
    let prediction = read(&Outcome::of(command.args(options).args(words)));
    let [packed] = &prediction.beside[..] else { panic!("{:?}", prediction.beside) };
    assert!(packed.is_one_process && packed.threads == 2, "{packed:?}");
    let time = prediction.estimate(Metric::CoreEquivalence, Source::Predicted).expect("a ratio");
    assert!((0.95..2.5).contains(&time.value), "{time:?}");
    let of_cycles = prediction.time_beside(&packed.slowdown).value;
    assert!((time.value - of_cycles).abs() < 1e-9, "{time:?} {packed:?}");
}

#[test]
fn the_other_program_and_a_built_in_workload_are_in_the_document() {
    let options = ["--sample=50:4k", "--warmup=20k", "--json=-", "--max-time=10m"];
    let mut command = corun(["predict", "--quiet", "--model=zen4", "--beside=sh -c 'exit 3'"]);
    let pair = read(&Outcome::of(command.args(options).args(counts(100))));
    let other = pair.other.as_ref().expect("another program");
    assert_eq!(other.command[1..], ["-c", "exit 3"]);
    assert!(other.threads == 1 && other.instructions > 1000, "{other:?}");
    assert!(other.kernel_share.is_some(), "{other:?}");
    assert!(kinds(&pair).contains(&"exit-code-of-other"), "{:?}", kinds(&pair));

    let options = ["--no-measure", "--workload=chase", "--param=size=16K", "--operations=20000"];
    let mut command = predict(&["--json=-"]);
    let prediction = read(&Outcome::of(command.args(options)));
    let workload = prediction.workload.as_ref().expect("a built-in workload");
    assert_eq!((workload.name.as_str(), workload.workers), ("chase", 1));
    assert_eq!(workload.parameters.get("size").map(String::as_str), Some("16384"));
    let shown = Outcome::of(predict(&[]).args(options)).unwrapped();
    assert!(shown.contains("the built-in workload chase ") && !shown.contains("kernel-worker"));
}

#[test]
fn a_clock_that_is_fixed_is_set_as_a_list() {
    let options = ["--no-measure", "--model=zen4", "--sample=20:4k", "--warmup=20k", "--json=-"];
    let mut command = corun(["predict", "--quiet", "--set=clock.range=[1,1]"]);
    let prediction = read(&Outcome::of(command.args(options).args(counts(300))));
    let clock = prediction.core.sibling_clock.as_ref().expect("the model's");
    assert_eq!((clock.ratio, clock.low, clock.high), (1.0, 1.0, 1.0));
    assert!(!kinds(&prediction).contains(&"sibling-clock"), "{:?}", kinds(&prediction));
}

#[test]
fn a_reason_names_the_instruction_and_its_source_line() {
    let scratch = Scratch::new();
    let source = "int main(int count, char **words) {\n    int value = 1000000000;\n    \
                  for (int round = 0; round < 1000000; round++)\n        \
                  value = value / (count + 1) + 1000;\n    return value == 0;\n}\n";
    std::fs::write(scratch.path().join("divide.c"), source).unwrap();
    let mut compiler = std::process::Command::new("cc");
    compiler
        .args(["-O1", "-g", "-o"])
        .args(["divide", "divide.c"].map(|it| scratch.path().join(it)));
    assert!(compiler.status().unwrap().success());
    let options = ["--no-measure", "--model=zen4", "--sample=20:20k", "--warmup=50k"];
    let of = |json: &[&str]| {
        let program = scratch.path().join("divide");
        Outcome::of(corun(["predict", "--quiet"]).args(options).args(json).arg(program))
    };
    let prediction = read(&of(&["--json=-"]));
    let causes = &prediction.beside[0].causes;
    let fills = causes.iter().find(|it| it.effect == Effect::Fills).and_then(|it| it.code.clone());
    let code = fills.unwrap_or_else(|| panic!("{causes:?}"));
    let named = (code.instruction.as_deref(), code.function.as_deref(), code.file.as_deref());
    assert_eq!((named, code.line), ((Some("idiv"), Some("main"), Some("divide.c")), Some(4)));
    let said = of(&[]).output;
    assert!(said.contains("of it `idiv` in `main`, divide.c:4)"), "{said}");
}
