//! A task that is woken on a busy logical CPU begins on an idle one of the same last-level
//! cache, of another core if there is one.

use crate::property::Property;
use crate::waking;

pub(super) const PROPERTY: Property = Property {
    name: "wake-idle",
    question: "does a task woken on a busy logical CPU begin on an idle one?",
    source: "select_idle_sibling and select_idle_cpu of kernel/sched/fair.c, which search one last-level cache",
    is_by_name_only: false,
    plan: |facts| Ok(waking::plan(facts, facts.two_cpus_of_a_cache()?, "CPU")),
};
