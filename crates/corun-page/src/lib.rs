//! Documents as one self-contained page, and their plots as files.
//!
//! A document becomes an article (`article/`), which is words, tables and plots (`plot/`); the templates make
//! a page of articles. The page asks no network for anything, and says so in its own security policy.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod article;
mod page;
mod plot;

use corun_record::{
    Actionable, Bench, CapacityCurve, Exit, ReadError, Record, Schedule, ThreadSweep, shown,
};

pub use page::{MAX_PAGE, page};

use article::{Article, Figure, Opened, Part};

/// A document that a page is made of.
#[derive(Debug, Clone)]
pub struct InputDocument {
    /// The name that it was given by.
    pub name: String,
    /// JSON of the document.
    pub text: String,
}

/// Detail in which a document is drawn and listed, so that a page stays small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The most dots of one bar, and marks of one panel.
    dots: usize,
    /// The most rows of a table.
    rows: usize,
}

impl Detail {
    /// The most that is ever shown.
    const FULL: Self = Self { dots: 200, rows: 400 };
    /// Dots of all bars of a picture together.
    const DOTS_OF_PICTURE: usize = 1200;

    /// The most dots of each of so many bars.
    fn dots_of(self, bars: usize) -> usize {
        self.dots.min(Self::DOTS_OF_PICTURE / bars.max(1)).max(2)
    }

    /// For one of so many parts of a page.
    fn shared_by(self, parts: usize) -> Self {
        let parts = parts.max(1);
        Self { dots: (self.dots / parts).max(8), rows: (self.rows / parts).max(16) }
    }

    /// Half as much; none where little is left.
    fn halved(self) -> Option<Self> {
        let half = Self { dots: self.dots / 2, rows: self.rows / 2 };
        (half.dots >= 4 && half.rows >= 4).then_some(half)
    }
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// No document of corun, or one that cannot be read.
    #[error("{}: {error}", shown(name))]
    Document {
        /// The name that it was given by.
        name: String,
        /// The parser's error.
        error: ReadError,
    },
    /// JSON that others wrote.
    #[error("{}: expected a format that begins with \"corun-\", found {format:?}", shown(name))]
    Foreign {
        /// The name that it was given by.
        name: String,
        /// The format found.
        format: String,
    },
    /// More than fits into a page, however little is shown of each document.
    #[error("expected documents that fit into a page of {} kB, found {} that need {} kB", MAX_PAGE / 1000, documents, size / 1000)]
    TooLarge {
        /// Number of documents.
        documents: usize,
        /// The bytes of their page.
        size: usize,
    },
}

impl Actionable for PageError {
    fn exit(&self) -> Exit {
        match self {
            Self::Document { .. } | Self::Foreign { .. } => Exit::Failed,
            Self::TooLarge { .. } => Exit::Usage,
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Foreign { .. } => {
                "Name a file that corun wrote with --json FILE: the answers of measure, threads, capacity, predict, study run, \
                 bench, audit, schedule, simulate and topo have pictures, all others tables."
                    .to_owned()
            }
            Self::Document { error, .. } => error.next_step(),
            Self::TooLarge { .. } => "Name fewer documents, or make a page of each.".to_owned(),
        }
    }
}

/// A plot as a file of its own.
#[derive(Debug, Clone)]
pub struct Picture {
    /// The name of its file, without a folder.
    pub file: String,
    /// The picture.
    pub svg: String,
}

/// Every plot of the documents, as files for an article or a slide.
///
/// # Errors
/// If a text is no document of corun.
pub fn pictures(documents: &[InputDocument]) -> Result<Vec<Picture>, PageError> {
    let mut pictures = Vec::new();
    let opened = opened(documents)?;
    for (at, article) in articles(&opened, Detail::FULL).iter().enumerate() {
        let stem = stem(&article.source);
        let several = documents.len() > 1;
        let mut number = 0;
        for figure in figures(article) {
            number += 1;
            let place = if several { format!("{}-", at + 1) } else { String::new() };
            pictures.push(Picture {
                file: format!("{place}{stem}-{number:02}-{}.svg", figure.name),
                svg: plot::standalone(&[figure]),
            });
        }
    }
    Ok(pictures)
}

/// The plots of a memory hierarchy, latency above bandwidth, as one picture.
pub fn hierarchy_to_svg(bench: &Bench) -> String {
    let figures = article::hierarchy(bench);
    plot::standalone(&figures.iter().collect::<Vec<_>>())
}

/// A capacity curve as a picture; one without a curve where there is none to draw.
pub fn capacity_to_svg(curve: &Record<CapacityCurve>) -> String {
    plot::standalone(&article::capacity_figure(curve).iter().collect::<Vec<_>>())
}

/// Who ran where in each recorded run of a schedule, one below the other.
pub fn schedule_to_svg(schedule: &Schedule) -> String {
    plot::standalone(&article::timelines(schedule).iter().collect::<Vec<_>>())
}

/// The answer of a thread sweep, with a bar for each candidate.
pub fn threads_to_svg(sweep: &Record<ThreadSweep>) -> String {
    plot::standalone(&[&article::candidates(sweep)])
}

fn figures(article: &Article) -> impl Iterator<Item = &Figure> {
    let parts = article.sections.iter().flat_map(|section| &section.parts);
    parts.filter_map(|part| match part {
        Part::Figure(figure) => Some(&**figure),
        _ => None,
    })
}

/// The name of a file without folder and ending, of letters that every system takes.
fn stem(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let last = last.split_once('.').map_or(last, |it| it.0);
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '-' };
    let plain: String = last.chars().take(60).map(plain).collect();
    match plain.trim_matches('-') {
        "" => "run".to_owned(),
        plain => plain.to_owned(),
    }
}

fn opened(documents: &[InputDocument]) -> Result<Vec<Opened<'_>>, PageError> {
    documents.iter().map(Opened::of).collect()
}

fn articles(documents: &[Opened<'_>], detail: Detail) -> Vec<Article> {
    let detail = detail.shared_by(documents.len());
    documents.iter().map(|it| it.article(detail)).collect()
}
