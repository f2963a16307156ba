//! dbench and tbench on the same load, in the same folder, for the same time: bytes moved per second.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use corun_record::Metric;

use crate::contest::{Contest, Limit};
use crate::{Arguments, corun, program};

const LIMIT: Limit = Limit::AtLeast(0.97);

/// The load that comes with the system's package.
const THEIR_LOAD: &str = "/usr/share/dbench/client.txt";

/// dbench: a client reads and writes files.
///
/// # Errors
/// If there is no dbench, or a side fails.
pub(crate) fn files(arguments: &Arguments) -> Result<Vec<Contest>, String> {
    let folder = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    contests("dbench", arguments, &folder, |clients, load| {
        let mut original = Command::new("dbench");
        let private = tempfile::tempdir_in(&folder).map_err(|error| error.to_string())?;
        original.arg("-D").arg(private.path());
        throughput(&mut original, clients, load, arguments.seconds)
    })
}

/// tbench: a client asks a server over the loopback.
///
/// # Errors
/// If there is no tbench, or a side fails.
pub(crate) fn network(arguments: &Arguments) -> Result<Vec<Contest>, String> {
    let _server = Server::start()?;
    let folder = std::env::temp_dir();
    contests("tbench", arguments, &folder, |clients, load| {
        throughput(&mut Command::new("tbench"), clients, load, arguments.seconds)
    })
}

fn contests(
    name: &str,
    arguments: &Arguments,
    folder: &Path,
    mut original: impl FnMut(u32, &Path) -> Result<f64, String>,
) -> Result<Vec<Contest>, String> {
    let load = arguments.load.clone().unwrap_or_else(|| PathBuf::from(THEIR_LOAD));
    // corun puts its files there, too.
    // SAFETY: this program has no other thread.
    unsafe { std::env::set_var("TMPDIR", folder) };
    let parameters = [format!("load={}", load.display())];
    let contest = |clients: u32| {
        let corun = || {
            let run = corun::steadily(name, &parameters, clients, arguments.seconds as f64)?;
            Ok(corun::value(&run, Metric::Rate, Some("bytes"))? * 1e-6)
        };
        let title = format!("{name}, {clients} clients");
        Contest::hold(title, "MB/s", LIMIT, arguments.rounds, || original(clients, &load), corun)
    };
    arguments.clients.iter().copied().map(contest).collect()
}

fn throughput(
    original: &mut Command,
    clients: u32,
    load: &Path,
    seconds: u64,
) -> Result<f64, String> {
    original.args(["-t", &seconds.to_string(), "-c"]).arg(load).arg(clients.to_string());
    let moved = program::number(original, r"Throughput ([0-9.]+) MB/sec")?;
    if moved > 0.0 {
        Ok(moved)
    } else {
        Err(format!("counts nothing in {seconds} s; try --seconds 3"))
    }
}

/// The original's server, for as long as this lives.
struct Server(Child);

impl Server {
    fn start() -> Result<Self, String> {
        let server = Command::new("tbench_srv").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        server.map(Self).map_err(|error| format!("tbench_srv: {error}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already, or gone now.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
