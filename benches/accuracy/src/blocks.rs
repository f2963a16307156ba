//! Blocks of code: cycles of an iteration predicted by `corun simulate --block-file` beside measured ones.
//!
//! A third of each list, chosen by a hash of the code, is held out while models are tuned. The lists come with corun.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use corun_blocks::{agreement, is_held_out};
use corun_record::{Blocks, Document, Record};

/// A list of measured blocks.
#[derive(Debug, PartialEq)]
pub(crate) struct List {
    /// The model of the core that they were measured on.
    pub model: &'static str,
    /// In `models/measured`; its head says who measured it, and how.
    pub file: &'static str,
    aim: Aim,
}

/// What is asked of blocks that are held out.
#[derive(Debug, PartialEq)]
struct Aim {
    /// The mean and the median error, as shares.
    mean: f64,
    median: f64,
    /// Kendall's rank correlation (tau-b).
    tau: f64,
}

const INTEL: Aim = Aim { mean: 0.04, median: 0.015, tau: 0.965 };
const ZEN4: Aim = Aim { mean: 0.05, median: 0.02, tau: 0.955 };
const ZEN5: Aim = Aim { mean: 0.07, median: 0.025, tau: 0.95 };

pub(crate) static LISTS: [List; 5] = [
    List { model: "ivy-bridge", file: "ivy-bridge-blocks.csv", aim: INTEL },
    List { model: "coffee-lake", file: "coffee-lake-blocks.csv", aim: INTEL },
    List { model: "zen4", file: "zen4-blocks.csv", aim: ZEN4 },
    List { model: "zen5", file: "zen5-blocks.csv", aim: ZEN5 },
    List { model: "zen5", file: "zen5-other-blocks.csv", aim: ZEN5 },
];

/// Simulates the blocks of a file.
///
/// # Errors
/// If the file is no list of blocks, or there is no such model.
pub(crate) fn simulate(corun: &Path, model: &str, file: &Path) -> Result<Record<Blocks>, String> {
    let mut command = Command::new(corun);
    command.env("CORUN_STORE", "").args(["simulate", "--quiet", "--json=-", "--model", model]);
    command.arg("--block-file").arg(file);
    let output = command.output().map_err(|error| format!("{}: {error}", corun.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Record::from_json(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// The folder of the lists.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/measured")
}

pub(crate) fn table(list: &List, simulated: &Record<Blocks>) -> String {
    let List { file, aim, .. } = list;
    let blocks = &simulated.body.blocks;
    let mut text = format!(
        "\n| `models/measured/{file}` | blocks | mean error | median | largest | tau-b |\n|---|---|---|---|---|---|\n"
    );
    for (side, title) in [(false, "used for tuning"), (true, "held out")] {
        // A block that cannot be run counts as one of 0 cycles.
        let pairs: Vec<(f64, f64)> = blocks
            .iter()
            .filter(|block| is_held_out(&block.block) == side)
            .filter_map(|block| Some((block.predicted.unwrap_or(0.0), block.measured?)))
            .collect();
        let Some(score) = agreement(&pairs) else { continue };
        let errors = pairs.iter().map(|(predicted, measured)| (predicted / measured - 1.0).abs());
        writeln!(
            text,
            "| {title} | {} | {:.1} % | {:.1} % | {:.0} % | {:.3} |",
            score.count,
            100.0 * score.mean,
            100.0 * score.median,
            100.0 * errors.fold(0.0, f64::max),
            score.tau
        )
        .expect("a string takes everything");
    }
    let failed = match blocks.iter().filter(|block| block.predicted.is_none()).count() {
        0 => String::new(),
        count => format!(" {count} could not be run here: each counts as an error of 100 %."),
    };
    let seconds = simulated.elapsed_s;
    writeln!(
        text,
        "\nThe aim for held-out blocks is {:.0} %, {:.1} % and {:.3}. All {} took {seconds:.0} seconds, in which \
         each was also\nexecuted for its addresses.{failed}",
        100.0 * aim.mean,
        100.0 * aim.median,
        aim.tau,
        blocks.len()
    )
    .expect("a string takes everything");
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use corun_blocks::read_list;
    use corun_record::{SimulatedBlock, SimulatedCore, TimingRows};

    use super::*;

    #[test]
    fn each_list_has_blocks_of_both_sides() {
        for list in &LISTS {
            let blocks = read_list(std::fs::File::open(folder().join(list.file)).unwrap()).unwrap();
            assert!(blocks.iter().all(|block| block.cycles.is_some()), "{}", list.file);
            let held_out = blocks.iter().filter(|block| is_held_out(&block.hexadecimal)).count();
            let share = held_out as f64 / blocks.len() as f64;
            assert!((0.25..0.45).contains(&share), "{}: {share}", list.file);
        }
    }

    #[test]
    fn sides_are_apart_and_a_block_that_cannot_be_run_counts() {
        let block = |code: &str, predicted, measured: f64| SimulatedBlock {
            block: code.to_owned(),
            predicted,
            measured: Some(measured),
            reason: None,
        };
        // By is_held_out: "90" and "9090" are for tuning, "4801c8" is held out.
        let blocks = vec![
            block("90", Some(1.1), 1.0),
            block("9090", None, 2.0),
            block("4801c8", Some(1.5), 1.0),
        ];
        assert_eq!(
            blocks.iter().map(|it| is_held_out(&it.block)).collect::<Vec<_>>(),
            [false, false, true]
        );
        let body = Blocks {
            core: SimulatedCore {
                model: "ivy-bridge".to_owned(),
                title: "a core".to_owned(),
                settings: BTreeMap::new(),
            },
            agreement: None,
            blocks,
            unknown_forms: BTreeMap::new(),
            assumed_quotients: BTreeMap::new(),
            timing_rows: TimingRows::default(),
        };
        let text = table(&LISTS[0], &Record::new("2026-01-02T00:00:00Z".to_owned(), 3.2, body));
        for expected in [
            "| `models/measured/ivy-bridge-blocks.csv` | blocks |",
            "| used for tuning | 2 | 55.0 % | 55.0 % | 100 % | ",
            "| held out | 1 | 50.0 % | 50.0 % | 50 % | ",
            "The aim for held-out blocks is 4 %, 1.5 % and 0.965. All 3 took 3 seconds,",
            "1 could not be run here: each counts as an error of 100 %.",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
