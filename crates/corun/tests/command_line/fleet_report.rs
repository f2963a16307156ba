//! `corun fleet report`: a folder of documents, a campaign's directory, and what neither is.

use std::path::PathBuf;

use corun_record::{FleetReport, Record};
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun, measure_one_worker};
use crate::schema::fitting;

/// A folder with one real run as if made on several hosts.
fn folder(hosts: &[(&str, f64)]) -> (Scratch, PathBuf) {
    let outcome = Outcome::of(measure_one_worker(2).args(["--json=-", "--", "true"]));
    let measured: Value = serde_json::from_str(&outcome.output).expect("JSON");
    let scratch = Scratch::new();
    let folder = scratch.file("runs");
    std::fs::create_dir(&folder).expect("a folder can be made");
    for (host, factor) in hosts {
        let mut run = measured.clone();
        run["machine"]["host"] = (*host).into();
        for seen in run["observations"].as_array_mut().expect("a list") {
            if seen["metric"] == "throughput" {
                let estimate = &mut seen["estimate"];
                for (field, value) in [("value", 1.0), ("low", 0.998), ("high", 1.002)] {
                    estimate[field] = (100.0 * factor * value).into();
                }
                estimate["blocks"] = 10.into();
            }
        }
        std::fs::write(folder.join(format!("{host}.json")), run.to_string()).expect("a file");
    }
    (scratch, folder)
}

#[test]
fn documents_of_several_hosts_are_nodes() {
    let (scratch, folder) = folder(&[
        ("n1", 1.0),
        ("n2", 1.001),
        ("n3", 0.999),
        ("n4", 1.002),
        ("n5", 0.998),
        ("n6", 0.6),
    ]);
    std::fs::write(folder.join("other.json"), "{}").expect("a file");
    let page = scratch.file("report.html");
    let mut command = corun(["fleet", "report", "--json=-", "-o"]);
    let outcome = Outcome::of(command.arg(&page).arg(&folder));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.errors);
    let record: Record<FleetReport> = fitting(&outcome.output);
    let [of_type] = &record.body.types[..] else { panic!("{:?}", record.body.types) };
    assert_eq!(of_type.nodes, ["n1", "n2", "n3", "n4", "n5", "n6"]);
    let odd: Vec<&str> = of_type.odd_nodes.iter().map(|it| it.node.as_str()).collect();
    assert_eq!(odd, ["n6"]);
    let other = record.caveats.iter().find(|it| it.kind == "other-documents").expect("a caveat");
    assert!(other.sentence.contains("other.json"), "{}", other.sentence);
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("n6") && page.contains("Nodes that differ"));
}

#[test]
fn a_report_is_text_markdown_and_csv() {
    let (scratch, folder) = folder(&[("n1", 1.0), ("n2", 1.01)]);
    let (csv, markdown) = (scratch.file("it.csv"), scratch.file("it.md"));
    let mut command = corun(["fleet", "report"]);
    command.arg(&folder).arg("--csv").arg(&csv).arg("--markdown").arg(&markdown);
    let outcome = Outcome::of(&mut command);
    assert_eq!((outcome.exit, outcome.errors.as_str()), (Some(0), ""));
    assert!(outcome.output.contains("(2 nodes)"), "{}", outcome.output);
    assert!(outcome.unwrapped().contains("neither can be called the odd one"));
    let csv = std::fs::read_to_string(csv).expect("the table");
    assert!(csv.lines().skip(1).all(|it| it.contains(",n1,") || it.contains(",n2,")), "{csv}");
    assert!(std::fs::read_to_string(markdown).expect("the text").contains("## What limits trust"));
}

#[test]
fn a_folder_without_results_is_said_to_be_one() {
    let scratch = Scratch::new();
    let folder = scratch.file("empty");
    std::fs::create_dir(&folder).expect("a folder can be made");
    for (path, words) in [(&folder, "found none"), (&scratch.file("gone"), "gone")] {
        let outcome = Outcome::of(corun(["fleet", "report"]).arg(path));
        assert_ne!(outcome.exit, Some(0));
        assert!(outcome.errors.contains(words), "{}", outcome.errors);
    }
}
