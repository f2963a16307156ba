//! An imbalance of two tasks on one logical CPU and none on another is repaired.

use crate::property::Property;
use crate::repairing;

pub(super) const PROPERTY: Property = Property {
    name: "repair",
    question: "how soon does one of two tasks on a logical CPU go to an idle one?",
    source: "load balancing of idle CPUs, sched_balance_rq of kernel/sched/fair.c; Lozi et al. 2016: no \
             CPU should be idle while ready threads wait",
    is_by_name_only: false,
    plan: |facts| {
        let [cpu, _] = facts.two_cpus()?;
        Ok(repairing::plan(facts, [cpu, cpu], |_, one, other| one != other))
    },
};
