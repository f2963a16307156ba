//! The studies in words: a line each, or one of them in full with how it would run here.

use std::time::Duration;

use corun_record::SmtState;
use corun_study::{Experiment, Figure, Rerun, Setting, Study, StudyStep};

use super::page::conclusions;
use super::rows::{published, what};
use crate::figures::seconds;
use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{named_grid, section, wrap};

/// A line for each study.
pub fn list_studies(studies: &[Study], columns: u16) -> String {
    let header = ["study", "what it is about", "year", "figures", "time"];
    let row = |study: &Study| {
        vec![
            study.name.clone(),
            study.title.clone(),
            study.citation.year.to_string(),
            study.figures.len().to_string(),
            max_time(study.max_time),
        ]
    };
    let header = header.map(str::to_owned).to_vec();
    let table = Table { header, rows: studies.iter().map(row).collect() };
    format!("{}\n", named_grid(&table, columns))
}

/// A study in full; `plans` says for each experiment how it would run here, or why not.
pub fn describe_study(study: &Study, plans: &[Result<StudyStep, String>], columns: u16) -> String {
    let mut text = String::new();
    for line in [
        format!("{}: {}", study.name, study.title),
        study.citation.line(),
        format!("Published on: {}", study.machine.line()),
    ] {
        text.push_str(&wrap(&line, "  ", columns));
    }
    let notes = study.machine.notes.iter().chain(&study.notes).cloned().collect();
    section(&mut text, "Notes", notes, columns);
    text.push_str("\nHow it is rerun here:\n");
    for (experiment, plan) in study.experiments.iter().zip(plans) {
        let line = format!("- {}: {}", experiment.id, experiment.summary);
        text.push_str(&wrap(&line, "  ", columns));
        for line in how(experiment, plan) {
            text.push_str(&wrap(&format!("    {line}"), "      ", columns));
        }
    }
    let header = ["figure", "what", "experiment", "published"];
    let table = Table {
        header: header.map(str::to_owned).to_vec(),
        rows: study.figures.iter().map(|figure| row(study, figure)).collect(),
    };
    text.push_str(&format!("\n{}\n", named_grid(&table, columns)));
    let notes = study
        .figures
        .iter()
        .filter_map(|figure| figure.notes.as_ref().map(|notes| format!("{}: {notes}", figure.id)));
    section(&mut text, "Notes on figures", notes.collect(), columns);
    let times = times(study);
    if !times.rows.is_empty() {
        text.push_str(&format!(
            "\nPublished seconds of each process or thread, or of all of a program's threads together:\n\n{}\n",
            named_grid(&times, columns)
        ));
    }
    text.push_str(&conclusions(&study.recorded_findings(), columns));
    text.push('\n');
    let max_time = max_time(study.max_time);
    let last = format!("`corun study run {}` takes about {max_time} (--max-time).", study.name);
    text.push_str(&wrap(&last, "", columns));
    text
}

/// How an experiment is run: its workload, and what each arm becomes here.
fn how(experiment: &Experiment, plan: &Result<StudyStep, String>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Ok(rerun) = &experiment.rerun {
        lines.push(work(rerun));
    }
    let step = match plan {
        Ok(step) => step,
        Err(reason) => {
            lines.push(format!("not possible here: {reason}"));
            return lines;
        }
    };
    let possible: Vec<String> = step
        .arms
        .iter()
        .filter_map(|planned| {
            let (name, id) = (planned.arm.to_string(), planned.id.as_ref().ok()?);
            Some(if name == *id { name } else { format!("{name} as {id}") })
        })
        .collect();
    let smt = match step.setting {
        Setting::AsFound => "",
        Setting::Whole(SmtState::On) => ", SMT switched on for it",
        Setting::Whole(SmtState::Off) => ", SMT switched off for it",
        Setting::Cycles => ", SMT switched off and on in cycles",
    };
    let confine =
        step.confine.as_ref().map_or(String::new(), |cpus| format!(", on logical CPUs {cpus}"));
    lines.push(format!("here: {}{confine}{smt}", possible.join(", ")));
    for planned in &step.arms {
        if let Err(reason) = &planned.id {
            lines.push(format!("{} is not possible here: {reason}", planned.arm));
        }
    }
    lines
}

fn work(rerun: &Rerun) -> String {
    let mut text = format!("workload {}", rerun.workload);
    for (name, value) in &rerun.parameters {
        text.push_str(&format!(" {name}={value}"));
    }
    if let Some(part) = rerun.confine {
        text.push_str(&format!(", on {part} of the cores"));
    }
    if let Some(cores) = rerun.cores {
        text.push_str(&format!(", on {}", plural(cores as usize, "core")));
    }
    if let Some(stand_in) = &rerun.stand_in {
        text.push_str(&format!("; {stand_in}"));
    }
    text
}

fn row(study: &Study, figure: &Figure) -> Vec<String> {
    let [arm, against] = [figure.arm, figure.against].map(|arm| arm.map(|arm| arm.to_string()));
    let experiment = figure.experiment.map(|index| study.experiments[index].id.clone());
    vec![
        figure.id.clone(),
        what(figure.metric, arm.as_deref(), against.as_deref()),
        experiment.unwrap_or_default(),
        published(study.published(figure).as_ref(), figure.quantity.unit()),
    ]
}

/// The seconds behind the figures, where they were published: as many as there were workers.
fn times(study: &Study) -> Table {
    let mut rows = Vec::new();
    for figure in &study.figures {
        let Some(published) = study.published(figure) else { continue };
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

fn max_time(max_time: Duration) -> String {
    seconds(max_time.as_secs_f64())
}
