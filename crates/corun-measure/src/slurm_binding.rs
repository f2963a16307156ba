//! The CPUs to which Slurm bound this task of a step, compared with those that it may use.
//!
//! `srun` gives each task the masks of its node's tasks in `SLURM_CPU_BIND_LIST`, in the order of their local ids
//! (srun(1), `--cpu-bind`).

use corun_machine::CpuSet;
use corun_record::{Caveat, excerpt};

/// Compares the binding of the step that this process is in with the CPUs that it may use; `variable` reads the environment.
/// `None` outside of steps, and where the task is bound to all CPUs of its node and may use them.
pub(crate) fn caveat(
    variable: impl Fn(&str) -> Option<String>,
    allowed: &CpuSet,
    online: &CpuSet,
) -> Option<Caveat> {
    variable("SLURM_STEP_ID")?;
    let number = |name: &str| variable(name)?.parse::<usize>().ok();
    let tasks = number("SLURM_STEP_NUM_TASKS").unwrap_or(1);
    let rank = number("SLURM_PROCID").unwrap_or(0);
    let list = variable("SLURM_CPU_BIND_LIST").unwrap_or_default();
    let kind = variable("SLURM_CPU_BIND_TYPE").unwrap_or_default();
    let kind = kind.trim_end_matches(':');
    let own = element(&list, number("SLURM_LOCALID").unwrap_or(rank));
    let option = match list.is_empty() {
        true => excerpt(kind),
        false => format!("{}:{}", excerpt(kind), excerpt(&list)),
    };
    let Some(bound) = own.and_then(|it| cpus(kind, it)) else {
        return (tasks > 1).then(|| match kind {
            "" | "none" => {
                let sentence = format!(
                    "Slurm bound none of the {tasks} tasks of this step (--cpu-bind): they may run on the same CPUs, of \
                     which this one (rank {rank}) may use {allowed}."
                );
                Caveat::new("slurm-binding-none", sentence)
            }
            _ => {
                let sentence = format!(
                    "Slurm bound this task (rank {rank} of {tasks}) by --cpu-bind={option}, which names no CPUs to compare: \
                     it may use CPUs {allowed}."
                );
                Caveat::new("slurm-binding-unknown", sentence)
            }
        });
    };
    if bound != *allowed {
        let sentence = format!(
            "Slurm bound this task (rank {rank}) to CPUs {bound} (--cpu-bind={option}), but it may use CPUs {allowed}: the \
             mask was changed on the way, or the node's CPUs are not those of Slurm's configuration."
        );
        return Some(Caveat::new("slurm-binding-differs", sentence));
    }
    (bound != *online).then(|| {
        let sentence = format!(
            "Slurm bound this task (rank {rank} of {tasks}) to CPUs {bound} (--cpu-bind={option}), and these are the CPUs \
             that it may use: other tasks of the node may run on their siblings."
        );
        Caveat::new("slurm-binding", sentence)
    })
}

/// The element of a list for a task: the list is used again from its beginning for more tasks, and `MASK*COUNT` stands for
/// several.
fn element(list: &str, task: usize) -> Option<&str> {
    let counted: Vec<(&str, usize)> = list
        .split(',')
        .filter(|it| !it.is_empty())
        .map(|it| match it.split_once('*') {
            Some((own, count)) => (own, count.parse().unwrap_or(1)),
            None => (it, 1),
        })
        .collect();
    let total = counted.iter().fold(0_usize, |sum, (_, count)| sum.saturating_add(*count));
    let mut left = task.checked_rem(total)?;
    for (own, count) in counted {
        if left < count {
            return Some(own);
        }
        left -= count;
    }
    None
}

/// The CPUs of an element.
fn cpus(kind: &str, element: &str) -> Option<CpuSet> {
    let digits = element.strip_prefix("0x");
    match kind {
        "mask_cpu" => mask(digits.unwrap_or(element)),
        "map_cpu" => {
            let number = match digits {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => element.parse(),
            };
            number.ok().map(|cpu| std::iter::once(cpu).collect())
        }
        _ => None,
    }
}

/// A mask of any length, without commas.
fn mask(digits: &str) -> Option<CpuSet> {
    let digits: Vec<char> = digits.chars().collect();
    let words: Vec<String> = digits.rchunks(8).rev().map(|it| it.iter().collect()).collect();
    CpuSet::from_mask(&words.join(",")).ok().filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    /// Report on the second task of a step of two, on a node of four CPUs.
    fn found(kind: &str, list: &str, allowed: &str) -> Option<(String, String)> {
        let variables = [
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("SLURM_PROCID", "1"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_CPU_BIND_TYPE", kind),
            ("SLURM_CPU_BIND_LIST", list),
        ];
        let variable =
            |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
        let caveat = caveat(variable, &set(allowed), &set("0-3"))?;
        Some((caveat.kind, caveat.sentence))
    }

    #[test]
    fn the_mask_of_slurm_is_compared_with_the_cpus_that_the_task_may_use() {
        let kind = |kind, list, allowed| found(kind, list, allowed).map(|it| it.0);
        for (bind, list) in [
            ("mask_cpu:", "0x1,0xC"),
            ("mask_cpu:", "0x1,0x0000000000000000000000000000000C"),
            ("mask_cpu:", "0xC"),
            ("mask_cpu:", "0x1*1,0xC*2"),
        ] {
            assert_eq!(kind(bind, list, "2-3").as_deref(), Some("slurm-binding"), "{list}");
            assert_eq!(kind(bind, list, "0-3").as_deref(), Some("slurm-binding-differs"), "{list}");
        }
        assert_eq!(kind("map_cpu:", "0,2", "2").as_deref(), Some("slurm-binding"));
        assert_eq!(kind("map_cpu:", "0x0,0x2", "2").as_deref(), Some("slurm-binding"));
        assert_eq!(kind("mask_cpu:", "0xF,0xF", "0-3"), None);
        for bind in ["none", ""] {
            assert_eq!(kind(bind, "", "0-3").as_deref(), Some("slurm-binding-none"), "{bind}");
        }
        for (bind, list) in [("mask_cpu:", "0xZ,0xZ"), ("rank", ""), ("mask_ldom:", "0x1,0x2")] {
            let found = kind(bind, list, "0-3");
            assert_eq!(found.as_deref(), Some("slurm-binding-unknown"), "{bind}");
        }
        let (_, sentence) = found("rank", "", "2").unwrap();
        assert!(
            sentence.contains("by --cpu-bind=rank, ") && sentence.contains("CPUs 2."),
            "{sentence}"
        );
        let (_, sentence) = found("mask_cpu:", "0x1,0x2", "0-3").unwrap();
        assert!(sentence.contains("to CPUs 1 (--cpu-bind=mask_cpu:0x1,0x2)"), "{sentence}");
        assert!(sentence.contains("may use CPUs 0-3"), "{sentence}");
    }

    #[test]
    fn outside_of_a_step_nothing_is_reported() {
        let of_batch_script = |name: &str| (name == "SLURM_JOB_ID").then(|| "1".to_owned());
        assert_eq!(caveat(of_batch_script, &set("0"), &set("0-3")), None);
    }

    proptest! {
        #[test]
        fn no_environment_panics(kind in ".{0,12}", list in "[0-9a-fx*,]{0,40}", task in any::<usize>()) {
            let variable = |name: &str| match name {
                "SLURM_CPU_BIND_TYPE" => Some(kind.clone()),
                "SLURM_CPU_BIND_LIST" => Some(list.clone()),
                _ => Some(task.to_string()),
            };
            let _ = caveat(variable, &set("0"), &set("0-3"));
        }
    }
}
