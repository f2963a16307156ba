//! The cycle stack in words: the share of issue slots by top-down category and cause, the largest first.

use corun_record::StackShare;
use corun_stats::percent;

use crate::top_down::Category;

/// Components below this share are summed in one line.
const MIN_SHARE: f64 = 0.005;

/// A sentence for each component, the largest first, and one for all that are small.
pub fn sentences(stack: &[StackShare]) -> Vec<String> {
    let mut stack: Vec<&StackShare> = stack.iter().filter(|part| part.share > 0.0).collect();
    stack.sort_by(|one, other| other.share.total_cmp(&one.share));
    let (large, small): (Vec<&StackShare>, Vec<&StackShare>) =
        stack.into_iter().partition(|part| part.share >= MIN_SHARE);
    let reported =
        large.iter().map(|part| format!("{} {}", percent(part.share), reason(&part.component)));
    let rest: f64 = small.iter().map(|part| part.share).sum();
    let names: Vec<&str> = small.iter().map(|part| part.component.as_str()).collect();
    let rest =
        (!small.is_empty()).then(|| format!("{} other: {}.", percent(rest), names.join(", ")));
    reported.chain(rest).collect()
}

/// Text after the share: the top-down category, and what the slots were lost to.
fn reason(component: &str) -> String {
    let category = Category::of(component).name();
    let lost = match component {
        "retiring" => return format!("{category}: the slot issued a micro-op."),
        "front end" => "no micro-op was fetched and decoded",
        "mispredict" => "the core recovered from a mispredicted branch",
        "dependency" => "the oldest micro-op waited for its operands or executed",
        "L1D" => "the oldest micro-op was a load served by the L1D",
        "L2" => "the oldest micro-op was a load served by the L2",
        "L3" => "the oldest micro-op was a load served by the L3",
        "memory" => "the oldest micro-op was a load served by memory",
        "other core" => "the oldest micro-op was a load of a line modified by another core",
        "store forwarding" => "the oldest micro-op waited for data forwarded from a store",
        "serializing" => "a serializing instruction drained the pipeline",
        "reorder buffer" => "the reorder buffer was full",
        "load queue" => "the load queue was full",
        "store queue" => "the store queue was full",
        "registers" => "no physical register was free",
        "scheduler" => "a scheduler was full",
        other => {
            return match other.strip_suffix(" ports") {
                Some(group) => {
                    format!(
                        "{category}: the oldest micro-op was ready and waited for a port ({group})."
                    )
                }
                None => format!("{category}: {other}."),
            };
        }
    };
    format!("{category}: {lost}.")
}

/// Component as it follows a share: "waiting for operands".
pub fn gerund(component: &str) -> String {
    let text = match component {
        "front end" => "waiting for micro-ops from the front end",
        "mispredict" => "recovering from mispredicted branches",
        "dependency" => "waiting for operands and execution",
        "L1D" => "waiting for loads from the L1D",
        "L2" => "waiting for loads from the L2",
        "L3" => "waiting for loads from the L3",
        "memory" => "waiting for loads from memory",
        "other core" => "waiting for lines of other cores",
        "store forwarding" => "waiting for store forwarding",
        "serializing" => "draining the pipeline for serializing instructions",
        "waiting" => "waiting for another thread",
        "reorder buffer" => "waiting for entries of the ROB",
        "load queue" => "waiting for entries of the load queue",
        "store queue" => "waiting for entries of the store queue",
        "registers" => "waiting for physical registers",
        "scheduler" => "waiting for entries of a scheduler",
        "sibling: front end" => "fetch and decode cycles that the sibling takes",
        "sibling: dispatch" => "rename slots that the sibling takes",
        "sibling: reorder buffer" => "ROB entries that the sibling has",
        "sibling: load queue" => "load-queue entries that the sibling has",
        "sibling: store queue" => "store-queue entries that the sibling has",
        "sibling: registers" => "physical registers that the sibling has",
        "sibling: scheduler" => "scheduler entries that the sibling has",
        "sibling: ports" => "execution ports that the sibling uses",
        "sibling: L1I" => "lines of code that the sibling drove out of the L1I",
        "sibling: L1D" => "lines that the sibling drove out of the L1D",
        "sibling: L2" => "lines that the sibling drove out of the L2",
        other => {
            return match other.strip_suffix(" ports") {
                Some(group) => format!("waiting for an execution port ({group})"),
                None => other.to_owned(),
            };
        }
    };
    text.to_owned()
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
        54 % back-end bound, core: the oldest micro-op waited for its operands or executed.
        31 % retiring: the slot issued a micro-op.
        9.7 % back-end bound, memory: the oldest micro-op was a load served by the L1D.
        3.9 % back-end bound, core: the oldest micro-op was ready and waited for a port (integer).
        0.71 % other: registers, serializing.
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
        let reported: Vec<String> = all.iter().map(|component| reason(component)).collect();
        insta::assert_snapshot!(reported.join("\n"), @"
        retiring: the slot issued a micro-op.
        front-end bound: no micro-op was fetched and decoded.
        bad speculation: the core recovered from a mispredicted branch.
        back-end bound, core: the oldest micro-op waited for its operands or executed.
        back-end bound, memory: the oldest micro-op was a load served by the L1D.
        back-end bound, memory: the oldest micro-op waited for data forwarded from a store.
        back-end bound, core: a serializing instruction drained the pipeline.
        back-end bound, core: the reorder buffer was full.
        back-end bound, memory: the load queue was full.
        back-end bound, memory: the store queue was full.
        back-end bound, core: no physical register was free.
        back-end bound, core: a scheduler was full.
        back-end bound, core: the oldest micro-op was ready and waited for a port (vector).
        back-end bound, core: something new.
        ");
    }
}
