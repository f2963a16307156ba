//! `corun measure`: what each placement does to a program, with intervals and a verdict.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use corun_machine::Machine;
use corun_machine::switch::{self, SmtSwitch};
use corun_measure::experiment::Observer;
use corun_measure::layout::ListedArm;
use corun_measure::{Earlier, Forecaster, Measurement, Request};
use corun_record::{Document, Exit, Placement, Run, SmtState};

use super::resume::{Resumed, resumed};
use super::service::ServiceArguments;
use super::smt::SwitchArguments;
use super::work::{ContextArguments, WorkArguments};
use crate::consent;
use crate::exports::Exports;
use crate::interruption;
use crate::keeping::{Keeper, KeepingBlocks};
use crate::options::{
    BlockArguments, CoreArguments, DesignArguments, DetailArguments, DocumentFiles,
    PracticalArguments, ProgressArguments, ViewArguments,
};
use crate::problem::{Problem, code};
use crate::progress::ProgressLine;
use crate::{terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    service: ServiceArguments,
    #[command(flatten)]
    arms: ArmArguments,
    #[command(flatten)]
    smt: SmtArguments,
    #[command(flatten)]
    context: ContextArguments,
    #[command(flatten)]
    precision: PrecisionArguments,
    /// Resume a run that ended early, in its own folder and with its own command and options: an id of
    /// `corun runs list`, a tag, or `last`
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        // A group in which another is flattened has no members.
        "WorkArguments", "ServiceArguments", "placement", "arm", "CoreArguments", "smt_switch", "SwitchArguments",
        "ContextArguments", "target", "blocks", "PracticalArguments", "DesignArguments",
    ])]
    resume: Option<String>,
    /// Go on although the program's file or its standard input was replaced since; the run then says so
    #[arg(long, requires = "resume", conflicts_with = "WorkArguments")]
    even_if_changed: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// The placements and cores.
#[derive(Debug, Args)]
#[command(next_help_heading = "Placement")]
struct ArmArguments {
    /// Measure these placements only: single, spread, spread@N, full, full@K, packed, packed@N,
    /// scatter@N, stacked, free, free@N
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    placement: Vec<Placement>,
    /// Measure a worker on each of these logical CPUs, under this name, such as siblings=0,4 (repeatable):
    /// all arms are compared with the first of these; without --placement there are no others
    #[arg(long, value_name = "NAME=LIST")]
    arm: Vec<ListedArm>,
    #[command(flatten)]
    cores: CoreArguments,
}

/// Arguments of switching SMT itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "Switching SMT")]
struct SmtArguments {
    /// Also run with SMT switched off, in cycles on, off, off, on: switch gain, and yield by
    /// switching (needs root; everything comes back as it was)
    #[arg(long, conflicts_with = "serve")]
    smt_switch: bool,
    #[command(flatten)]
    switch: SwitchArguments,
}

/// Duration and precision.
#[derive(Debug, Args)]
#[command(next_help_heading = "Duration and precision")]
struct PrecisionArguments {
    /// Stop at an interim analysis when the headline's interval is no wider than ± this
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = values::percentage)]
    target: f64,
    #[command(flatten)]
    practical: PracticalArguments,
    #[command(flatten)]
    blocks: BlockArguments,
    #[command(flatten)]
    design: DesignArguments<5>,
}

/// The outputs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    #[command(flatten)]
    files: DocumentFiles,
    #[command(flatten)]
    view: ViewArguments,
    #[command(flatten)]
    detail: DetailArguments,
    #[command(flatten)]
    progress: ProgressArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let Some(name) = &arguments.resume else {
        return measured(arguments, &arguments.output, None, Keeper::new::<Run>());
    };
    let Resumed { arguments: own, earlier, keeper } = resumed(name, arguments.even_if_changed)?;
    measured(&own, &arguments.output.or(&own.output), Some(earlier), keeper)
}

fn measured(
    arguments: &Arguments,
    output: &OutputArguments,
    earlier: Option<Earlier>,
    keeper: Keeper,
) -> Result<ExitCode, Problem> {
    let request = arguments.request()?;
    let exports = output.open()?;
    request.check()?;
    arguments.arms.cores.confine()?;
    let interrupt = interruption::on_signals()?;
    let switch = arguments.smt.begin()?;
    let machine = Machine::read(Path::new("/"))?;
    let measurement = match earlier {
        None => Measurement::prepare(&request, &machine, interrupt, switch)?,
        Some(earlier) => {
            Measurement::prepare_again(earlier, &request, &machine, interrupt, switch)?
        }
    };
    let progress =
        ProgressLine::new(Forecaster::new(&request, measurement.arms()), output.progress.quiet);
    let mut progress = KeepingBlocks::new(progress, keeper);
    let outcome = measurement.run(&mut progress as &mut dyn Observer);
    let (progress, keeper) = progress.into_parts();
    progress.finish();
    let (run, failure) = outcome?;
    exports.kept_by(keeper).write_coloured(&run, |run| output.shown(run), Run::to_json)?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    Ok(code(if run.is_partial() { Exit::Interrupted } else { Exit::Done }))
}

impl OutputArguments {
    /// The outputs of a run that is resumed: its own files unless others are named, and no more than either asks for.
    fn or(&self, own: &Self) -> Self {
        let from = if self.files.is_any() { self } else { own };
        Self {
            view: ViewArguments { brief: self.view.brief || own.view.brief },
            detail: DetailArguments { verbose: self.detail.verbose || own.detail.verbose },
            progress: ProgressArguments { quiet: self.progress.quiet || own.progress.quiet },
            files: from.files.clone(),
        }
    }

    fn shown(&self, run: &Run) -> String {
        let view = terminal::view();
        match (self.view.brief, self.detail.verbose) {
            (true, _) => corun_report::answers_to_terminal(run, view.columns, view.has_colour),
            (false, true) => corun_report::to_terminal(run, &view),
            (false, false) => corun_report::run_on_screen(run, &view),
        }
    }

    fn open(&self) -> Result<Exports<Run>, Problem> {
        Exports::open(self.files.forms(
            corun_report::to_csv,
            corun_report::to_markdown,
            corun_report::to_latex,
        ))
    }
}

impl SmtArguments {
    /// The switch where it is asked for, with SMT on.
    fn begin(&self) -> Result<Option<SmtSwitch>, Problem> {
        if !self.smt_switch {
            return Ok(None);
        }
        switch::check()?;
        consent::to_switch(SmtState::Off, self.switch.yes)?;
        let mut switch = SmtSwitch::begin(&self.switch.options())?;
        switch.set(SmtState::On)?;
        Ok(Some(switch))
    }
}

impl Arguments {
    /// From what was typed to what is wanted; touches nothing.
    fn request(&self) -> Result<Request, Problem> {
        Ok(Request {
            work: match self.service.request(&self.work, &self.context)? {
                Some(service) => service,
                None => self.work.request(&self.context, self.precision.design.sample_time)?,
            },
            // Both say how many cores a spread arm uses.
            cores: self.work.copies.flatten().or(self.arms.cores.cores),
            core_type: self.arms.cores.core_type.clone(),
            placements: self.arms.placement.clone(),
            listed: self.arms.arm.clone(),
            skip_impossible: false,
            steady: self.work.steady,
            prepare: self.work.preparation(&self.context)?,
            smt_switch: self.smt.smt_switch,
            timeout: self.context.timeout,
            target: self.precision.target,
            practical: self.precision.practical.practical,
            max_time: self.precision.design.max_time,
            blocks: self.precision.blocks.blocks,
            warmup: self.precision.design.warmup,
            seed: self.precision.design.seed,
        })
    }
}
