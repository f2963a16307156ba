//! Benches made up for tests.

use corun_record::{Bench, Document, Run, WorkloadNotPossible};
use serde_json::{Value, json};

/// A run of one workload: each arm with its workers and the operations that they do in a second.
pub(crate) fn run(name: &str, parameters: Value, arms: &[(&str, u32, f64)]) -> Run {
    let arm = |&(id, workers, _): &(&str, u32, f64)| {
        json!({
            "id": id, "placement": id, "core_type": null, "variant": null, "twin_of": null,
            "workers": workers, "cores": 1, "cpus": [], "idle_siblings": []
        })
    };
    let estimate = |value: f64| {
        json!({
            "value": value, "low": value * 0.98, "high": value * 1.02, "level": 0.95, "blocks": 5
        })
    };
    let rate = |&(id, _, rate): &(&str, u32, f64)| {
        json!({
            "metric": "throughput", "arm": id, "against": null, "unit": "operations/s",
            "estimate": estimate(rate), "bootstrap": null, "source": "measured"
        })
    };
    let mut observations: Vec<Value> = arms.iter().map(rate).collect();
    if let [spread, full, ..] = arms {
        observations.push(json!({
            "metric": "smt_yield", "arm": full.0, "against": spread.0, "unit": "1",
            "estimate": estimate(full.2 / spread.2), "bootstrap": null, "source": "measured"
        }));
    }
    let verdicts: Vec<Value> = arms
        .iter()
        .skip(1)
        .map(|(id, ..)| {
            json!({
                "metric": "smt_yield", "arm": id, "against": arms[0].0, "answer": "helps",
                "sentence": "SMT helps.", "noise_floor": null, "equivalence": null
            })
        })
        .collect();
    serde_json::from_value(json!({
        "format": "corun-run", "version": 1, "corun_version": "0", "started": "", "elapsed_s": 1.0,
        "ending": { "reason": "blocks_done", "sentence": "all 5 planned blocks were done" },
        "workload": {
            "name": name, "command": [], "parameters": parameters, "mode": "copies",
            "operation": "loads", "operations": 1000.0, "steady": false
        },
        "machine": {
            "cpu_model": "Made up", "hypervisor": null, "kernel": null, "online_cpus": 8,
            "allowed_cpus": 8, "cores": 4, "smt_width": 2, "smt_control": "on",
            "smt_active": true, "governors": []
        },
        "design": {
            "seed": 1, "blocks": 5, "warmup": 1, "cores": {}, "target": 0.01, "practical": 0.02,
            "interim_analyses": [], "max_time_s": 1.0
        },
        "arms": arms.iter().map(arm).collect::<Vec<_>>(),
        "not_possible": [], "observations": observations, "verdicts": verdicts, "caveats": [],
        "samples": []
    }))
    .expect("a run")
}

/// A bench of these runs.
pub(super) fn bench(runs: Vec<Run>) -> Bench {
    Bench {
        format: Bench::FORMAT.to_owned(),
        version: Bench::VERSION,
        corun_version: String::new(),
        started: String::new(),
        elapsed_s: 12.5,
        machine: None,
        ending: corun_record::Ending::completed(),
        caveats: Vec::new(),
        runs,
        not_possible: Vec::<WorkloadNotPossible>::new(),
    }
}
