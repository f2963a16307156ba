//! Single blocks on a simulated core, beside what was measured.

use std::collections::BTreeMap;

use corun_record::{Blocks, PageSize, Record, SimulatedBlock, on_one_line};

use crate::prose::{self, plural};

use super::{heading, limits, wrapped};

/// Blocks that are listed with the largest errors.
const WORST: usize = 10;
/// Digits of a block that are shown.
const DIGITS: usize = 48;

/// The blocks as CSV: `block,predicted`, without cycles where there is no prediction.
pub fn blocks_to_csv(Record { body: blocks, .. }: &Record<Blocks>) -> String {
    let mut csv = "block,predicted\n".to_owned();
    for one in &blocks.blocks {
        let cycles = one.predicted.map_or(String::new(), |it| format!("{it:.3}"));
        csv += &format!("{},{cycles}\n", one.block);
    }
    csv
}

/// The blocks as text for a terminal of this many columns.
pub fn blocks_to_terminal(document: &Record<Blocks>, columns: u16) -> String {
    let Record { caveats, body: Blocks { core, blocks, agreement, .. }, .. } = document;
    let title = format!("{} on {}", plural(blocks.len(), "block"), core.title);
    let mut text = heading(&title, core, PageSize::Small, caveats, columns);
    match agreement {
        Some(agreement) => {
            let tau = match agreement.tau_b {
                Some(tau) => format!("Kendall's tau-b {tau:.3}"),
                None => "no rank correlation, since all cycles of one side are equal".to_owned(),
            };
            text += &format!(
                "\nerror against {} measured: mean {:.1} %, median {:.1} %; {tau}\n",
                agreement.blocks,
                100.0 * agreement.mean_error,
                100.0 * agreement.median_error,
            );
            text += &worst(blocks);
        }
        None => text += &all(blocks),
    }
    text += &failed(blocks, columns);
    text + &limits(caveats, columns)
}

/// Every block with a prediction.
fn all(blocks: &[SimulatedBlock]) -> String {
    let mut text = "\n    cycles  block\n".to_owned();
    for one in blocks {
        if let Some(cycles) = one.predicted {
            text += &format!("{cycles:>10.3}  {}\n", begin_of(one));
        }
    }
    text
}

/// The blocks with the largest errors.
fn worst(blocks: &[SimulatedBlock]) -> String {
    let mut known: Vec<(f64, &SimulatedBlock)> =
        blocks.iter().filter_map(|one| Some((one.error()?, one))).collect();
    known.sort_by(|one, other| other.0.abs().total_cmp(&one.0.abs()));
    let mut text = "\nFarthest off:\n     error  predicted  measured  block\n".to_owned();
    for (error, one) in known.into_iter().take(WORST) {
        text += &format!(
            "{:>+8.1} %{:>11.3}{:>10.3}  {}\n",
            100.0 * error,
            one.predicted.unwrap_or_default(),
            one.measured.unwrap_or_default(),
            begin_of(one)
        );
    }
    text
}

/// The blocks without a prediction, by reason.
fn failed(blocks: &[SimulatedBlock], columns: u16) -> String {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in blocks {
        if let Some(reason) = &one.reason {
            reasons.entry(reason).or_default().push(begin_of(one));
        }
    }
    let mut text = String::new();
    if !reasons.is_empty() {
        let count: usize = reasons.values().map(Vec::len).sum();
        text += &format!("\n{count} blocks could not be run, each an error of 100 %:\n");
    }
    for (reason, blocks) in reasons {
        let sentence = format!("{} ({})", on_one_line(reason), blocks.join(", "));
        text += &format!("{}\n", wrapped(&sentence, columns));
    }
    text
}

/// The beginning of a block's code.
fn begin_of(block: &SimulatedBlock) -> String {
    prose::begin_of(&block.block, DIGITS)
}
