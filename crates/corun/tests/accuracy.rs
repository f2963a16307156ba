//! Predictions of whole programs, blocks and yields, held to the bounds of `benches/accuracy/gate/bounds.toml`.

use std::path::Path;

use corun_accuracy::gate;

#[test]
fn no_core_is_predicted_worse_than_its_bounds() {
    let report = gate::check(Path::new(env!("CARGO_BIN_EXE_corun"))).unwrap();
    print!("{}", report.in_brief());
    assert!(report.is_kept(), "{}", report.in_brief());
}
