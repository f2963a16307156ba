//! Destination of an answer, and how much of it is shown.

use std::path::{Path, PathBuf};

use clap::Args;
use corun_record::Document;

use crate::exports::Form;

/// `--json`: the answer as a document for programs.
#[derive(Debug, Clone, Args)]
pub(crate) struct JsonFile {
    /// Write the answer as JSON to FILE (`-`, the default, is standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

impl JsonFile {
    /// The file that was named, `-` for standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.json.as_deref()
    }
}

/// The wording of `--csv`.
pub(crate) const CSV: &str = "Write the figures as CSV to FILE";

/// Options for one more form of the answer each.
macro_rules! files {
    ($($(#[$about:meta])* $name:ident, $field:ident, $help:expr;)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Args)]
        pub(crate) struct $name {
            #[arg(long, value_name = "FILE", help = $help)]
            $field: Option<PathBuf>,
        }

        impl $name {
            /// The file that was named, `-` for standard output.
            pub(crate) fn path(&self) -> Option<&Path> {
                self.$field.as_deref()
            }
        }
    )+};
}

files! {
    /// `--csv`: figures for a spreadsheet.
    CsvFile, csv, CSV;
    /// `--markdown`: the answer for a pull request or an issue.
    MarkdownFile, markdown, "Write the answer as Markdown to FILE";
    /// `--latex`: tables for an article.
    LatexFile, latex, "Write the tables in LaTeX to FILE";
    /// `--svg`: the answer drawn.
    SvgFile, svg, "Draw the answer as SVG to FILE";
}

/// The forms that most measurements have.
#[derive(Debug, Clone, Args)]
pub(crate) struct DocumentFiles {
    #[command(flatten)]
    json: JsonFile,
    #[command(flatten)]
    csv: CsvFile,
    #[command(flatten)]
    markdown: MarkdownFile,
    #[command(flatten)]
    latex: LatexFile,
}

impl DocumentFiles {
    /// True if a file was named.
    pub(crate) fn is_any(&self) -> bool {
        let Self { json, csv, markdown, latex } = self;
        json.path().or(csv.path()).or(markdown.path()).or(latex.path()).is_some()
    }

    /// The files with what is written to each.
    pub(crate) fn forms<T: Document>(
        &self,
        csv: Form<T>,
        markdown: Form<T>,
        latex: Form<T>,
    ) -> [(Option<&Path>, Form<T>); 4] {
        [
            (self.json.path(), T::to_json),
            (self.csv.path(), csv),
            (self.markdown.path(), markdown),
            (self.latex.path(), latex),
        ]
    }
}

/// `--brief`: the answer without its tables.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ViewArguments {
    /// Show the answer alone
    #[arg(long)]
    pub(crate) brief: bool,
}

/// `--verbose`: all figures, where an answer takes one screen by default.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DetailArguments {
    /// Show all figures, reasons and limits of trust, not only what fits a screen
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// `--quiet`: no progress.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ProgressArguments {
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
