//! LMbench's programs beside corun's rows, each alone on the same logical CPU.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use corun_record::Metric;

use crate::contest::{Contest, Limit};
use crate::{corun, one_cpu, program};

const LIMIT: Limit = Limit::Within(0.05);

/// The interval that LMbench takes for long enough, in microseconds.
const ENOUGH: &str = "10000";

/// How long each of corun's runs takes, in seconds.
const SECONDS: f64 = 0.05;

/// A row: corun's name for it with parameters, and the original's program with arguments and where it
/// says its figure. `FILE` is a file of 8 MiB, `DEEP` one as deep in folders as corun's own.
struct Row {
    corun: &'static [&'static str],
    original: &'static [&'static str],
    figure: &'static str,
}

const MICRO: &str = r": ([0-9.]+) micro";
const LAST: &str = r"([0-9.]+)\s*$";

const ROWS: [Row; 23] = [
    row(&["simple-syscall"], &["lat_syscall", "null"], MICRO),
    row(&["simple-read"], &["lat_syscall", "read"], MICRO),
    row(&["simple-write"], &["lat_syscall", "write"], MICRO),
    row(&["simple-stat"], &["lat_syscall", "stat", "DEEP"], MICRO),
    row(&["simple-fstat"], &["lat_syscall", "fstat", "FILE"], MICRO),
    row(&["simple-open-close"], &["lat_syscall", "open", "DEEP"], MICRO),
    row(&["select-10-fds", "examined=2"], &["lat_select", "-n", "10", "file"], MICRO),
    row(&["select-10-tcp-fds", "examined=2"], &["lat_select", "-n", "10", "tcp"], MICRO),
    row(&["signal-installation"], &["lat_sig", "install"], MICRO),
    row(&["signal-overhead"], &["lat_sig", "catch"], MICRO),
    row(&["pipe-latency"], &["lat_pipe", "-N", "2"], MICRO),
    row(&["fork-exit"], &["lat_proc", "fork"], MICRO),
    row(&["fork-execve", "program=/tmp/hello"], &["lat_proc", "exec"], MICRO),
    row(&["fork-sh", "program=/tmp/hello"], &["lat_proc", "shell"], MICRO),
    row(&["context-switch"], &["lat_ctx", "-s", "0", "2"], r"(?m)^2 ([0-9.]+)"),
    row(
        &["context-switch", "processes=8", "size=16KiB"],
        &["lat_ctx", "-s", "16", "8"],
        r"(?m)^8 ([0-9.]+)",
    ),
    row(&["file-read"], &["bw_file_rd", "8m", "io_only", "FILE"], LAST),
    row(&["unix-latency"], &["lat_unix"], MICRO),
    row(&["tcp-latency"], &["lat_tcp", "-N", "1", "localhost"], MICRO),
    row(&["udp-latency"], &["lat_udp", "-N", "2", "localhost"], MICRO),
    row(
        &["tcp-bandwidth"],
        &["bw_tcp", "-N", "5", "-W", "100000", "localhost"],
        r"([0-9.]+) MB/sec",
    ),
    row(&["mmap"], &["lat_mmap", "4m", "FILE"], LAST),
    row(&["page-fault"], &["lat_pagefault", "FILE"], MICRO),
];

const fn row(
    corun: &'static [&'static str],
    original: &'static [&'static str],
    figure: &'static str,
) -> Row {
    Row { corun, original, figure }
}

/// Every row, or those of `only`; `folder` has LMbench's programs.
///
/// # Errors
/// If a side fails.
pub(crate) fn rows(folder: &Path, rounds: u32, only: &[String]) -> Result<Vec<Contest>, String> {
    let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = Files::new(&folder).map_err(|error| format!("LMbench's files: {error}"))?;
    let _servers: Vec<Server> = ["lat_tcp", "lat_udp", "bw_tcp"]
        .into_iter()
        .map(|name| Server::start(&folder, name))
        .collect::<Result<_, _>>()?;
    let is_asked = |row: &&Row| only.is_empty() || only.iter().any(|name| name == row.corun[0]);
    ROWS.iter().filter(is_asked).map(|row| contest(row, &folder, &files, rounds)).collect()
}

fn contest(row: &Row, folder: &Path, files: &Files, rounds: u32) -> Result<Contest, String> {
    let name = format!("lmbench/{}", row.corun[0]);
    let parameters: Vec<String> = row.corun[1..].iter().map(|&text| text.to_owned()).collect();
    let title = row.corun.join(" ");
    let is_rate = matches!(row.corun[0], "file-read" | "tcp-bandwidth");
    // Rates are compared, so that larger is better everywhere.
    let rate = |figure: f64| if is_rate { figure } else { 1.0 / figure };
    let original = || {
        let _one_cpu = one_cpu::hold()?;
        let mut command = Command::new(folder.join(row.original[0]));
        command.args(row.original[1..].iter().map(|&word| files.named(word)));
        command.current_dir(files.folder.path()).env("ENOUGH", ENOUGH);
        program::number(&mut command, row.figure).map(rate)
    };
    let own = || {
        let run = corun::alone(&name, &parameters, SECONDS)?;
        corun::value(&run, Metric::Figure, None).map(rate)
    };
    let unit = if is_rate { "MB/s" } else { "1/µs" };
    Contest::hold(title, unit, LIMIT, rounds, original, own)
}

/// The files that LMbench's programs work on.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(programs: &Path) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let bytes: Vec<u8> = (0..8 << 20).map(|index: u32| (index % 251) as u8).collect();
        fs::write(folder.path().join("file"), bytes)?;
        // What lat_proc starts.
        fs::copy(programs.join("hello"), "/tmp/hello")?;
        Ok(Self { folder })
    }

    fn named(&self, word: &str) -> String {
        match word {
            "FILE" | "DEEP" => self.folder.path().join("file").to_string_lossy().into_owned(),
            other => other.to_owned(),
        }
    }
}

/// A server of LMbench, for as long as this lives.
struct Server(Command);

impl Server {
    fn start(folder: &Path, name: &str) -> Result<Self, String> {
        let path = folder.join(name);
        let mut stop = Command::new(&path);
        stop.args(["-S", "localhost"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut start = Command::new(&path);
        // Where its clients will be.
        let _one_cpu = one_cpu::hold()?;
        start.arg("-s").stdout(Stdio::null()).stderr(Stdio::null());
        let started = start.status().map_err(|error| format!("{}: {error}", path.display()))?;
        match started.success() {
            true => Ok(Self(stop)),
            false => Err(format!("{} -s ended with {started}", path.display())),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.status();
    }
}
