//! A token that was handed over n times has had n + 1 turns, wherever it is.

use proptest::prelude::*;

use super::{kernels, on_one_cpu, run_at_once};

const WAYS: [&str; 3] = ["pipe", "futex", "spin"];

#[test]
fn ctxswitch_hands_the_token_over_as_often_as_asked() {
    for by in WAYS {
        for footprint in ["0", "8", "4KiB"] {
            for workers in [1, 2, 5] {
                let parameters = [format!("by={by}"), format!("footprint={footprint}")];
                let mut kernels = kernels("ctxswitch", &parameters, workers);
                for operations in [1, 2, 3, 93, 1023, 1024] {
                    let checks = run_at_once(&mut kernels, &vec![operations; workers]);
                    let case = format!("{parameters:?}, {workers} workers, {operations}");
                    assert_eq!(checks, vec![operations + 1; workers], "{case}");
                }
            }
        }
    }
}

#[test]
fn ctxswitch_goes_on_when_all_workers_are_on_one_cpu() {
    for by in WAYS {
        for workers in [2, 3] {
            let mut kernels = kernels("ctxswitch", &[format!("by={by}")], workers);
            let checks = on_one_cpu(|| run_at_once(&mut kernels, &vec![2000; workers]));
            assert_eq!(checks, vec![2001; workers], "{by}, {workers} workers");
        }
    }
}

/// Some workers are in a run that others have not reached yet, or have left.
#[test]
fn ctxswitch_needs_no_gate_between_runs() {
    for by in WAYS {
        let mut kernels = kernels("ctxswitch", &[format!("by={by}")], 4);
        std::thread::scope(|scope| {
            for kernel in &mut kernels {
                scope.spawn(move || {
                    for operations in 1..200 {
                        kernel.reset();
                        kernel.run(operations);
                        assert_eq!(kernel.check(), operations + 1, "{by}");
                    }
                });
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ctxswitch_is_right_for_any_total(operations in 1..200_u64, workers in 1..9_usize, way in 0..3_usize) {
        let mut kernels = kernels("ctxswitch", &[format!("by={}", WAYS[way])], workers);
        let checks = run_at_once(&mut kernels, &vec![operations; workers]);
        prop_assert_eq!(checks, vec![operations + 1; workers]);
    }
}
