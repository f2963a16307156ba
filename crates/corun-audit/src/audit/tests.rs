//! The audit of simulated schedulers: what runs in which order, and what each is found to do.

use std::collections::BTreeSet;

use corun_record::AuditVerdict;

use super::*;
use crate::facts::tests::machine;
use crate::load::{MS, ScriptStep};
use crate::timeline::{Interval, TaskLog, Wake};

/// A scheduler that is good or bad on purpose; time passes as loads need it.
struct Simulated {
    /// Tasks go where a CPU is idle, else to the CPU with the fewest; otherwise all stay on the first.
    is_good: bool,
    elapsed: Duration,
    observed: usize,
    /// Failure in place of this load, counted from 0.
    failure: Option<(usize, ObserveError)>,
    cpus: Vec<u32>,
}

impl Simulated {
    fn new(is_good: bool) -> Self {
        let cpus = vec![0, 2, 1, 3];
        Self { is_good, elapsed: Duration::ZERO, observed: 0, failure: None, cpus }
    }

    /// CPU of a task of this place, by its last mask.
    fn place(&self, place: usize, mask: Option<&[u32]>) -> u32 {
        let mask = mask.unwrap_or(&self.cpus);
        let wanted = self.cpus[place % self.cpus.len()];
        match self.is_good {
            true if mask.contains(&wanted) => wanted,
            true => mask[place % mask.len()],
            false => mask[0],
        }
    }

    /// A task runs from its beginning to its end; where several share a CPU each runs in turn, a
    /// millisecond at a time, which a bad scheduler forgets for all but the first.
    fn timeline(&self, load: &Load) -> Timeline {
        let length_ns = load.length_ns();
        let mut tasks = Vec::new();
        for process in &load.processes {
            for task in &process.tasks {
                let mut log = TaskLog::default();
                let mut mask = process.cpus.clone();
                let mut at_ns = 0;
                for step in &task.steps {
                    let cpu = self.place(tasks.len(), mask.as_deref());
                    match step {
                        ScriptStep::MayUse(cpus) => mask = Some(cpus.clone()),
                        ScriptStep::BusyUntil(end) => {
                            log.intervals.push(Interval { cpu, from_ns: at_ns, to_ns: *end });
                            at_ns = *end;
                        }
                        ScriptStep::Work(work) => at_ns += work,
                        ScriptStep::SleepUntil(due) => {
                            let (from_cpu, to_cpu) = (0, cpu);
                            log.wakes.push(Wake { from_cpu, to_cpu, due_ns: *due, ran_ns: *due });
                            at_ns = *due;
                        }
                        ScriptStep::SleepFor(length) => {
                            let (from_cpu, to_cpu, due_ns) = (0, cpu, at_ns + length);
                            log.wakes.push(Wake { from_cpu, to_cpu, due_ns, ran_ns: due_ns });
                            at_ns = due_ns;
                        }
                        ScriptStep::Begin(_) => {}
                    }
                    log.steps_ended_ns.push(at_ns);
                    log.cpu_at_steps_ns.push(at_ns);
                }
                tasks.push(log);
            }
        }
        Timeline { length_ns, tasks, ..Timeline::default() }
    }
}

impl System for Simulated {
    fn observe(&mut self, load: &Load) -> Result<Timeline, ObserveError> {
        self.observed += 1;
        if let Some((_, failure)) = self.failure.as_ref().filter(|(at, _)| *at == self.observed - 1)
        {
            return Err(failure.clone());
        }
        self.elapsed += Duration::from_nanos(load.length_ns());
        Ok(self.timeline(load))
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

const SETTINGS: Settings = Settings { max_time: Duration::from_secs(60), seed: 7 };

fn audit(
    names: &[&str],
    system: &mut Simulated,
    settings: Settings,
) -> (AuditOutcome, Vec<String>) {
    let properties: Vec<&'static Property> =
        names.iter().map(|name| crate::find(name).expect("a property")).collect();
    let facts = machine(&[&[0, 1], &[2, 3]]);
    let mut reported = Vec::new();
    let outcome = run_audit(&properties, &facts, system, settings, &mut |round, property| {
        reported.push(format!("{round} {}", property.name));
    });
    (outcome, reported)
}

#[test]
fn a_good_scheduler_holds_what_a_bad_one_violates() {
    for name in ["idle-core", "wake-sibling", "wake-idle", "repair", "repair-cores"] {
        let verdict = |is_good| {
            let (outcome, _) = audit(&[name], &mut Simulated::new(is_good), SETTINGS);
            (outcome.rows[0].verdict, outcome.rows[0].observed.clone())
        };
        assert_eq!(verdict(true).0, AuditVerdict::Holds, "{name}: {:?}", verdict(true));
        let is_shown = matches!(verdict(false).0, AuditVerdict::Violated);
        assert!(is_shown, "{name}: {:?}", verdict(false));
    }
}

#[test]
fn every_round_runs_every_property_once_in_an_order_of_its_own() {
    let names = ["repair", "nice", "affinity", "migrations", "wake-idle"];
    let (outcome, reported) = audit(&names, &mut Simulated::new(true), SETTINGS);
    assert!(outcome.rounds > 10 && !outcome.interrupted);
    assert_eq!(reported.len(), names.len() * outcome.rounds as usize);
    let orders: Vec<&[String]> = reported.chunks(names.len()).collect();
    for (round, order) in orders.iter().enumerate() {
        let expected: BTreeSet<String> =
            names.iter().map(|name| format!("{round} {name}")).collect();
        assert_eq!(order.iter().cloned().collect::<BTreeSet<_>>(), expected);
    }
    let of = |order: &[String]| -> Vec<String> {
        order.iter().filter_map(|it| it.split(' ').nth(1).map(str::to_owned)).collect()
    };
    assert!(orders.iter().any(|order| of(order) != of(orders[0])));
    let (again, reported_again) = audit(&names, &mut Simulated::new(true), SETTINGS);
    assert_eq!((again, reported_again), (outcome, reported));
}

#[test]
fn two_rounds_are_run_however_short_the_time_is_and_settle_nothing() {
    let settings = Settings { max_time: Duration::from_millis(1), ..SETTINGS };
    let (outcome, _) = audit(&["repair"], &mut Simulated::new(true), settings);
    assert_eq!((outcome.rounds, outcome.rows[0].observations[0].estimate.blocks), (2, 2));
    assert_eq!(outcome.rows[0].verdict, AuditVerdict::Inconclusive);
}

#[test]
fn an_interrupted_round_does_not_count() {
    let mut system = Simulated::new(true);
    system.failure = Some((5, ObserveError::Interrupted));
    let (outcome, _) = audit(&["repair", "nice"], &mut system, SETTINGS);
    assert_eq!((outcome.rounds, outcome.interrupted), (2, true));
    for row in &outcome.rows {
        let rounds: BTreeSet<u32> = row.readings.iter().map(|reading| reading.round).collect();
        assert_eq!(rounds, BTreeSet::from([0, 1]));
    }
}

#[test]
fn what_the_system_refuses_is_not_possible_and_the_rest_goes_on() {
    let mut system = Simulated::new(true);
    system.failure = Some((0, ObserveError::Refused("no more threads".to_owned())));
    let (outcome, reported) = audit(&["repair", "nice"], &mut system, SETTINGS);
    let refused: Vec<_> =
        outcome.rows.iter().filter(|row| row.verdict == AuditVerdict::NotPossible).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].reason.as_deref(), Some("no more threads"));
    assert_eq!(reported.iter().filter(|it| it.ends_with(&refused[0].property)).count(), 1);
    assert!(outcome.rounds > 10);
}

#[test]
fn rounds_before_a_refusal_count() {
    let mut system = Simulated::new(true);
    system.failure = Some((24, ObserveError::Refused("no more threads".to_owned())));
    let (outcome, _) = audit(&["repair"], &mut system, SETTINGS);
    let row = &outcome.rows[0];
    let rounds: BTreeSet<u32> = row.readings.iter().map(|reading| reading.round).collect();
    assert!(rounds.len() > 2, "{row:?}");
    assert_ne!(row.verdict, AuditVerdict::NotPossible);
    let expected = format!("Not observed any more after round {}: no more threads.", rounds.len());
    assert!(row.reason.as_ref().is_some_and(|reason| reason.ends_with(&expected)), "{row:?}");
}

#[test]
fn where_nothing_is_possible_nothing_runs() {
    let properties = [crate::find("repair").unwrap()];
    let mut system = Simulated::new(true);
    let facts = machine(&[&[0]]);
    let outcome = run_audit(&properties, &facts, &mut system, SETTINGS, &mut |_, _| {});
    assert_eq!((outcome.rounds, system.observed), (0, 0));
    assert_eq!(outcome.rows[0].verdict, AuditVerdict::NotPossible);
}

#[test]
fn loads_that_are_held_on_siblings_lose_the_idle_core() {
    let mut facts = machine(&[&[0, 1], &[2, 3]]);
    facts.pinned_to = Some(vec![0, 1]);
    let properties = ["idle-core", "repair-cores"].map(|name| crate::find(name).unwrap());
    let mut system = Simulated::new(true);
    system.cpus = vec![0, 1];
    let outcome = run_audit(&properties, &facts, &mut system, SETTINGS, &mut |_, _| {});
    for row in &outcome.rows {
        assert_eq!(row.verdict, AuditVerdict::Violated, "{row:?}");
    }
    let longest = properties.iter().flat_map(|it| (it.plan)(&facts).unwrap().loads);
    assert!(longest.map(|load| load.length_ns()).max() < Some(1000 * MS));
}
