//! Searches for the best number of threads as runs over nodes.
//!
//! Each search begins with the same numbers of threads on nodes of one type, and adds others where it finds the most work.
//! Nodes are compared in the arms that most of them measured.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{Design, Document, Record, Run, ThreadSweep};

use crate::NodeRun;

impl NodeRun {
    /// A search on a node. Candidates that did not run to their end are left out.
    pub fn of_search(
        node: String,
        program: String,
        condition: Option<String>,
        search: Record<ThreadSweep>,
    ) -> Self {
        let ThreadSweep { workload, candidates, design, observations, samples, .. } = search.body;
        let arms: Vec<_> =
            candidates.into_iter().filter(|it| it.failure.is_none()).map(|it| it.arm).collect();
        let known: BTreeSet<&str> = arms.iter().map(|it| it.id.as_str()).collect();
        let samples = samples.into_iter().filter(|it| known.contains(it.arm.as_str())).collect();
        let observations =
            observations.into_iter().filter(|it| known.contains(it.arm.as_str())).collect();
        let run = Run {
            format: Run::FORMAT.to_owned(),
            version: Run::VERSION,
            corun_version: search.corun_version,
            started: search.started,
            elapsed_s: search.elapsed_s,
            ending: search.ending,
            workload,
            machine: search.machine.unwrap_or_default(),
            design: Design {
                seed: design.seed,
                blocks: design.blocks,
                warmup: design.warmup,
                cores: BTreeMap::new(),
                target: 0.0,
                practical: design.practical,
                interim_analyses: design.interim_analyses,
                max_time_s: design.max_time_s,
            },
            arms,
            not_possible: Vec::new(),
            observations,
            verdicts: Vec::new(),
            caveats: search.caveats,
            samples,
        };
        Self { node, program, condition, run, is_search: true }
    }
}

/// Arms of searches that at most half of the nodes measured, by condition: too few to compare over nodes.
pub(crate) struct RareArms<'a>(BTreeSet<(Option<&'a str>, &'a str)>);

impl<'a> RareArms<'a> {
    pub(crate) fn of(runs: &[&'a NodeRun]) -> Self {
        let mut nodes: BTreeMap<Option<&str>, BTreeSet<&str>> = BTreeMap::new();
        let mut of_arm: BTreeMap<(Option<&str>, &str), BTreeSet<&str>> = BTreeMap::new();
        for &run in runs.iter().filter(|it| it.is_search) {
            let condition = run.condition.as_deref();
            nodes.entry(condition).or_default().insert(&run.node);
            for arm in &run.run.arms {
                of_arm.entry((condition, &arm.id)).or_default().insert(&run.node);
            }
        }
        let is_rare = |condition: &Option<&str>, of_arm: &BTreeSet<&str>| {
            2 * of_arm.len() <= nodes.get(condition).map_or(0, BTreeSet::len)
        };
        of_arm.retain(|(condition, _), of_arm| is_rare(condition, of_arm));
        Self(of_arm.into_keys().collect())
    }

    pub(crate) fn has(&self, run: &NodeRun, arm: &str) -> bool {
        run.is_search && self.0.contains(&(run.condition.as_deref(), arm))
    }
}
