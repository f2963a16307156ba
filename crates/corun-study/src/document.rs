//! A study as the documents of `corun study list` and `show`.

use std::collections::BTreeMap;

use corun_record::{
    DescribedFigure, ExperimentArm, ExperimentPlan, ExperimentSmt, ExperimentWork, ListedStudy,
    SmtState, StudyDescription, StudyExperiment,
};

use crate::column_error::of_predicted;
use crate::experiment::{Experiment, Rerun};
use crate::figure::Figure;
use crate::plan::{PlannedArm, Setting, StudyStep};
use crate::prediction::SimulatedCycles;
use crate::study::{PredictedValue, Study};

impl Study {
    /// The study as a line of the list.
    pub fn listed(&self) -> ListedStudy {
        ListedStudy {
            name: self.name.clone(),
            title: self.title.clone(),
            year: self.citation.year,
            figures: self.figures.len(),
            max_time_s: self.max_time.as_secs_f64(),
        }
    }

    /// The study in full; `plans` says for each experiment how it would run here, or why not.
    /// `cycles` are what its programs take on the core of the publication.
    pub fn description(
        &self,
        plans: &[Result<StudyStep, String>],
        cycles: &SimulatedCycles,
    ) -> StudyDescription {
        let predicted = self.predicted(cycles);
        let figures: Vec<_> =
            self.figures.iter().map(|it| self.described(it, &predicted)).collect();
        let experiments = self.experiments.iter().zip(plans);
        StudyDescription {
            name: self.name.clone(),
            title: self.title.clone(),
            citation: self.citation.line(),
            published_on: self.machine.line(),
            notes: self.machine.notes.iter().chain(&self.notes).cloned().collect(),
            max_time_s: self.max_time.as_secs_f64(),
            experiments: experiments.map(|(it, plan)| experiment(it, plan)).collect(),
            errors: of_predicted(&figures).into_iter().collect(),
            figures,
            findings: self.recorded_findings(),
        }
    }

    fn described(
        &self,
        figure: &Figure,
        predicted: &BTreeMap<String, PredictedValue>,
    ) -> DescribedFigure {
        let predicted = predicted.get(&figure.id).copied();
        let [arm, against] = [figure.arm, figure.against].map(|arm| arm.map(|arm| arm.to_string()));
        DescribedFigure {
            id: figure.id.clone(),
            metric: figure.metric,
            arm,
            against,
            experiment: figure.experiment.map(|index| self.experiments[index].id.clone()),
            unit: figure.quantity.unit().to_owned(),
            decimals: figure.decimals,
            published: self.published(figure),
            predicted: predicted.map(|it| it.estimate),
            model_role: predicted.map(|it| it.role),
            not_predicted: self.not_predicted(figure),
            notes: figure.notes.clone(),
        }
    }
}

fn experiment(experiment: &Experiment, plan: &Result<StudyStep, String>) -> StudyExperiment {
    let work = |rerun: &Rerun| ExperimentWork {
        workload: rerun.workload.clone(),
        parameters: rerun.parameters.clone(),
        confine: rerun.confine.map(|part| part.to_string()),
        cores: rerun.cores,
        stand_in: rerun.stand_in.clone(),
    };
    StudyExperiment {
        id: experiment.id.clone(),
        summary: experiment.summary.clone(),
        work: experiment.rerun.as_ref().ok().map(work),
        plan: plan.as_ref().ok().map(planned),
        // Shares have no plan, and are possible where they have CPUs.
        not_possible: plan
            .as_ref()
            .err()
            .filter(|reason| {
                experiment.shares.is_none() || experiment.rerun.as_ref().err() != Some(*reason)
            })
            .cloned(),
    }
}

fn planned(step: &StudyStep) -> ExperimentPlan {
    let arm = |planned: &PlannedArm| ExperimentArm {
        arm: planned.arm.to_string(),
        id: planned.id.as_ref().ok().cloned(),
        not_possible: planned.id.as_ref().err().cloned(),
    };
    ExperimentPlan {
        arms: step.arms.iter().map(arm).collect(),
        cpus: step.confine.as_ref().map(ToString::to_string),
        smt: match step.setting {
            Setting::AsFound => ExperimentSmt::AsFound,
            Setting::Whole(SmtState::On) => ExperimentSmt::On,
            Setting::Whole(SmtState::Off) => ExperimentSmt::Off,
            Setting::Cycles => ExperimentSmt::Cycles,
        },
    }
}
