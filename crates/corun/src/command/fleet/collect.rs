//! `corun fleet collect`: the answers of a campaign, kept in the store.

use std::process::ExitCode;

use corun_fleet::{collect, status};
use corun_record::Exit;
use corun_store::Store;

use super::campaign::StateArguments;
use super::status::looked_at;
use crate::answer::Answer;
use crate::keeping;
use crate::problem::{Problem, code};

pub(super) fn run(arguments: &StateArguments) -> Result<ExitCode, Problem> {
    let answer = Answer::open(arguments.json.as_deref())?;
    let (directory, plan) = arguments.campaign.read()?;
    let Some(place) = keeping::place()? else {
        return Err(Problem::usage(
            "expected a store to collect into, found that nothing is to be kept",
            "Name the store with --store FILE.",
        ));
    };
    let (found, queue) = looked_at(&plan, &directory)?;
    let collected = collect(&plan, &directory, &found, &mut Store::open(&place)?)?;
    let mut status = status(&plan, &directory, &found, queue.as_ref());
    status.collected = Some(collected);
    answer.give(status, corun_report::fleet_status_to_terminal)?;
    Ok(code(Exit::Done))
}
