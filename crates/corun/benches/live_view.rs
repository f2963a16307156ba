//! `corun top` beside `top -H`, `htop` and `btop` in one run: the CPU time of a refresh at 10, 1,000 and 10,000 threads.
//!
//! Each draws on a pseudo-terminal of 120 columns and 40 lines (of `script`) once a second, one after the other. The
//! threads are those of one process; ten of them wake every 10 ms, the others sleep.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The word after which this program is the load.
const LOAD: &str = "threads";
/// Threads that wake again and again.
const AWAKE: usize = 10;
/// Intervals that are not counted, and that are.
const BEFORE: u32 = 3;
const COUNTED: u32 = 10;

/// The programs, with the options for a refresh each second that shows threads where it can; btop takes the time from
/// its configuration.
const PROGRAMS: [(&str, &str); 5] = [
    ("corun top", "corun top --interval 1s"),
    ("corun top --sampled", "corun top --interval 1s --sampled"),
    ("top -H", "top -H -d 1"),
    ("htop", "htop -d 10"),
    ("btop", "btop --utf-force"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|it| it == LOAD) {
        return be_load(arguments[at + 1].parse().expect("a number"));
    }
    println!("CPU time of a refresh, mean of {COUNTED}:");
    for threads in [10, 1_000, 10_000] {
        let mut load = start_load(threads);
        for (name, line) in PROGRAMS {
            match cost(line) {
                Some(cost) => println!("{threads:>6} threads  {name:<22} {:>8.1} ms", cost * 1e3),
                None => println!("{threads:>6} threads  {name:<22} not installed"),
            }
        }
        load.kill().and_then(|()| load.wait()).expect("the load ends");
    }
}

fn be_load(threads: usize) {
    for number in 0..threads {
        let pause = Duration::from_millis(if number < AWAKE { 10 } else { 3_600_000 });
        std::thread::Builder::new()
            .stack_size(32 << 10)
            .spawn(move || {
                loop {
                    std::thread::sleep(pause);
                }
            })
            .expect("the system has room for a thread");
    }
    println!("ready");
    // Until who started it has ended or says so.
    let _ = std::io::stdin().read(&mut [0]);
}

/// Starts so many threads, and waits until all are there.
fn start_load(threads: usize) -> Child {
    let mut load = Command::new(std::env::current_exe().expect("this program has a path"))
        .args([LOAD, &threads.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let output = load.stdout.take().expect("a pipe");
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
    load
}

/// The CPU time of a refresh in seconds; `None` where the program is not installed.
fn cost(line: &str) -> Option<f64> {
    let name = line.split(' ').next().expect("a word");
    let corun = Path::new(env!("CARGO_BIN_EXE_corun"));
    let is_there = name == "corun"
        || std::env::split_paths(&std::env::var_os("PATH")?).any(|it| it.join(name).exists());
    if !is_there {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let number = folder.path().join("pid");
    let line = match line.strip_prefix("corun ") {
        Some(arguments) => format!("{} {arguments}", corun.display()),
        None => line.to_owned(),
    };
    let script = format!(
        "stty rows 40 cols 120; echo $$ > {}; export TERM=xterm-256color LC_ALL=C.UTF-8; exec {line}",
        number.display()
    );
    let configuration = folder.path().join("btop");
    std::fs::create_dir(&configuration).expect("a folder for temporary files");
    std::fs::write(configuration.join("btop.conf"), "update_ms = 1000\n").expect("room for a line");
    let mut terminal = Command::new("script")
        .env("XDG_CONFIG_HOME", folder.path())
        .args(["--quiet", "--command", &script, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("script of util-linux is installed");
    std::thread::sleep(Duration::from_secs(BEFORE.into()));
    let process: u32 = std::fs::read_to_string(&number)
        .expect("it starts in time")
        .trim()
        .parse()
        .expect("a number");
    let (before, begun) = (used(process), Instant::now());
    std::thread::sleep(Duration::from_secs(COUNTED.into()));
    let (after, elapsed) = (used(process), begun.elapsed());
    let mut keys = terminal.stdin.take().expect("a pipe");
    // It may have ended, which is reported below.
    let _ = keys.write_all(b"q");
    terminal.wait().expect("the program ends");
    let after = after.unwrap_or_else(|| panic!("{line} ended by itself"));
    // A refresh a second.
    Some((after - before?) / elapsed.as_secs_f64())
}

/// The CPU time of a process so far, in seconds: of all its threads, in nanoseconds each where the kernel says so.
fn used(process: u32) -> Option<f64> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of_thread = |folder: std::path::PathBuf| -> Option<f64> {
        let text = std::fs::read_to_string(folder.join("schedstat")).ok()?;
        Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
    };
    let sum: Option<f64> = threads.map(|it| of_thread(it.ok()?.path())).sum();
    sum.or_else(|| {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?;
        Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    })
}
