//! Blocks of BHive (Chen et al. 2019) on a Skylake, cycles of a copy beside what the model gives.

use super::{assert_near, cycles_at};
use crate::blocks::model;

/// add rsp, 1384; pop rbx; pop rbp; pop r12; pop r13; pop r14; pop r15: 5.72 cycles there.
#[test]
fn loads_of_a_page_are_repeated_until_its_translation_is_there() {
    let add = [0x48, 0x81, 0xc4, 0x68, 0x05, 0x00, 0x00];
    let pops = [0x5b, 0x5d, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f];
    let code = [&add[..], &pops].concat();
    let places = |copy: u64| {
        let first = 0x10_0000 + 1432 * copy + 1384;
        (0..6).map(|pop| first + 8 * pop).collect()
    };
    let mut core = model("coffee-lake");
    let found = cycles_at(&core, &code, places);
    assert!((4.5..6.0).contains(&found), "{found}");
    core.memory.dtlb.repeats = false;
    assert_near(cycles_at(&core, &code, places), 3.0);
}
