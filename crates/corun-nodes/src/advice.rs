//! Lines that put a report into effect.

use std::collections::BTreeSet;

use corun_record::{Advice, Answer, FleetReport};

/// Nodes that one line names.
const MOST_NODES: usize = 10;

/// The lines, for those who submit and those who look after the nodes.
pub(crate) fn advice(report: &FleetReport) -> Vec<Advice> {
    let programs = || report.types.iter().flat_map(|it| &it.programs);
    let has = |answer: Answer| programs().any(|it| it.answer == Some(answer));
    let mut advice = Vec::new();
    // One hint for all programs and types, or none.
    match (has(Answer::Helps), has(Answer::Hurts)) {
        (true, false) => advice.push(line("sbatch", "#SBATCH --hint=multithread".to_owned())),
        (false, true) => advice.push(line("sbatch", "#SBATCH --hint=nomultithread".to_owned())),
        _ => {}
    }
    let odd: BTreeSet<&str> =
        report.types.iter().flat_map(|it| &it.odd_nodes).map(|it| it.node.as_str()).collect();
    let named: Vec<&str> = odd.into_iter().filter(|it| is_plain(it)).take(MOST_NODES).collect();
    if report.campaign.is_some() && !named.is_empty() {
        let count = named.len();
        let nodes = named.join(",");
        advice
            .push(line("doctor", format!("srun --nodes={count} --nodelist={nodes} corun doctor")));
    }
    advice
}

fn line(tool: &str, line: String) -> Advice {
    Advice { tool: tool.to_owned(), line, fits: true }
}

/// True if a name needs no quotes in a line to copy.
fn is_plain(name: &str) -> bool {
    name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '.' | '_'))
}
