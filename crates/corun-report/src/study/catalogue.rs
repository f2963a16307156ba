//! The studies in words: a line each, or one of them in full with how it would run here.

use corun_record::{
    Caveat, DescribedFigure, ExperimentSmt, ExperimentWork, ListedStudy, StudyDescription,
    StudyExperiment, StudyList,
};

use super::page::conclusions;
use super::rows::{errors, lettered, predicted, published, what};
use crate::figures::seconds;
use crate::grid::listing;
use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{named_grid, section, wrap};

/// A line for each study.
pub fn list_studies(list: &StudyList, columns: u16) -> String {
    let header = ["study", "what it is about", "year", "figures", "time"];
    let row = |study: &ListedStudy| {
        vec![
            study.name.clone(),
            study.title.clone(),
            study.year.to_string(),
            study.figures.to_string(),
            seconds(study.max_time_s),
        ]
    };
    let header = header.map(str::to_owned).to_vec();
    let table = Table { header, rows: list.studies.iter().map(row).collect() };
    format!("{}\n", listing(&table, columns, &["figures", "time"], &[("what it is about", 36)]))
}

/// A study in full, with how each experiment would run here, or why not.
/// `caveats` limit trust in its predictions.
pub fn describe_study(study: &StudyDescription, caveats: &[Caveat], columns: u16) -> String {
    let mut text = String::new();
    for line in [
        format!("{}: {}", study.name, study.title),
        study.citation.clone(),
        format!("Published on: {}", study.published_on),
    ] {
        text.push_str(&wrap(&line, "  ", columns));
    }
    section(&mut text, "Notes", study.notes.clone(), columns);
    text.push_str("\nHow it is rerun here:\n");
    for experiment in &study.experiments {
        let line = format!("- {}: {}", experiment.id, experiment.summary);
        text.push_str(&wrap(&line, "  ", columns));
        for line in how(experiment) {
            text.push_str(&wrap(&format!("    {line}"), "      ", columns));
        }
    }
    let is_predicted = study.figures.iter().any(|it| it.predicted.is_some());
    let mut header = vec!["figure", "what", "experiment", "published"];
    header.extend(is_predicted.then_some("predicted"));
    let mut unpredicted = Vec::new();
    let row = |figure: &DescribedFigure| {
        let mut row = row(figure);
        if is_predicted {
            let DescribedFigure { predicted: value, unit, model_role, not_predicted, .. } = figure;
            let reason = not_predicted.as_ref();
            row.push(predicted(value.as_ref(), unit, *model_role, reason, &mut unpredicted));
        }
        row
    };
    let rows = study.figures.iter().map(row).collect();
    let table = Table { header: header.into_iter().map(str::to_owned).collect(), rows };
    let table = listing(&table, columns, &["experiment"], &[("what", 10)]);
    text.push_str(&format!("\n{table}\n"));
    for line in errors(&study.errors) {
        text.push_str(&wrap(&line, "", columns));
    }
    section(&mut text, "Not predicted", lettered(&unpredicted), columns);
    let caveats = caveats.iter().map(|it| it.sentence.clone()).collect();
    section(&mut text, "What limits trust", caveats, columns);
    let notes = study
        .figures
        .iter()
        .filter_map(|figure| figure.notes.as_ref().map(|notes| format!("{}: {notes}", figure.id)));
    section(&mut text, "Notes on figures", notes.collect(), columns);
    let times = times(study);
    if !times.rows.is_empty() {
        let title = "Published seconds of each process or thread, or of all of a program's threads together:";
        let title = wrap(title, "", columns);
        text.push_str(&format!("\n{title}\n{}\n", named_grid(&times, columns)));
    }
    text.push_str(&conclusions(&study.findings, columns));
    text.push('\n');
    let max_time = seconds(study.max_time_s);
    let last = format!(
        "`corun study run {name}` takes about {max_time} (--max-time); `corun study show {name} EXPERIMENT` has one of them.",
        name = study.name
    );
    text.push_str(&wrap(&last, "", columns));
    text
}

/// Plan of an experiment: its workload, and what each arm becomes here.
fn how(experiment: &StudyExperiment) -> Vec<String> {
    let mut lines: Vec<String> = experiment.work.iter().map(work).collect();
    lines.extend(experiment.not_possible.iter().map(|it| format!("not possible here: {it}")));
    let Some(plan) = &experiment.plan else { return lines };
    let possible = plan.arms.iter().filter_map(|arm| {
        let (name, id) = (&arm.arm, arm.id.as_ref()?);
        Some(if name == id { name.clone() } else { format!("{name} as {id}") })
    });
    let possible: Vec<String> = possible.collect();
    let smt = match plan.smt {
        ExperimentSmt::AsFound => "",
        ExperimentSmt::On => ", SMT switched on for it",
        ExperimentSmt::Off => ", SMT switched off for it",
        ExperimentSmt::Cycles => ", SMT switched off and on in cycles",
    };
    let cpus = plan.cpus.as_ref().map_or(String::new(), |it| format!(", on logical CPUs {it}"));
    lines.push(format!("here: {}{cpus}{smt}", possible.join(", ")));
    for arm in &plan.arms {
        if let Some(reason) = &arm.not_possible {
            lines.push(format!("{} is not possible here: {reason}", arm.arm));
        }
    }
    lines
}

fn work(work: &ExperimentWork) -> String {
    let mut text = format!("workload {}", work.workload);
    for (name, value) in &work.parameters {
        text.push_str(&format!(" {name}={value}"));
    }
    if let Some(part) = &work.confine {
        text.push_str(&format!(", on {part} of the cores"));
    }
    if let Some(cores) = work.cores {
        text.push_str(&format!(", on {}", plural(cores as usize, "core")));
    }
    if let Some(stand_in) = &work.stand_in {
        text.push_str(&format!("; {stand_in}"));
    }
    text
}

fn row(figure: &DescribedFigure) -> Vec<String> {
    vec![
        figure.id.clone(),
        what(figure.metric, figure.arm.as_deref(), figure.against.as_deref()),
        figure.experiment.clone().unwrap_or_default(),
        published(figure.published.as_ref(), &figure.unit),
    ]
}

/// The seconds behind the figures, where they were published: as many as there were workers.
fn times(study: &StudyDescription) -> Table {
    let mut rows = Vec::new();
    for figure in &study.figures {
        let Some(published) = &figure.published else { continue };
        let decimals = figure.decimals as usize;
        let list = |seconds: &[f64]| {
            seconds.iter().map(|it| format!("{it:.decimals$}")).collect::<Vec<_>>().join(" ")
        };
        let lists = [&published.workers_s, &published.user_s, &published.system_s];
        if lists.iter().any(|list| !list.is_empty()) {
            let cells = lists.map(|seconds| list(seconds));
            rows.push([vec![figure.id.clone()], cells.to_vec()].concat());
        }
    }
    let header = ["figure", "elapsed", "user", "system"].map(str::to_owned).to_vec();
    Table { header, rows }
}
