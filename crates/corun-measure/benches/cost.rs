//! Cost of corun itself: `cargo bench -p corun-measure --bench cost`.
//!
//! Inside the timed interval: the makespan of a program that does nothing, against what
//! `hyperfine -N` says of the same program, alternating; whatever either adds to the program's own
//! time is its bias. Outside: from the start of one sample to the start of the next, with the
//! evidence of one CPU, and what each further CPU adds.

use std::process::{Command as Program, Stdio};
use std::time::Instant;

use corun_machine::Machine;
use corun_measure::cores::usable_cores;
use corun_measure::execution::{Command, Interrupt, LocalExecutor, Task, Work};
use corun_measure::experiment::Executor;
use corun_record::{Arm, Mode};
use corun_stats::{median, paired};

const ROUNDS: usize = 30;
const RUNS: usize = 100;

fn main() {
    let Ok(machine) = Machine::read(std::path::Path::new("/")) else {
        println!("cost: not measured, the machine cannot be read");
        return;
    };
    let cores = usable_cores(&machine);
    let first = cores[0].cpus[0];
    let (interrupt, _raise) = Interrupt::new().expect("a pair of sockets");
    let mut executor =
        LocalExecutor::new(work(), cores, interrupt, None).expect("an executor of a program");
    let one = arm("single", vec![first]);
    let all = arm("free@1", Vec::new());
    let cpus = machine.allowed().len();

    let mut inside = Vec::new();
    let mut outside = Vec::new();
    let mut further = Vec::new();
    let mut logs = Vec::new();
    let mut theirs = Vec::new();
    for round in 0..ROUNDS {
        // The first of a round is the second of the next.
        let before = (round % 2 == 1).then(hyperfine).flatten();
        let (own, step) = corun(&mut executor, &one);
        let their = if round % 2 == 1 { before } else { hyperfine() };
        let (_, step_of_all) = corun(&mut executor, &all);
        outside.push(step);
        further.push((step_of_all - step) / (cpus.max(2) - 1) as f64);
        inside.push(own);
        match their {
            Some(their) => {
                logs.push((own / their).ln());
                theirs.push(their);
            }
            None if logs.is_empty() && inside.len() == 1 => {
                println!("bias: hyperfine is not installed (Debian: apt-get install hyperfine)");
            }
            None => {}
        }
    }
    let micro = |values: &[f64]| median(values).unwrap_or(f64::NAN) * 1e6;
    let least = |values: &[f64]| values.iter().copied().fold(f64::NAN, f64::min) * 1e6;
    println!(
        "inside the interval, `true` on one CPU, median of medians and least median of {RUNS} runs: corun {:.0} and {:.0} us, hyperfine -N {:.0} and {:.0} us",
        micro(&inside),
        least(&inside),
        micro(&theirs),
        least(&theirs)
    );
    if let Some(estimate) = paired(&logs, 0.95) {
        let [ratio, low, high] = estimate.ratio();
        let verdict = if ratio <= 1.0 { "at most hyperfine's" } else { "MORE than hyperfine's" };
        println!("  corun / hyperfine -N: {ratio:.3} ({low:.3} to {high:.3}): bias {verdict}");
    }
    println!(
        "start to start, evidence of one CPU: {:.0} us; each of {} further CPUs adds {:.0} us",
        micro(&outside),
        cpus - 1,
        micro(&further)
    );
}

fn work() -> Work {
    Work {
        task: Task::Command(Command {
            argv: vec!["true".into()],
            environment: std::env::vars_os().collect(),
            directory: None,
            input: None,
            expected_exit: 0,
            throughput: None,
            operations_argument: None,
        }),
        mode: Mode::Copies,
        steady: false,
        operations: 1.0,
        timeout: None,
        prepare: None,
    }
}

fn arm(id: &str, cpus: Vec<u32>) -> Arm {
    Arm { id: id.to_owned(), ..Arm::new(id.parse().expect("a placement"), 1, 1, cpus) }
}

/// The median makespan and the mean time from start to start, in seconds.
fn corun(executor: &mut LocalExecutor, arm: &Arm) -> (f64, f64) {
    let begin = Instant::now();
    let makespans: Vec<f64> = (0..RUNS)
        .map(|_| executor.run(arm).expect("`true` succeeds").makespan.as_secs_f64())
        .collect();
    let step = begin.elapsed().as_secs_f64() / RUNS as f64;
    (median(&makespans).unwrap_or(f64::NAN), step)
}

/// The median time that hyperfine gives, without a shell.
fn hyperfine() -> Option<f64> {
    let report = std::env::temp_dir().join(format!("corun-cost-{}.json", std::process::id()));
    let status = Program::new("hyperfine")
        .args(["-N", "--style=none", "--warmup=5", "--output=null"])
        .arg(format!("--runs={RUNS}"))
        .arg("--export-json")
        .arg(&report)
        .arg("true")
        .stderr(Stdio::null())
        .status()
        .ok()?;
    let text = std::fs::read_to_string(&report).ok()?;
    let _ = std::fs::remove_file(&report);
    let value: serde_json::Value = serde_json::from_str(&text).ok()?;
    status.success().then(|| value["results"][0]["median"].as_f64()).flatten()
}
