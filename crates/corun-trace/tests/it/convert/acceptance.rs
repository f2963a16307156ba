//! ChampSim itself, where it is installed: `CHAMPSIM` names its binary. `docs/trace-conversion.md` says how
//! to build it.

use std::fmt::Debug;
use std::process::Command;
use std::str::FromStr;

use corun_testing::skip;

use crate::convert::program::run;

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the simulator starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn champsim_runs_an_export() {
    let Some(champsim) = std::env::var_os("CHAMPSIM") else {
        return skip("champsim", "CHAMPSIM does not name ChampSim's binary");
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loop.champsim");
    let (bytes, exported) = run(10_000).exported();
    std::fs::write(&file, bytes).unwrap();
    // It reads some records ahead, and begins again at the end of a file.
    let count = exported.records - 1000;
    let text = output(
        Command::new(champsim)
            .args(["--warmup-instructions", "0", "--simulation-instructions"])
            .arg(count.to_string())
            .arg(&file),
    );
    let simulated: u64 = after(&text, "Simulation complete CPU 0 instructions:");
    assert!((count..count + 100).contains(&simulated), "{text}");
    // Each is predicted wrongly once: ChampSim takes returns for returns.
    for kind in ["BRANCH_CONDITIONAL:", "BRANCH_DIRECT_CALL:", "BRANCH_RETURN:"] {
        let mispredictions: f64 = after(&text, kind);
        assert!(mispredictions < 1.0, "{kind} in 1000 instructions: {text}");
    }
}

/// The figure that follows a label.
fn after<T: FromStr<Err: Debug>>(text: &str, label: &str) -> T {
    let rest = text.split(label).nth(1).unwrap_or_else(|| panic!("{label} in {text}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}
