//! Findings: what is odd or contradictory about a machine, said instead of guessed over.
//!
//! A file that cannot be read, lists that disagree, a switch that says one thing while the CPUs say
//! another: none of it stops a reading, all of it is reported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// Something odd or contradictory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The file it was seen in, below the root; `cpu*` stands for each of `cpus`.
    pub file: String,
    /// The CPUs concerned.
    pub cpus: CpuSet,
    /// Finding and conclusion, in one sentence that names file and CPUs.
    pub sentence: String,
}

/// The kinds of finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A file exists and cannot be read.
    UnreadableFile,
    /// A file holds something else than the kernel documents.
    MalformedFile,
    /// An online CPU of which the kernel does not report the siblings.
    UnknownSiblings,
    /// An offline CPU of which the core is not known.
    UnknownCore,
    /// Lists of siblings that contradict each other.
    ContradictorySiblings,
    /// Siblings that are said to be in different packages, dies or clusters.
    ContradictoryPlace,
    /// Two caches of one level and type that are said to serve the same CPU.
    ContradictoryCaches,
    /// A CPU that is said to be in several NUMA nodes, or a core whose siblings are.
    ContradictoryNumaNodes,
    /// A CPU that one file calls online and another offline.
    ContradictoryOnline,
    /// An affinity mask that has CPUs which the cpuset does not have.
    ContradictoryAllowed,
    /// `smt/control`, `smt/active` and the online siblings do not fit together.
    ContradictorySmtState,
}

/// Collects findings; the same one about many CPUs becomes one.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Pending>);

#[derive(Debug)]
struct Pending {
    kind: FindingKind,
    file: String,
    what: String,
    cpus: CpuSet,
}

impl Findings {
    /// Adds a finding about `cpus`; `what` completes the sentence "FILE (CPUs ...): ".
    pub(crate) fn add(
        &mut self,
        kind: FindingKind,
        file: impl Into<String>,
        what: impl Into<String>,
        cpus: &CpuSet,
    ) {
        let (file, what) = (file.into(), what.into());
        let same =
            |seen: &&mut Pending| seen.kind == kind && seen.file == file && seen.what == what;
        match self.0.iter_mut().find(same) {
            Some(seen) => cpus.iter().for_each(|cpu| seen.cpus.insert(cpu)),
            None => self.0.push(Pending { kind, file, what, cpus: cpus.clone() }),
        }
    }

    /// The findings in the order they were first seen.
    pub(crate) fn into_vec(self) -> Vec<Finding> {
        self.0.into_iter().map(Finding::from).collect()
    }
}

impl From<Pending> for Finding {
    fn from(Pending { kind, file, what, cpus }: Pending) -> Self {
        let about = match cpus.len() {
            0 => String::new(),
            1 => format!(" (CPU {cpus})"),
            _ => format!(" (CPUs {cpus})"),
        };
        Self { kind, sentence: format!("{file}{about}: {what}"), file, cpus }
    }
}
