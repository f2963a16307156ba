//! The records are generated as they will be written again.

use super::checksum::checksum;
use super::generated::records;
use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn json_writes_the_records_that_it_has_parsed() {
    let document = String::from_utf8(records(512 << 10)).unwrap();
    let whole = document.len() as u64;
    let first = document.lines().next().unwrap().len() as u64;
    let mut kernels = kernels("json", &[], 2);
    for operations in OPERATIONS.into_iter().chain([first - 1, first, first + 1, whole, whole + 1])
    {
        let last_pass = &document[..((operations - 1) % whole + 1) as usize];
        let parsed = last_pass.lines().zip(document.lines()).filter(|(part, whole)| part == whole);
        let written = parsed.flat_map(|(record, _)| record.bytes()).map(u64::from);
        let expected = checksum(written).wrapping_add(operations);
        assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{operations}");
    }
}
