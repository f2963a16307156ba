//! Predictions of several programs on several cores: a row for each cell.

use std::collections::BTreeSet;

use corun_record::{
    CsvText, Metric, Observation, PredictionSweep, Record, Source, SweepCell, on_lines, on_one_line,
};

use crate::csv::figure;
use crate::figures::ratio;
use crate::grid::{grid, listing};
use crate::prediction::rows;
use crate::prose::plural;
use crate::screen::{NextStep, Screen, View};
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

/// The sweep with its answer, on one screen.
pub fn sweep_on_screen(record: &Record<PredictionSweep>, view: &View) -> String {
    let sweep = &record.body;
    let mut table = table(sweep);
    let programs: BTreeSet<&str> = sweep.cells.iter().map(|it| it.program.as_str()).collect();
    if programs.len() == 1 {
        table.header.remove(0);
        table.rows.iter_mut().for_each(|row| drop(row.remove(0)));
    }
    let failed = sweep
        .failed()
        .map(|it| format!("{}: {}", name(it), it.failure.as_deref().unwrap_or_default()));
    let open = sweep.open().count();
    let is_of_some = |it: &String| it.starts_with("In ");
    let mut caveats = caveats(sweep);
    caveats.sort_by_key(is_of_some);
    let spare = ["time of each", "IPC alone", "placement"];
    let cut = [("program", 12), ("settings", 10), ("a sibling", 5)];
    let screen = Screen {
        heading: match programs.iter().next() {
            Some(only) if programs.len() == 1 => vec![(*only).to_owned()],
            _ => vec![plural(programs.len(), "program")],
        },
        picture: match table.rows.is_empty() {
            true => String::new(),
            false => listing(&table, view.columns, &spare, &cut),
        },
        reasons: Vec::new(),
        answers: vec![on_one_line(&answer(sweep))],
        notice: None,
        advice: (open > 0).then(|| {
            NextStep::phrase(format!("{} not predicted yet: go on with --resume last", are(open)))
        }),
        limits: failed.chain(caveats).collect(),
    };
    on_lines(&screen.text(view)).into_owned()
}

/// The answer alone.
pub fn sweep_in_brief(record: &Record<PredictionSweep>, columns: u16) -> String {
    wrap(&on_one_line(&answer(&record.body)), "", columns)
}

fn are(cells: usize) -> String {
    let verb = if cells == 1 { "is" } else { "are" };
    format!("{} {verb}", plural(cells, "cell"))
}

/// Cells in which a sibling does most and least.
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

/// Limits of trust, each once, with the number of cells where it is not of all.
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
    let mut table = CsvText::with_header([
        "program", "model", "settings", "metric", "arm", "against", "unit", "value", "low", "high",
        "level", "failure",
    ]);
    for cell in &record.body.cells {
        let head = [cell.program.clone(), cell.model.clone(), cell.settings.join(" ")];
        let seen = cell.prediction.iter().flat_map(|it| &it.observations);
        for seen in seen.filter(|it| it.source == Source::Predicted) {
            let row = head.iter().cloned().chain(figure(seen)).chain([String::new()]);
            table.row(row.collect::<Vec<_>>());
        }
        if let Some(failure) = &cell.failure {
            let mut row = vec![String::new(); 8];
            row.push(failure.clone());
            table.row(head.iter().chain(&row));
        }
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use corun_record::{Caveat, Prediction};
    use serde_json::json;

    use super::*;

    /// A prediction of a yield, with nothing else in it.
    fn prediction(model: &str, yielded: f64) -> Prediction {
        let observation = json!({
            "metric": "smt_yield", "arm": "full", "against": "spread", "unit": "1", "bootstrap": null,
            "estimate": { "value": yielded, "low": yielded - 0.02, "high": yielded + 0.02, "level": 0.95,
                          "blocks": 10 },
            "source": "predicted"
        });
        serde_json::from_value(json!({
            "format": "corun-prediction", "version": 1, "corun_version": "0.1.0", "started": "",
            "elapsed_s": 1.0, "command": ["./solver"],
            "machine": { "online_cpus": 2, "allowed_cpus": 2, "cores": 2, "smt_width": 1, "governors": [] },
            "core": { "model": model, "title": "Made up", "reason": "asked for", "ghz": 3.7, "clock": "model" },
            "traced": {
                "tracer": "dynamorio", "threads": 1, "thread": 0, "instructions": 1000, "simulated": 1000,
                "windows": [], "cost": { "instructions": 1000, "cpu_s": 0.1, "peak_rss_bytes": 1000 }
            },
            "observations": [observation], "stack": [], "mispredicts_per_thousand": 1.0,
            "caveats": [{ "kind": "any", "sentence": "Memory is that of the model." }]
        }))
        .expect("a prediction")
    }

    fn record() -> Record<PredictionSweep> {
        let cell = |model: &str, entries: u32, yielded: Option<f64>| SweepCell {
            program: "./solver".to_owned(),
            model: model.to_owned(),
            settings: vec![format!("rob.entries={entries}")],
            prediction: yielded.map(|it| prediction(model, it)),
            failure: None,
        };
        let mut cells = vec![
            cell("zen3", 128, Some(1.1)),
            cell("zen3", 256, Some(1.2)),
            cell("zen4", 128, Some(1.15)),
            cell("zen4", 3, None),
            cell("zen4", 256, None),
        ];
        cells[3].failure = Some("expected a multiple of 2, found 3".to_owned());
        cells[0].prediction.as_mut().unwrap().caveats.push(Caveat::new("own", "Of one cell."));
        Record::new(String::new(), 1.0, PredictionSweep { options: Vec::new(), cells })
    }

    #[test]
    fn the_answer_names_both_ends_and_what_is_missing_is_said() {
        insta::assert_snapshot!(sweep_to_terminal(&record(), 100));
    }

    #[test]
    fn a_sweep_of_many_cells_is_on_one_screen() {
        let mut record = record();
        let cell = record.body.cells[0].clone();
        record.body.cells.extend((0..60).map(|at| SweepCell {
            settings: vec![
                format!("rob.entries={at}"),
                "hierarchy.main.nanoseconds=120".to_owned(),
            ],
            ..cell.clone()
        }));
        let view = View { is_terminal: true, is_kept: true, ..View::of_file(80) };
        let text = sweep_on_screen(&record, &view);
        assert!(text.lines().count() <= crate::screen::ROWS, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for said in
            ["./solver\n", "of 65 cells predicted", "zen4", "more\n", "found 3", "--resume last"]
        {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn csv_has_failures_beside_figures() {
        insta::assert_snapshot!(sweep_to_csv(&record()), @r#"
        program,model,settings,metric,arm,against,unit,value,low,high,level,failure
        ./solver,zen3,rob.entries=128,smt_yield,full,spread,1,1.1,1.08,1.12,0.95,
        ./solver,zen3,rob.entries=256,smt_yield,full,spread,1,1.2,1.18,1.22,0.95,
        ./solver,zen4,rob.entries=128,smt_yield,full,spread,1,1.15,1.13,1.17,0.95,
        ./solver,zen4,rob.entries=3,,,,,,,,,"expected a multiple of 2, found 3"
        "#);
    }

    #[test]
    fn a_sweep_without_a_prediction_is_said_to_be_one() {
        let mut record = record();
        record.body.cells.iter_mut().for_each(|it| it.prediction = None);
        let text = sweep_to_terminal(&record, 80);
        assert!(text.starts_with("0 of 5 cells predicted.\n"), "{text}");
    }
}
