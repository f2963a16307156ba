//! The page: articles in templates, with the style and the script that the page itself holds.

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use corun_record::on_lines;

use crate::article::{self, Article, Figure, Opened, Part, Section, Statement};
use crate::plot::{self, Drawing};
use crate::{Detail, InputDocument, PageError, articles, opened};

/// A page is smaller than this many bytes.
pub const MAX_PAGE: usize = 1_000_000;

const STYLE: &str = include_str!("../templates/page.css");
const SCRIPT: &str = include_str!("../templates/page.js");

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: String,
    policy: String,
    style: String,
    script: &'static str,
    articles: Vec<View<'a>>,
    /// The matrix of all pairs that the documents have.
    pairs: Option<Vec<PartView<'a>>>,
    /// True if less than everything is shown, since the page would have become too large.
    is_reduced: bool,
    version: &'static str,
}

/// An article with the ids that links and names need.
struct View<'a> {
    id: String,
    article: &'a Article,
    sections: Vec<SectionView<'a>>,
}

struct SectionView<'a> {
    id: String,
    section: &'a Section,
    parts: Vec<PartView<'a>>,
}

/// A part, with what is drawn of it.
struct PartView<'a> {
    id: String,
    part: &'a Part,
    /// Caption above a figure.
    caption: String,
    /// A figure for a page, and for a telephone.
    drawings: Vec<(&'static str, Drawing)>,
}

#[expect(unreachable_pub, reason = "the macro makes public items")]
mod filters {
    use std::fmt::Write as _;

    use askama::filters::{Html, Safe, escape};
    use corun_report::parts::glue;

    /// Text in which no number is parted from its unit.
    #[askama::filter_fn]
    pub(super) fn glued(text: &str, _: &dyn askama::Values) -> askama::Result<String> {
        Ok(glue(text))
    }

    /// Text between backticks as code, everything escaped.
    #[askama::filter_fn]
    pub(super) fn code(text: &str, _: &dyn askama::Values) -> askama::Result<Safe<String>> {
        let mut html = String::new();
        let mut is_code = false;
        let mut spans = text.split('`').peekable();
        while let Some(span) = spans.next() {
            let Ok(span) = escape(glue(span), Html);
            match is_code {
                true if spans.peek().is_some() => write!(html, "<code>{span}</code>")?,
                // A backtick without another.
                true => write!(html, "`{span}")?,
                false => write!(html, "{span}")?,
            }
            is_code = !is_code;
        }
        Ok(Safe(html))
    }
}

/// The documents as one HTML page.
///
/// # Errors
/// If a text is no document of corun, or the documents do not fit into a page.
pub fn page(documents: &[InputDocument]) -> Result<String, PageError> {
    let documents = opened(documents)?;
    let predictions = documents.iter().flat_map(Opened::predictions);
    let pairs = article::pairs(predictions).map(Part::from);
    let mut detail = Detail::FULL;
    loop {
        let articles = articles(&documents, detail);
        let text = rendered(&articles, pairs.as_ref(), detail != Detail::FULL);
        if text.len() < MAX_PAGE {
            return Ok(text);
        }
        let too_large = PageError::TooLarge { documents: documents.len(), size: text.len() };
        detail = detail.halved().ok_or(too_large)?;
    }
}

fn rendered(articles: &[Article], pairs: Option<&Part>, is_reduced: bool) -> String {
    let title = match articles {
        [only] => format!("{}: {}", only.kind, only.title),
        several => format!("{} runs", several.len()),
    };
    let views =
        articles.iter().enumerate().map(|(at, article)| view(format!("run{}", at + 1), article));
    let page = Page {
        title,
        policy: policy(),
        style: style(),
        script: SCRIPT,
        articles: views.collect(),
        pairs: pairs.map(|part| vec![part_view("pairs".to_owned(), part, &[])]),
        is_reduced,
        version: env!("CARGO_PKG_VERSION"),
    };
    // The templates call nothing that can fail, and writing to memory does not.
    let text = page.render().expect("every template can be written to memory");
    // Nothing that others wrote steers who looks at the page or its source.
    on_lines(&text).into_owned()
}

fn view(id: String, article: &Article) -> View<'_> {
    let said = article.sections.iter().filter(|section| !section.parts.is_empty());
    let sections = said.enumerate().map(|(at, section)| {
        let id = format!("{id}-{}", at + 1);
        let parts = section.parts.iter().enumerate();
        let parts = parts
            .map(|(at, part)| part_view(format!("{id}-{}", at + 1), part, &article.answers))
            .collect();
        SectionView { id, section, parts }
    });
    View { sections: sections.collect(), id, article }
}

fn part_view<'a>(id: String, part: &'a Part, answers: &[Statement]) -> PartView<'a> {
    let (caption, drawings) = match part {
        Part::Figure(figure) => (caption(figure, answers), drawings(figure)),
        _ => (String::new(), Vec::new()),
    };
    PartView { id, part, caption, drawings }
}

/// Caption of a picture: its message, or what it shows where the page has said the same above.
fn caption(figure: &Figure, answers: &[Statement]) -> String {
    let is_said = answers.iter().any(|it| it.sentence == figure.message);
    match figure.name {
        "speed" if is_said => "Work done in each placement".to_owned(),
        "workers" if is_said => "Work done by so many workers".to_owned(),
        "siblings" if is_said => "Work of the core beside siblings".to_owned(),
        _ => figure.message.clone(),
    }
}

fn drawings(figure: &Figure) -> Vec<(&'static str, Drawing)> {
    let [wide, narrow] = plot::WIDTHS;
    vec![("wide", figure.plot.drawn(wide)), ("narrow", figure.plot.drawn(narrow))]
}

fn style() -> String {
    format!("{}{STYLE}", plot::STYLE)
}

/// Content policy of the page: use its own style and its own script, and nothing else.
fn policy() -> String {
    let hash = |text: &str| {
        STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
    };
    format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(&style()),
        hash(SCRIPT)
    )
}
