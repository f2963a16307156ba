//! Value of each resource to siblings: the same workers with one resource at a time shared otherwise.

use corun_model::Resource;
use corun_model::{CoreModel, Policy};
use corun_record::{Caveat, Placement, VariedResource};
use corun_sim::plausible::of_yield;
use corun_sim::{Outcome, Setup};

use super::Arguments;
use super::together::{SimulationJob, each};
use crate::problem::Problem;

/// Refuses requests without the placements that a yield is computed from.
pub(super) fn check(arguments: &Arguments) -> Result<(), Problem> {
    let has = |is: fn(&Placement) -> bool| arguments.placement.iter().any(is);
    let has_both =
        has(|it| matches!(it, Placement::Spread(_))) && has(|it| matches!(it, Placement::Full(_)));
    if arguments.resources && !has_both {
        return Err(Problem::usage(
            "expected the placements spread and full with --resources, found others",
            "Give --placement spread,full.",
        ));
    }
    Ok(())
}

/// The SMT yield with each resource shared otherwise; of no resource without both placements.
pub(super) fn varied(
    setup: Setup<'_, '_>,
    plans: &[SimulationJob],
    outcomes: &[Outcome],
    arguments: &Arguments,
    caveats: &mut Vec<Caveat>,
) -> Result<Vec<VariedResource>, Problem> {
    let spread = outcomes.iter().find(|it| matches!(it.placement, Placement::Spread(_)));
    let full = outcomes.iter().find(|it| matches!(it.placement, Placement::Full(_)));
    let (Some(spread), Some(full)) = (spread, full) else { return Ok(Vec::new()) };
    let variants: Vec<(Resource, Policy, CoreModel)> = setup
        .model
        .resources()
        .into_iter()
        .flat_map(|resource| {
            let variants = setup.model.variants(&resource).into_iter();
            variants.map(|(policy, model)| (resource.clone(), policy, model)).collect::<Vec<_>>()
        })
        .collect();
    let own: Vec<&SimulationJob> =
        plans.iter().filter(|plan| plan.placement == full.placement).collect();
    let all: Vec<(&CoreModel, &SimulationJob)> = variants
        .iter()
        .flat_map(|(_, _, model)| own.iter().map(move |plan| (model, *plan)))
        .collect();
    let phases = each(setup, &all, arguments)?;
    let mut resources: Vec<VariedResource> = Vec::new();
    for ((resource, policy, _), phases) in variants.iter().zip(phases.chunks(own.len())) {
        let outcome =
            Outcome { placement: full.placement, phases: phases.to_vec(), matched: Vec::new() };
        let Some(found) = outcome.per_core(spread) else { continue };
        let name = format!("{}.policy={}: an SMT yield of", resource.name, policy.name());
        if let Err(why) = of_yield(&name, found, outcome.most_at_once()) {
            let sentence = format!("Left out, since it is implausible: {why}");
            caveats.push(Caveat::new("implausible", sentence));
            continue;
        }
        let smt_yield = (policy.name().to_owned(), found.mean);
        match resources.last_mut().filter(|last| last.resource == resource.name) {
            Some(last) => last.smt_yield.extend([smt_yield]),
            None => resources.push(VariedResource {
                resource: resource.name.clone(),
                policy: resource.policy.name().to_owned(),
                is_assumed: resource.is_assumed,
                smt_yield: [smt_yield].into(),
            }),
        }
    }
    Ok(resources)
}
