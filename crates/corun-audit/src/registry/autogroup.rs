//! With autogroups sessions share a CPU equally, whatever their number of tasks; without, tasks do.

use corun_stats::percent;
use crate::property::{Property};
use crate::sharing;

pub(super) const PROPERTY: Property = Property {
    name: "autogroup",
    question: "what does one task get on a logical CPU beside a session of three?",
    source: "sched(7), the autogroup feature: sessions are groups of equal weight, in the root group of the \
             CPU controller only",
    is_by_name_only: false,
    plan: |facts| {
        let (share, why) = match facts.autogroup {
            Some(true) if facts.is_in_root_group => (0.5, "autogroups on"),
            Some(true) => (0.25, "autogroups on, without effect in this control group"),
            Some(false) => (0.25, "autogroups off"),
            None => (0.25, "no autogroups in this kernel"),
        };
        let expected = format!("{} ({why})", percent(share));
        let of = "CPU time that a session of one task gets beside one of three";
        Ok(sharing::plan(facts, &[&[0], &[0, 0, 0]], share, of, expected))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::machine;

    #[test]
    fn what_is_expected_depends_on_the_setting_and_on_the_group() {
        let mut facts = machine(&[&[0]]);
        for (autogroup, is_in_root_group, least) in [
            (Some(true), true, 0.45),
            (Some(true), false, 0.2),
            (Some(false), true, 0.2),
            (None, true, 0.2),
        ] {
            (facts.autogroup, facts.is_in_root_group) = (autogroup, is_in_root_group);
            let plan = (PROPERTY.plan)(&facts).unwrap();
            assert!((plan.bound.at_least.unwrap() - least).abs() < 1e-12, "{autogroup:?}");
            assert_eq!(plan.loads[0].processes.len(), 2);
        }
    }
}
