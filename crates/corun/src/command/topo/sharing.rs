//! `corun topo --cpus LIST`, `--pid PID`, `--cgroup PATH`: what these CPUs share, and with whom.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use corun_machine::doctor::{Pause, Sleep};
use corun_machine::sharing::{CpuSharing, SharingQuery, describe};
use corun_machine::{CpuSet, Machine, MachineError, RootFiles, SystemFiles};
use corun_measure::machine_summary;
use corun_record::{Exit, Record};

use crate::answer::Answer;
use crate::options::JsonFile;
use crate::problem::{Problem, code};
use crate::values;

#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// Say what these CPUs share and with whom, such as 0-3,8: cores, caches, NUMA nodes, busy tasks
    #[arg(long, value_name = "LIST", group = "whose")]
    #[arg(conflicts_with_all = ["probe", "svg"])]
    cpus: Option<CpuSet>,
    /// The same for the CPUs that a process may use; for a virtual machine also whether its guest's siblings are
    /// siblings of the host
    #[arg(long, value_name = "PID", group = "whose")]
    #[arg(conflicts_with_all = ["probe", "svg"])]
    pid: Option<u32>,
    /// The same for the CPUs of a control group, named by its folder or as /proc/PID/cgroup names it
    #[arg(long, value_name = "PATH", group = "whose")]
    #[arg(conflicts_with_all = ["probe", "svg"])]
    cgroup: Option<String>,
    /// Watch for this long who else is busy there
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::duration)]
    #[arg(requires = "whose")]
    pub(super) watch: Duration,
}

impl Arguments {
    /// Whose CPUs are asked for.
    pub(super) fn query(&self) -> Option<SharingQuery> {
        let of_process = self.pid.map(SharingQuery::Process);
        let of_group = self.cgroup.clone().map(SharingQuery::ControlGroup);
        self.cpus.clone().map(SharingQuery::Cpus).or(of_process).or(of_group)
    }
}

pub(super) fn run(
    query: &SharingQuery,
    watch: Duration,
    root: &Path,
    json: &JsonFile,
) -> Result<ExitCode, Problem> {
    let answer = Answer::open(json)?;
    let mut files = RootFiles::open(root)
        .map_err(|source| MachineError::Root { root: root.to_owned(), source })?;
    let machine = Machine::from_files(&mut files).ok_or_else(|| MachineError::none_below(root))?;
    let live = files.affinity().is_some();
    let mut sleep = Sleep(watch);
    let pause = live.then_some(&mut sleep as &mut dyn Pause);
    let sharing = CpuSharing::read(&mut files, &machine, query, pause)?;
    let record =
        Record { machine: Some(machine_summary(&machine, root)), ..answer.record(sharing) };
    answer.write(&record, |record, columns| describe(&record.body, columns.into()))?;
    Ok(code(Exit::Done))
}
