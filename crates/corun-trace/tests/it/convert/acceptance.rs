//! The simulators themselves, where they are installed: `CHAMPSIM` names ChampSim's binary, `SIFTDUMP`
//! the `sift/siftdump` of Sniper. `docs/trace-conversion.md` says how to build them.

use std::fmt::Debug;
use std::process::Command;
use std::str::FromStr;

use corun_testing::skip;
use corun_trace::convert::Foreign;

use crate::convert::program::{path, run};

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
    let (bytes, exported) = run(10_000).exported(Foreign::ChampSim);
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

#[test]
fn sniper_reads_an_export() {
    let Some(siftdump) = std::env::var_os("SIFTDUMP") else {
        return skip("siftdump", "SIFTDUMP does not name Sniper's sift/siftdump");
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loop.sift");
    let run = run(10_000);
    std::fs::write(&file, run.exported(Foreign::Sift).0).unwrap();
    let text = output(Command::new(siftdump).arg(&file));
    let address = |line: &str| u64::from_str_radix(line.get(..16)?, 16).ok();
    let mut read: Vec<_> = text.lines().filter_map(address).collect();
    read.dedup();
    assert_eq!(read, path(&run.recording).0);
}
