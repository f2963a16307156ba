//! A table of a study file as experiments and figures, one experiment a row.

use toml::Spanned;

use crate::arm::StudyArm;
use crate::figure::{By, RatioOf};
use crate::file::{Column, FileExperiment, FileFigure, FileTable, Row, RowNotes};

/// Experiments and figures, each with the place in the file that it comes from.
type Expanded = (Vec<Spanned<FileExperiment>>, Vec<Spanned<FileFigure>>);

/// Writes the table out.
///
/// # Errors
/// The place of a row and what is wrong with it.
pub(crate) fn expand(table: &FileTable) -> Result<Expanded, (usize, String)> {
    let (mut experiments, mut figures) = (Vec::new(), Vec::new());
    for spanned in &table.rows {
        let (row, span) = (spanned.as_ref(), spanned.span());
        let wrong = |sentence: String| (span.start, format!("row \"{}\": {sentence}", row.row));
        experiments.push(Spanned::new(span.clone(), experiment(table, row).map_err(wrong)?));
        for figure in row_figures(table, row).map_err(wrong)? {
            figures.push(Spanned::new(span.clone(), figure));
        }
    }
    Ok((experiments, figures))
}

fn experiment(table: &FileTable, row: &Row) -> Result<FileExperiment, String> {
    let filled = |text: &String| fill(text, row);
    Ok(FileExperiment {
        id: row.row.clone(),
        summary: filled(&table.summary),
        workload: Some(filled(&table.workload)),
        parameters: table
            .parameters
            .iter()
            .map(|(name, value)| (name.clone(), fill(value, row)))
            .collect(),
        arms: table.arms.iter().map(|text| arm(text, row)).collect::<Result<_, _>>()?,
        smt: table.smt,
        cores: None,
        confine: None,
        work_per_worker: table.work_per_worker,
        least_run: table.least_run,
        stand_in: None,
        not_rerun: None,
    })
}

fn row_figures(table: &FileTable, row: &Row) -> Result<Vec<FileFigure>, String> {
    let typed = table.columns.iter().filter(|column| column.is_typed()).count();
    if row.values.len() != typed {
        return Err(format!(
            "`values`: expected {typed}, a number for each column that has published ones, found {}",
            row.values.len()
        ));
    }
    if let Some(RowNotes::Columns(notes)) = &row.notes {
        let is_column = |name: &&String| table.columns.iter().any(|column| column.id == **name);
        if let Some(unknown) = notes.keys().find(|name| !is_column(name)) {
            let known: Vec<&str> = table.columns.iter().map(|column| column.id.as_str()).collect();
            return Err(format!(
                "`notes`: expected one of {}, found \"{unknown}\"",
                known.join(", ")
            ));
        }
    }
    let mut values = row.values.iter().cloned();
    table
        .columns
        .iter()
        .map(|column| {
            let value = if column.is_typed() { values.next() } else { None };
            figure(column, value, row)
        })
        .collect()
}

fn figure(column: &Column, value: Option<Spanned<f64>>, row: &Row) -> Result<FileFigure, String> {
    let id = |column: &str| format!("{}/{column}", row.row);
    let ratio = column.ratio.as_ref().map(|[of, over]| RatioOf {
        of: id(of),
        over: id(over),
        factor: 1.0,
        by: By::default(),
    });
    Ok(FileFigure {
        id: id(&column.id),
        experiment: Some(row.row.clone()),
        metric: column.metric,
        arm: Some(arm(&column.arm, row)?),
        against: column.against.as_ref().map(|text| arm(text, row)).transpose()?,
        unit: column.unit.clone().or_else(|| row.unit.clone()).unwrap_or_default(),
        value,
        range: None,
        workers_s: None,
        ratio,
        measured_as: None,
        published: column.published,
        precision: column.precision,
        is_truncated: column.is_truncated,
        geometric_mean_of: Vec::new(),
        user_s: Vec::new(),
        system_s: Vec::new(),
        notes: row.notes.as_ref().and_then(|notes| notes.of(&column.id)).cloned(),
    })
}

fn arm(text: &str, row: &Row) -> Result<StudyArm, String> {
    fill(text, row).parse::<StudyArm>().map_err(|error| error.to_string())
}

fn fill(text: &str, row: &Row) -> String {
    text.replace("{row}", &row.row).replace("{name}", row.name.as_deref().unwrap_or(&row.row))
}
