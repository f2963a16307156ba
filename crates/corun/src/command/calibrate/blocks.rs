//! Single blocks of code, timed on this host.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use corun_blocks::{Agreement, BlockError, Cycles, FrontEnd, Listed, Timer, agreement, read_list};
use corun_files::InputKind;
use corun_machine::{Affinity, CpuSet};
use corun_record::{Exit, shown};
use corun_report::Destination;

use crate::problem::{Problem, code, say};
use crate::{interruption, terminal};

/// Blocks that were left out and are told with their reasons.
const MOST_TOLD: usize = 5;

/// Times the blocks of `file` on this CPU and writes what they take to `csv`.
pub(super) fn run(file: &Path, csv: &Path, cpu: u32) -> Result<ExitCode, Problem> {
    let blocks = read_blocks(file)?;
    let destination = Destination::open(csv)?;
    let stop = interruption::flag_on_signals()?;
    let mut timer = Timer::new(Some(Affinity::new(&CpuSet::from_iter([cpu]))));
    let mut measured = Measured::default();
    for block in &blocks {
        if stop.load(Ordering::Acquire) {
            break;
        }
        match timer.time(&block.code) {
            Ok(cycles) => measured.rows.push((block, cycles)),
            Err(error @ BlockError::Host { .. }) => return Err(error.into()),
            Err(error) => measured.left_out.push((block, error)),
        }
    }
    let is_complete = measured.rows.len() + measured.left_out.len() == blocks.len();
    let is_output_taken = destination.is_standard_output();
    destination.write(&measured.csv(cpu))?;
    let text = measured.describe(cpu);
    if is_output_taken {
        say(text.trim_end());
    } else {
        terminal::show(&text)?;
    }
    Ok(code(if is_complete { Exit::Done } else { Exit::Interrupted }))
}

/// The blocks of a file.
pub(in crate::command) fn read_blocks(path: &Path) -> Result<Vec<Listed>, Problem> {
    let list = corun_files::bytes(path, InputKind::BLOCKS).map_err(|error| {
        Problem::usage(
            format!("could not read {}: {error}", shown(path)),
            "Name a CSV file with a column `block`.",
        )
    })?;
    read_list(list.as_slice()).map_err(|error| Problem::from(error).in_file(path))
}

#[derive(Default)]
struct Measured<'a> {
    rows: Vec<(&'a Listed, Cycles)>,
    left_out: Vec<(&'a Listed, BlockError)>,
}

impl Measured<'_> {
    fn csv(&self, cpu: u32) -> String {
        let mut text = format!(
            "# Core cycles of an iteration in steady state, measured on {} (CPU {cpu}) by `corun \
             calibrate --block-file`.\nblock,cycles,p10,p90,front_end\n",
            corun_blocks::core_name()
        );
        for (block, cycles) in &self.rows {
            let Cycles { median, p10, p90, front_end, .. } = cycles;
            let from = match front_end {
                FrontEnd::OpCache => "op-cache",
                FrontEnd::Decoders => "decoders",
            };
            text += &format!("{},{median:.3},{p10:.3},{p90:.3},{from}\n", block.hexadecimal);
        }
        text
    }

    fn describe(&self, cpu: u32) -> String {
        let mut text = format!(
            "{} blocks measured on {}, CPU {cpu}\n",
            self.rows.len(),
            corun_blocks::core_name()
        );
        let shared = self.rows.iter().filter(|(_, cycles)| cycles.alone < cycles.groups).count();
        if shared > 0 {
            text += &format!(
                "{shared} of them were timed beside a busy sibling, in part at least, and may take less.\n"
            );
        }
        let decoded =
            self.rows.iter().filter(|(_, cycles)| cycles.front_end == FrontEnd::Decoders).count();
        if decoded > 0 {
            text += &format!(
                "{decoded} of them are too long, or too dense, for an op cache to hold copies of them one \
                 after the other: decoders may have a part in their cycles. A loop may take less.\n"
            );
        }
        let known = |(block, cycles): &(&Listed, Cycles)| Some((cycles.median, block.cycles?));
        let pairs: Vec<_> = self.rows.iter().filter_map(known).collect();
        if let Some(Agreement { count, mean, median, tau }) = agreement(&pairs) {
            text += &format!(
                "against the file's own cycles ({count} blocks): mean difference {:.1} %, median \
                 {:.1} %, Kendall's tau-b {tau:.3}\n",
                100.0 * mean,
                100.0 * median
            );
        }
        for (block, error) in self.left_out.iter().take(MOST_TOLD) {
            text += &format!("left out: {}: {error}\n", block.hexadecimal);
        }
        if self.left_out.len() > MOST_TOLD {
            text += &format!("left out: {} more\n", self.left_out.len() - MOST_TOLD);
        }
        text
    }
}
