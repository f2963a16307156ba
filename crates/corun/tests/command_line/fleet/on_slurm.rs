//! A campaign on a real cluster, from its plan to the store.

use corun_record::FleetFate;

use crate::fleet::campaign::Scratch;
use crate::fleet::cluster::{Cluster, NODES, two_cpus};

#[test]
fn a_campaign_is_submitted_watched_and_collected() {
    let Some(cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    let program = scratch.program("it's \"a\"\nprogram", "[ \"$1\" = 'x y' ]");
    scratch.campaign(
        "partition = \"main\"\nnodes = [\"n[1-3]\", \"n4\"]\nsmt = [\"on\", \"nomultithread\"]",
        &[program.to_str().unwrap(), "x y", "$HOME;\n"],
    );
    assert!(scratch.plan().starts_with("8 tasks in 8 job arrays"));
    scratch.submitted();
    // What waits, runs or is done is not submitted twice.
    scratch.submitted();
    let status = scratch.ended();
    assert_eq!(status.tasks.done, 8, "{status:#?}");
    assert_eq!(scratch.results().len(), 8);
    let nodes: Vec<_> = status.nodes.iter().map(|it| (it.node.as_str(), it.tasks.done)).collect();
    assert_eq!(nodes, NODES.map(|it| (it, 2)));
    let collected = scratch.collect().collected.unwrap();
    assert_eq!((collected.added, collected.known), (8, 0));
    assert_eq!(scratch.collect().collected.unwrap().added, 0);
    for node in NODES {
        let tag = format!("node:{node}");
        assert_eq!(scratch.kept().iter().filter(|it| it.tags.contains(&tag)).count(), 2);
    }
    if two_cpus() {
        // The arm without siblings had one of the two CPUs. corun may see them as two cores: that is no fault of Slurm.
        let masks = attempts(&scratch, "allowed_cpus");
        assert_eq!(masks.iter().filter(|it| *it == "0-1").count(), 4, "{masks:?}");
        assert_eq!(masks.iter().filter(|it| *it == "0").count(), 4, "{masks:?}");
    }
}

/// A field of all attempts.
fn attempts(scratch: &Scratch, field: &str) -> Vec<String> {
    let folder = scratch.directory().join("attempts");
    let value = |name: String| {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json[field].as_str().unwrap().to_owned()
    };
    crate::fleet::campaign::files(&folder).into_iter().map(value).collect()
}

#[test]
#[ignore = "takes long: scripts/test deep"]
fn two_hundred_tasks_are_one_array() {
    let Some(cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    scratch.campaign("repeats = 200", &["true"]);
    assert!(scratch.plan().starts_with("200 tasks in 1 job array,"));
    scratch.submitted();
    // Those that wait are one entry of the queue.
    let status = scratch.status();
    assert_eq!(status.tasks.total(), 200);
    assert!(status.open.iter().any(|it| it.fate == FleetFate::Waiting), "{:?}", status.tasks);
    assert_eq!(status.tasks.missing, 0, "{status:?}");
    assert_eq!(scratch.ended().tasks.done, 200);
    assert_eq!(scratch.collect().collected.unwrap().added, 200);
    assert_eq!(scratch.kept().len(), 200);
}

#[test]
fn one_node_of_each_type_is_a_node_of_the_partition() {
    let Some(cluster) = Cluster::start() else { return };
    let scratch = Scratch::on(&cluster);
    scratch.campaign("nodes = \"each-type\"", &["true"]);
    let plan = scratch.plan();
    assert!(plan.contains("\nn1, smt on, 1 task:\n") && plan.contains(" --nodelist n1 "), "{plan}");
}
