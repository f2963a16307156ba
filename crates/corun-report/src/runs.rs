//! Runs that are kept, a row each.

use corun_record::{Body, EndReason, KeptRun, KeptRunList, PredictionSweep};

use crate::grid::listing;
use crate::prose::plural;
use crate::tables::Table;
use crate::terminal::wrap;

/// The most characters of a name and of an answer: a run in full is for `corun runs show`.
const NAME: usize = 40;
const ANSWER: usize = 120;

/// A row for each run, the newest first.
pub fn list_runs(list: &KeptRunList, columns: u16) -> String {
    if list.runs.is_empty() {
        return wrap(&format!("No run was found in {}.", list.store), "", columns);
    }
    let header = ["run", "started (UTC)", "host", "command", "workload", "answer", "tags"];
    let header = header.map(str::to_owned).to_vec();
    let table = Table { header, rows: list.runs.iter().map(row).collect() };
    let is_same = |of: fn(&KeptRun) -> &Option<String>| {
        list.runs.windows(2).all(|pair| of(&pair[0]) == of(&pair[1]))
    };
    // What says nothing goes first.
    let has_tags = list.runs.iter().any(|run| !run.tags.is_empty());
    let spare: &[&str] = match (has_tags, is_same(|run| &run.host)) {
        (false, _) => &["tags", "host"],
        (true, true) => &["host"],
        (true, false) => &["host", "tags"],
    };
    let cut = [("answer", 16), ("workload", 8), ("tags", 6), ("host", 6)];
    let mut text = format!("{}\n", listing(&table, columns, spare, &cut));
    if list.more > 0 {
        let more = plural(usize::try_from(list.more).unwrap_or(usize::MAX), "older run");
        text += &wrap(&format!("{more} not shown; --limit N shows more."), "", columns);
    }
    text
}

fn row(run: &KeptRun) -> Vec<String> {
    let name = |text: &str| beginning(text, NAME);
    vec![
        run.id.clone(),
        // To the minute.
        run.started.get(..16).unwrap_or(&run.started).replace('T', " "),
        run.host.as_deref().map_or_else(|| "-".to_owned(), name),
        run.command.clone(),
        name(&run.workload),
        beginning(&answer(run), ANSWER),
        name(&run.tags.join(" ")),
    ]
}

/// So many characters of a text.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The answer, or how far a run without one has come.
fn answer(run: &KeptRun) -> String {
    let step = if run.document == PredictionSweep::FORMAT { "cell" } else { "block" };
    let blocks = || plural(run.blocks.unwrap_or(0) as usize, step);
    let said = match (run.ending, run.is_running) {
        (Some(EndReason::Interrupted), _) => format!("interrupted; {}", run.answer),
        (Some(_), _) => run.answer.clone(),
        (None, true) => format!("running, {} so far", blocks()),
        (None, false) => format!("unfinished, {}", blocks()),
    };
    match run.note.as_str() {
        "" => said,
        // The end of a long answer may have no room.
        note => format!("({note}) {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ending: Option<EndReason>, is_running: bool) -> KeptRun {
        KeptRun {
            id: "3f2a9c1b".to_owned(),
            document: "corun-run".to_owned(),
            started: "2026-11-01T10:20:30Z".to_owned(),
            elapsed_s: 12.0,
            host: Some("box".to_owned()),
            command: "measure".to_owned(),
            line: Vec::new(),
            workload: "sort\u{1b}[2J FILE".to_owned(),
            answer: "It helps.".to_owned(),
            ending,
            is_running,
            blocks: Some(1),
            tags: vec!["a".to_owned(), "b".to_owned()],
            note: String::new(),
        }
    }

    #[test]
    fn a_run_is_a_row_and_steers_nothing() {
        let runs = vec![
            run(Some(EndReason::Completed), false),
            run(None, true),
            KeptRun { note: "odd".to_owned(), ..run(None, false) },
            KeptRun { document: "corun-sweep".to_owned(), ..run(None, false) },
        ];
        let list = KeptRunList { store: "corun.db".to_owned(), runs, more: 2 };
        let text = list_runs(&list, 120);
        assert!(!text.contains('\u{1b}'), "{text}");
        for said in [
            "3f2a9c1b",
            "2026-11-01 10:20",
            "sort\\u{1b}[2J FILE",
            "It helps.",
            "running, 1 block so far",
            "(odd) unfinished, 1 block",
            "unfinished, 1 cell",
            "a b",
            "2 older runs not shown",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn nothing_kept_is_said() {
        let list = KeptRunList { store: "corun.db".to_owned(), runs: Vec::new(), more: 0 };
        assert_eq!(list_runs(&list, 80), "No run was found in corun.db.\n");
    }
}
