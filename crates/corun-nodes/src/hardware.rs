//! Hardware types: what nodes have to have in common so that their figures can be compared.

use std::collections::{BTreeMap, BTreeSet};

use corun_record::{
    HardwareType, MachineSummary, NodeFinding, NodeFindingKind, OddNode, ProgramOverNodes,
};

use crate::NodeRun;

/// Properties of a hardware type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hardware {
    cpu_model: Option<String>,
    cores: u32,
    smt_width: u32,
    caches: BTreeMap<String, Vec<u64>>,
}

impl Hardware {
    pub(crate) fn of(machine: &MachineSummary) -> Self {
        Self {
            cpu_model: machine.cpu_model.clone(),
            cores: machine.cores,
            smt_width: machine.smt_width,
            caches: machine.caches.clone(),
        }
    }

    /// Hardware that several runs on a node saw together: each may have been allowed some of its CPUs only.
    pub(crate) fn with_all_of(&self, other: &Self) -> Self {
        Self {
            cpu_model: self.cpu_model.clone().or_else(|| other.cpu_model.clone()),
            cores: self.cores.max(other.cores),
            smt_width: self.smt_width.max(other.smt_width),
            caches: if self.caches.is_empty() { &other.caches } else { &self.caches }.clone(),
        }
    }

    /// The type in words: `Made up, 4 cores of 2 threads, L2 1 MiB, L3 32 MiB`.
    pub(crate) fn name(&self) -> String {
        let model = self.cpu_model.as_deref().unwrap_or("unknown CPU");
        let cores = match self.cores {
            1 => "1 core".to_owned(),
            cores => format!("{cores} cores"),
        };
        let threads = match self.smt_width {
            1 => "without siblings".to_owned(),
            width => format!("of {width} threads"),
        };
        // First levels seldom differ where the others do not.
        let outer = self.caches.iter().filter(|(level, _)| !level.starts_with("L1"));
        let caches = outer.map(|(level, sizes)| {
            let sizes: Vec<String> = sizes.iter().map(|bytes| size(*bytes)).collect();
            format!(", {level} {}", sizes.join(" or "))
        });
        format!("{model}, {cores} {threads}{}", caches.collect::<String>())
    }

    /// The type with what is known of its nodes.
    pub(crate) fn described(
        &self,
        runs: &[&NodeRun],
        programs: Vec<ProgramOverNodes>,
        odd_nodes: Vec<OddNode>,
    ) -> HardwareType {
        HardwareType {
            name: self.name(),
            cpu_model: self.cpu_model.clone(),
            cores: self.cores,
            smt_width: self.smt_width,
            nodes: nodes(runs).into_iter().map(str::to_owned).collect(),
            programs,
            odd_nodes,
        }
    }
}

/// A size in the largest unit that gives a whole number.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

/// The nodes of these runs.
pub(crate) fn nodes<'a>(runs: &[&'a NodeRun]) -> BTreeSet<&'a str> {
    runs.iter().map(|run| run.node.as_str()).collect()
}

/// For each type the nodes that are of it although more nodes with the same CPU model are of another one: a firmware
/// setting or a fault makes them different.
pub(crate) fn variants(types: &[(Hardware, Vec<&NodeRun>)]) -> Vec<Vec<OddNode>> {
    let of_type = |(hardware, runs): &(Hardware, Vec<&NodeRun>)| {
        let own = nodes(runs);
        let is_usual = |(other, of_other): &&(Hardware, Vec<&NodeRun>)| {
            other.cpu_model.is_some()
                && other.cpu_model == hardware.cpu_model
                && nodes(of_other).len() > own.len()
        };
        // Types come with the most nodes first.
        let Some((usual, of_usual)) = types.iter().find(is_usual) else { return Vec::new() };
        let many = nodes(of_usual).len();
        let odd = |node: &&str| {
            let machine = runs.iter().find(|it| it.node == **node).map(|it| &it.run.machine);
            let findings = differences(hardware, usual, many, machine);
            OddNode { node: (*node).to_owned(), findings }
        };
        own.iter().map(odd).collect()
    };
    types.iter().map(of_type).collect()
}

fn differences(
    own: &Hardware,
    usual: &Hardware,
    many: usize,
    machine: Option<&MachineSummary>,
) -> Vec<NodeFinding> {
    let mut findings = Vec::new();
    let with_it = match many {
        1 => "1 node with the same CPU has".to_owned(),
        many => format!("{many} nodes with the same CPU have"),
    };
    if own.smt_width < usual.smt_width {
        let control = machine.and_then(|it| it.smt_control.as_deref());
        let why = match control {
            Some("off") => "SMT is switched off by the kernel (smt/control: off)".to_owned(),
            Some(control) => {
                format!(
                    "SMT is off in the firmware, or siblings are hidden (smt/control: {control})"
                )
            }
            None => "SMT is off in the firmware, or siblings are hidden".to_owned(),
        };
        findings.push(NodeFinding {
            kind: NodeFindingKind::SiblingsHidden,
            sentence: format!(
                "threads a core: {}, while {with_it} {}: {why}",
                own.smt_width, usual.smt_width
            ),
        });
    }
    let mut setting = |what: &str, own: String, usual: String| {
        if own != usual {
            let sentence = format!("{what}: {own}, while {with_it} {usual}");
            findings.push(NodeFinding { kind: NodeFindingKind::Setting, sentence });
        }
    };
    if own.smt_width > usual.smt_width {
        setting("threads a core", own.smt_width.to_string(), usual.smt_width.to_string());
    }
    setting("cores", own.cores.to_string(), usual.cores.to_string());
    for (level, sizes) in &usual.caches {
        let in_words =
            |sizes: &Vec<u64>| sizes.iter().map(|it| size(*it)).collect::<Vec<_>>().join(" or ");
        if let Some(own) = own.caches.get(level) {
            setting(level, in_words(own), in_words(sizes));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers() {
        assert_eq!(
            [48 << 10, 1280 << 10, 2 << 20, 100].map(size),
            ["48 KiB", "1280 KiB", "2 MiB", "100 bytes"]
        );
    }

    #[test]
    fn a_type_has_a_readable_name() {
        let caches =
            [("L1d", vec![48 << 10]), ("L2", vec![2 << 20, 4 << 20]), ("L3", vec![36 << 20])];
        let machine = MachineSummary {
            cpu_model: Some("Made up 9000".to_owned()),
            cores: 16,
            smt_width: 2,
            caches: caches.map(|(level, sizes)| (level.to_owned(), sizes)).into(),
            ..MachineSummary::default()
        };
        let name = Hardware::of(&machine).name();
        assert_eq!(name, "Made up 9000, 16 cores of 2 threads, L2 2 MiB or 4 MiB, L3 36 MiB");
        let unknown = MachineSummary { cores: 1, smt_width: 1, ..MachineSummary::default() };
        assert_eq!(Hardware::of(&unknown).name(), "unknown CPU, 1 core without siblings");
    }
}
