//! The same requests to a table that has a place for every key.

use super::generated::Random;
use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn btree_answers_as_a_table_does() {
    for entries in [1, 2, 100, 5000] {
        let mut kernels = kernels("btree", &[format!("entries={entries}")], 2);
        for operations in OPERATIONS {
            let expected = btree_check(entries, operations);
            let case = format!("{entries} entries, {operations} requests");
            assert_eq!(run_at_once(&mut kernels, &[operations; 2]), [expected; 2], "{case}");
        }
    }
}

fn btree_check(entries: usize, operations: u64) -> u64 {
    let keys = 2 * entries as u64;
    let mut random = Random::new(7);
    let mut table = vec![None; 2 * entries];
    let mut present = 0;
    while present < entries {
        let key = random.below(keys);
        present += usize::from(table[key as usize].replace(!key).is_none());
    }
    let mut seen: u64 = 0;
    for operation in 0..operations {
        let place = &mut table[random.below(keys) as usize];
        let value = match random.below(4) {
            0 => place.replace(operation),
            1 => place.take(),
            _ => *place,
        };
        seen = seen.wrapping_mul(3).wrapping_add(value.unwrap_or(1));
    }
    seen.wrapping_add(table.iter().flatten().count() as u64)
}
