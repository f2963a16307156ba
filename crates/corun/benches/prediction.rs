//! Cost and accuracy of `corun predict`: the time of the whole answer, how far answers from different windows are apart,
//! and what more time buys.
//!
//! `cargo bench -p corun --bench prediction` does all three; `-- time`, `-- spread` and `-- budget` choose. `time` needs a
//! machine that does nothing else, the others do not, since simulated cycles do not depend on what the machine does.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use corun_record::{Document, Estimate, Metric, Prediction, Source};

/// The time that an answer may take on two CPUs, in seconds, for a program of less than a second and for a longer one.
const ALLOWED_S: [f64; 2] = [15.0, 30.0];
/// Seeds whose answers are compared.
const SEEDS: [u32; 5] = [1, 2, 3, 4, 5];
/// The part of answers that are to lie in the interval of another.
const INSIDE: f64 = 0.95;
/// Budgets, in seconds, all of which are used; answers are compared with the mean answer of the last.
const BUDGETS: [u32; 4] = [15, 30, 60, 120];
const SEEDS_OF_BUDGETS: [u32; 3] = [1, 2, 3];
/// Bytes of the text that programs work on.
const INPUT_BYTES: usize = 20 << 20;

/// A program of one to ten seconds.
struct Program {
    name: &'static str,
    command: Vec<String>,
}

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let is_chosen = |part: &str| chosen.is_empty() || chosen.iter().any(|it| it == part);
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let programs = programs(folder.path());
    if is_chosen("time") {
        time(&programs[..2]);
    }
    if is_chosen("spread") {
        spread(&programs);
    }
    if is_chosen("budget") {
        budget(&programs[..2]);
    }
}

/// The whole answer for this host's own core, check against the machine included.
fn time(programs: &[Program]) {
    let [short, long] = ALLOWED_S;
    println!("The whole answer, in seconds; allowed are {short} below a second, {long} above:");
    for program in programs {
        let began = Instant::now();
        let prediction = predict(program, &[]);
        let took = began.elapsed().as_secs_f64();
        let native = prediction.measured.iter().flat_map(|it| &it.runs).map(|run| run.wall_s);
        let native = native.fold(f64::INFINITY, f64::min);
        let allowed = ALLOWED_S[usize::from(native >= 1.0)];
        let checked = prediction.measured.as_ref().map_or(0, |it| it.runs.len());
        println!(
            "  {:<8} {took:5.1} ({native:.2} by itself)  {}  ({} on {}, {checked} measured runs)",
            program.name,
            if took < allowed { "allowed" } else { "TOO LONG" },
            shown(&work(&prediction)),
            prediction.core.model,
        );
    }
}

/// Check whether an answer says how far another one may be off: two answers from other windows are compared by the
/// intervals of the choice of windows, and by the printed ones, which hold the model's error, too.
fn spread(programs: &[Program]) {
    println!("Answers of {} seeds on zen4, the work of two copies on a core:", SEEDS.len());
    let (mut pairs, mut by_windows, mut printed) = (0_u32, 0_u32, 0_u32);
    for program in programs {
        let answers: Vec<(Estimate, Estimate)> = SEEDS
            .iter()
            .map(|seed| {
                let seed = format!("--seed={seed}");
                let prediction = predict(program, &["--model=zen4", "--no-measure", &seed]);
                let slowdown = prediction.beside.first().expect("a placement").slowdown;
                (slowdown, work(&prediction))
            })
            .collect();
        let shown: Vec<String> = answers.iter().map(|(_, work)| shown(work)).collect();
        println!("  {:<8} {}", program.name, shown.join(", "));
        for (at, (slowdown, work)) in answers.iter().enumerate() {
            for (other_slowdown, other_work) in &answers[at + 1..] {
                let reach = reach(slowdown).hypot(reach(other_slowdown));
                by_windows += u32::from((slowdown.value - other_slowdown.value).abs() <= reach);
                let holds =
                    |one: &Estimate, other: &Estimate| (one.low..=one.high).contains(&other.value);
                printed += u32::from(holds(work, other_work) && holds(other_work, work));
                pairs += 1;
            }
        }
    }
    let says = |what: &str, inside: u32| {
        let share = f64::from(inside) / f64::from(pairs);
        let judged = if share >= INSIDE { "enough" } else { "TOO FEW" };
        println!("  {inside} of {pairs} pairs agree within {what}: {judged}");
    };
    says("the intervals of the choice of windows", by_windows);
    says("the printed intervals", printed);
}

/// Distance of answers from that of the most time.
fn budget(programs: &[Program]) {
    println!(
        "Distance from the mean answer of --max-time {}s on zen4:",
        BUDGETS[BUDGETS.len() - 1]
    );
    for program in programs {
        let answers = |budget: u32| -> (Vec<f64>, f64) {
            let began = Instant::now();
            let answer = |seed: &u32| {
                let (seed, budget) = (format!("--seed={seed}"), format!("--max-time={budget}s"));
                let options = ["--model=zen4", "--no-measure", "--target=0.01%", &seed, &budget];
                work(&predict(program, &options)).value
            };
            let values: Vec<f64> = SEEDS_OF_BUDGETS.iter().map(answer).collect();
            let each = began.elapsed().as_secs_f64() / values.len() as f64;
            (values, each)
        };
        let known = BUDGETS.map(answers);
        let reference = mean(&known[BUDGETS.len() - 1].0);
        println!("  {} ({reference:.3})", program.name);
        for (budget, (values, each)) in BUDGETS.iter().zip(&known) {
            let squares: Vec<f64> = values.iter().map(|it| (it - reference).powi(2)).collect();
            println!(
                "    --max-time {budget:>3}s: root mean square {:.3}, {each:.0} s an answer",
                mean(&squares).sqrt()
            );
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn reach(estimate: &Estimate) -> f64 {
    (estimate.high - estimate.low) / 2.0
}

fn shown(work: &Estimate) -> String {
    format!("{:.3} ({:.2} to {:.2})", work.value, work.low, work.high)
}

/// The work of a core with two copies, over that of one.
fn work(prediction: &Prediction) -> Estimate {
    *prediction.estimate(Metric::SmtYield, Source::Predicted).expect("a yield")
}

fn predict(program: &Program, options: &[&str]) -> Prediction {
    let output = Command::new(env!("CARGO_BIN_EXE_corun"))
        .args(["predict", "--quiet", "--json=-"])
        .args(options)
        .arg("--")
        .args(&program.command)
        .stderr(Stdio::inherit())
        .output()
        .expect("corun starts");
    Prediction::from_json(&String::from_utf8_lossy(&output.stdout)).expect("a prediction")
}

/// The first two are those that are timed.
fn programs(folder: &Path) -> [Program; 4] {
    let input = folder.join("input");
    std::fs::write(&input, text()).expect("a file can be written");
    let input = input.display().to_string();
    let regn = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/regn.sh").to_owned();
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let of = |name, words: &[&str]| Program { name, command: owned(words) };
    [
        of("gzip", &["gzip", "-kc", &input]),
        of("regn", &["bash", &regn]),
        of("sort", &["sort", "--parallel=1", &input]),
        of("awk", &["awk", "{ n[$1 % 997] += $2 } END { for (i in n) print i, n[i] }", &input]),
    ]
}

/// Lines of numbers that pack neither too well nor too badly.
fn text() -> Vec<u8> {
    let mut state = 1_u64;
    let mut lines = Vec::with_capacity(INPUT_BYTES + 64);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 40
    };
    while lines.len() < INPUT_BYTES {
        lines.extend_from_slice(format!("{} {}\n", next() % 5000, next() % 100).as_bytes());
    }
    lines
}
