//! Resolves what a user asks for into loads, policies and a machine.

use std::collections::BTreeSet;
use std::path::Path;

use corun_files::InputKind;
use corun_machine::Machine;
use corun_measure::machine_summary;
use corun_record::{Bench, Document, MachineSummary, shown};
use corun_sched::{Costs, Load, Pairs, Ratio, Settings, Slowdowns, Topology};

use super::Request;
use super::pairs::NamedPairs;
use crate::problem::Problem;
use crate::values;

/// The most that anything a kernel does for a task may take.
const MAX_COST: std::time::Duration = std::time::Duration::from_secs(1);
/// The most pairs that are listed with their slowdowns.
const SHOWN_PAIRS: usize = 4;

impl Request {
    /// The machine that was read, if one was, the simulated one's name, and the settings of the first run.
    pub(super) fn settings(&self) -> Result<(Option<MachineSummary>, String, Settings), Problem> {
        let (host, name, topology) = self.machine()?;
        let slowdowns = self.slowdowns(&topology)?;
        let until = self.max_time.map(|it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX));
        let settings =
            Settings { topology, slowdowns, costs: self.costs()?, seed: self.seed.seed, until };
        Ok((host, name, settings))
    }

    fn machine(&self) -> Result<(Option<MachineSummary>, String, Topology), Problem> {
        if let Some(text) = &self.topology {
            return Ok((None, text.clone(), Topology::parse(text)?));
        }
        let root = self.root.as_deref().unwrap_or(Path::new("/"));
        let machine = Machine::read(root)?;
        let name = machine.cpu_model.clone().unwrap_or_else(|| "unknown CPU".to_owned());
        Ok((Some(machine_summary(&machine, root)), name, Topology::of_machine(&machine)))
    }

    fn slowdowns(&self, topology: &Topology) -> Result<Slowdowns, Problem> {
        let width = topology.smt_width();
        let default = match (self.slowdown, self.smt_yield) {
            (Some(slowdown), _) if !slowdown.is_slowdown() => {
                return Err(Problem::usage(
                    format!("--slowdown: expected 1 or more, found {}", slowdown.value()),
                    "It says how many times as long work takes beside a busy sibling, which makes nothing faster.",
                ));
            }
            (Some(slowdown), _) => Some(slowdown),
            (None, Some(_)) if width == 1 => Some(Ratio::ONE),
            (None, Some(smt_yield)) => {
                let is_possible = (0.5..=width as f64).contains(&smt_yield.value());
                let slowdown = Ratio::of_yield(smt_yield, width as u64);
                Some(slowdown.filter(|_| is_possible).ok_or_else(|| {
                    Problem::usage(
                        format!(
                            "expected a yield that {width} siblings can have, found {}",
                            smt_yield.value()
                        ),
                        "An SMT yield is between 0.5 and the number of siblings.",
                    )
                })?)
            }
            (None, None) => None,
        };
        match default {
            default if !self.pairs.is_empty() => {
                let pairs: Result<Vec<Pairs>, Problem> =
                    self.pairs.iter().map(NamedPairs::read).collect();
                Ok(Slowdowns::of_pairs(pairs?, default.unwrap_or(Ratio::ONE))?)
            }
            Some(slowdown) => Ok(Slowdowns::uniform(slowdown)),
            None if width == 1 => Ok(Slowdowns::none()),
            None => Err(Problem::usage(
                format!(
                    "expected --yield, --slowdown or --pairs on a machine of {width} siblings a core"
                ),
                "`corun measure --placement spread,full -- PROGRAM` measures a yield where there are \
                 siblings; --slowdown 1 is without any loss.",
            )),
        }
    }

    /// Pairs must have a kind of work that some load has.
    pub(super) fn check_pairs(&self, slowdowns: &Slowdowns, loads: &[Load]) -> Result<(), Problem> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let named = slowdowns.kinds();
        let kinds: BTreeSet<&str> =
            loads.iter().flat_map(|load| &load.kinds).map(String::as_str).collect();
        if kinds.iter().any(|kind| named.contains(kind)) {
            return Ok(());
        }
        let list = |kinds: BTreeSet<&str>| kinds.into_iter().collect::<Vec<_>>().join(", ");
        Err(Problem::usage(
            format!(
                "{}: expected a kind of work that a load has ({}), found {}",
                self.pair_files(),
                list(kinds),
                list(named)
            ),
            "Name the kinds as the load does, for instance --pairs batch=FILE, or the `kind` of a program of \
             a file of tasks as the pairs do.",
        ))
    }

    fn costs(&self) -> Result<Costs, Problem> {
        let mut costs = Costs::default();
        for path in &self.cost_files {
            learn(&mut costs, path)?;
        }
        for (name, text) in &self.costs {
            let known: Vec<&str> = Costs::NAMES.iter().map(|(name, _)| *name).collect();
            let Some(cost) = costs.get_mut(name) else {
                return Err(Problem::usage(
                    format!("--cost: expected a name of {}, found \"{name}\"", known.join(", ")),
                    "For instance: --cost switch=2us.",
                ));
            };
            let time =
                if text == "0" { Ok(std::time::Duration::ZERO) } else { values::duration(text) };
            let time = time.map_err(|error| {
                Problem::usage(
                    format!("--cost {name}: {error}"),
                    "For instance: --cost switch=2us.",
                )
            })?;
            if time > MAX_COST {
                return Err(Problem::usage(
                    format!("--cost {name}: expected a second at most, found {text}"),
                    "For instance: --cost switch=2us.",
                ));
            }
            *cost = time.as_nanos() as u64;
        }
        Ok(costs)
    }

    /// The files of pairs.
    fn pair_files(&self) -> String {
        let files: Vec<String> = self.pairs.iter().map(|it| shown(&it.file)).collect();
        files.join(", ")
    }

    /// Slowdown of siblings by each other, in words.
    pub(super) fn siblings(&self, slowdowns: &Slowdowns) -> String {
        let general = match (self.slowdown, self.smt_yield) {
            (Some(slowdown), _) => {
                format!("work takes {:.3} times as long beside a busy sibling", slowdown.value())
            }
            (None, Some(smt_yield)) => format!("SMT yield {:.3}", smt_yield.value()),
            (None, None) => "siblings do not slow each other down".to_owned(),
        };
        if self.pairs.is_empty() {
            return general;
        }
        let pair = |(one, other, slowdown): (&str, &str, Ratio)| {
            format!("{one} beside {other} {:.3}", slowdown.value())
        };
        let mut pairs: Vec<String> = slowdowns.pairs().take(SHOWN_PAIRS + 1).map(pair).collect();
        if pairs.len() > SHOWN_PAIRS {
            pairs[SHOWN_PAIRS] = "...".to_owned();
        }
        let files = self.pair_files();
        format!("slowdowns by pairs from {files} ({}); else {general}", pairs.join(", "))
    }
}

fn learn(costs: &mut Costs, path: &Path) -> Result<(), Problem> {
    let next_step = "Measure them: corun bench run lmbench/context-switch --param size=0,32K \
                     --placement single --json costs.json.";
    let text = corun_files::text(path, InputKind::DOCUMENT)
        .map_err(|error| Problem::unreadable(&error, next_step).in_file(path))?;
    let bench = Bench::from_json(&text).map_err(|error| Problem::from(error).in_file(path))?;
    match costs.learn(&bench) {
        true => Ok(()),
        false => Err(Problem::failed(
            format!(
                "{}: expected figures of lmbench/context-switch or lmbench/pipe-latency with one \
                 worker, found none",
                shown(path)
            ),
            next_step,
        )),
    }
}
