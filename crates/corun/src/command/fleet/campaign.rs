//! Name of a campaign on the command line: its file before it is submitted, its directory from then on.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use corun_files::InputKind;
use corun_fleet::layout::Directory;
use corun_fleet::slurm::{self, SlurmCommands};
use corun_fleet::{Campaign, Facts, FleetError, Nodes, Plan, existing, pilot};
use corun_record::shown;

use crate::options::JsonFile;
use crate::parse;
use crate::problem::Problem;

/// A campaign that may not have been submitted yet.
#[derive(Debug, Args)]
pub(super) struct CampaignArguments {
    /// The campaign, a TOML file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The directory of plan, binary and results, which all nodes see [default: FILE with the ending .fleet]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// What runs the tasks
    #[arg(long, value_enum, default_value_t = Engine::Slurm)]
    pub(super) engine: Engine,
    /// Run each command once, here, to find the time limit
    #[arg(long)]
    pilot: bool,
}

/// Engine that runs the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    /// Slurm, one node a task
    Slurm,
    /// This machine, one task after another
    Local,
}

/// A campaign that was submitted.
#[derive(Debug, Args)]
pub(crate) struct SubmittedArguments {
    /// The campaign's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// A campaign that was submitted, whose state is shown.
#[derive(Debug, Args)]
pub(crate) struct StateArguments {
    #[command(flatten)]
    pub(super) campaign: SubmittedArguments,
    #[command(flatten)]
    pub(super) json: JsonFile,
}

impl CampaignArguments {
    /// The directory and the plan, without an id unless the directory has one.
    ///
    /// # Errors
    /// If the file has a mistake, the campaign is not valid, or Slurm does not say which nodes it has.
    pub(super) fn planned(&self) -> Result<(Directory, Plan), Problem> {
        let text = corun_files::text(&self.file, InputKind::CAMPAIGN).map_err(|error| {
            Problem::unreadable(&error, "Name a campaign file.").in_file(&self.file)
        })?;
        let campaign = Campaign::from_toml(&shown(&self.file), &text)?;
        let folder = std::env::current_dir()
            .map_err(|source| FleetError::File { path: PathBuf::from("."), source })?;
        let facts = Facts {
            nodes: self.nodes(&campaign)?,
            folder,
            pilot: self.pilot.then(|| pilot::run(&campaign)).transpose()?,
            ..Facts::default()
        };
        let plan = Plan::of(&campaign, facts)?;
        check_tasks(&plan)?;
        let default = self.file.with_extension("fleet");
        let directory = absolute(self.directory.as_deref().unwrap_or(&default))?;
        let earlier = existing(&directory)?.filter(|it| it.has_tasks_of(&plan));
        Ok((directory, earlier.unwrap_or(plan)))
    }

    fn nodes(&self, campaign: &Campaign) -> Result<Vec<String>, FleetError> {
        match &campaign.nodes {
            _ if self.engine == Engine::Local => Ok(Vec::new()),
            Nodes::Any => Ok(Vec::new()),
            Nodes::Named(lists) => slurm::named(&SlurmCommands, lists),
            Nodes::EachType => slurm::one_of_each_type(slurm::nodes(
                &SlurmCommands,
                campaign.partition.as_deref(),
            )?),
        }
    }
}

/// Checks before anything is submitted that no node would refuse a task.
fn check_tasks(plan: &Plan) -> Result<(), Problem> {
    let different: BTreeSet<&Vec<String>> = plan.tasks.iter().map(|it| &it.arguments).collect();
    for arguments in different {
        let line: Vec<OsString> = std::iter::once("corun")
            .chain(arguments.iter().map(String::as_str))
            .map(Into::into)
            .collect();
        parse::again(&line).map_err(|problem| {
            problem.with_next_step("Change `options` of the [[program]] in the campaign file.")
        })?;
    }
    Ok(())
}

impl SubmittedArguments {
    /// The directory and its plan.
    ///
    /// # Errors
    /// If there is no campaign in it.
    pub(super) fn read(&self) -> Result<(Directory, Plan), Problem> {
        let directory = absolute(&self.directory)?;
        let plan = existing(&directory)?.ok_or_else(|| {
            Problem::failed(
                format!(
                    "expected the directory of a campaign, found no plan.json in {}",
                    shown(&self.directory)
                ),
                "`corun fleet submit FILE` makes the directory and names it.",
            )
        })?;
        Ok((directory, plan))
    }
}

fn absolute(path: &Path) -> Result<Directory, FleetError> {
    // Where it is there, without links: nodes may see other ones.
    let absolute = path.canonicalize().or_else(|_| std::path::absolute(path));
    absolute
        .map(Directory::new)
        .map_err(|source| FleetError::File { path: path.to_owned(), source })
}
