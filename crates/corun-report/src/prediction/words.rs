//! The stack of cycles in words: what the slots of renaming were used for, or lost to, the most first.

use corun_record::StackShare;
use corun_stats::percent;

/// Components below this share are told together.
const LEAST_SHARE: f64 = 0.005;

/// A sentence for each component, the largest first, and one for all that are small.
pub(super) fn sentences(stack: &[StackShare]) -> Vec<String> {
    let mut stack: Vec<&StackShare> = stack.iter().filter(|part| part.share > 0.0).collect();
    stack.sort_by(|one, other| other.share.total_cmp(&one.share));
    let (large, small): (Vec<&StackShare>, Vec<&StackShare>) =
        stack.into_iter().partition(|part| part.share >= LEAST_SHARE);
    let told =
        large.iter().map(|part| format!("{} {}", percent(part.share), reason(&part.component)));
    let rest: f64 = small.iter().map(|part| part.share).sum();
    let names: Vec<&str> = small.iter().map(|part| part.component.as_str()).collect();
    let rest = (!small.is_empty())
        .then(|| format!("{} are lost to the rest: {}.", percent(rest), names.join(", ")));
    told.chain(rest).collect()
}

/// What follows the share.
fn reason(component: &str) -> String {
    let lost = match component {
        "retiring" => return "do work: an operation is renamed in them.".to_owned(),
        "front end" => "because nothing has been fetched and decoded",
        "mispredict" => "behind branches that were predicted wrongly",
        "dependency" => "while the oldest operation waits for its operands or is being executed",
        "L1D" => "while the oldest operation is a load on its way from the first-level cache",
        "L2" => "while the oldest operation is a load on its way from the second-level cache",
        "L3" => "while the oldest operation is a load on its way from the last-level cache",
        "memory" => "while the oldest operation is a load on its way from memory",
        "other core" => "to data that another core had changed",
        "store forwarding" => "while the oldest operation waits for the bytes of a store before it",
        "serializing" => "to instructions that let nothing pass them",
        "reorder buffer" => "because the reorder buffer is full",
        "load queue" => "because the load queue is full",
        "store queue" => "because the store queue is full",
        "registers" => "because no register is free",
        "scheduler" => "because a scheduler is full",
        other => {
            return match other.strip_suffix(" ports") {
                Some(group) => format!(
                    "are lost while the oldest operation has its operands and waits for a port \
                     ({group})."
                ),
                None => format!("are lost to {other}."),
            };
        }
    };
    format!("are lost {lost}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(component: &str, share: f64) -> StackShare {
        StackShare { component: component.to_owned(), share }
    }

    #[test]
    fn the_largest_comes_first_and_small_ones_together() {
        let stack = [
            part("retiring", 0.312),
            part("L1D", 0.097),
            part("dependency", 0.5449),
            part("integer ports", 0.039),
            part("load queue", 0.0),
            part("registers", 0.004),
            part("serializing", 0.0031),
        ];
        insta::assert_snapshot!(sentences(&stack).join("\n"), @"
        54 % are lost while the oldest operation waits for its operands or is being executed.
        31 % do work: an operation is renamed in them.
        9.7 % are lost while the oldest operation is a load on its way from the first-level cache.
        3.9 % are lost while the oldest operation has its operands and waits for a port (integer).
        0.71 % are lost to the rest: registers, serializing.
        ");
    }

    #[test]
    fn every_component_has_its_sentence() {
        let all = [
            "retiring",
            "front end",
            "mispredict",
            "dependency",
            "L1D",
            "store forwarding",
            "serializing",
            "reorder buffer",
            "load queue",
            "store queue",
            "registers",
            "scheduler",
            "vector ports",
            "something new",
        ];
        let told: Vec<String> = all.iter().map(|component| reason(component)).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        do work: an operation is renamed in them.
        are lost because nothing has been fetched and decoded.
        are lost behind branches that were predicted wrongly.
        are lost while the oldest operation waits for its operands or is being executed.
        are lost while the oldest operation is a load on its way from the first-level cache.
        are lost while the oldest operation waits for the bytes of a store before it.
        are lost to instructions that let nothing pass them.
        are lost because the reorder buffer is full.
        are lost because the load queue is full.
        are lost because the store queue is full.
        are lost because no register is free.
        are lost because a scheduler is full.
        are lost while the oldest operation has its operands and waits for a port (vector).
        are lost to something new.
        ");
    }
}
