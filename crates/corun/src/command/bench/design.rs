//! Design of a suite's run: how long, how often and where workloads are run, and what comes out: what
//! `run` and `memory-hierarchy` have in common.

use std::num::NonZeroU32;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use corun_machine::Machine;
use corun_measure::suite::{self, Item, SuiteDesign};
use corun_record::{Actionable, Bench, Document, Exit, Placement};

use crate::exports::{Exports, Form};
use crate::keeping::{Keeper, KeepingBlocks};
use crate::options::{
    CORES, CsvFile, JsonFile, LatexFile, ProgressArguments, SeedArguments, TIMEOUT, WARMUP,
};
use crate::problem::{Problem, code};
use crate::progress::SuiteProgress;
use crate::{interruption, values};

#[derive(Debug, Args)]
pub(super) struct DesignArguments {
    /// Run them in these placements: single, spread, spread@N, full, full@K, packed, stacked, free,
    /// free@N
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    placement: Vec<Placement>,
    #[arg(long, value_name = "C", help = CORES)]
    cores: Option<NonZeroU32>,
    #[arg(long, value_name = "N", default_value_t = 1, help = WARMUP)]
    warmup: u32,
    #[arg(long, value_name = "TIME", value_parser = values::duration, help = TIMEOUT)]
    timeout: Option<Duration>,
    #[command(flatten)]
    seed: SeedArguments,
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    csv: CsvFile,
    #[command(flatten)]
    latex: LatexFile,
    #[command(flatten)]
    progress: ProgressArguments,
}

impl DesignArguments {
    /// Measures the items and shows them in this form.
    pub(super) fn run(
        &self,
        items: &[Item],
        blocks: u32,
        sample_time: Duration,
        svg: Option<&Path>,
        form: impl Fn(&Bench) -> String,
    ) -> Result<ExitCode, Problem> {
        let design = SuiteDesign {
            placements: self.placement.clone(),
            cores: self.cores,
            blocks,
            warmup: self.warmup,
            sample_time,
            timeout: self.timeout,
            seed: self.seed.seed,
        };
        let exports = Exports::open([
            (self.json.path(), Bench::to_json as Form<Bench>),
            (self.csv.path(), corun_report::bench_to_csv),
            (self.latex.path(), corun_report::bench_to_latex),
            (svg, corun_page::hierarchy_to_svg),
        ])?;
        let interrupt = interruption::on_signals()?;
        let machine = Machine::read(Path::new("/"))?;
        let progress = SuiteProgress::new(items.len(), self.progress.quiet).of_blocks(blocks);
        let mut progress = KeepingBlocks::new(progress, Keeper::new::<Bench>());
        let (bench, failure) =
            suite::run_suite(items, &design, &machine, &interrupt, &mut progress);
        let (progress, keeper) = progress.into_parts();
        progress.finish();
        let is_shown = exports.are_beside_a_view();
        exports.kept_by(keeper).write(&bench, form, Bench::to_json)?;
        match failure {
            // What was not run is part of what is shown.
            Some(failure) if is_shown => return Ok(code(failure.exit())),
            Some(failure) => return Err(failure.into()),
            None => {}
        }
        let exit = match (bench.ending.is_interrupted(), bench.runs.is_empty()) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::NotPossible,
            (false, false) => Exit::Done,
        };
        Ok(code(exit))
    }
}
