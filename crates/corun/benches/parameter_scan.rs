//! `corun threads` beside `hyperfine -N --parameter-scan` over the same numbers of threads, in one run: the same
//! best, and how many runs either takes to be as sure of it.
//!
//! hyperfine runs one number after the other and claims nothing. What its runs would carry is computed from them:
//! the same comparisons with the best at the same level, of means that are not paired (Welch 1947), after 10 runs of
//! each number, 20, 40 and so on.

use std::path::Path;
use std::process::{Command, Stdio};

use corun_record::{Document, Placement, Record, ThreadSweep, ThreadVerdict};
use corun_stats::best_of_several::SharedLevel;
use serde_json::Value;
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::Statistics;

const CONFIDENCE: f64 = 0.95;
const PRACTICAL: f64 = 0.02;
/// The most runs of each number.
const MAX_RUNS: u32 = 160;
/// Input that is packed, in bytes: several blocks for each thread.
const INPUT_BYTES: usize = 24 << 20;

fn main() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let input = folder.path().join("input");
    std::fs::write(&input, text()).expect("a file can be written");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let most = 2 * cpus;

    let sweep = corun(&input, most);
    let answer = sweep.body.answer.as_ref().expect("a finished block");
    let tried: Vec<String> = sweep.body.candidates.iter().map(|it| it.arm.id.clone()).collect();
    println!("corun threads: {}", answer.sentence);
    println!(
        "  {} runs of {} in {:.0} s",
        sweep.body.design.runs,
        tried.join(", "),
        sweep.elapsed_s
    );
    let is_sure = !matches!(answer.verdict, ThreadVerdict::Undecided | ThreadVerdict::TooFewBlocks);
    println!("  as sure as asked for: {}", if is_sure { "yes" } else { "no" });

    let mut runs = 10;
    loop {
        let Some(times) = hyperfine(&input, most, runs) else {
            println!("hyperfine is not installed (Debian: apt-get install hyperfine)");
            return;
        };
        let scan = judge(&times);
        println!(
            "hyperfine -N, {runs} runs each, {} in all: {} threads are the quickest, as sure: {}",
            runs * times.len() as u32,
            scan.best,
            if scan.is_sure { "yes" } else { "no" }
        );
        if scan.is_sure || runs >= MAX_RUNS {
            let kernel = |placement| matches!(placement, Placement::Free(_));
            let chosen = sweep.body.chosen().expect("the answer is a candidate");
            let by = if kernel(chosen.arm.placement) { "the kernel" } else { "pinning" };
            println!(
                "corun: {} workers placed by {by}; hyperfine: {} threads, of which {:?} are within 2 %",
                answer.workers, scan.best, scan.equal
            );
            println!(
                "runs, corun / hyperfine: {} / {}{}",
                sweep.body.design.runs,
                runs * times.len() as u32,
                if scan.is_sure { "" } else { ", which do not suffice" }
            );
            return;
        }
        runs *= 2;
    }
}

/// Text that packs neither too well nor too badly.
fn text() -> Vec<u8> {
    let mut state = 1_u64;
    let mut words = Vec::with_capacity(INPUT_BYTES);
    while words.len() < INPUT_BYTES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        words.extend_from_slice(format!("{} ", (state >> 40) % 5000).as_bytes());
    }
    words
}

fn arguments(input: &Path) -> Vec<String> {
    let fixed = ["-0", "-k", "-f", "--block-size=1MiB", "-T{workers}"].map(str::to_owned);
    [fixed.to_vec(), vec![input.display().to_string()]].concat()
}

fn corun(input: &Path, most: u32) -> Record<ThreadSweep> {
    let output = Command::new(env!("CARGO_BIN_EXE_corun"))
        .env("CORUN_STORE", "")
        .args(["threads", "--max-time=5m", "--json=-", "--practical=2%", "--", "xz"])
        .args(arguments(input))
        .stderr(Stdio::inherit())
        .output()
        .expect("corun starts");
    let sweep: Record<ThreadSweep> =
        Record::from_json(&String::from_utf8_lossy(&output.stdout)).expect("a document");
    assert!(sweep.body.candidates.iter().all(|it| it.arm.workers <= most * 8));
    sweep
}

/// The times of each number of threads from 1 on, in seconds.
fn hyperfine(input: &Path, most: u32, runs: u32) -> Option<Vec<Vec<f64>>> {
    let command = [vec!["xz".to_owned()], arguments(input)].concat().join(" ");
    let json = input.with_extension("json");
    let status = Command::new("hyperfine")
        .args(["-N", "--warmup=1", "--style=none", "--runs", &runs.to_string()])
        .args(["--parameter-scan", "workers", "1", &most.to_string(), "--export-json"])
        .arg(&json)
        .arg(&command)
        .stdout(Stdio::null())
        .status()
        .ok()?;
    assert!(status.success(), "hyperfine fails");
    let text = std::fs::read_to_string(&json).expect("hyperfine writes its file");
    let results: Value = serde_json::from_str(&text).expect("JSON");
    let times = |result: &Value| -> Vec<f64> {
        result["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    Some(results["results"].as_array().into_iter().flatten().map(times).collect())
}

/// State of a scan.
struct Scan {
    /// The number of threads with the least mean time.
    best: u32,
    /// The numbers whose means are within the practical bound.
    equal: Vec<u32>,
    /// True if each other number is shown to be worse, or to be as good.
    is_sure: bool,
}

fn judge(times: &[Vec<f64>]) -> Scan {
    let logs: Vec<Vec<f64>> =
        times.iter().map(|of| of.iter().map(|time| time.ln()).collect()).collect();
    let mean = |index: &usize| logs[*index].iter().mean();
    let numbers = 0..logs.len();
    let best = numbers.clone().min_by(|one, other| mean(one).total_cmp(&mean(other))).unwrap_or(0);
    let level = SharedLevel { confidence: CONFIDENCE, analyses: 1 }.of_one(logs.len());
    let bound = PRACTICAL.ln_1p();
    let is_decided = |index: usize| {
        let [low, high] = welch(&logs[index], &logs[best], level);
        low > 0.0 || (-bound <= low && high <= bound)
    };
    Scan {
        best: best as u32 + 1,
        equal: numbers
            .clone()
            .filter(|index| mean(index) - mean(&best) <= bound)
            .map(|index| index as u32 + 1)
            .collect(),
        is_sure: numbers.filter(|&index| index != best).all(is_decided),
    }
}

/// The limits of the difference of two means.
fn welch(one: &[f64], other: &[f64], level: f64) -> [f64; 2] {
    let share = |values: &[f64]| values.variance() / values.len() as f64;
    let (a, b) = (share(one), share(other));
    let freedom =
        (a + b).powi(2) / (a * a / (one.len() as f64 - 1.0) + b * b / (other.len() as f64 - 1.0));
    let quantile = StudentsT::new(0.0, 1.0, freedom.max(1.0))
        .map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + level / 2.0));
    let difference = one.mean() - other.mean();
    let reach = quantile * (a + b).sqrt();
    [difference - reach, difference + reach]
}
