//! A campaign as tasks: which program, with or without siblings, on which node, in which repeat.
//!
//! The plan is a file in the campaign's directory. It has the arguments of every task, so that the batch script
//! holds no command, path or name of the user beside the directory itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use corun_record::{Placement, read_json};
use serde::{Deserialize, Serialize};

use crate::campaign::{Budget, Campaign, MAX_TASKS, Program, Work};
use crate::error::FleetError;

/// The most tasks of one job array: Slurm's default `MaxArraySize` is 1001, of which the highest index is one less.
pub const MAX_ARRAY: u32 = 1000;

/// Hardware threads that Slurm gives a task: all, or one of each core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SmtArm {
    /// All hardware threads: `--hint=multithread`.
    On,
    /// One hardware thread of each core: `--hint=nomultithread`.
    Nomultithread,
}

impl SmtArm {
    /// Name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Nomultithread => "nomultithread",
        }
    }

    /// The value of Slurm's `--hint`.
    pub fn hint(self) -> &'static str {
        match self {
            Self::On => "multithread",
            Self::Nomultithread => "nomultithread",
        }
    }

    /// True if a placement needs no siblings that this arm hides.
    fn can_place(self, placement: Placement) -> bool {
        self == Self::On || !matches!(placement, Placement::Full(_) | Placement::Packed(_))
    }
}

/// A campaign's tasks and all that is needed to run them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Always [`Plan::FORMAT`].
    pub format: String,
    /// The version of this form.
    pub version: u32,
    /// The campaign's id: eight hexadecimal digits, given at the first submission.
    pub campaign: String,
    /// The campaign's name.
    pub name: String,
    /// The version of corun that planned it.
    pub corun_version: String,
    /// SHA-256 of the binary that runs the tasks, in hexadecimal digits.
    pub binary_sha256: String,
    /// The folder in which commands run.
    pub folder: PathBuf,
    /// Slurm's partition.
    pub partition: Option<String>,
    /// More options of `sbatch`.
    pub sbatch: Vec<String>,
    /// The time limit of each task, in seconds.
    pub time_limit_s: u64,
    /// Time limit of each task's measurement, in seconds.
    pub time_s: u64,
    /// Duration of one run of the slowest program in the pilot, in seconds.
    pub pilot_s: Option<f64>,
    /// The tasks, in the order of their numbers from 0.
    pub tasks: Vec<Task>,
    /// The job arrays: each has the next tasks.
    pub jobs: Vec<Job>,
}

/// One measurement on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The name of its program.
    pub program: String,
    /// With siblings or without them.
    pub smt: SmtArm,
    /// The node; `None`: any.
    pub node: Option<String>,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// The arguments of corun.
    pub arguments: Vec<String>,
}

/// Tasks that are one job array: they have the same node and the same hint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The number of its first task.
    pub first: u32,
    /// Number of tasks.
    pub count: u32,
    /// The node; `None`: any.
    pub node: Option<String>,
    /// With siblings or without them.
    pub smt: SmtArm,
}

/// Commands of corun that are no campaign.
#[derive(Debug, Clone, Default)]
pub struct CommandPlan {
    /// Name of the group.
    pub name: String,
    /// The folder in which they run.
    pub folder: PathBuf,
    /// Slurm's partition.
    pub partition: Option<String>,
    /// More options of `sbatch`.
    pub sbatch: Vec<String>,
    /// The time limit of each.
    pub time_limit: Duration,
    /// The name and the arguments of each.
    pub tasks: Vec<(String, Vec<String>)>,
}

/// Facts that a plan needs beside the campaign.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The nodes to run on, by name; none: any node.
    pub nodes: Vec<String>,
    /// The folder in which commands run.
    pub folder: PathBuf,
    /// SHA-256 of the binary.
    pub binary_sha256: String,
    /// Duration of one run of the slowest program in the pilot.
    pub pilot: Option<Duration>,
}

impl Plan {
    /// The `format` of its file.
    pub const FORMAT: &'static str = "corun-fleet-tasks";
    /// The `version` that this program writes.
    pub const VERSION: u32 = 1;

    /// The plan of a campaign, without an id.
    ///
    /// # Errors
    /// If it has too many tasks, an arm in which nothing can be placed, or could take more than its budget.
    pub fn of(campaign: &Campaign, facts: Facts) -> Result<Self, FleetError> {
        let Campaign { budget, .. } = campaign;
        let targets: Vec<Option<&String>> = if facts.nodes.is_empty() {
            vec![None]
        } else {
            facts.nodes.iter().map(Some).collect()
        };
        let count = [targets.len(), campaign.smt.len(), campaign.programs.len()]
            .iter()
            .fold(u64::from(campaign.repeats), |product, it| product.saturating_mul(*it as u64));
        if count > MAX_TASKS {
            return Err(FleetError::Plan(format!(
                "expected at most {MAX_TASKS} tasks, found {count}: nodes x arms x programs x repeats"
            )));
        }
        let (mut tasks, mut jobs) = (Vec::new(), Vec::new());
        for node in targets {
            for &smt in &campaign.smt {
                let first = tasks.len();
                for repeat in 1..=campaign.repeats {
                    for program in &campaign.programs {
                        tasks.push(Task {
                            program: program.name.clone(),
                            smt,
                            node: node.cloned(),
                            repeat,
                            arguments: arguments(campaign, program, smt)?,
                        });
                    }
                }
                jobs.extend(arrays(first as u32..tasks.len() as u32, node.cloned(), smt));
            }
        }
        let time_limit = budget.time_limit.unwrap_or_else(|| time_limit(budget, facts.pilot));
        let plan = Self {
            format: Self::FORMAT.to_owned(),
            version: Self::VERSION,
            campaign: String::new(),
            name: campaign.name.clone(),
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            binary_sha256: facts.binary_sha256,
            folder: facts.folder,
            partition: campaign.partition.clone(),
            sbatch: campaign.sbatch.clone(),
            time_limit_s: time_limit.as_secs(),
            time_s: budget.time.as_secs(),
            pilot_s: facts.pilot.map(|it| it.as_secs_f64()),
            tasks,
            jobs,
        };
        match budget.node_hours {
            Some(allowed) if plan.most_node_hours() > allowed => {
                Err(FleetError::Budget { allowed, most: plan.most_node_hours() })
            }
            _ => Ok(plan),
        }
    }

    /// The plan of other commands of corun, without an id: each is one task on whichever node is free.
    ///
    /// # Errors
    /// If there are too many.
    pub fn of_commands(commands: CommandPlan) -> Result<Self, FleetError> {
        let count = commands.tasks.len();
        if count as u64 > MAX_TASKS {
            return Err(FleetError::Plan(format!(
                "expected at most {MAX_TASKS} tasks, found {count}"
            )));
        }
        let seconds = commands.time_limit.as_secs().max(1);
        let task = |(program, arguments)| Task {
            program,
            smt: SmtArm::On,
            node: None,
            repeat: 1,
            arguments,
        };
        Ok(Self {
            format: Self::FORMAT.to_owned(),
            version: Self::VERSION,
            campaign: String::new(),
            name: commands.name,
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            binary_sha256: String::new(),
            folder: commands.folder,
            partition: commands.partition,
            sbatch: commands.sbatch,
            time_limit_s: seconds,
            time_s: seconds,
            pilot_s: None,
            tasks: commands.tasks.into_iter().map(task).collect(),
            jobs: arrays(0..count as u32, None, SmtArm::On).collect(),
        })
    }

    /// Node hours if every task used its whole time limit.
    pub fn most_node_hours(&self) -> f64 {
        self.tasks.len() as f64 * self.time_limit_s as f64 / 3600.0
    }

    /// Node hours if every task measured as long as it may.
    pub fn expected_node_hours(&self) -> f64 {
        self.tasks.len() as f64 * self.time_s.min(self.time_limit_s) as f64 / 3600.0
    }

    /// The numbers of all tasks.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        0..self.tasks.len() as u32
    }

    /// The plan in this file.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let text = corun_files::text(path, corun_files::InputKind::DOCUMENT)
            .map_err(FleetError::file(path))?;
        let form = |reason: String| FleetError::Form { path: path.to_owned(), reason };
        let plan: Self = read_json(&text).map_err(|error| form(error.to_string()))?;
        match (plan.format.as_str(), plan.version) {
            (Self::FORMAT, 1..=Self::VERSION) => Ok(plan),
            (format, version) => Err(form(format!("format {format:?} of version {version}"))),
        }
    }

    /// True if another plan has the same tasks for the same nodes, whatever its id, its binary and its limits.
    pub fn has_tasks_of(&self, other: &Self) -> bool {
        (&self.name, &self.tasks, &self.folder) == (&other.name, &other.tasks, &other.folder)
    }
}

/// Arguments of corun on the node.
fn arguments(
    campaign: &Campaign,
    program: &Program,
    smt: SmtArm,
) -> Result<Vec<String>, FleetError> {
    let Campaign { placements, budget, .. } = campaign;
    let command = if campaign.searches_threads { "threads" } else { "measure" };
    let mut words: Vec<String> =
        [command, "--json", "-", "--quiet", "--no-store", "--max-time"].map(str::to_owned).to_vec();
    words.push(humantime::format_duration(budget.time).to_string().replace(' ', ""));
    if let Some(blocks) = budget.blocks {
        words.extend(["--blocks".to_owned(), blocks.to_string()]);
    }
    let possible: Vec<String> =
        placements.iter().filter(|it| smt.can_place(**it)).map(ToString::to_string).collect();
    if possible.is_empty() && !placements.is_empty() {
        return Err(FleetError::Plan(
            "expected a placement that needs no siblings for the arm nomultithread (single, spread, stacked, free), \
             found none"
                .to_owned(),
        ));
    }
    if !possible.is_empty() {
        words.extend(["--placement".to_owned(), possible.join(",")]);
    }
    words.extend(program.options.iter().cloned());
    match &program.work {
        Work::Workload { name, parameters } => {
            words.extend(["--workload".to_owned(), name.clone()]);
            words.extend(parameters.iter().flat_map(|it| ["--param".to_owned(), it.clone()]));
        }
        Work::Command(command) => {
            words.push("--".to_owned());
            words.extend(command.iter().cloned());
        }
    }
    Ok(words)
}

/// Tasks in arrays that any Slurm takes.
fn arrays(
    tasks: std::ops::Range<u32>,
    node: Option<String>,
    smt: SmtArm,
) -> impl Iterator<Item = Job> {
    let end = tasks.end;
    tasks.step_by(MAX_ARRAY as usize).map(move |first| Job {
        first,
        count: MAX_ARRAY.min(end - first),
        node: node.clone(),
        smt,
    })
}

/// A quarter more than a task may measure, since the last block may take longer than the ones before it; two
/// more runs for what is not counted; a minute to start. In whole minutes, as Slurm counts.
fn time_limit(budget: &Budget, pilot: Option<Duration>) -> Duration {
    let seconds =
        1.25 * budget.time.as_secs_f64() + 2.0 * pilot.unwrap_or_default().as_secs_f64() + 60.0;
    Duration::from_secs(60 * (seconds / 60.0).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn campaign(rest: &str) -> Campaign {
        let text = format!("format = \"corun-campaign\"\nversion = 1\nname = \"it\"\n{rest}");
        Campaign::from_toml("it.toml", &text).unwrap()
    }

    fn planned(rest: &str, nodes: &[&str]) -> Result<Plan, FleetError> {
        let nodes = nodes.iter().map(|&it| it.to_owned()).collect();
        Plan::of(&campaign(rest), Facts { nodes, ..Facts::default() })
    }

    const TWO: &str =
        "[[program]]\nworkload = \"fib\"\n[[program]]\ncommand = [\"./a b\", \"\\n\"]\n";

    #[test]
    fn every_program_is_repeated_in_every_arm_on_every_node() {
        let rest = format!("smt = [\"on\", \"nomultithread\"]\nrepeats = 2\n{TWO}");
        let plan = planned(&rest, &["n1", "n2"]).unwrap();
        assert_eq!(plan.tasks.len(), 16);
        assert_eq!(plan.jobs.len(), 4);
        for job in &plan.jobs {
            for task in &plan.tasks[job.first as usize..][..job.count as usize] {
                assert_eq!((&task.node, task.smt), (&job.node, job.smt));
            }
        }
    }

    #[test]
    fn an_arm_without_siblings_asks_for_no_placement_on_them() {
        let rest = |placements: &str| {
            format!("smt = [\"on\", \"nomultithread\"]\nplacements = [{placements}]\n{TWO}")
        };
        let plan = planned(&rest("\"spread\", \"full\""), &[]).unwrap();
        assert!(plan.tasks[0].arguments.join(" ").contains("--placement spread,full "));
        assert!(plan.tasks[3].arguments.join(" ").contains("--placement spread --"));
        assert!(matches!(planned(&rest("\"full\""), &[]), Err(FleetError::Plan(_))));
    }

    #[test]
    fn a_command_is_words_after_the_separator() {
        let plan = planned(TWO, &[]).unwrap();
        insta::assert_snapshot!(shell_words::join(&plan.tasks[1].arguments));
    }

    #[test]
    fn a_search_for_the_best_number_of_threads_is_another_command() {
        let plan = planned(&format!("threads = \"best\"\n{TWO}"), &[]).unwrap();
        let words = shell_words::join(&plan.tasks[0].arguments);
        assert_eq!(words, "threads --json - --quiet --no-store --max-time 5m --workload fib");
    }

    #[test]
    fn the_budget_bounds_what_all_tasks_can_take() {
        let rest = |hours: f64| {
            format!("repeats = 6\n{TWO}[budget]\ntime = \"8m\"\nnode-hours = {hours:?}\n")
        };
        // 12 tasks of 11 minutes.
        let plan = planned(&rest(2.2), &[]).unwrap();
        assert_eq!((plan.time_limit_s, plan.most_node_hours()), (660, 2.2));
        assert!(matches!(planned(&rest(2.1), &[]), Err(FleetError::Budget { .. })));
    }

    #[test]
    fn too_many_tasks_are_refused_before_they_are_made() {
        let nodes = vec!["n"; 10_000];
        assert!(matches!(
            planned(&format!("repeats = 10000\n{TWO}"), &nodes),
            Err(FleetError::Plan(_))
        ));
    }

    #[test]
    fn other_commands_are_a_task_each_on_any_node() {
        let of = |count: usize| CommandPlan {
            name: "sweep".to_owned(),
            time_limit: Duration::from_secs(90),
            tasks: vec![("./a b".to_owned(), vec!["sweep".to_owned()]); count],
            ..CommandPlan::default()
        };
        let plan = Plan::of_commands(of(1001)).unwrap();
        let sizes: Vec<(u32, u32)> = plan.jobs.iter().map(|it| (it.first, it.count)).collect();
        assert_eq!((plan.tasks.len(), plan.time_limit_s), (1001, 90));
        assert_eq!(sizes, [(0, 1000), (1000, 1)]);
        assert!(plan.tasks.iter().all(|it| it.node.is_none() && it.arguments == ["sweep"]));
        assert!(matches!(Plan::of_commands(of(100_001)), Err(FleetError::Plan(_))));
    }

    proptest! {
        #[test]
        fn every_task_is_in_one_array(repeats in 1_u32..3000, nodes in 0_usize..4) {
            let names = ["a", "b", "c"];
            let plan = planned(&format!("repeats = {repeats}\n{TWO}"), &names[..nodes]).unwrap();
            let mut next = 0;
            for job in &plan.jobs {
                prop_assert_eq!(job.first, next);
                prop_assert!((1..=MAX_ARRAY).contains(&job.count));
                next += job.count;
            }
            prop_assert_eq!(next as usize, plan.tasks.len());
        }
    }
}
