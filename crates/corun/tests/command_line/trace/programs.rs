//! Real programs under the tracers: the same exit code and output as ever, and a trace of all they did.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{check, compile, info, run_in, trace, works};
use crate::common::Scratch;

/// A program that is small and the same everywhere: two threads beside the first.
const THREADS: &str = "
    fn main() {
        let count = |first: u64| (0..20_000).fold(first, |sum, n| sum ^ (sum << 1) ^ n);
        let threads = [1, 2].map(|first| std::thread::spawn(move || count(first)));
        println!(\"{:?}\", threads.map(|thread| thread.join().unwrap()));
    }
";
const C: &str = "int sum(int n) { int s = 0; while (n > 0) s += n--; return s; }\n";
const SQL: &str = "create table t(n);
    with recursive c(n) as (select 1 union all select n + 1 from c where n < 100)
    insert into t select n from c;
    select sum(n), count(*) from t where n % 3 = 1;";

/// Hot enough to be compiled while it runs.
const NODE: &str = "let s = 0; for (let i = 0; i < 1e5; i++) s = (s * 31 + i) % 65537; \
                    console.log(s, process.argv.length)";

/// A command, and what its trace must have at least.
struct Real {
    program: &'static str,
    arguments: &'static [&'static str],
    instructions: u64,
    threads: usize,
}

const fn real(
    program: &'static str,
    arguments: &'static [&'static str],
    instructions: u64,
    threads: usize,
) -> Real {
    Real { program, arguments, instructions, threads }
}

const PROGRAMS: &[Real] = &[
    real("gzip", &["-c", "numbers"], 500_000, 1),
    real("xz", &["-0", "-T2", "--block-size=8KiB", "-c", "numbers"], 500_000, 3),
    real("bash", &["-c", "for ((i = 0; i < 100; i++)); do ((s += i)); done; echo $s"], 500_000, 1),
    real("perl", &["-e", "$s += $_ ** 2 for 1 .. 500; print \"$s\\n\""], 500_000, 1),
    real("python3", &["-I", "-S", "-c", "print(sum(range(1000)))"], 5_000_000, 1),
    real("sqlite3", &[":memory:", SQL], 500_000, 1),
    real("git", &["-C", "repository", "log", "--format=%s"], 100_000, 1),
    real("git", &["-C", "repository", "status", "--short"], 100_000, 1),
    real("gcc", &["-c", "-o", "sum.o", "sum.c"], 100_000, 1),
    real("cc1", &["-quiet", "-O1", "-o", "-", "sum.c"], 5_000_000, 1),
    real("threads", &[], 300_000, 3),
];

#[test]
fn programs_run_as_ever_under_dynamorio() {
    run_as_ever("dynamorio", PROGRAMS);
}

#[test]
fn programs_run_as_ever_under_qemu() {
    run_as_ever("qemu", PROGRAMS);
}

#[test]
fn a_program_runs_as_ever_when_stepped() {
    run_as_ever("ptrace", &[real("true", &[], 50_000, 1)]);
}

/// QEMU takes a minute for it.
#[test]
#[ignore = "takes long: scripts/test deep"]
fn a_compiler_that_compiles_while_it_runs_is_traced() {
    let tracer = if works("dynamorio") { "dynamorio" } else { "qemu" };
    run_as_ever(tracer, &[real("node", &["-e", NODE], 20_000_000, 4)]);
}

fn run_as_ever(tracer: &str, programs: &[Real]) {
    if !works(tracer) {
        return;
    }
    let scratch = work();
    for real in programs {
        let Some(program) = found(real.program, &scratch) else {
            corun_testing::skip(&format!("trace of {}", real.program), "it is not installed");
            continue;
        };
        compare(tracer, real, program, &scratch);
    }
}

fn compare(tracer: &str, real: &Real, program: PathBuf, scratch: &Scratch) {
    let mut native = Command::new(&program);
    native.args(real.arguments).current_dir(scratch.path()).stdin(Stdio::null());
    let native = native.output().expect("it is installed");
    let traced = trace(tracer, scratch).arg(program).args(real.arguments).output().unwrap();

    let name = format!("{} {:?} by {tracer}", real.program, real.arguments);
    let said = String::from_utf8_lossy(&traced.stderr);
    assert_eq!(traced.status.code(), Some(0), "{name}: {said}");
    assert!(traced.stdout == native.stdout, "{name}: {}", String::from_utf8_lossy(&traced.stdout));
    assert_eq!(without_notices(&said), String::from_utf8_lossy(&native.stderr), "{name}");

    let file = scratch.file("trace");
    let checked = check(&file);
    assert!(checked.ends_with("\nsound and complete\n"), "{name}: {checked}");
    assert_eq!(checked.lines().count(), 2, "{name}: {checked}");
    let info = info(&file);
    let count = |field: &str| info[field].as_u64().unwrap_or_default();
    assert!(count("instructions") >= real.instructions, "{name}: {}", info["instructions"]);
    let ending = serde_json::json!({ "exited": native.status.code() });
    assert_eq!(info["closing"]["ending"], ending, "{name}");
    assert_eq!(info["closing"]["instructions"], info["instructions"], "{name}");
    let threads = info["closing"]["threads"].as_array().map_or(0, Vec::len);
    assert!(threads >= real.threads, "{name}: {threads} threads");
    println!("{name}: {} instructions", info["instructions"]);
}

/// The text without notices that the run takes long, which a busy machine makes it.
fn without_notices(said: &str) -> String {
    let is_notice = |line: &str| line.starts_with("The program has run for ");
    said.split_inclusive('\n').filter(|line| !is_notice(line)).collect()
}

/// A folder with what the programs work on.
fn work() -> Scratch {
    let scratch = Scratch::new();
    let numbers: String = (1..=2500).map(|number| format!("{number}\n")).collect();
    std::fs::write(scratch.file("numbers"), numbers).unwrap();
    std::fs::write(scratch.file("sum.c"), C).unwrap();
    compile(&scratch, "threads", THREADS);
    if found("git", &scratch).is_some() {
        let git = |arguments: &[&str]| run_in(&scratch, "git", arguments);
        git(&["init", "--quiet", "repository"]);
        std::fs::write(scratch.file("repository/file"), "text\n").unwrap();
        git(&["-C", "repository", "add", "file"]);
        let who = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"];
        git(&[&["-C", "repository"][..], &who, &["commit", "--quiet", "-m", "A file"]].concat());
        std::fs::write(scratch.file("repository/other"), "text\n").unwrap();
    }
    scratch
}

/// The file of a program itself: what is on the path may be a script that looks for it.
fn found(program: &str, scratch: &Scratch) -> Option<PathBuf> {
    let reported = |teller: &str, arguments: &[&str]| {
        let output = Command::new(teller).args(arguments).output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        path.is_absolute().then_some(path)
    };
    match program {
        "threads" => Some(scratch.file(program)),
        "cc1" => reported("gcc", &["-print-prog-name=cc1"]),
        "python3" => reported("python3", &["-c", "import sys; print(sys.executable)"]),
        _ => std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|folder| folder.join(program))
            .find(|path| path.is_file()),
    }
}
