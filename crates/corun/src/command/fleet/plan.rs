//! `corun fleet plan`: what a campaign will submit, and what that costs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use corun_fleet::overview;
use corun_record::Exit;

use super::campaign::CampaignArguments;
use crate::answer::Answer;
use crate::problem::{Problem, code};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: CampaignArguments,
    /// Write the plan as JSON to FILE instead (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let (directory, plan) = arguments.campaign.planned()?;
    answer.give(overview(&plan, &directory), corun_report::fleet_plan_to_terminal)?;
    Ok(code(Exit::Done))
}
