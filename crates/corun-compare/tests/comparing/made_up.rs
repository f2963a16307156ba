//! Documents that a test can change: a run of two arms with twins, ten blocks of it.

use serde_json::{Value, json};

/// Ripples that are no trend and not alike in two arms, of half a per cent.
fn ripple(block: u32, arm: usize, run: u32) -> f64 {
    0.005 * (f64::from(block * 7 + run * 3) * 2.4 + arm as f64 * 1.7).sin()
}

/// A run whose arms do these operations a second; `run` makes it another run of the same thing.
pub(crate) fn run(run: u32, rates: [f64; 2]) -> Value {
    let names = ["spread", "full"];
    let mut samples = Vec::new();
    let mut arms = Vec::new();
    let mut observations = Vec::new();
    for (index, (arm, rate)) in names.into_iter().zip(rates).enumerate() {
        for twin in [false, true] {
            let id = if twin { format!("{arm}.aa") } else { arm.to_owned() };
            arms.push(json!({
                "id": id, "placement": arm, "core_type": null, "variant": null,
                "twin_of": twin.then_some(arm), "workers": 2 * (index + 1), "cores": 2,
                "cpus": [0, 1], "idle_siblings": []
            }));
            for block in 0..10 {
                // Drift that both arms share, and that cancels within blocks.
                let drift = 0.01 * f64::from(block);
                let throughput =
                    rate * (ripple(block, index * 2 + usize::from(twin), run) + drift).exp();
                samples.push(json!({
                    "block": block, "position": 0, "arm": id, "makespan_s": 1.0 / throughput,
                    "throughput": throughput, "workers": [],
                    "evidence": {
                        "pinning": "pinned", "clocks": [], "aperf_ghz": null, "steal_s": null,
                        "migrations": null, "voluntary_switches": 0, "involuntary_switches": 0,
                        "cpu_pressure_s": null, "idle_sibling_busy": null, "foreign_busy": null,
                        "user_s": 1.0, "system_s": 0.0, "max_resident_bytes": 0, "major_faults": 0,
                        "memory_nodes": null, "counters": {}, "package_joules": null
                    }
                }));
            }
        }
        let estimate = |value: f64, reach: f64| {
            json!({ "value": value, "low": value / reach, "high": value * reach, "level": 0.95,
                    "blocks": 10 })
        };
        for (metric, unit, value) in
            [("makespan", "s", 1.0 / rate), ("throughput", "operations/s", rate)]
        {
            observations.push(json!({
                "metric": metric, "arm": arm, "against": null, "unit": unit,
                "estimate": estimate(value, 1.005), "bootstrap": null, "source": "measured"
            }));
        }
        observations.push(json!({
            "metric": "noise_floor", "arm": arm, "against": null, "unit": "1",
            "estimate": estimate(0.004, 1.0), "bootstrap": null, "source": "measured"
        }));
    }
    let yielded = rates[1] / rates[0];
    observations.push(json!({
        "metric": "smt_yield", "arm": "full", "against": "spread", "unit": "1",
        "estimate": { "value": yielded, "low": yielded / 1.003, "high": yielded * 1.003,
                      "level": 0.95, "blocks": 10 },
        "bootstrap": null, "source": "measured"
    }));
    json!({
        "format": "corun-run", "version": 1, "corun_version": "0.1.0",
        "started": format!("2026-01-{:02}T{:02}:00:00Z", 1 + run / 24, run % 24),
        "elapsed_s": 40.0,
        "ending": { "reason": "blocks_done", "sentence": "all blocks were done" },
        "workload": {
            "name": "solver", "command": ["./solver", "input"], "parameters": {},
            "mode": "copies", "operation": "runs", "operations": 1.0, "steady": false
        },
        "machine": {
            "cpu_model": "Made up", "hypervisor": null, "kernel": "6.1.0", "online_cpus": 4,
            "allowed_cpus": 4, "cores": 2, "smt_width": 2, "smt_control": "on",
            "smt_active": true, "governors": ["performance"], "microcode": "0x1",
            "vulnerabilities": { "mds": "Mitigation: Clear CPU buffers" }
        },
        "design": {
            "seed": run, "blocks": 10, "warmup": 1, "cores": { "all": [0, 1] }, "target": 0.01,
            "practical": 0.02, "interim_analyses": [], "max_time_s": 300.0
        },
        "arms": arms, "not_possible": [], "observations": observations, "verdicts": [],
        "caveats": [], "samples": samples
    })
}

/// The prediction of a core model: so many cycles, exactly.
pub(crate) fn prediction(model: &str, run: u32, cycles: f64) -> Value {
    let observation = |metric: &str, unit: &str, value: f64, reach: f64, source: &str| {
        json!({
            "metric": metric, "arm": "single", "against": null, "unit": unit, "bootstrap": null,
            "estimate": { "value": value, "low": value / reach, "high": value * reach,
                          "level": 0.95, "blocks": 1 },
            "source": source
        })
    };
    json!({
        "format": "corun-prediction", "version": 1, "corun_version": "0.1.0",
        "started": format!("2026-01-{:02}T{:02}:00:00Z", 1 + run / 24, run % 24),
        "elapsed_s": 1.0, "command": ["./solver", "input"],
        "machine": { "online_cpus": 2, "allowed_cpus": 2, "cores": 2, "smt_width": 1,
                     "governors": [] },
        "core": { "model": model, "title": "Made up", "reason": "asked for", "ghz": 3.7,
                  "clock": "model" },
        "traced": {
            "tracer": "dynamorio", "threads": 1, "thread": 0, "instructions": 1000,
            "simulated": 1000, "windows": [],
            "cost": { "instructions": 1000, "cpu_s": 0.1, "peak_rss_bytes": 1000 }
        },
        "observations": [
            observation("instructions", "instructions", 1000.0, 1.0, "measured"),
            observation("cycles", "cycles", cycles, 1.0, "predicted"),
            observation("user_time", "s", 0.01, 1.005, "measured")
        ],
        "stack": [], "mispredicts_per_thousand": 1.0, "caveats": []
    })
}
