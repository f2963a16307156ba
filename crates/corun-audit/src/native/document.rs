//! An audit of this machine as its document, with what limits trust in it.

use std::path::Path;
use std::time::SystemTime;

use corun_machine::Machine;
use corun_measure::{InitialState, machine_summary};
use corun_record::{Audit, AuditRow, AuditVerdict, Caveat, Document, Ending, EvidenceSource};

use super::Native;
use crate::audit::{AuditOutcome, Settings, run_audit};
use crate::facts::Facts;
use crate::judgement::FEWEST_ROUNDS;
use crate::property::Property;

/// Other tasks are reported from this share of CPU time on.
const BUSY: f64 = 0.02;

impl Native {
    /// Audits `properties` here, telling `observer` the round and the property before each.
    pub fn audit(
        &mut self,
        properties: &[&'static Property],
        facts: &Facts,
        machine: &Machine,
        settings: Settings,
        observer: &mut dyn FnMut(u32, &Property),
    ) -> Audit {
        let started = SystemTime::now();
        let initial_state = InitialState::observe();
        let AuditOutcome { rows, rounds, interrupted } =
            run_audit(properties, facts, self, settings, observer);
        Audit {
            format: Audit::FORMAT.to_owned(),
            version: Audit::VERSION,
            corun_version: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_seconds(started).to_string(),
            elapsed_s: started.elapsed().unwrap_or_default().as_secs_f64(),
            max_time_s: settings.max_time.as_secs_f64(),
            seed: settings.seed,
            rounds,
            ending: match interrupted {
                true => Ending::interrupted(),
                false => Ending::time_up(settings.max_time),
            },
            machine: machine_summary(machine, Path::new("/")),
            pinned_to: facts.pinned_to.clone(),
            evidence_source: self.evidence_source(),
            caveats: [initial_state.caveats(), self.caveats(machine, &rows)].concat(),
            rows,
        }
    }

    /// Limits of trust.
    fn caveats(&self, machine: &Machine, rows: &[AuditRow]) -> Vec<Caveat> {
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
            (self.evidence_source(), self.why_no_switches())
        {
            caveats.push(Caveat::new(
                "accounts",
                format!(
                    "The time at which other tasks ran is unknown, only its length: {why}. The time attributed to them \
                     is therefore an upper bound."
                ),
            ));
        }
        let others = self.others_share();
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
}
