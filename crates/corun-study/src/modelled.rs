//! The modelled counterpart of published figures: what the model of the scheduler says for the published
//! machine, with one set of parameters for all figures of a study.
//!
//! The study names the figures that its parameters were fitted to; all others are held out.

use std::collections::BTreeMap;

use corun_record::{Estimate, ModelRole};
use corun_sched::policy::PolicyEntry;
use corun_sched::{Costs, Load, Ratio, Settings, Slowdowns, Topology, load, schedule};
use serde::Deserialize;

use crate::figure::{Figure, figure_of};
use crate::following::add_following;
use crate::quantity::Quantity;

/// Model of a study's figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    settings: Parameters,
    runs: u64,
    /// Figures that the parameters were fitted to, by id.
    pub fitted: Vec<String>,
    /// Figures that count for nothing, by id, each with the reason.
    pub left_out: BTreeMap<String, String>,
    figures: Vec<ModelledFigure>,
}

/// The machine, as the simulator has it.
#[derive(Debug, Clone, PartialEq)]
struct Parameters {
    topology: Topology,
    slowdowns: Slowdowns,
    costs: Costs,
}

/// A figure of the model; its id, its load and its figure in the study can have `{row}` in them.
#[derive(Debug, Clone, PartialEq)]
struct ModelledFigure {
    figure: String,
    policy: PolicyEntry,
    against: Option<PolicyEntry>,
    load: Load,
    of: Of,
}

/// Which of several runs counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    /// The mean.
    #[default]
    Mean,
    /// The least.
    Least,
    /// The most.
    Most,
}

/// `[model]` of a study file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileModel {
    topology: String,
    #[serde(default)]
    slowdowns: BTreeMap<String, String>,
    #[serde(default)]
    costs_ns: BTreeMap<String, u64>,
    runs: u64,
    fitted: Vec<String>,
    #[serde(default)]
    left_out: BTreeMap<String, String>,
    figure: Vec<FileFigure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileFigure {
    figure: String,
    policy: String,
    against: Option<String>,
    load: String,
    #[serde(default)]
    of: Of,
}

/// Placeholder of the row of a table.
pub(crate) const ROW: &str = "{row}";
/// The level of the interval that runs with different seeds are given.
const LEVEL: f64 = 0.9;

impl FileModel {
    /// # Errors
    /// The field, what was expected and found.
    pub(crate) fn read(self, figures: &[Figure]) -> Result<Model, String> {
        let topology = Topology::parse(&self.topology).map_err(|error| error.to_string())?;
        let mut slowdowns = Slowdowns::none();
        for (kind, text) in &self.slowdowns {
            let ratio: Ratio =
                text.parse().map_err(|error| format!("`slowdowns.{kind}`: {error}"))?;
            slowdowns = slowdowns.with_pair(kind, kind, ratio);
        }
        let mut costs = Costs::default();
        for (name, nanoseconds) in &self.costs_ns {
            let known = costs.get_mut(name);
            *known.ok_or_else(|| format!("`costs_ns`: expected a cost, found \"{name}\""))? =
                *nanoseconds;
        }
        if !(1..=1000).contains(&self.runs) {
            return Err(format!("`runs`: expected 1 to 1000, found {}", self.runs));
        }
        let is_known = |id: &&String| figures.iter().any(|figure| figure.id == **id);
        if let Some(unknown) =
            self.fitted.iter().chain(self.left_out.keys()).find(|id| !is_known(id))
        {
            return Err(format!("`fitted`, `left_out`: expected figures, found \"{unknown}\""));
        }
        let mut modelled = Vec::new();
        for file in &self.figure {
            let before = modelled.len();
            // A mean follows from its members.
            for figure in figures.iter().filter(|it| it.geometric_mean_of.is_empty()) {
                if let Some(row) = row(&file.figure, &figure.id) {
                    modelled.push(file.read(&figure.id, row)?);
                }
            }
            if modelled.len() == before {
                return Err(format!(
                    "`figure`: expected one of the study, found \"{}\"",
                    file.figure
                ));
            }
        }
        Ok(Model {
            settings: Parameters { topology, slowdowns, costs },
            runs: self.runs,
            fitted: self.fitted,
            left_out: self.left_out,
            figures: modelled,
        })
    }
}

impl FileFigure {
    fn read(&self, figure: &str, row: &str) -> Result<ModelledFigure, String> {
        let policy = |name: &str| PolicyEntry::find(name).map_err(|error| error.to_string());
        let refused = |_: &std::path::Path| Err(std::io::ErrorKind::Unsupported.into());
        Ok(ModelledFigure {
            figure: figure.to_owned(),
            policy: policy(&self.policy)?,
            against: self.against.as_deref().map(policy).transpose()?,
            load: load::find(&self.load.replace(ROW, row), refused).map_err(|it| it.to_string())?,
            of: self.of,
        })
    }
}

/// The row for which a pattern is this id.
pub(crate) fn row<'a>(pattern: &str, id: &'a str) -> Option<&'a str> {
    match pattern.split_once(ROW) {
        None => (pattern == id).then_some(""),
        Some((before, after)) => id.strip_prefix(before)?.strip_suffix(after),
    }
}

impl Model {
    /// Role of a figure in the model, or of those that it follows from.
    pub fn role(&self, figure: &Figure) -> ModelRole {
        let is = |list: &dyn Fn(&str) -> bool| {
            list(&figure.id) || figure.members().into_iter().any(|id| list(id))
        };
        if is(&|id| self.fitted.iter().any(|fitted| fitted == id)) {
            ModelRole::Fitted
        } else if is(&|id| self.left_out.contains_key(id)) {
            ModelRole::LeftOut
        } else {
            ModelRole::HeldOut
        }
    }

    /// The modelled figures of a study, by id, in the units of their quantities; others follow from
    /// them as the published ones do.
    pub fn estimates(&self, figures: &[Figure]) -> BTreeMap<String, Estimate> {
        let mut estimates: BTreeMap<String, Estimate> = BTreeMap::new();
        for modelled in &self.figures {
            if let Some(figure) = figure_of(figures, &modelled.figure) {
                estimates.extend(self.estimate(modelled, figure).map(|it| (figure.id.clone(), it)));
            }
        }
        add_following(figures, std::iter::empty(), &mut estimates);
        estimates
    }

    fn estimate(&self, modelled: &ModelledFigure, figure: &Figure) -> Option<Estimate> {
        let mut values: Vec<f64> = Vec::new();
        for seed in 0..self.runs {
            let time = self.makespan(&modelled.policy, &modelled.load, seed)?;
            values.push(match (&modelled.against, &figure.quantity) {
                (Some(against), _) => self.makespan(against, &modelled.load, seed)? / time,
                (None, Quantity::Time(_, unit)) => time / unit,
                (None, _) => return None,
            });
        }
        values.sort_by(f64::total_cmp);
        let (&least, &most) = (values.first()?, values.last()?);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
        let [value, low, high] = match modelled.of {
            Of::Mean => [mean, at((1.0 - LEVEL) / 2.0), at((1.0 + LEVEL) / 2.0)],
            Of::Least => [least; 3],
            Of::Most => [most; 3],
        };
        Some(Estimate { value, low, high, level: LEVEL, blocks: values.len() as u32 })
    }

    /// The makespan in seconds; of a run that ended.
    fn makespan(&self, policy: &PolicyEntry, load: &Load, seed: u64) -> Option<f64> {
        let Parameters { topology, slowdowns, costs } = &self.settings;
        let settings = Settings {
            topology: topology.clone(),
            slowdowns: slowdowns.clone(),
            costs: *costs,
            seed,
            until: None,
        };
        let outcome = schedule(policy, load, &settings, &mut ()).ok()?;
        outcome.is_finished.then_some(outcome.makespan as f64 * 1e-9)
    }
}
