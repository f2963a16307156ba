//! Some rows of a study in place of all: figures by id, or experiments with all of their figures.

use std::collections::BTreeSet;

use corun_record::{StudyDescription, nearest_first};

use crate::error::StudyError;
use crate::figure::RatioOf;
use crate::figure::{Figure, Value};
use crate::study::Study;

/// The figures that are reported, and the experiments that they are measured in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    figures: BTreeSet<usize>,
    experiments: BTreeSet<usize>,
    is_all: bool,
}

impl Study {
    /// The figures of these ids, and those of the experiments of these ids; all where none is named.
    ///
    /// # Errors
    /// If the study has neither a figure nor an experiment of a name.
    pub fn select(&self, rows: &[String]) -> Result<Selection, StudyError> {
        let mut selection = Selection {
            figures: BTreeSet::new(),
            experiments: BTreeSet::new(),
            is_all: rows.is_empty(),
        };
        for row in rows {
            let experiment = self.experiments.iter().position(|it| it.id == *row);
            let named = self.figures.iter().enumerate().filter(|(_, figure)| {
                figure.id == *row || (experiment.is_some() && figure.experiment == experiment)
            });
            let named: Vec<usize> = named.map(|(index, _)| index).collect();
            if named.is_empty() && experiment.is_none() {
                return Err(self.unknown_row(row));
            }
            selection.experiments.extend(experiment);
            selection.figures.extend(named);
        }
        if rows.is_empty() {
            selection.figures = (0..self.figures.len()).collect();
            selection.experiments = (0..self.experiments.len()).collect();
        }
        for index in selection.figures.clone() {
            self.measured_in(&self.figures[index], &mut selection.experiments);
        }
        Ok(selection)
    }

    /// Adds the experiments that a figure is measured in, those of the figures that it follows from included.
    fn measured_in(&self, figure: &Figure, experiments: &mut BTreeSet<usize>) {
        experiments.extend(figure.experiment);
        let of_ratio = |ratio: &RatioOf| [ratio.of.clone(), ratio.over.clone()];
        let mut members = figure.geometric_mean_of.clone();
        match (&figure.measured_as, &figure.value) {
            (Some(ratio), _) => members.extend(of_ratio(ratio)),
            (None, Value::Computed(ratio)) if figure.experiment.is_none() => {
                members.extend(of_ratio(ratio));
            }
            _ => {}
        }
        for member in members.iter().filter_map(|id| self.figure(id)) {
            self.measured_in(member, experiments);
        }
    }

    fn unknown_row(&self, found: &str) -> StudyError {
        let experiments = self.experiments.iter().map(|it| it.id.as_str());
        let figures = self.figures.iter().map(|it| it.id.as_str());
        let mut known: Vec<&str> = Vec::new();
        for id in nearest_first(found, experiments.chain(figures)) {
            if !known.contains(&id) {
                known.push(id);
            }
        }
        StudyError::UnknownRow {
            study: self.name.clone(),
            found: found.to_owned(),
            known: known.into_iter().take(NEAREST).map(str::to_owned).collect(),
        }
    }
}

/// Names that an error lists.
const NEAREST: usize = 8;

impl Selection {
    /// True if nothing was left out.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// True if the figure with this index is reported.
    pub fn has_figure(&self, index: usize) -> bool {
        self.figures.contains(&index)
    }

    /// True if the experiment with this index is run.
    pub fn has_experiment(&self, index: usize) -> bool {
        self.experiments.contains(&index)
    }

    /// Leaves out of a description what is not selected, and with it what is said of all rows together.
    pub fn retain(&self, description: &mut StudyDescription) {
        if self.is_all {
            return;
        }
        let kept = |selected: &BTreeSet<usize>| {
            let selected = selected.clone();
            let mut index = 0..;
            move || index.next().is_some_and(|it| selected.contains(&it))
        };
        let (mut experiment, mut figure) = (kept(&self.experiments), kept(&self.figures));
        description.experiments.retain(|_| experiment());
        description.figures.retain(|_| figure());
        description.errors.clear();
        description.findings.clear();
    }

    /// Number of experiments that are run, if all of them can be.
    pub fn experiments(&self) -> usize {
        self.experiments.len()
    }
}
