//! A campaign in a folder of the test's own, and corun as its user starts it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corun_record::{Document, FleetStatus, Record};
use tempfile::TempDir;

/// Time that anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "still not so after {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A campaign file, its directory, a store, and programs to measure.
pub(crate) struct Scratch {
    folder: TempDir,
    /// Slurm's configuration.
    slurm: Option<PathBuf>,
}

/// Outcome of a finished corun.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) exit: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Scratch {
    /// Without Slurm.
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder"), slurm: None }
    }

    /// On this cluster.
    pub(crate) fn on(cluster: &crate::fleet::cluster::Cluster) -> Self {
        Self { slurm: Some(cluster.configuration()), ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The campaign's directory, whose name a shell and Slurm would change if anything let them.
    pub(crate) fn directory(&self) -> PathBuf {
        self.path("it's a \"fleet\"\n$HOME %j")
    }

    /// A program of a few lines of shell.
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the program is written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755))
            .expect("it is executable");
        path
    }

    /// Writes the campaign file: its fields, and one program whose measurement is as short as possible.
    pub(crate) fn campaign(&self, fields: &str, program: &[&str]) -> &Self {
        let text = format!(
            "format = \"corun-campaign\"\nversion = 1\nname = \"a \\\"test\\\"\\nof 'names'\"\n\
             placements = [\"spread\"]\n{fields}\n[budget]\ntime = \"2m\"\nblocks = 2\n\n[[program]]\n\
             command = {program:?}\noptions = [\"--warmup=0\", \"--cores=1\"]\n",
        );
        std::fs::write(self.path("campaign.toml"), text).expect("the campaign is written");
        self
    }

    /// corun with these arguments.
    pub(crate) fn corun(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corun"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("CORUN_STORE", self.path("store.db")).env_remove("RUST_BACKTRACE");
        // Of the tasks, too: Slurm hands it on.
        command.env("TMPDIR", self.folder.path());
        match &self.slurm {
            Some(file) => command.env("SLURM_CONF", file),
            // No Slurm of this machine is asked.
            None => command.env("PATH", "/usr/bin:/bin").env("SLURM_CONF", "/nowhere/slurm.conf"),
        };
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let output = self.corun(arguments).output().expect("corun starts");
        Outcome {
            exit: output.status.code(),
            output: String::from_utf8(output.stdout).expect("text"),
            errors: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// As [`Self::run`], of what has to succeed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.exit, Some(0), "{arguments:?}: {outcome:?}");
        outcome.output
    }

    fn of_file(&self, action: &str, more: &[&str]) -> Vec<String> {
        let directory = self.directory().into_os_string().into_string().expect("text");
        let words = ["fleet", action, "campaign.toml", "--directory", &directory];
        words.iter().chain(more).map(|&it| it.to_owned()).collect()
    }

    pub(crate) fn submit(&self, more: &[&str]) -> Outcome {
        let words = self.of_file("submit", more);
        self.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub(crate) fn submitted(&self) {
        let outcome = self.submit(&[]);
        assert_eq!(outcome.exit, Some(0), "{outcome:?}");
    }

    pub(crate) fn plan(&self) -> String {
        let words = self.of_file("plan", &[]);
        self.done(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Status by `corun fleet` of the campaign's directory: `status` or `collect`.
    fn said(&self, action: &str) -> FleetStatus {
        let directory = self.directory();
        let text = self.done(&["fleet", action, "--json", "-", directory.to_str().expect("text")]);
        Record::<FleetStatus>::from_json(&text).expect("a document").body
    }

    pub(crate) fn status(&self) -> FleetStatus {
        self.said("status")
    }

    pub(crate) fn collect(&self) -> FleetStatus {
        self.said("collect")
    }

    pub(crate) fn cancel(&self) {
        self.done(&["fleet", "cancel", self.directory().to_str().expect("text")]);
    }

    /// The runs that the store has.
    pub(crate) fn kept(&self) -> Vec<corun_record::KeptRun> {
        let text = self.done(&["runs", "list", "--json", "-"]);
        Record::<corun_record::KeptRunList>::from_json(&text).expect("a list").body.runs
    }

    /// The names of the result files.
    pub(crate) fn results(&self) -> Vec<String> {
        files(&self.directory().join("results"))
    }

    /// Waits until every task has a fate that stays.
    pub(crate) fn ended(&self) -> FleetStatus {
        until("no task waits or runs", || {
            let tasks = self.status().tasks;
            tasks.running + tasks.waiting == 0
        });
        self.status()
    }

    /// Waits until so many programs have begun, each of which leaves a line in the file `begun`.
    pub(crate) fn begun(&self, count: usize) {
        let lines =
            || std::fs::read_to_string(self.path("begun")).unwrap_or_default().lines().count();
        until("programs began", || lines() >= count);
    }

    /// A program that says that it began and then waits until there is a file `go`.
    pub(crate) fn waiting_program(&self) -> PathBuf {
        let [begun, go] = ["begun", "go"].map(|it| self.path(it));
        let script = format!(
            "echo $SLURMD_NODENAME >> '{}'\nwhile [ ! -e '{}' ]; do sleep 0.05; done",
            begun.display(),
            go.display()
        );
        self.program("wait", &script)
    }

    /// Lets the programs that wait end.
    pub(crate) fn go(&self) {
        std::fs::write(self.path("go"), "").expect("the file is written");
    }
}

/// The names in a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|it| it.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}
