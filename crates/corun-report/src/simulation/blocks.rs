//! Single blocks on a simulated core, against what was measured.

use std::collections::BTreeMap;

use corun_blocks::{Agreement, Listed, agreement};
use corun_model::CoreModel;
use corun_model::timing::Usage;
use corun_record::Caveat;
use corun_sim::uops::Unknown;
use serde::Serialize;

use super::{TimingRows, wrapped};

/// What is known of one block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockPrediction {
    /// Measured cycles of one copy.
    pub measured: Option<f64>,
    /// Predicted cycles, or why there are none.
    pub predicted: Result<f64, String>,
}

/// The blocks of a file.
#[derive(Debug, Clone)]
pub struct BlockPredictions<'a> {
    /// The core.
    pub model: &'a CoreModel,
    /// What must be said of the model.
    pub warning: Option<Caveat>,
    /// The blocks.
    pub rows: &'a [Listed],
    /// What came out, in their order.
    pub predictions: &'a [BlockPrediction],
    /// Forms that the timing table has no row for.
    pub unknown: &'a BTreeMap<String, Unknown>,
    /// For each width of a division in the code, the bits of its quotient that were assumed.
    pub quotients: &'a BTreeMap<u32, u32>,
    /// How well the timings of the executed instructions are known.
    pub usage: &'a Usage,
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    model: &'a str,
    caveats: Vec<Caveat>,
    score: Option<ScoreDocument>,
    timing_rows: TimingRows,
    blocks: Vec<BlockDocument<'a>>,
}

#[derive(Serialize)]
struct ScoreDocument {
    blocks: usize,
    mean_error: f64,
    median_error: f64,
    tau_b: f64,
}

#[derive(Serialize)]
struct BlockDocument<'a> {
    block: &'a str,
    predicted: Option<f64>,
    measured: Option<f64>,
    reason: Option<String>,
}

/// Blocks that are listed with the largest errors.
const WORST: usize = 10;

impl BlockPredictions<'_> {
    /// As CSV: `block,predicted`, without cycles where there is no prediction.
    pub fn to_csv(&self) -> String {
        let mut csv = "block,predicted\n".to_owned();
        for (row, one) in self.rows.iter().zip(self.predictions) {
            let cycles = one.predicted.as_ref().map_or(String::new(), |it| format!("{it:.3}"));
            csv += &format!("{},{cycles}\n", row.hexadecimal);
        }
        csv
    }

    /// How good the predictions are, if anything was measured. A block without a prediction counts as
    /// one of 0 cycles, so that its error is the whole.
    pub fn agreement(&self) -> Option<Agreement> {
        let predicted = |one: &BlockPrediction| one.predicted.as_ref().copied().unwrap_or(0.0);
        let pairs = self.predictions.iter().filter_map(|one| Some((predicted(one), one.measured?)));
        agreement(&pairs.collect::<Vec<_>>())
    }

    /// As JSON.
    ///
    /// # Panics
    /// Never: predictions are JSON.
    pub fn to_json(&self) -> String {
        let blocks = self.rows.iter().zip(self.predictions);
        let document = Document {
            format: "corun-blocks",
            version: 2,
            model: &self.model.name,
            caveats: super::caveats(self.warning.as_ref(), &[]),
            score: self.agreement().map(|found| ScoreDocument {
                blocks: found.count,
                mean_error: found.mean,
                median_error: found.median,
                tau_b: found.tau,
            }),
            timing_rows: TimingRows::of(self.usage),
            blocks: blocks
                .map(|(row, one)| BlockDocument {
                    block: &row.hexadecimal,
                    predicted: one.predicted.as_ref().ok().copied(),
                    measured: one.measured,
                    reason: one.predicted.as_ref().err().cloned(),
                })
                .collect(),
        };
        corun_record::json_text(&document)
    }

    /// For people, `columns` wide.
    pub fn describe(&self, columns: u16) -> String {
        let mut text = format!("{} blocks on {}\n", self.rows.len(), self.model.title);
        if let Some(warning) = &self.warning {
            text += &wrapped(&warning.sentence, columns);
            text.push('\n');
        }
        match self.agreement() {
            Some(found) => {
                text += &format!(
                    "\nerror against {} measured: mean {:.1} %, median {:.1} %; Kendall's tau-b {:.3}\n",
                    found.count,
                    100.0 * found.mean,
                    100.0 * found.median,
                    found.tau,
                );
                text += &self.worst();
            }
            None => text += &self.all(),
        }
        text += &self.failed(columns);
        if let Some(assumed) = super::assumed_quotients(self.quotients) {
            text.push('\n');
            text += &wrapped(&assumed, columns);
            text.push('\n');
        }
        if let Some(unknown) = super::unknown_forms(self.unknown) {
            text.push('\n');
            text += &wrapped(&unknown, columns);
            text.push('\n');
        }
        if let Some(sentence) = self.usage.sentence() {
            text += &wrapped(&sentence, columns);
            text.push('\n');
        }
        text
    }

    fn all(&self) -> String {
        let mut text = "\n    cycles  block\n".to_owned();
        for (row, one) in self.rows.iter().zip(self.predictions) {
            if let Ok(cycles) = one.predicted {
                text += &format!("{cycles:>10.3}  {}\n", shortened(&row.hexadecimal));
            }
        }
        text
    }

    fn worst(&self) -> String {
        let mut known: Vec<(f64, f64, f64, &Listed)> = self
            .rows
            .iter()
            .zip(self.predictions)
            .filter_map(|(row, one)| {
                let (predicted, measured) = (*one.predicted.as_ref().ok()?, one.measured?);
                Some(((predicted - measured) / measured, predicted, measured, row))
            })
            .collect();
        known.sort_by(|one, other| other.0.abs().total_cmp(&one.0.abs()));
        let mut text = "\nFarthest off:\n     error  predicted  measured  block\n".to_owned();
        for (error, predicted, measured, row) in known.iter().take(WORST) {
            text += &format!(
                "{:>+8.1} %{predicted:>11.3}{measured:>10.3}  {}\n",
                100.0 * error,
                shortened(&row.hexadecimal)
            );
        }
        text
    }

    fn failed(&self, columns: u16) -> String {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (row, one) in self.rows.iter().zip(self.predictions) {
            if let Err(why) = &one.predicted {
                reasons.entry(why).or_default().push(shortened(&row.hexadecimal));
            }
        }
        let mut text = String::new();
        if !reasons.is_empty() {
            let count: usize = reasons.values().map(Vec::len).sum();
            text += &format!("\n{count} blocks could not be run, each an error of 100 %:\n");
        }
        for (why, blocks) in reasons {
            text += &wrapped(&format!("{} ({})", why, blocks.join(", ")), columns);
            text.push('\n');
        }
        text
    }
}

/// The beginning of a block's code.
fn shortened(hex: &str) -> String {
    match hex.char_indices().nth(48) {
        Some((end, _)) => format!("{}...", &hex[..end]),
        None => hex.to_owned(),
    }
}
