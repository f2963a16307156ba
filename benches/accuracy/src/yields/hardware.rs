//! Workloads as processes, each pinned to its CPU by itself.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::{Worker, Workload};

/// How long a run takes at least, in seconds: far longer than a process takes to start.
const RUN_S: f64 = 0.2;
/// Operations of the first run that is timed.
const FEWEST: u64 = 1000;
/// More operations than a slice lasts for.
const ENDLESS: u64 = 1 << 50;

/// Runs `corun kernel-worker`.
pub(super) struct Processes<'c> {
    corun: &'c Path,
    /// Operations of a run, by workload.
    operations: BTreeMap<String, u64>,
}

/// A process that ends with this.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        // It may have ended; either way it is gone afterwards.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl<'c> Processes<'c> {
    pub(super) fn new(corun: &'c Path) -> Self {
        Self { corun, operations: BTreeMap::new() }
    }

    fn command(&self, workload: &Workload, cpu: u32, operations: u64) -> Command {
        let mut command = Command::new(self.corun);
        command.args(["kernel-worker", "--operations", &operations.to_string()]);
        command.args(["--cpus", &cpu.to_string(), workload.name]).args(workload.words());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Runs it once; the seconds that it takes.
    fn run(&self, workload: &Workload, cpu: u32, operations: u64) -> Result<f64, String> {
        let begun = Instant::now();
        let status = self.command(workload, cpu, operations).status();
        let seconds = begun.elapsed().as_secs_f64();
        match status {
            Ok(status) if status.success() => Ok(seconds),
            Ok(status) => Err(format!("{} failed: {status}", workload.name)),
            Err(error) => Err(self.not_started(&error)),
        }
    }

    fn not_started(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.corun.display())
    }

    /// As many operations as take long enough.
    fn operations(&mut self, workload: &Workload, cpu: u32) -> Result<u64, String> {
        let name = std::iter::once(workload.name.to_owned()).chain(workload.words());
        let name = name.collect::<Vec<_>>().join(" ");
        if let Some(known) = self.operations.get(&name) {
            return Ok(*known);
        }
        let mut operations = FEWEST;
        while self.run(workload, cpu, operations)? < RUN_S && operations < ENDLESS / 4 {
            operations *= 4;
        }
        self.operations.insert(name, operations);
        Ok(operations)
    }
}

impl Worker for Processes<'_> {
    fn seconds(
        &mut self,
        workload: &Workload,
        cpu: u32,
        beside: Option<(&Workload, u32)>,
    ) -> Result<f64, String> {
        let operations = self.operations(workload, cpu)?;
        let Some((other, sibling)) = beside else { return self.run(workload, cpu, operations) };
        let mut endless = self.command(other, sibling, ENDLESS);
        let busy = endless.spawn().map(Busy).map_err(|error| self.not_started(&error))?;
        // By the end of a first run the other one has started.
        self.run(workload, cpu, operations)?;
        let seconds = self.run(workload, cpu, operations);
        drop(busy);
        seconds
    }
}
