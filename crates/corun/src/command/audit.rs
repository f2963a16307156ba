//! `corun audit`: what the kernel's scheduler does with controlled loads, property by property.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use corun_audit::native::{Native, facts};
use corun_audit::{Property, Settings, property_list};
use corun_machine::{CpuSet, Machine};
use corun_measure::machine_summary;
use corun_record::{Audit, AuditRow, AuditVerdict, Document, Exit, Record};
use corun_report::{audit_to_csv, audit_to_terminal, list_audit_properties};

use crate::answer::Answer;
use crate::exports::{Exports, Form};
use crate::options::{CsvFile, JsonFile, MaxTime, ProgressArguments, SeedArguments};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::{interruption, terminal};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Audit these properties only (`corun audit --list`)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// List the properties, and say which cannot be shown here
    #[arg(long, conflicts_with_all = ["only", "max_time", "seed", "csv"])]
    list: bool,
    #[command(flatten)]
    max_time: MaxTime<1>,
    /// Pin free loads to these logical CPUs, such as 0-1,4, as a wrong mask would
    #[arg(long, value_name = "CPUS")]
    pinned_to: Option<CpuSet>,
    /// Account for other tasks from /proc alone, and open no performance events
    #[arg(long)]
    no_events: bool,
    #[command(flatten)]
    seed: SeedArguments,
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    csv: CsvFile,
    #[command(flatten)]
    progress: ProgressArguments,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let properties = arguments.properties()?;
    let machine = Machine::read(Path::new("/"))?;
    let facts = facts(&machine, arguments.pinned_to(&machine)?);
    if arguments.list {
        let answer = Answer::open(&arguments.json)?;
        let list = Record {
            machine: Some(machine_summary(&machine, Path::new("/"))),
            ..answer.record(property_list(&properties, &facts))
        };
        answer.write(&list, |list, columns| list_audit_properties(&list.body, columns))?;
        return Ok(code(Exit::Done));
    }
    let exports = Exports::open([
        (arguments.json.path(), Audit::to_json as Form<Audit>),
        (arguments.csv.path(), audit_to_csv),
    ])?;
    let settings =
        Settings { max_time: arguments.max_time.max_time, seed: arguments.seed.or_fresh() };
    let interrupt = interruption::on_signals()?;
    let mut native = Native::new(interrupt, facts.cpus(), !arguments.no_events);
    let line = StepProgress::new(arguments.progress.quiet);
    line.ends_at(settings.max_time);
    let mut said = |round: u32, property: &Property| {
        line.show(format!("round {}: {}", round + 1, property.name));
    };
    let audit = native.audit(&properties, &facts, &machine, settings, &mut said);
    line.finish();
    if audit.ending.is_interrupted() && audit.rounds == 0 {
        return Err(Problem::interrupted(
            "interrupted before the first round was finished; nothing to report",
            "Let at least one round finish, or audit fewer properties with --only.",
        ));
    }
    let shown = |audit: &Audit| audit_to_terminal(audit, terminal::width());
    exports.write(&audit, shown, Audit::to_json)?;
    let is_possible = |row: &AuditRow| row.verdict != AuditVerdict::NotPossible;
    Ok(code(match (audit.ending.is_interrupted(), audit.rows.iter().any(is_possible)) {
        (true, _) => Exit::Interrupted,
        (false, false) => Exit::NotPossible,
        (false, true) => Exit::Done,
    }))
}

impl Arguments {
    /// The properties asked for, in the order of the table.
    fn properties(&self) -> Result<Vec<&'static Property>, Problem> {
        for name in &self.only {
            corun_audit::find(name).map_err(|nearest| {
                let next_step = match nearest {
                    Some(nearest) => format!("Did you mean `{nearest}`?"),
                    None => "`corun audit --list` has them.".to_owned(),
                };
                Problem::usage(format!("expected a property, found \"{name}\""), next_step)
            })?;
        }
        let is_meant = |property: &&Property| {
            let is_named = self.only.iter().any(|name| name == property.name);
            is_named || (self.only.is_empty() && (self.list || !property.is_by_name_only))
        };
        Ok(corun_audit::ALL.iter().filter(is_meant).collect())
    }

    /// The CPUs to pin free loads to, all of which may be used.
    fn pinned_to(&self, machine: &Machine) -> Result<Option<&CpuSet>, Problem> {
        let Some(cpus) = &self.pinned_to else { return Ok(None) };
        let allowed = machine.allowed();
        if cpus.is_empty() || !cpus.is_subset(&allowed) {
            return Err(Problem::usage(
                format!("expected logical CPUs that may be used, found {:?}", cpus.to_string()),
                format!("Allowed are: {allowed}."),
            ));
        }
        Ok(Some(cpus))
    }
}
