//! Article of a page on a document, before it takes a form: an answer, pictures, tables, evidence.
//!
//! A file here makes the article of a format from its document; `Opened::article` finds the one for a document.

mod audit;
mod bench;
mod capacity;
mod common;
mod comparison;
mod fleet;
mod other;
mod placements;
mod prediction;
mod run;
mod schedule;
mod study;
mod threads;
mod topology;

use corun_record::{AnyDocument, Prediction, Tree};
use corun_report::parts;

use crate::plot::Plot;
use crate::{Detail, InputDocument, PageError};

/// Article of a page on one document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Article {
    /// The name that the document was given by.
    pub source: String,
    /// Kind of the document.
    pub kind: &'static str,
    /// Title: the program, the study.
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
    /// True if it is shown on request only.
    pub is_folded: bool,
    pub parts: Vec<Part>,
}

/// Part of a section.
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
    /// Number that the column is sorted by; absent for words.
    pub number: Option<f64>,
}

/// A plot with what it says.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// A short name for files: `samples`, `placement`.
    pub name: &'static str,
    /// Message of the picture, as one sentence.
    pub message: String,
    /// Note on what was measured against what, and how to read it.
    pub note: String,
    pub plot: Plot,
    /// Table of the same figures; absent where another table of the article has them.
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

    /// True if all that a column says are numbers, so that they stand below each other.
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

/// A document that a page is made of, read.
pub(crate) struct Opened<'a> {
    name: &'a str,
    document: AnyDocument,
}

impl<'a> Opened<'a> {
    /// Reads a document.
    ///
    /// # Errors
    /// If it is no document of corun, or of a newer version.
    pub(crate) fn of(given: &'a InputDocument) -> Result<Self, PageError> {
        let name = given.name.as_str();
        match AnyDocument::from_json(&given.text) {
            Ok(AnyDocument::Other { format, .. }) if !format.starts_with("corun-") => {
                Err(PageError::Foreign { name: name.to_owned(), format })
            }
            Ok(document) => Ok(Self { name, document }),
            Err(error) => Err(PageError::Document { name: name.to_owned(), error }),
        }
    }

    /// The predictions that it is of, for the matrix of all pairs.
    pub(crate) fn predictions(&self) -> &[Prediction] {
        match &self.document {
            AnyDocument::Prediction(prediction) => std::slice::from_ref(&**prediction),
            AnyDocument::Predictions(table) => &table.predictions,
            _ => &[],
        }
    }

    /// Article on the document.
    pub(crate) fn article(&self, detail: Detail) -> Article {
        let article = match &self.document {
            AnyDocument::Run(it) => run::article(it, detail),
            AnyDocument::Threads(it) => threads::article(it, detail),
            AnyDocument::Study(it) => study::article(it, detail),
            AnyDocument::Prediction(_) | AnyDocument::Predictions(_) => {
                prediction::article(self.predictions(), detail)
            }
            AnyDocument::Bench(it) => bench::article(it, detail),
            AnyDocument::Audit(it) => audit::article(it, detail),
            AnyDocument::Capacity(it) => capacity::article(it, detail),
            AnyDocument::Schedule(it) => schedule::article(it, detail),
            AnyDocument::Placements(it) => placements::article(it, detail),
            AnyDocument::Comparison(it) => comparison::article(it, detail),
            AnyDocument::Trend(it) => comparison::over_time(it, detail),
            AnyDocument::FleetReport(it) => fleet::article(it, detail),
            AnyDocument::Sweep(it) => other::article(&Tree::of(it), detail),
            AnyDocument::Simulation(it) => other::article(&Tree::of(it), detail),
            AnyDocument::Blocks(it) => other::article(&Tree::of(it), detail),
            AnyDocument::Other { format, fields } if format == topology::FORMAT => {
                topology::article(fields, detail)
            }
            AnyDocument::Other { fields, .. } => other::article(fields, detail),
        };
        Article { source: self.name.to_owned(), ..article }
    }
}

pub(crate) use bench::hierarchy;
pub(crate) use capacity::figure as capacity_figure;
pub(crate) use prediction::pairs;
pub(crate) use schedule::timelines;
pub(crate) use threads::candidates;

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
        for words in ["", "-", "spread", "4x", "[1]", "too uncertain to say"] {
            assert_eq!(of(words), None, "{words}");
        }
    }
}
