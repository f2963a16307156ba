//! A nice value weighs a task: five steps make a third.

use corun_stats::percent;
use crate::property::{Property};
use crate::sharing;

pub(super) const PROPERTY: Property = Property {
    name: "nice",
    question: "do two tasks of nice 0 and 5 share a logical CPU by their weights?",
    source: "sched_prio_to_weight of kernel/sched/core.c: 1024 for nice 0, 335 for nice 5",
    is_by_name_only: false,
    plan: |facts| {
        let share = f64::from(WEIGHTS[0]) / f64::from(WEIGHTS[0] + WEIGHTS[1]);
        let expected = format!("{} for nice 0", percent(share));
        Ok(sharing::plan(facts, &[&[0, 5]], share, "CPU time that nice 0 gets", expected))
    },
};

const WEIGHTS: [u32; 2] = [1024, 335];
