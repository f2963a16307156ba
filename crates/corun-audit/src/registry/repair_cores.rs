//! An imbalance of two running tasks on one core and none on another is repaired: a balancer that
//! pulls waiting tasks finds nothing to pull.

use crate::property::Property;
use crate::repairing;

pub(super) const PROPERTY: Property = Property {
    name: "repair-cores",
    question: "how soon does one of two tasks on siblings go to an idle core?",
    source: "active balancing, need_active_balance of kernel/sched/fair.c; Molnar 2002, active balancing",
    is_by_name_only: false,
    plan: |facts| {
        let siblings = &facts.cores[facts.core_beside_another()?];
        let cpus = [siblings[0], siblings[1]];
        Ok(repairing::plan(facts, cpus, |facts, one, other| {
            facts.core_of(one) != facts.core_of(other)
        }))
    },
};
