//! A task that is woken on a busy logical CPU begins on the idle sibling.

use crate::property::Property;
use crate::waking;

pub(super) const PROPERTY: Property = Property {
    name: "wake-sibling",
    question: "does a task woken on a busy logical CPU begin on the idle sibling?",
    source: "select_idle_sibling of kernel/sched/fair.c; Molnar 2002, wakeup",
    is_by_name_only: false,
    plan: |facts| {
        let siblings = &facts.cores[facts.core_with_siblings()?];
        Ok(waking::plan(facts, [siblings[0], siblings[1]], "sibling"))
    },
};
