//! `corun audit`: what the kernel's scheduler does with controlled loads, property by property.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use corun_audit::native::{Native, facts};
use corun_audit::{FEWEST_ROUNDS, Facts, Property, Settings, run_audit};
use corun_machine::{CpuSet, Machine};
use corun_measure::{InitialState, machine_summary};
use corun_record::{
    Audit, AuditPropertyList, AuditRow, AuditVerdict, Caveat, Document, Ending, EvidenceSource,
    Exit, ListedAuditProperty, Record,
};
use corun_report::{audit_to_csv, audit_to_terminal, list_audit_properties};

use crate::answer::Answer;
use crate::exports::{Exports, Form};
use crate::problem::{Problem, code};
use crate::progress::StepProgress;
use crate::{interruption, seed, terminal, values};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Audit these properties only (`corun audit --list`)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// List the properties, and say which cannot be shown here
    #[arg(long, conflicts_with_all = ["only", "max_time", "seed", "csv"])]
    list: bool,
    /// The time allowed; at least two rounds of all properties are run
    #[arg(long, value_name = "TIME", default_value = "60s")]
    #[arg(value_parser = values::duration)]
    max_time: Duration,
    /// Pin free loads to these logical CPUs, such as 0-1,4, as a wrong mask would
    #[arg(long, value_name = "CPUS")]
    pinned_to: Option<CpuSet>,
    /// Account for other tasks from /proc alone, and open no performance events
    #[arg(long)]
    no_events: bool,
    /// The seed of the order of properties in each round (default: a fresh one, recorded)
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write the audit, or with --list the properties, as JSON to FILE (`-` is standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the figures as CSV to FILE
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let properties = arguments.properties()?;
    let machine = Machine::read(Path::new("/"))?;
    let facts = facts(&machine, arguments.pinned_to(&machine)?);
    if arguments.list {
        let answer = Answer::open(arguments.json.as_deref())?;
        let list = Record {
            machine: Some(machine_summary(&machine, Path::new("/"))),
            ..answer.record(list(&properties, &facts))
        };
        answer.write(&list, |list, columns| list_audit_properties(&list.body, columns))?;
        return Ok(code(Exit::Done));
    }
    let exports = Exports::open([
        (arguments.json.as_deref(), Audit::to_json as Form<Audit>),
        (arguments.csv.as_deref(), audit_to_csv),
    ])?;
    let started = SystemTime::now();
    let settings =
        Settings { max_time: arguments.max_time, seed: arguments.seed.unwrap_or_else(seed::fresh) };
    let interrupt = interruption::on_signals()?;
    let initial_state = InitialState::observe();
    let mut native = Native::new(interrupt, facts.cpus(), !arguments.no_events);
    let line = StepProgress::new(arguments.quiet);
    line.ends_at(settings.max_time);
    let outcome = run_audit(&properties, &facts, &mut native, settings, &mut |round, property| {
        line.show(format!("round {}: {}", round + 1, property.name));
    });
    line.finish();
    let elapsed_s = started.elapsed().unwrap_or_default().as_secs_f64();
    let audit = Audit {
        format: Audit::FORMAT.to_owned(),
        version: Audit::VERSION,
        corun_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(started).to_string(),
        elapsed_s,
        max_time_s: settings.max_time.as_secs_f64(),
        seed: settings.seed,
        rounds: outcome.rounds,
        ending: match outcome.interrupted {
            true => Ending::interrupted(),
            false => Ending::time_up(settings.max_time),
        },
        machine: machine_summary(&machine, Path::new("/")),
        pinned_to: facts.pinned_to,
        evidence_source: native.evidence_source(),
        caveats: [initial_state.caveats(), caveats(&machine, &native, &outcome.rows)].concat(),
        rows: outcome.rows,
    };
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

/// The properties as a document.
fn list(properties: &[&Property], facts: &Facts) -> AuditPropertyList {
    let listed = |property: &&Property| ListedAuditProperty {
        name: property.name.to_owned(),
        question: property.question.to_owned(),
        source: property.source.to_owned(),
        is_by_name_only: property.is_by_name_only,
        not_possible: (property.plan)(facts).err(),
    };
    AuditPropertyList { properties: properties.iter().map(listed).collect() }
}

/// Other tasks are reported from this share of CPU time on.
const BUSY: f64 = 0.02;

/// What limits trust.
fn caveats(machine: &Machine, native: &Native, rows: &[AuditRow]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if let Some(name) = &machine.hypervisor {
        caveats.push(Caveat::new(
            "virtual-machine",
            format!(
                "This is a virtual machine ({name}): a logical CPU that its host stops for a while looks \
                 to the kernel as if it ran."
            ),
        ));
    }
    if let (EvidenceSource::Accounts, Some(why)) =
        (native.evidence_source(), native.why_no_switches())
    {
        caveats.push(Caveat::new(
            "accounts",
            format!(
                "The time at which other tasks ran is unknown, only its length: {why}. The time attributed to them \
                 is therefore an upper bound."
            ),
        ));
    }
    let others = native.others_share();
    if others > BUSY {
        caveats.push(Caveat::new(
            "foreign-work",
            format!(
                "Other tasks used {:.0} % of the time of these CPUs while loads ran.",
                others * 100.0
            ),
        ));
    }
    let rounds = |row: &AuditRow| row.observations.first().map_or(0, |it| it.estimate.blocks);
    let is_short = |row: &AuditRow| {
        row.verdict != AuditVerdict::NotPossible && (rounds(row) as usize) < FEWEST_ROUNDS
    };
    if rows.iter().any(is_short) {
        caveats.push(Caveat::new(
            "few-rounds",
            format!(
                "Fewer than {FEWEST_ROUNDS} rounds settle nothing; give it more time (--max-time)."
            ),
        ));
    }
    caveats
}
