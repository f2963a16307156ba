//! `corun study run`: every published figure beside what this machine measures.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use corun_machine::switch::{self, SwitchOptions};
use corun_record::{Actionable, Document, EndReason, Exit, SmtState, StudyResult};
use corun_study::Settings;

use super::prediction::PredictionArguments;
use crate::command::smt::SwitchArguments;
use crate::exports::Exports;
use crate::keeping::{Keeper, KeepingBlocks};
use crate::options::{
    CpuArguments, DetailArguments, DocumentFiles, ProgressArguments, SeedArguments,
};
use crate::problem::{Problem, code};
use crate::progress::SuiteProgress;
use crate::{consent, interruption, terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The study's name, or a study file that ends in .toml
    #[arg(value_name = "NAME")]
    name: String,
    /// Run these rows only: ids of figures or experiments (repeatable; `corun study show` lists them)
    #[arg(long, value_name = "ROW")]
    only: Vec<String>,
    /// The time allowed, such as 30s or 5m [default: the study's own]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    max_time: Option<Duration>,
    /// Switch SMT where the publication did (needs root; everything comes back as it was)
    #[arg(long)]
    smt_switch: bool,
    #[command(flatten)]
    cpus: CpuArguments,
    #[command(flatten)]
    prediction: PredictionArguments,
    #[command(flatten)]
    switch: SwitchArguments,
    #[command(flatten)]
    seed: SeedArguments,
    #[command(flatten)]
    files: DocumentFiles,
    #[command(flatten)]
    detail: DetailArguments,
    #[command(flatten)]
    progress: ProgressArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let study = corun_study::find(&arguments.name)?;
    let selection = study.select(&arguments.only)?;
    let exports = Exports::open(arguments.files.forms(
        corun_report::study_to_csv,
        corun_report::study_to_markdown,
        corun_report::study_to_latex,
    ))?;
    let (cycles, caveats) = arguments.prediction.cycles(&study)?;
    arguments.cpus.confine()?;
    let interrupt = interruption::on_signals()?;
    let settings = Settings {
        max_time: arguments.max_time.unwrap_or(study.max_time),
        switch: arguments.switch_options()?,
        selection,
        cycles,
        seed: arguments.seed.seed,
    };
    let progress = SuiteProgress::new(settings.selection.experiments(), arguments.progress.quiet)
        .ends_before(settings.max_time);
    let mut progress = KeepingBlocks::new(progress, Keeper::new::<StudyResult>());
    let outcome = corun_study::run_study(&study, &settings, &interrupt, &mut progress);
    let (progress, keeper) = progress.into_parts();
    progress.finish();
    let mut outcome = outcome?;
    outcome.result.caveats.extend(caveats);
    let is_shown = exports.are_beside_a_view();
    let shown = |result: &StudyResult| match arguments.detail.verbose {
        true => corun_report::study_to_terminal(result, &terminal::view()),
        false => corun_report::study_on_screen(result, &terminal::view()),
    };
    exports.kept_by(keeper).write(&outcome.result, shown, StudyResult::to_json)?;
    match outcome.failure {
        // What was not run is part of what is shown.
        Some(failure) if is_shown => return Ok(code(failure.exit())),
        Some(failure) => return Err(failure.into()),
        None => {}
    }
    Ok(code(exit(&outcome.result)))
}

/// Rows that lack figures since the time was too short are as good as interrupted; what no time can measure is not possible.
fn exit(result: &StudyResult) -> Exit {
    let is_measured = result.figures.iter().any(|figure| figure.measured.is_some());
    match result.ending.reason {
        EndReason::Interrupted | EndReason::TimeUp => Exit::Interrupted,
        _ if !is_measured => Exit::NotPossible,
        _ => Exit::Done,
    }
}

impl Arguments {
    /// Options of switching SMT, where that is asked for, possible and agreed to.
    fn switch_options(&self) -> Result<Option<SwitchOptions>, Problem> {
        if !self.smt_switch {
            return Ok(None);
        }
        switch::check()?;
        consent::to_switch(SmtState::Off, self.switch.yes)?;
        Ok(Some(self.switch.options()))
    }
}
