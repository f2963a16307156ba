//! What was compressed last is the text itself. That the frames hold it is tested beside the
//! workload, with another decompressor.

use super::checksum::checksum;
use super::generated::prose;
use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn compress_loses_nothing_of_its_last_block() {
    let text = prose(4 << 20);
    let block = 128 << 10;
    for level in [1, 3] {
        let mut kernels = kernels("compress", &[format!("level={level}")], 2);
        let whole = text.len() as u64;
        for operations in OPERATIONS.into_iter().chain([block, whole, whole + 1]) {
            let end = ((operations - 1) % whole + 1) as usize;
            let start = (end - 1) / block as usize * block as usize;
            let last = text[start..end].iter().copied().map(u64::from);
            let expected = checksum(last).wrapping_add(operations);
            let case = format!("level {level}, {operations} bytes");
            assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
        }
    }
}
