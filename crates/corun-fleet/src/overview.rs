//! A plan as a document: what will be submitted, and what it costs.

use std::collections::BTreeSet;

use corun_record::{FleetJob, FleetPlan, shown};

use crate::layout::Directory;
use crate::plan::{Job, Plan};
use crate::slurm;

/// Stands for the id that a campaign gets when it is submitted.
const NO_ID: &str = "ID";

/// Document of `corun fleet plan`.
pub fn overview(plan: &Plan, directory: &Directory) -> FleetPlan {
    let known = Plan { campaign: NO_ID.to_owned(), ..plan.clone() };
    let plan = if plan.campaign.is_empty() { &known } else { plan };
    let job = |job: &Job| {
        let tasks: Vec<u32> = (job.first..job.first + job.count).collect();
        let words = slurm::arguments(plan, directory, job, &tasks);
        let words = words.iter().map(|it| it.to_string_lossy().into_owned());
        FleetJob {
            node: job.node.clone(),
            smt: job.smt.name().to_owned(),
            tasks: job.count,
            command: std::iter::once("sbatch".to_owned()).chain(words).collect(),
        }
    };
    let programs: BTreeSet<&String> = plan.tasks.iter().map(|it| &it.program).collect();
    FleetPlan {
        name: plan.name.clone(),
        directory: shown(directory.path()),
        tasks: plan.tasks.len() as u32,
        programs: programs.into_iter().cloned().collect(),
        commands: plan.tasks.iter().map(|it| it.arguments.clone()).collect(),
        jobs: plan.jobs.iter().map(job).collect(),
        script: slurm::script(plan, directory),
        time_limit_s: plan.time_limit_s,
        pilot_s: plan.pilot_s,
        expected_node_hours: plan.expected_node_hours(),
        most_node_hours: plan.most_node_hours(),
        remarks: remarks(plan),
    }
}

/// The fewest runs of a program that make an answer: two blocks, in which each of two arms runs twice.
const FEWEST_RUNS: f64 = 8.0;

fn remarks(plan: &Plan) -> Vec<String> {
    let mut remarks = Vec::new();
    match plan.pilot_s {
        None => remarks.push(
            "The time limit follows from the budget alone; --pilot runs each command once and takes its time into account."
                .to_owned(),
        ),
        Some(pilot) if pilot * FEWEST_RUNS > plan.time_s as f64 => remarks.push(format!(
            "One run took {pilot:.1} s: {FEWEST_RUNS:.0} runs, the fewest that make an answer, may not fit in {} s (`time`).",
            plan.time_s
        )),
        Some(_) => {}
    }
    remarks
}
