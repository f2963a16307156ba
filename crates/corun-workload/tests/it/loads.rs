//! The load that ships with corun is what its generator makes, with the mix that it says.

use std::collections::BTreeMap;

#[allow(dead_code, reason = "an example has a `main`")]
#[path = "../../examples/office_load.rs"]
mod office_load;

const SHIPPED: &str = include_str!("../../loads/office.txt");

#[test]
fn the_shipped_load_can_be_made_again() {
    assert!(office_load::load() == SHIPPED, "make it again: see examples/office_load.rs");
}

/// Requests in dbench's second version (client_oplocks.txt, 2002-02) for each ten here; what belongs
/// to the beginning and to later versions comes on top.
#[test]
fn the_shipped_load_has_the_published_mix() {
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for line in SHIPPED.lines() {
        *counts.entry(line.split(' ').next().unwrap()).or_default() += 1.0;
    }
    for (request, published) in [
        ("ReadX", 17881.0),
        ("NTCreateX", 10999.0),
        ("Close", 8356.0),
        ("WriteX", 7475.0),
        ("QUERY_PATH_INFORMATION", 7372.0),
        ("FIND_FIRST", 3573.0),
        ("Unlink", 2038.0),
        ("QUERY_FILE_INFORMATION", 1849.0),
        ("QUERY_FS_INFORMATION", 1709.0),
        ("Flush", 721.0),
        ("Rename", 435.0),
    ] {
        let ratio = counts[request] * 10.0 / published;
        assert!((0.98..1.02).contains(&ratio), "{request}: {ratio}");
    }
}
