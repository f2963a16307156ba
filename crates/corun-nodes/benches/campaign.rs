//! How long a campaign of many nodes takes from its documents to the report:
//! `cargo bench -p corun-nodes --bench campaign`.

#[path = "../tests/campaign/cluster.rs"]
mod cluster;

use std::time::Instant;

use cluster::Cluster;
use corun_nodes::{NodeRun, ReportRequest, report};
use corun_record::{Document, Run};

fn main() {
    for nodes in [100, 400, 1600] {
        let cluster = Cluster { repeats: 3, ..Cluster::of(nodes) };
        let runs = cluster.runs(1, |_| ());
        let documents: Vec<(String, String)> =
            runs.iter().map(|it| (it.node.clone(), it.run.to_json())).collect();
        let size: usize = documents.iter().map(|(_, text)| text.len()).sum();
        let begun = Instant::now();
        let read: Vec<NodeRun> = documents
            .iter()
            .map(|(node, text)| NodeRun {
                node: node.clone(),
                program: "solver".to_owned(),
                condition: None,
                run: Run::from_json(text).expect("a run"),
            })
            .collect();
        let reading = begun.elapsed();
        let begun = Instant::now();
        let request = ReportRequest {
            campaign: None,
            confidence: 0.95,
            practical: 0.02,
            error_rate: 0.05,
            unmeasured: Vec::new(),
        };
        let (report, _) = report(&read, &request);
        println!(
            "{nodes} nodes, {} runs of {} kB: read in {reading:.2?}, reported in {:.2?}, {} types",
            read.len(),
            size / read.len() / 1000,
            begun.elapsed(),
            report.types.len()
        );
    }
}
