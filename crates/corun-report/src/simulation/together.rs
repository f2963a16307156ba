//! Workers that ran together on simulated cores, and what one placement is worth against another.

use std::fmt::Write as _;

use corun_model::Resource;
use corun_model::{CoreModel, Policy};
use corun_record::{
    Caveat, Document, PlacedWorker, Placement, PlacementComparison, Placements, RefusedComparison,
    SimulatedPlacement, VariedResource,
};
use corun_sim::plausible::{Implausible, of_time, of_yield};
use corun_sim::{Outcome, PageSize, Spread};

use super::wrapped;
use crate::tables::Table;
use crate::terminal::grid;

/// Placements of the same workers.
#[derive(Debug, Clone)]
pub struct Together<'a> {
    /// The core.
    pub model: &'a CoreModel,
    /// Fields of it that were set otherwise.
    pub settings: &'a [(String, String)],
    /// What the workers' data lie in.
    pub pages: PageSize,
    /// What must be said of the model.
    pub warning: Option<Caveat>,
    /// What must be said of all figures.
    pub caveats: &'a [String],
    /// The name of each worker.
    pub workers: &'a [String],
    /// What came out, in the order asked for.
    pub outcomes: &'a [Outcome],
    /// What the SMT yield would be if siblings shared each resource otherwise.
    pub resources: &'a [Varied],
}

/// A resource shared otherwise.
#[derive(Debug, Clone)]
pub struct Varied {
    /// Which, and as it is in the model.
    pub resource: Resource,
    /// The SMT yield by other policies; those that cannot be are not among them.
    pub yields: Vec<(Policy, Spread)>,
}

/// One placement against another.
struct Comparison<'a> {
    metric: &'static str,
    placement: &'a Outcome,
    reference: &'a Outcome,
    value: Result<Spread, Implausible>,
}

/// Components below this share of a worker's slots are left out of the text.
const LEAST_SHARE: f64 = 0.005;

impl Together<'_> {
    /// As JSON; cycles are a number for each phase.
    pub fn to_json(&self) -> String {
        let document = Placements {
            format: Placements::FORMAT.to_owned(),
            version: Placements::VERSION,
            model: self.model.name.clone(),
            settings: self.settings.iter().cloned().collect(),
            pages: self.pages.name().to_owned(),
            workers: self.workers.to_vec(),
            placements: self.outcomes.iter().map(placement).collect(),
            comparisons: self.comparisons().iter().filter_map(Comparison::document).collect(),
            refused: self.comparisons().iter().filter_map(Comparison::refused).collect(),
            caveats: super::caveats(self.warning.as_ref(), self.caveats),
            resources: self.resources.iter().map(Varied::document).collect(),
        };
        document.to_json()
    }

    /// For people, `columns` wide.
    pub fn describe(&self, columns: u16) -> String {
        let mut text = format!("{}\n", self.model.title);
        for (name, value) in self.settings {
            let _ = writeln!(text, "with {name} = {value}");
        }
        text += super::of_pages(self.pages);
        if let Some(warning) = &self.warning {
            text += &wrapped(&warning.sentence, columns);
            text.push('\n');
        }
        for outcome in self.outcomes {
            let _ = write!(text, "\n{}: {}", outcome.placement, outcome.placement.summary());
            if outcome.phases.len() > 1 {
                let _ = write!(text, "; {} phases", outcome.phases.len());
            }
            text.push_str("\n\n");
            text += &grid(&self.table(outcome), columns);
            text.push('\n');
        }
        let comparisons = self.comparisons();
        if !comparisons.is_empty() {
            text.push('\n');
        }
        for one in comparisons {
            let (placement, reference) = (one.placement.placement, one.reference.placement);
            let name = format!("{} ({placement} against {reference})", one.metric);
            text += &match one.value {
                Ok(Spread { mean, least, most }) if least < most => {
                    let phases = one.placement.phases.len();
                    wrapped(
                        &format!(
                            "{name}: {mean:.3}, {least:.3} to {most:.3} by where in this window the workers begin \
                             ({phases} phases); other parts of the programs may lie outside"
                        ),
                        columns,
                    )
                }
                Ok(Spread { mean, .. }) => format!("{name}: {mean:.3}"),
                Err(why) => {
                    wrapped(&format!("{name}: no figure, since it is implausible: {why}"), columns)
                }
            };
            text.push('\n');
        }
        for caveat in self.caveats {
            text += &wrapped(&format!("\n{caveat}"), columns);
            text.push('\n');
        }
        if !self.resources.is_empty() {
            text += "\nSMT yield if siblings shared one resource otherwise, the largest change first:\n\n";
            text += &grid(&self.varied(), columns);
            text.push('\n');
        }
        text
    }

    fn varied(&self) -> Table {
        let policies = [Policy::Replicated, Policy::Partitioned, Policy::Shared];
        let base = self.comparisons().into_iter().find(|one| one.metric == "SMT yield");
        let base = base.and_then(|one| one.value.ok()).map_or(1.0, |value| value.mean);
        let mut resources: Vec<&Varied> = self.resources.iter().collect();
        resources.sort_by(|one, other| other.change(base).total_cmp(&one.change(base)));
        let rows = resources.into_iter().map(|one| {
            let policy = one.resource.policy.name();
            let assumed = if one.resource.is_assumed { ", assumed" } else { "" };
            let mut row = vec![one.resource.name.clone(), format!("{policy}{assumed}")];
            row.extend(policies.map(|policy| {
                let found = one.yields.iter().find(|(other, _)| *other == policy);
                found.map_or(String::new(), |(_, it)| format!("{:.3}", it.mean))
            }));
            row
        });
        let header = ["resource", "in the model", "replicated", "partitioned", "shared"];
        Table { header: header.map(str::to_owned).to_vec(), rows: rows.collect() }
    }

    /// What is known of a placement from the others there are.
    fn comparisons(&self) -> Vec<Comparison<'_>> {
        let all = self.outcomes.iter();
        let pairs = all.flat_map(|placement| {
            self.outcomes.iter().map(move |reference| (placement, reference))
        });
        pairs.filter_map(|(placement, reference)| compared(placement, reference)).collect()
    }

    fn table(&self, outcome: &Outcome) -> Table {
        let mut rows = Vec::new();
        for (place, one) in outcome.phases[0].workers.iter().enumerate() {
            let phases = || outcome.phases.iter().map(|phase| &phase.workers[place]);
            let cycles = Spread::of(phases().map(|one| one.cycles));
            let range = match cycles.least < cycles.most {
                true => format!("{:.3} to {:.3}", cycles.least / 1e6, cycles.most / 1e6),
                false => String::new(),
            };
            rows.push(vec![
                self.workers[one.worker].clone(),
                format!("{}.{}", one.core, one.cpu),
                format!("{:.3}", one.instructions as f64 / 1e6),
                format!("{:.3}", cycles.mean / 1e6),
                range,
                format!("{:.3}", one.instructions as f64 / cycles.mean),
                lost(phases().map(|one| &one.simulated)),
            ]);
        }
        let header = [
            "worker",
            "core.CPU",
            "M instructions",
            "M cycles",
            "by start in window",
            "IPC",
            "where cycles went",
        ];
        Table { header: header.map(str::to_owned).to_vec(), rows }
    }
}

impl Varied {
    /// How far a policy moves the yield from what it is in the model.
    fn change(&self, base: f64) -> f64 {
        self.yields.iter().map(|(_, it)| (it.mean - base).abs()).fold(0.0, f64::max)
    }

    fn document(&self) -> VariedResource {
        let yields = self.yields.iter();
        VariedResource {
            resource: self.resource.name.clone(),
            policy: self.resource.policy.name().to_owned(),
            is_assumed: self.resource.is_assumed,
            smt_yield: yields.map(|(policy, it)| (policy.name().to_owned(), it.mean)).collect(),
        }
    }
}

/// The largest components of the stacks together.
fn lost<'s>(simulated: impl Iterator<Item = &'s corun_sim::Simulated>) -> String {
    let stack = stack(simulated);
    let all: f64 = stack.iter().map(|(_, cycles)| cycles).sum();
    let mut parts: Vec<(&str, f64)> = stack
        .iter()
        .map(|(name, cycles)| (name.as_str(), cycles / all.max(1.0)))
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .collect();
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let parts: Vec<String> =
        parts.iter().map(|(name, share)| format!("{name} {:.1} %", 100.0 * share)).collect();
    parts.join(", ")
}

/// Cycles of each component, summed.
fn stack<'s>(simulated: impl Iterator<Item = &'s corun_sim::Simulated>) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = Vec::new();
    for one in simulated {
        for (place, (name, cycles)) in one.stack.cycles().enumerate() {
            match all.get_mut(place) {
                Some((_, sum)) => *sum += cycles,
                None => all.push((name.to_owned(), cycles)),
            }
        }
    }
    all
}

fn placement(outcome: &Outcome) -> SimulatedPlacement {
    let workers = outcome.phases[0].workers.iter().enumerate();
    SimulatedPlacement {
        placement: outcome.placement.to_string(),
        cores: outcome.cores(),
        phases: outcome.phases.len(),
        workers: workers
            .map(|(place, one)| {
                let phases = || outcome.phases.iter().map(|phase| &phase.workers[place]);
                PlacedWorker {
                    worker: one.worker,
                    core: one.core,
                    logical_cpu: one.cpu,
                    instructions: one.instructions,
                    cycles: phases().map(|one| one.cycles).collect(),
                    stack: stack(phases().map(|one| &one.simulated)).into_iter().collect(),
                }
            })
            .collect(),
    }
}

/// What a placement is called against another, if that has a name.
fn compared<'a>(placement: &'a Outcome, reference: &'a Outcome) -> Option<Comparison<'a>> {
    use Placement::{Full, Packed, Single, Spread as Apart, Stacked};
    let (metric, value) = match (placement.placement, reference.placement) {
        (Full(_), Apart(_)) => ("SMT yield", placement.per_core(reference)),
        (Full(_), Stacked) => ("multitasking gain", placement.per_core(reference)),
        (Packed, Apart(_)) => ("core equivalence", placement.time_against(reference)),
        (Full(_) | Apart(_) | Packed | Stacked | Placement::Free(_), Single) => {
            ("time", placement.time_against(reference))
        }
        _ => return None,
    };
    let value = value?;
    let checked = match metric {
        "SMT yield" => of_yield("an SMT yield of", value, placement.most_at_once()),
        "multitasking gain" => of_yield("a multitasking gain of", value, placement.most_at_once()),
        "core equivalence" => of_time("a core equivalence of", value, placement.most_at_once()),
        // On cores of their own workers meet in what cores share alone.
        _ => of_time("times those alone of", value, placement.most_on_a_core()),
    };
    let value = match checked {
        Ok(()) => Ok(value),
        Err(why) => Err(why.with(placement.differs(reference))),
    };
    Some(Comparison { metric, placement, reference, value })
}

impl Comparison<'_> {
    fn document(&self) -> Option<PlacementComparison> {
        let &Spread { mean, least, most } = self.value.as_ref().ok()?;
        Some(PlacementComparison {
            metric: self.metric.to_owned(),
            placement: self.placement.placement.to_string(),
            reference: self.reference.placement.to_string(),
            mean,
            low: least,
            high: most,
        })
    }

    fn refused(&self) -> Option<RefusedComparison> {
        let why = self.value.as_ref().err()?;
        Some(RefusedComparison {
            metric: self.metric.to_owned(),
            placement: self.placement.placement.to_string(),
            reference: self.reference.placement.to_string(),
            reason: why.to_string(),
        })
    }
}
