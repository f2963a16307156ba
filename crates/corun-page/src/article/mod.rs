//! What a page says of a document, before it takes a form: an answer, pictures, tables, evidence.
//!
//! A file here makes the article of a format from its document; `read` finds the one for a text.

mod audit;
mod bench;
mod capacity;
mod common;
mod other;
mod placements;
mod prediction;
mod run;
mod schedule;
mod study;
mod threads;
mod topology;

use corun_record::{
    Audit, Bench, Body, CapacityCurve, Document, Placements, Prediction, PredictionTable,
    ReadError, Record, Run, Schedule, StudyResult, ThreadSweep, Tree,
};
use corun_report::parts;
use serde::Deserialize;

use crate::plot::Plot;
use crate::{Detail, Given, PageError};

/// What a page says of one document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Article {
    /// The name that the document was given by.
    pub source: String,
    /// What kind of document it is.
    pub kind: &'static str,
    /// What was asked: the program, the study.
    pub title: String,
    /// The answer in words, the headline first.
    pub answers: Vec<Statement>,
    pub sections: Vec<Section>,
}

/// A sentence of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// Which way it goes: `good`, `bad`, `even` or `open`.
    pub tone: &'static str,
    pub sentence: String,
}

/// A part of an article under a heading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    pub heading: String,
    /// Whether it is shown on request only.
    pub is_folded: bool,
    pub parts: Vec<Part>,
}

/// What stands in a section.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Paragraph(String),
    List(Vec<String>),
    /// Lines to copy: what each does, and the line.
    Lines(Vec<(String, String)>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    Table(Table),
    Figure(Box<Figure>),
}

/// A table that can be sorted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub caption: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    /// Rows that were left out, so that the page stays small.
    pub left_out: usize,
}

/// A cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub text: String,
    /// What the column is sorted by; absent for words.
    pub number: Option<f64>,
}

/// A plot with what it says.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// A short name for files: `samples`, `placement`.
    pub name: &'static str,
    /// What the picture says, or shows, as one sentence.
    pub message: String,
    /// What was measured against what, and how to read it.
    pub note: String,
    pub plot: Plot,
    /// The same in figures; absent where another table of the article has them.
    pub table: Option<Table>,
}

impl Section {
    pub(crate) fn new(heading: impl Into<String>, parts: Vec<Part>) -> Self {
        Self { heading: heading.into(), is_folded: false, parts }
    }

    pub(crate) fn folded(heading: impl Into<String>, parts: Vec<Part>) -> Self {
        Self { is_folded: true, ..Self::new(heading, parts) }
    }

    /// Sentences under a heading; nothing where there is none.
    pub(crate) fn of_sentences(heading: &str, sentences: Vec<String>) -> Option<Self> {
        (!sentences.is_empty()).then(|| Self::new(heading, vec![Part::List(sentences)]))
    }
}

impl Statement {
    pub(crate) fn new(tone: &'static str, sentence: impl Into<String>) -> Self {
        Self { tone, sentence: sentence.into() }
    }
}

impl From<Figure> for Part {
    fn from(figure: Figure) -> Self {
        Self::Figure(Box::new(figure))
    }
}

impl Table {
    /// A table as other reports have it, cut after so many rows.
    pub(crate) fn new(caption: impl Into<String>, table: parts::Table, detail: Detail) -> Self {
        let left_out = table.rows.len().saturating_sub(detail.rows);
        let rows = table.rows.into_iter().take(detail.rows);
        let rows = rows.map(|row| row.into_iter().map(Cell::new).collect()).collect();
        Self { caption: caption.into(), header: table.header, rows, left_out }
    }

    /// A table of texts.
    pub(crate) fn of(
        caption: impl Into<String>,
        header: &[&str],
        rows: Vec<Vec<String>>,
        detail: Detail,
    ) -> Self {
        let header = header.iter().map(|&it| it.to_owned()).collect();
        Self::new(caption, parts::Table { header, rows }, detail)
    }

    /// Whether all that a column says are numbers, so that they stand below each other.
    pub(crate) fn is_numeric(&self, column: &usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(*column));
        let says = |cell: &&Cell| !matches!(cell.text.as_str(), "" | "-");
        cells().any(|cell| cell.number.is_some())
            && cells().filter(says).all(|cell| cell.number.is_some())
    }
}

impl Cell {
    fn new(text: String) -> Self {
        let number = number(&text);
        Self { text, number }
    }
}

/// The number that a text begins with, in the base unit: `1.2 ms ± 3 %` is 0.0012.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(['=', '>', '±', ' ']);
    let text = text.replace(',', "").replace('\u{a0}', " ");
    let end = text.find(|it: char| !(it.is_ascii_digit() || "+-.e".contains(it)));
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let value: f64 = digits.trim_end_matches(['e', '-', '.']).parse().ok()?;
    let unit = rest.trim_start();
    let has_unit =
        |of: &str| unit.strip_prefix(of).is_some_and(|it| it.starts_with(['s', 'J', 'H', 'W']));
    let factor = match unit.chars().next() {
        Some('p') if has_unit("p") => 1e-12,
        Some('n') if has_unit("n") => 1e-9,
        Some('µ') => 1e-6,
        Some('m') if has_unit("m") => 1e-3,
        Some('k') if rest.starts_with(' ') => 1e3,
        Some('K') => 1024.0,
        Some('M') if unit.starts_with("MiB") => 1_048_576.0,
        Some('G') if unit.starts_with("GiB") => 1_073_741_824.0,
        Some('M') if rest.starts_with(' ') => 1e6,
        Some('G') if rest.starts_with(' ') => 1e9,
        // A word that begins with a digit is no number.
        Some(letter) if letter.is_alphabetic() && !rest.starts_with(' ') => return None,
        _ => 1.0,
    };
    Some(value * factor)
}

/// The article of a document.
///
/// # Errors
/// If it is no document of corun, or of a newer version.
pub(crate) fn read(given: &Given, detail: Detail) -> Result<Article, PageError> {
    #[derive(Deserialize)]
    struct Head {
        format: String,
    }
    let text = given.text.as_str();
    let failed = |error: ReadError| PageError::Document { name: given.name.clone(), error };
    let head: Head = serde_json::from_str(text)
        .map_err(|error| PageError::NoDocument { name: given.name.clone(), error })?;
    let article = match head.format.as_str() {
        Run::FORMAT => run::article(&document::<Run>(text).map_err(failed)?, detail),
        <ThreadSweep as Body>::FORMAT => {
            threads::article(&document::<Record<ThreadSweep>>(text).map_err(failed)?, detail)
        }
        StudyResult::FORMAT => study::article(&document(text).map_err(failed)?, detail),
        Prediction::FORMAT => {
            let prediction: Prediction = document(text).map_err(failed)?;
            prediction::article(&[prediction], detail)
        }
        PredictionTable::FORMAT => {
            let table: PredictionTable = document(text).map_err(failed)?;
            prediction::article(&table.predictions, detail)
        }
        Bench::FORMAT => bench::article(&document(text).map_err(failed)?, detail),
        Audit::FORMAT => audit::article(&document(text).map_err(failed)?, detail),
        <CapacityCurve as Body>::FORMAT => {
            capacity::article(&document::<Record<CapacityCurve>>(text).map_err(failed)?, detail)
        }
        <Schedule as Body>::FORMAT => {
            schedule::article(&document::<Record<Schedule>>(text).map_err(failed)?, detail)
        }
        <Placements as Body>::FORMAT => {
            placements::article(&document::<Record<Placements>>(text).map_err(failed)?, detail)
        }
        format if format.starts_with("corun-") => {
            let no_document = |error| PageError::NoDocument { name: given.name.clone(), error };
            let tree: Tree = serde_json::from_str(text).map_err(no_document)?;
            match format {
                topology::FORMAT => topology::article(&tree, detail),
                _ => other::article(&tree, detail),
            }
        }
        _ => {
            return Err(PageError::Foreign { name: given.name.clone(), format: head.format });
        }
    };
    Ok(Article { source: given.name.clone(), ..article })
}

fn document<D: Document>(text: &str) -> Result<D, ReadError> {
    D::from_json(text)
}

/// The predictions of a document, for the matrix of all pairs.
pub(crate) fn predictions(given: &Given) -> Vec<Prediction> {
    if let Ok(prediction) = Prediction::from_json(&given.text) {
        return vec![prediction];
    }
    PredictionTable::from_json(&given.text).map_or_else(|_| Vec::new(), |it| it.predictions)
}

pub(crate) use bench::hierarchy;
pub(crate) use capacity::figure as capacity_figure;
pub(crate) use prediction::pairs;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_sorted_by_what_they_count() {
        let of = |text: &str| number(text);
        assert_eq!(of("1.5 ms ± 3 %"), Some(0.0015));
        assert_eq!(of("2 s"), Some(2.0));
        assert_eq!(of("= 1.244"), Some(1.244));
        assert_eq!(of("12,345"), Some(12345.0));
        assert_eq!(of("3.1 M"), Some(3.1e6));
        assert_eq!(of("64 KiB"), Some(65536.0));
        assert_eq!(of("-0.5"), Some(-0.5));
        assert_eq!(of("3.4 µs"), Some(3.4 * 1e-6));
        for words in ["", "-", "spread", "4x", "[1]", "too few blocks to say"] {
            assert_eq!(of(words), None, "{words}");
        }
    }
}
