//! A sweep as a job array: a task for each program, which is a sweep of that program on a node.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use corun_fleet::layout::{Directory, task_name};
use corun_fleet::slurm::SlurmCommands;
use corun_fleet::{CommandPlan, FleetError, Plan, prepare, results, submit};
use corun_record::{AnyDocument, PredictionSweep, shown};

use super::TypedSweep;
use crate::command::traced::NamedProgram;
use crate::problem::{Problem, say};
use crate::values;

/// Arguments of a sweep through Slurm.
#[derive(Debug, Args)]
#[command(next_help_heading = "Slurm")]
pub(super) struct SlurmArguments {
    /// Submit a job array, a task for each program, with its results in DIR, which all nodes see; the same line again shows
    /// what is done and submits what has no result
    #[arg(long, value_name = "DIR")]
    slurm: Option<PathBuf>,
    /// The partition
    #[arg(long, value_name = "NAME", requires = "slurm")]
    partition: Option<String>,
    /// Another option of sbatch, such as --account=NAME; can be given several times
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// The time limit of each task
    #[arg(long, value_name = "TIME", requires = "slurm", default_value = "1h", value_parser = values::duration)]
    time_limit: Duration,
}

impl SlurmArguments {
    /// The directory of a sweep that goes to Slurm.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.slurm.as_deref()
    }
}

/// Submits the programs that have no result and neither wait nor run; the sweep has the cells that are done.
///
/// # Errors
/// If the directory is that of another campaign, or Slurm does not take the tasks.
pub(super) fn run(typed: &TypedSweep<'_>, directory: &Path) -> Result<PredictionSweep, Problem> {
    let absolute = directory.canonicalize().or_else(|_| std::path::absolute(directory));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| FleetError::File { path, source }
    };
    let absolute = Directory::new(absolute.map_err(failed(directory))?);
    let corun = std::env::current_exe().map_err(failed(Path::new("/proc/self/exe")))?;
    let folder = std::env::current_dir().map_err(failed(Path::new(".")))?;
    let tasks = (0..).zip(&typed.programs).map(|(number, it)| {
        let store = absolute.kept().join(format!("{}.db", task_name(number)));
        Ok((it.name.clone(), task(typed, it, &store)?))
    });
    let own = &typed.arguments.sweep.slurm;
    let planned = Plan::of_commands(CommandPlan {
        name: "sweep".to_owned(),
        folder,
        partition: own.partition.clone(),
        sbatch: own.sbatch.clone(),
        time_limit: own.time_limit,
        tasks: tasks.collect::<Result<_, Problem>>()?,
    })?;
    let planned = prepare(planned, &absolute, &corun)?;
    let submitted = submit(&SlurmCommands, &planned, &absolute)?;
    if !typed.arguments.progress.quiet {
        say(&match submitted.tasks {
            0 => "Nothing was submitted: every program has a result, waits or runs.".to_owned(),
            tasks => format!(
                "{tasks} of {} programs were submitted. The same line shows what is done; `corun fleet status {}` what waits \
                 or runs.",
                typed.programs.len(),
                shown(directory)
            ),
        });
    }
    let found = results::read(&planned, &absolute)?;
    let mut sweep = typed.request.cells(None)?;
    // Of tasks that failed, the cells that were finished before.
    let partial = found.results.iter().filter(|it| !it.is_done());
    for result in partial.chain(results::counted(&absolute, &found).into_values()) {
        let Some(document) = &result.document else { continue };
        let Ok(AnyDocument::Sweep(of_program)) = AnyDocument::from_json(document.get()) else {
            say(&format!("corun: a result on {} is no sweep", result.attempt.node));
            continue;
        };
        for cell in of_program
            .body
            .cells
            .into_iter()
            .filter(|it| it.prediction.is_some() || result.is_done())
        {
            if let Some(known) = sweep.cells.iter_mut().find(|it| it.is_same(&cell)) {
                *known = cell;
            }
        }
    }
    Ok(sweep)
}

/// Task of corun on a node: the cells of one program. They are kept in a store in the directory, so that a task that runs
/// again goes on with what it had.
fn task(
    typed: &TypedSweep<'_>,
    program: &NamedProgram,
    store: &Path,
) -> Result<Vec<String>, Problem> {
    let store = store.to_str().ok_or_else(|| {
        Problem::usage(
            format!("expected a directory whose name is UTF-8, found {}", shown(store)),
            "Name another directory with --slurm.",
        )
    })?;
    let words = ["predict", "--json", "-", "--quiet", "--resume-any", "--store", store, "--model"];
    let mut words = words.map(str::to_owned).to_vec();
    // A node may have another core than this machine.
    words.push(match &typed.arguments.model[..] {
        [] => typed.request.cores[0].model.clone(),
        named => named.join(","),
    });
    for (field, values) in typed.arguments.settings().0 {
        words.extend(["--set".to_owned(), format!("{field}={values}")]);
    }
    words.extend(typed.request.options.iter().cloned());
    words.extend(program.option.clone());
    Ok(words)
}
