//! The arms that a metric compares: a figure of other arms is said of another metric.
//!
//! As DESIGN's words have it and `corun measure` computes it; `free` stands for any placement that the
//! publication left to the kernel.

use corun_record::{Metric, Placement};

use crate::arm::StudyArm;

/// A metric, the names of the placements that it is said of, and of those that these are compared with.
type Roles = (Metric, &'static [&'static str], &'static [&'static str]);

const ROLES: [Roles; 8] = [
    (Metric::SmtYield, &["full"], &["spread"]),
    (Metric::SiblingSlowdown, &["full"], &["spread"]),
    (Metric::CoreEquivalence, &["packed"], &["spread"]),
    (Metric::MultitaskingGain, &["full"], &["stacked"]),
    (Metric::TimeSlicing, &["stacked"], &["spread", "single"]),
    (Metric::SwitchYield, &["full"], &["spread"]),
    (Metric::Scaling, &["spread"], &["single"]),
    (Metric::FreePlacement, &["free"], &["full", "spread", "packed", "single"]),
];

/// Checks whether a metric compares these arms.
///
/// # Errors
/// The field, which arms the metric has, and the metric that these arms are of, if there is one.
pub(crate) fn check(metric: Metric, arm: StudyArm, against: StudyArm) -> Result<(), String> {
    if metric == Metric::SwitchGain {
        return match arm.with_smt(against.smt()) == against && against.is_smt_off && !arm.is_smt_off
        {
            true => Ok(()),
            false => Err(format!(
                "`against`: expected {arm} with SMT off for {}, found {against}",
                metric.name()
            )),
        };
    }
    let Some(&(_, ours, others)) = ROLES.iter().find(|(named, ..)| *named == metric) else {
        return Ok(());
    };
    if is_one_of(arm, ours) && is_one_of(against, others) {
        return Ok(());
    }
    let named = ROLES
        .iter()
        .find(|(_, ours, others)| ours.contains(&name(arm)) && others.contains(&name(against)));
    let hint =
        named.map_or_else(String::new, |(metric, ..)| format!(", which is {}", metric.name()));
    Err(format!(
        "`arm`, `against`: expected {} over {} for {}, found {arm} over {against}{hint}",
        ours.join(" or "),
        others.join(" or "),
        metric.name()
    ))
}

fn is_one_of(arm: StudyArm, names: &[&str]) -> bool {
    names.contains(&name(arm)) || name(arm) == "free"
}

fn name(arm: StudyArm) -> &'static str {
    match arm.shape() {
        Placement::Single => "single",
        Placement::Spread(_) => "spread",
        Placement::Full(_) => "full",
        Placement::Packed(_) => "packed",
        Placement::Scatter(_) => "scatter",
        Placement::Stacked => "stacked",
        Placement::Free(_) => "free",
        Placement::Cpus => "cpus",
    }
}
