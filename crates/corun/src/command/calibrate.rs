//! `corun calibrate`: what this host's core does, measured with timed code.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Args;
use corun_blocks::{Agreement, CannotRun, Cycles, Listed, Timer, agreement, read_list};
use corun_machine::{Affinity, CpuSet};
use corun_record::Exit;
use corun_report::Destination;

use crate::problem::{Problem, code, say};
use crate::{interruption, terminal};

/// Blocks that were left out and are told with their reasons.
const MOST_TOLD: usize = 5;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Measure the cycles that an iteration of each block takes: a CSV file with machine code in
    /// hexadecimal in its column `block`, and cycles to compare with in `cycles` if it has them
    #[arg(long, value_name = "FILE", requires = "csv")]
    blocks: PathBuf,
    /// Write block,cycles,p10,p90 to FILE (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    csv: PathBuf,
    /// Measure on this logical CPU rather than on the last one allowed
    #[arg(long, value_name = "CPU")]
    cpu: Option<u32>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let blocks = read_blocks(&arguments.blocks)?;
    let cpu = choose(arguments.cpu)?;
    let destination = Destination::open(&arguments.csv)?;
    let stop = interruption::flag_on_signals()?;
    let mut timer = Timer::new(Some(Affinity::new(&CpuSet::from_iter([cpu]))));
    let mut measured = Measured::default();
    for block in &blocks {
        if stop.load(Ordering::Acquire) {
            break;
        }
        match timer.time(&block.code) {
            Ok(cycles) => measured.rows.push((block, cycles)),
            Err(error @ CannotRun::Host { .. }) => return Err(error.into()),
            Err(error) => measured.left_out.push((block, error)),
        }
    }
    let is_complete = measured.rows.len() + measured.left_out.len() == blocks.len();
    let is_output_taken = destination.is_standard_output();
    destination.write(&measured.csv(cpu))?;
    let text = measured.describe(cpu);
    if is_output_taken {
        say(text.trim_end())
    } else {
        terminal::show(&text)?
    }
    Ok(code(if is_complete { Exit::Done } else { Exit::Interrupted }))
}

/// The blocks of a file.
pub(super) fn read_blocks(path: &Path) -> Result<Vec<Listed>, Problem> {
    let file = File::open(path).map_err(|error| {
        Problem::failed(
            format!("could not read {}: {error}", path.display()),
            "Name a CSV file with a column `block`.",
        )
    })?;
    read_list(BufReader::new(file)).map_err(|error| Problem::from(error).about(path))
}

/// The CPU asked for, or the last one allowed: the first ones serve most interrupts.
fn choose(asked: Option<u32>) -> Result<u32, Problem> {
    let allowed = Affinity::of(0).map(|mask| mask.cpus()).unwrap_or_default();
    let found = match asked {
        Some(cpu) => Some(cpu).filter(|&cpu| allowed.contains(cpu)),
        None => allowed.iter().next_back(),
    };
    found.ok_or_else(|| {
        Problem::usage(
            format!("expected a logical CPU that may be used, found {}", asked.unwrap_or(0)),
            format!("Allowed are: {allowed}."),
        )
    })
}

#[derive(Default)]
struct Measured<'a> {
    rows: Vec<(&'a Listed, Cycles)>,
    left_out: Vec<(&'a Listed, CannotRun)>,
}

impl Measured<'_> {
    fn csv(&self, cpu: u32) -> String {
        let mut text = format!(
            "# Core cycles of an iteration in steady state, measured on {} (CPU {cpu}) by `corun \
             calibrate --blocks`.\nblock,cycles,p10,p90\n",
            corun_blocks::core_name()
        );
        for (block, cycles) in &self.rows {
            let Cycles { median, p10, p90, .. } = cycles;
            text += &format!("{},{median:.3},{p10:.3},{p90:.3}\n", block.hexadecimal);
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
