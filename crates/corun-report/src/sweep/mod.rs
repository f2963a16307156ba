//! Predictions of several programs on several cores: a row for each cell.

use corun_record::{
    Metric, Observation, PredictionSweep, Record, Source, SweepCell, on_lines, on_one_line,
};

use crate::figures::ratio;
use crate::grid::grid;
use crate::prediction::rows;
use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::{section, wrap};

/// The sweep for a terminal of this many columns.
pub fn sweep_to_terminal(record: &Record<PredictionSweep>, columns: u16) -> String {
    let sweep = &record.body;
    let mut text = wrap(&on_one_line(&answer(sweep)), "", columns);
    let table = table(sweep);
    if !table.rows.is_empty() {
        text.push_str(&format!("\n{}\n", grid(&table, columns)));
    }
    let failed = sweep
        .failed()
        .map(|it| format!("{}: {}", name(it), it.failure.as_deref().unwrap_or_default()));
    section(&mut text, "Failed", failed.collect(), columns);
    let open = sweep.open().count();
    if open > 0 {
        let line = format!("{} not predicted yet; --resume goes on with a local sweep.", are(open));
        text.push_str(&format!("\n{}", wrap(&line, "", columns)));
    }
    section(&mut text, "What limits trust", caveats(sweep), columns);
    // Programs are named by others.
    on_lines(&text).into_owned()
}

fn are(cells: usize) -> String {
    let verb = if cells == 1 { "is" } else { "are" };
    format!("{} {verb}", plural(cells, "cell"))
}

/// Where a sibling does most and least.
fn answer(sweep: &PredictionSweep) -> String {
    let made = sweep.predictions().count();
    let counted = format!("{made} of {} predicted", plural(sweep.cells.len(), "cell"));
    let yields = sweep.cells.iter().filter_map(|it| Some((it, yielded(it)?)));
    let mut yields: Vec<(&SweepCell, &Observation)> = yields.collect();
    yields.sort_by(|one, other| other.1.estimate.value.total_cmp(&one.1.estimate.value));
    match &yields[..] {
        [] => format!("{counted}."),
        [(only, seen)] => {
            format!("{counted}: SMT yield {} for {}.", ratio(&seen.estimate), name(only))
        }
        [(most, best), .., (least, worst)] => format!(
            "{counted}: SMT yields from {} ({}) to {} ({}).",
            ratio(&worst.estimate),
            name(least),
            ratio(&best.estimate),
            name(most)
        ),
    }
}

fn yielded(cell: &SweepCell) -> Option<&Observation> {
    let is_yield =
        |it: &&Observation| it.metric == Metric::SmtYield && it.source == Source::Predicted;
    cell.prediction.as_ref()?.observations.iter().find(is_yield)
}

/// A cell on one line: `./solver on zen4 rob.entries=224`.
fn name(cell: &SweepCell) -> String {
    let settings = cell.settings.iter().map(|it| format!(" {it}")).collect::<String>();
    format!("{} on {}{settings}", cell.program, cell.model)
}

/// A row for each placement of each cell.
fn table(sweep: &PredictionSweep) -> Table {
    let has_settings = sweep.cells.iter().any(|it| !it.settings.is_empty());
    let rest = ["core", "IPC alone", "placement", "work, times one", "time of each", "a sibling"];
    let settings = has_settings.then_some("settings");
    let header = ["program"].into_iter().chain(rest).chain(settings);
    let of_cell = |cell: &SweepCell| {
        let found = cell.prediction.iter().flat_map(rows);
        let settings = has_settings.then(|| cell.settings.join(" "));
        let program = cell.program.clone();
        let row = move |row: Vec<String>| {
            [vec![program.clone()], row, settings.iter().cloned().collect()].concat()
        };
        found.map(row).collect::<Vec<_>>()
    };
    Table {
        header: header.map(str::to_owned).collect(),
        rows: sweep.cells.iter().flat_map(of_cell).collect(),
    }
}

/// What limits trust, each once, with the number of cells where it is not of all.
fn caveats(sweep: &PredictionSweep) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for caveat in sweep.predictions().flat_map(|it| &it.caveats) {
        match counted.iter_mut().find(|(known, _)| *known == caveat.sentence) {
            Some((_, count)) => *count += 1,
            None => counted.push((&caveat.sentence, 1)),
        }
    }
    let all = sweep.predictions().count();
    let line = |(sentence, count): (&str, usize)| match count == all {
        true => sentence.to_owned(),
        false => format!("In {count} of {all} cells: {sentence}"),
    };
    counted.into_iter().map(line).collect()
}

/// The predicted figures of each cell as CSV with a header line; a cell that failed has a row with the reason.
pub fn sweep_to_csv(record: &Record<PredictionSweep>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every row has the header's length.
    let _ = writer.write_record([
        "program", "model", "settings", "metric", "arm", "against", "unit", "value", "low", "high",
        "level", "failure",
    ]);
    for cell in &record.body.cells {
        let head = [cell.program.clone(), cell.model.clone(), cell.settings.join(" ")];
        let seen = cell.prediction.iter().flat_map(|it| &it.observations);
        for seen in seen.filter(|it| it.source == Source::Predicted) {
            let metric = serde_json::to_value(seen.metric).unwrap_or_default();
            let row = [
                metric.as_str().unwrap_or_default().to_owned(),
                seen.arm.clone(),
                seen.against.clone().unwrap_or_default(),
                seen.unit.clone(),
                seen.estimate.value.to_string(),
                seen.estimate.low.to_string(),
                seen.estimate.high.to_string(),
                seen.estimate.level.to_string(),
                String::new(),
            ];
            let _ = writer.write_record(head.iter().chain(&row));
        }
        if let Some(failure) = &cell.failure {
            let mut row = vec![String::new(); 8];
            row.push(failure.clone());
            let _ = writer.write_record(head.iter().chain(&row));
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
