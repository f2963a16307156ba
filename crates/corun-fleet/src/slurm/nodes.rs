//! The nodes that a campaign may name or choose: names of host lists, hardware types of a partition.

use std::collections::BTreeMap;

use super::commands::Commands;
use crate::error::FleetError;

/// A node as `sinfo` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Name of the node.
    pub name: String,
    /// Hardware, the same for all nodes of its type: `SOCKETS:CORES:THREADS`, memory in MB, features.
    pub hardware: String,
    /// State, such as `idle` or `down*`.
    pub state: String,
}

impl Node {
    /// True if Slurm can start a job on it sooner or later.
    fn is_usable(&self) -> bool {
        let state = self.state.to_ascii_lowercase();
        let word = state.trim_end_matches(|it: char| !it.is_ascii_alphabetic());
        let unusable = [
            "down", "drained", "draining", "fail", "failing", "future", "unknown", "inval",
            "perfctrs",
        ];
        !state.contains('*') && !unusable.contains(&word)
    }
}

/// The nodes of a partition, or of the default one.
///
/// # Errors
/// If `sinfo` fails.
pub fn nodes(commands: &impl Commands, partition: Option<&str>) -> Result<Vec<Node>, FleetError> {
    let mut arguments =
        vec!["--noheader".into(), "--Node".into(), "--format=%P|%N|%X:%Y:%Z %m %f|%T".into()];
    if let Some(partition) = partition {
        arguments.push(format!("--partition={partition}").into());
    }
    let output = commands.run("sinfo", &arguments)?.output_of("sinfo")?;
    let node = |line: &str| {
        let mut fields = line.split('|');
        // The default partition has an asterisk.
        let is_wanted = fields.next()?.ends_with('*') || partition.is_some();
        let [name, hardware, state] =
            [fields.next()?, fields.next()?, fields.next()?].map(str::to_owned);
        is_wanted.then_some(Node { name, hardware, state })
    };
    Ok(output.lines().filter_map(node).collect())
}

/// The first usable node of each hardware type.
///
/// # Errors
/// If there is none.
pub fn one_of_each_type(nodes: Vec<Node>) -> Result<Vec<String>, FleetError> {
    let mut first = BTreeMap::new();
    for node in nodes.into_iter().filter(Node::is_usable) {
        first.entry(node.hardware).or_insert(node.name);
    }
    match first.is_empty() {
        true => Err(FleetError::Plan(
            "expected nodes in the partition that can run jobs, found none".to_owned(),
        )),
        false => Ok(first.into_values().collect()),
    }
}

/// The names that host lists stand for, each once, in their order.
///
/// # Errors
/// If `scontrol` fails.
pub fn named(commands: &impl Commands, lists: &[String]) -> Result<Vec<String>, FleetError> {
    let mut names: Vec<String> = Vec::new();
    for list in lists {
        let expanded = match list.contains(['[', ',']) {
            false => list.clone(),
            true => {
                let arguments = ["show", "hostnames", list].map(Into::into);
                commands.run("scontrol", &arguments)?.output_of("scontrol")?
            }
        };
        for name in expanded.lines().map(str::trim).filter(|it| !it.is_empty()) {
            if !names.iter().any(|it| it == name) {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::super::commands::fake::Fake;
    use super::*;

    const LISTED: &str = "main*|n1|1:1:2 2000 (null)|down*\nmain*|n2|1:1:2 2000 (null)|idle\n\
                          main*|n3|1:1:2 2000 (null)|mixed\nmain*|big|2:64:2 512000 genoa,ib|allocated\n\
                          other|x1|1:4:1 2000 (null)|idle\nodd\n";

    #[test]
    fn one_usable_node_of_each_type_is_chosen() {
        let fake = Fake::answering([Ok(LISTED), Ok(LISTED), Err("down")]);
        let chosen = one_of_each_type(nodes(&fake, None).unwrap()).unwrap();
        assert_eq!(chosen, ["n2", "big"]);
        assert_eq!(nodes(&fake, Some("main")).unwrap().len(), 5);
        assert!(matches!(nodes(&fake, None), Err(FleetError::Slurm { .. })));
        assert!(one_of_each_type(Vec::new()).is_err());
    }

    #[test]
    fn only_lists_are_expanded() {
        let fake = Fake::answering([Ok("n1\nn2\nn3\n")]);
        let names = named(&fake, &["n2".to_owned(), "n[1-3]".to_owned()]).unwrap();
        assert_eq!(names, ["n2", "n1", "n3"]);
        assert_eq!(fake.asked(), "scontrol show hostnames 'n[1-3]'");
    }
}
