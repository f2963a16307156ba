//! Where chains of pointers through pages lead, by taking powers of the permutation in memory.

use super::chase::{is_one_cycle, power, successors};
use super::{OPERATIONS, kernels, run_at_once};

#[test]
fn tlb_touches_one_line_of_each_page() {
    let page = rustix::param::page_size();
    let place = |index: usize| index * page + index / 32 * 64 % page;
    for pages_touched in [1, 7, 100] {
        for (loads, chains) in [("dependent", 1), ("independent", 8)] {
            for pages in ["small", "huge"] {
                let parameters = [
                    format!("pages_touched={pages_touched}"),
                    format!("loads={loads}"),
                    format!("pages={pages}"),
                ];
                let mut kernels = kernels("tlb", &parameters, 1);
                kernels[0].reset();
                let next = successors(kernels[0].memory(), place);
                assert_eq!(next.len(), pages_touched);
                assert!(is_one_cycle(&next), "{parameters:?}");
                for operations in OPERATIONS {
                    let cursors = (0..chains).map(|chain| {
                        let start = chain as usize * pages_touched / 8;
                        let loads = (operations + chains - 1 - chain) / chains;
                        place(power(&next, loads)[start]) as u64
                    });
                    let folded = cursors.fold(0_u64, |sum, place| sum.wrapping_mul(31) + place);
                    let found = run_at_once(&mut kernels, &[operations]);
                    assert_eq!(found, [folded + operations], "{parameters:?} {operations}");
                }
            }
        }
    }
}
