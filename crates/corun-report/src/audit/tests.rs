//! An audit in words: made-up figures, every verdict.

use corun_record::{
    Audit, AuditBound, AuditRow, AuditVerdict, Caveat, Document, Estimate, EvidenceSource,
    MachineSummary, Metric, Observation, Source,
};

use super::*;

fn seen(metric: Metric, of: &str, arm: &str, [value, low, high]: [f64; 3]) -> Observation {
    Observation {
        metric,
        arm: arm.to_owned(),
        against: None,
        of: Some(of.to_owned()),
        unit: "1".to_owned(),
        estimate: Estimate { value, low, high, level: 0.95, blocks: 8 },
        bootstrap: None,
        source: Source::Measured,
    }
}

fn row(property: &str, verdict: AuditVerdict, reason: Option<&str>) -> AuditRow {
    AuditRow {
        property: property.to_owned(),
        question: "does it?".to_owned(),
        expected: Some("within 100 ms".to_owned()),
        bound: Some(AuditBound::at_most(0.1)),
        observed: Some("after 4.0 ms".to_owned()),
        verdict,
        reason: reason.map(str::to_owned),
        observations: vec![seen(Metric::Latency, "repair", "free@2", [0.004, 0.003, 0.0051])],
        readings: Vec::new(),
    }
}

fn audit() -> Audit {
    let mut idle = row("idle-core", AuditVerdict::Violated, None);
    idle.observations = vec![seen(Metric::TimeShare, "time", "free@2", [0.042, 0.0, 0.091])];
    let mut fairness = row("fairness", AuditVerdict::Inconclusive, Some("It is not clear."));
    fairness.observations = vec![
        seen(Metric::LeastShare, "worst", "free", [0.7, 0.6, 0.8]),
        seen(Metric::LeastShare, "one", "free@5", [0.7, 0.6, 0.8]),
        seen(Metric::TimeShare, "mean", "free@5", [0.79, 0.78, 0.8]),
    ];
    let mut quota = row("quota", AuditVerdict::NotPossible, Some("it needs a group"));
    (quota.expected, quota.observed, quota.observations) = (None, None, Vec::new());
    Audit {
        format: Audit::FORMAT.to_owned(),
        version: Audit::VERSION,
        corun_version: "0.1.0".to_owned(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        elapsed_s: 61.2,
        max_time_s: 60.0,
        seed: 7,
        rounds: 8,
        ending: corun_record::Ending::completed(),
        machine: MachineSummary {
            host: None,
            cpu_model: Some("a processor".to_owned()),
            hypervisor: None,
            kernel: Some("6.1.0".to_owned()),
            online_cpus: 4,
            allowed_cpus: 4,
            cores: 2,
            smt_width: 2,
            smt_control: Some("on".to_owned()),
            smt_active: Some(true),
            ..MachineSummary::default()
        },
        pinned_to: None,
        evidence_source: EvidenceSource::Accounts,
        rows: vec![row("repair", AuditVerdict::Holds, None), idle, fairness, quota],
        caveats: vec![Caveat::new("kind", "It is made up.")],
    }
}

#[test]
fn each_property_is_a_row_with_its_verdict() {
    insta::assert_snapshot!(audit_to_terminal(&audit(), 110));
}

#[test]
fn a_part_and_a_mask_are_reported() {
    let audit = Audit {
        ending: corun_record::Ending::interrupted(),
        pinned_to: Some(vec![0, 1]),
        ..audit()
    };
    let text = audit_to_terminal(&audit, 100);
    assert!(text.contains("PARTIAL RESULT: ") && text.contains("pinned to CPUs 0,1"), "{text}");
    assert!(text.contains("5 on 2 ") && text.contains(" 40.0 %"), "{text}");
}

#[test]
fn every_figure_is_a_line_of_csv_and_what_has_none_has_one_too() {
    insta::assert_snapshot!(audit_to_csv(&audit()));
}

#[test]
fn what_is_written_reads_back_the_same() {
    assert_eq!(Audit::from_json(&audit().to_json()).unwrap(), audit());
}
