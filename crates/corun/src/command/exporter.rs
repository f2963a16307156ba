//! `corun exporter`: how much of the machine is used, for Prometheus.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use clap::Args;
use corun_files::Output;
use corun_monitor::exporter::{self, Format, Limits, Page, Sampler, Server};
use corun_monitor::{MonitorError, Options, System, Tasks};
use corun_record::{Exit, shown};

use crate::problem::{Problem, code, say};
use crate::yields::Yields;
use crate::{interruption, terminal, values, version};

/// Shorter intervals cost more than they show.
const SHORTEST: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Serve the metrics at http://ADDRESS:PORT/metrics, such as 127.0.0.1:9745
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Let --listen take an address that other hosts may reach: there is no encryption and no password
    #[arg(long, requires = "listen")]
    allow_remote: bool,
    /// Write the metrics to FILE for node_exporter, which reads names that end in .prom (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Write one interval to the text file, and end
    #[arg(long, requires = "textfile", conflicts_with = "listen")]
    once: bool,
    /// Read the system this often; between two readings a scrape gets the same figures
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::duration)]
    interval: Duration,
    /// Distinguish so many control groups (0: none, which costs less)
    #[arg(long, value_name = "N", default_value_t = 50)]
    cgroups: usize,
    /// The SMT yields that are possible here, for a narrower range of capacity; "measured" takes them of the newest
    /// `corun capacity` of this host [default: 1 to the SMT width]
    #[arg(long = "yield", value_name = "LO..HI", value_parser = Yields::parse)]
    yields: Option<Yields>,
    /// Sample which siblings are busy, even where the kernel would let every switch of a task be seen
    #[arg(long)]
    sampled: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    arguments.check()?;
    if arguments.once {
        let mut sampler = arguments.sampler()?;
        sampler.sample(arguments.interval)?;
        let page = Page::default();
        page.publish(sampler.exposition());
        arguments.write(&page)?;
        return Ok(code(Exit::Done));
    }
    let stop = interruption::on_signals()?;
    let serve = |address| Server::bind(address, Limits::default());
    let server = arguments.listen.map(serve).transpose()?;
    let page = Arc::new(Page::default());
    start_sampler(arguments.clone(), Arc::clone(&page))?;
    match server {
        Some(server) => {
            say(&format!("corun: serving http://{}/metrics", server.address()));
            server.run(page, &stop)?;
        }
        None => exporter::wait(&stop),
    }
    Ok(code(Exit::Done))
}

/// Starts the thread that reads the system; it ends with this process.
fn start_sampler(arguments: Arguments, page: Arc<Page>) -> Result<(), Problem> {
    let (ready, is_ready) = sync_channel(1);
    std::thread::Builder::new()
        .name("sampler".to_owned())
        .spawn(move || keep_sampling(&arguments, &page, &ready))
        .map_err(|error| no_thread(&error.to_string()))?;
    is_ready.recv().unwrap_or_else(|_| Err(no_thread("it ended at once")))
}

fn no_thread(found: &str) -> Problem {
    let next_step = "See what limits this process (a sandbox, threads).";
    Problem::failed(format!("expected a thread that reads the system, found: {found}"), next_step)
}

/// Publishes one interval after the other. What cannot be read or written for a while is said once, and counted.
fn keep_sampling(arguments: &Arguments, page: &Page, ready: &SyncSender<Result<(), Problem>>) {
    let mut sampler = match arguments.sampler() {
        Ok(sampler) => sampler,
        Err(problem) => {
            let _ = ready.send(Err(problem));
            return;
        }
    };
    page.publish(sampler.exposition());
    let _ = ready.send(Ok(()));
    let mut had_problem = false;
    loop {
        let sampled = sampler.sample(arguments.interval);
        page.publish(sampler.exposition());
        if matches!(sampled, Err(MonitorError::Ended)) {
            return;
        }
        let problem = sampled.map_err(Problem::from).and_then(|()| arguments.write(page)).err();
        if let Some(problem) = &problem {
            if !had_problem {
                problem.report();
            }
            std::thread::sleep(arguments.interval);
        }
        had_problem = problem.is_some();
    }
}

impl Arguments {
    /// Refuses what cannot be meant before anything is read.
    fn check(&self) -> Result<(), Problem> {
        if self.listen.is_none() && self.textfile.is_none() {
            return Err(Problem::usage(
                "expected --listen or --textfile, found neither",
                "For instance: corun exporter --listen 127.0.0.1:9745, or corun exporter --textfile corun.prom",
            ));
        }
        if let Some(address) = self.listen.filter(|it| !it.ip().is_loopback() && !self.allow_remote)
        {
            return Err(Problem::usage(
                format!(
                    "expected an address of this host alone, such as 127.0.0.1, found {address}"
                ),
                "Add --allow-remote to let other hosts read the metrics, without encryption and password.",
            ));
        }
        if self.interval < SHORTEST {
            return Err(Problem::usage(
                format!(
                    "expected an interval of at least 100ms, found {}",
                    humantime::format_duration(self.interval)
                ),
                "Use a longer --interval: Prometheus scrapes every 15 s or less often.",
            ));
        }
        if let Some(file) = self.file().filter(|it| it.extension().is_none_or(|it| it != "prom")) {
            return Err(Problem::usage(
                format!("expected a name that ends in .prom, found {}", shown(file)),
                "node_exporter reads no other; `--textfile -` writes to standard output.",
            ));
        }
        // The first file is written after an interval; a folder that is not there is known now.
        match self.file() {
            Some(file) => Output::create(file).map(drop).map_err(|error| not_written(file, &error)),
            None => Ok(()),
        }
    }

    fn sampler(&self) -> Result<Sampler<System>, Problem> {
        let options = Options {
            tasks: if self.cgroups == 0 { Tasks::None } else { Tasks::Processes },
            exact: !self.sampled,
            yields: self.yields.map(Yields::range).transpose()?,
            ..Options::default()
        };
        let root = options.root.clone();
        Ok(Sampler::new(System::open(options)?, &root, self.cgroups, version::SHORT))
    }

    /// The text file, unless it is standard output.
    fn file(&self) -> Option<&Path> {
        self.textfile.as_deref().filter(|file| *file != Path::new("-"))
    }

    fn write(&self, page: &Page) -> Result<(), Problem> {
        let text = page.get(Format::Text);
        if let Some(file) = self.file() {
            let written = Output::create(file).and_then(|mut output| {
                output.write_all(&text)?;
                output.finish()
            });
            return written.map_err(|error| not_written(file, &error));
        }
        if self.textfile.is_some() {
            terminal::show(&String::from_utf8_lossy(&text))?;
        }
        Ok(())
    }
}

fn not_written(file: &Path, error: &std::io::Error) -> Problem {
    Problem::failed(
        format!("{}: expected a file that can be written, found: {error}", shown(file)),
        "Name a file in a folder that is there and may be written, for node_exporter in its \
         --collector.textfile.directory.",
    )
}

/// `127.0.0.1:9745`, `[::1]:9745` or `localhost:9745`.
///
/// # Errors
/// A sentence on what was expected.
fn address(text: &str) -> Result<SocketAddr, String> {
    let numbers = text.strip_prefix("localhost").map(|port| format!("127.0.0.1{port}"));
    numbers.as_deref().unwrap_or(text).parse().map_err(|_| {
        format!(
            "expected ADDRESS:PORT in numbers, such as 127.0.0.1:9745 or [::1]:9745, or localhost:PORT, found \"{text}\""
        )
    })
}
