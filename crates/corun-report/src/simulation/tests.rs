//! What a user is shown of made documents.

use corun_record::{Blocks, Document, Placements, Record, Simulation};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

/// Columns of a narrow terminal.
const COLUMNS: u16 = 80;

/// A document of its newest version with what all have.
fn document<T: Document + DeserializeOwned>(body: Value) -> T {
    let mut json = json!({
        "format": T::FORMAT, "version": T::VERSION, "corun_version": "0.1.0",
        "started": "", "elapsed_s": 0.0, "machine": null, "ending": corun_record::Ending::completed(),
        "core": { "model": "made", "title": "a core", "settings": { "rob.policy": "shared" } },
        "timing_rows": { "executed": 100, "by_class": 1, "inherited": 0 },
        "caveats": [
            { "kind": "cold-start", "sentence": "Cold caches decide.\u{1b}[2J" },
            { "kind": "unvalidated-model", "sentence": "unvalidated: 2 published figures agree, 1 differ" }
        ]
    });
    let fields = json.as_object_mut().unwrap();
    fields.extend(body.as_object().unwrap().clone());
    T::from_json(&json.to_string()).unwrap()
}

#[test]
fn a_program_is_shown_with_its_stack_by_category() {
    let simulation: Record<Simulation> = document(json!({
        "command": ["gzip", "FILE"], "warmup": 0, "pages": "huge",
        "instructions": 2_000_000, "cycles": 1_000_000, "ipc": 2.0, "ghz": 2.5, "seconds": 0.0004,
        "mispredicts": 3000,
        "requests": { "l1d_misses": 5000, "l1i_misses": 0, "l2_misses": 0, "l2_demand_misses": 0,
            "l3_demand_misses": 0, "main": 10, "transfers": 0,
                      "walks": 0, "prefetches": 0 },
        "stack": { "retiring": 600_000.0, "L1D": 300_000.0, "scheduler": 99_900.0, "L2": 100.0 },
        "occupancy": { "queue": 12.34 }, "unknown_forms": {}
    }));
    insta::assert_snapshot!(simulation_to_terminal(&simulation, COLUMNS));
}

#[test]
fn placements_are_shown_with_ranges_refusals_and_resources() {
    let worker = |cpu: u32, cycles: [f64; 2]| {
        json!({ "worker": 0, "core": 0, "logical_cpu": cpu, "instructions": 2_000_000, "cycles": cycles,
                "stack": { "L2": 1e6, "retiring": 2.99e6, "L3": 1e4 },
                "issue": { "own": 2_000_000, "with_sibling": 1_000_000 } })
    };
    let full = [worker(0, [1e6, 3e6]), worker(1, [2e6, 2e6])];
    let placements: Record<Placements> = document(json!({
        "workers": ["gzip.trace"],
        "placements": [{ "placement": "full", "cores": 1, "phases": 2, "workers": full }],
        "comparisons": [
            { "metric": "smt_yield", "placement": "full", "against": "spread", "mean": 1.2, "low": 1.1, "high": 1.3 },
            { "metric": "core_equivalence", "placement": "packed", "against": "spread",
              "mean": 1.5, "low": 1.5, "high": 1.5 }
        ],
        "refused": [{ "metric": "makespan", "placement": "full", "against": "single",
                      "reason": "expected 1 to 2, found 3" }],
        "resources": [
            { "resource": "back.rob", "policy": "partitioned", "is_assumed": false,
              "smt_yield": { "shared": 1.21 } },
            { "resource": "memory.l1d", "policy": "shared", "is_assumed": true,
              "smt_yield": { "replicated": 1.4, "partitioned": 1.19 } }
        ]
    }));
    insta::assert_snapshot!(placements_to_terminal(&placements, 120));
}

#[test]
fn blocks_are_shown_with_the_largest_errors_first_and_reasons_once() {
    let block = |block: &str, predicted: Option<f64>, measured: Option<f64>| {
        let reason = predicted.is_none().then_some("expected no fault, found one");
        json!({ "block": block, "predicted": predicted, "measured": measured, "reason": reason })
    };
    let blocks = [
        block("4801c8", Some(1.1), Some(1.0)),
        block(&"90".repeat(30), Some(1.0), Some(2.0)),
        block("48f7f9", None, Some(1.0)),
        block("f4", None, None),
    ];
    let agreement = json!({ "blocks": 3, "mean_error": 0.5333, "median_error": 0.5, "tau_b": 0.5 });
    let measured: Record<Blocks> = document(json!({ "agreement": agreement, "blocks": blocks }));
    insta::assert_snapshot!(blocks_to_terminal(&measured, COLUMNS));
    let unmeasured: Record<Blocks> = document(json!({ "agreement": null, "blocks": blocks[..2] }));
    insta::assert_snapshot!(
        "blocks_without_measurements",
        blocks_to_terminal(&unmeasured, COLUMNS)
    );
    assert!(blocks_to_csv(&measured).ends_with("\n48f7f9,\nf4,\n"));
}
