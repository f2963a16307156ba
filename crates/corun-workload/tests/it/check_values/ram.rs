//! What an array holds after so many stores.

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn ram_stores_every_element_of_every_pass() {
    for variant in ["memory", "register"] {
        for (touched, length) in [("4KiB", 1024), ("4100", 1025), ("1MiB", 262_144)] {
            for workers in [1, 2] {
                let parameters = [format!("variant={variant}"), format!("touched={touched}")];
                let mut kernels = kernels("ram", &parameters, workers);
                for operations in OPERATIONS {
                    let shares: Vec<u64> = (0..workers as u64).map(|n| operations + n).collect();
                    let expected: Vec<u64> =
                        shares.iter().map(|&share| ram_check(length, share)).collect();
                    let case = format!("{parameters:?}, {workers} workers, {operations}");
                    assert_eq!(run_at_once(&mut kernels, &shares), expected, "{case}");
                }
            }
        }
    }
}

/// The first m elements hold 0 to m - 1, the others all ones; plus the number of stores.
fn ram_check(length: u64, operations: u64) -> u64 {
    let written = length.min(operations);
    written * (written - 1) / 2 + (length - written) * u64::from(u32::MAX) + operations
}
