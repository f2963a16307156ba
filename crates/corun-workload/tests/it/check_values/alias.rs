//! Repeated addition is multiplication.

use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn alias_adds_what_it_loads_at_every_offset() {
    for offset in [4, 64, 4096, 4160, 32_768] {
        for apart in ["64KiB", "65664"] {
            for workers in [1, 3] {
                let parameters = [format!("offset={offset}"), format!("apart={apart}")];
                let mut kernels = kernels("alias", &parameters, workers);
                for operations in OPERATIONS.map(|operations| operations.min(20_000)) {
                    let shares: Vec<u64> = (0..workers as u64).map(|n| operations + n).collect();
                    let expected: Vec<u64> =
                        shares.iter().map(|share| share * (offset / 4) % (1 << 32)).collect();
                    let case = format!("{parameters:?}, {workers} workers, {operations}");
                    assert_eq!(run_at_once(&mut kernels, &shares), expected, "{case}");
                }
            }
        }
    }
}
