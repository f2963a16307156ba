//! Abilities of the terminal, and output to it.

use std::io::{ErrorKind, IsTerminal, Write};

use anstream::AutoStream;
use clap::ColorChoice;
use corun_record::on_lines;
use corun_report::{ExportError, View};

use crate::keeping;

/// Columns of the terminal, or 100 where there is none.
pub(crate) fn columns() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0).max(40))
}

/// As [`columns`], in the type that tables take.
pub(crate) fn width() -> u16 {
    u16::try_from(columns()).unwrap_or(u16::MAX)
}

/// Medium that standard output is: on a terminal the answer comes last.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub(crate) fn view() -> View {
    View {
        columns: width(),
        is_terminal: std::io::stdout().is_terminal(),
        has_colour: has_colour(),
        is_kept: keeping::is_kept(),
    }
}

/// Sets what `--color` asks for, before anything is shown.
pub(crate) fn set_colour(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// True if standard output is coloured: as `--color` says, else as NO_COLOR (<https://no-color.org>), CLICOLOR and
/// CLICOLOR_FORCE (<https://bixense.com/clicolors>) say, else on a terminal.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub(crate) fn has_colour() -> bool {
    AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Shows text on standard output, where nothing in it steers a terminal, whatever wrote it; a reader who has
/// gone away (a pager) has seen enough.
///
/// # Errors
/// If the text cannot be written, for instance on a full disk.
pub(crate) fn show(text: &str) -> Result<(), ExportError> {
    write(&on_lines(text))
}

/// As [`show`], for text without end: whether there still is a reader.
///
/// # Errors
/// As [`show`].
pub(crate) fn show_to_reader(text: &str) -> Result<bool, ExportError> {
    write_to_reader(&on_lines(text))
}

/// As [`show`] of a text for a program, in which nothing is foreign.
///
/// # Errors
/// As [`show`].
pub(crate) fn pass_on(text: &str) -> Result<(), ExportError> {
    write(text)
}

/// As [`show`] of a text in corun's own colours, where the terminal wants them. The code that put them in has
/// made sure that what others wrote brings none.
///
/// # Errors
/// As [`show`].
pub(crate) fn show_coloured(text: &str) -> Result<(), ExportError> {
    write(&plain(text))
}

/// The text as [`show_coloured`] writes it.
pub(crate) fn plain(text: &str) -> String {
    if has_colour() { with_colours(text) } else { on_lines(text).into_owned() }
}

/// The text with only such control sequences as set bold type and colours (SGR, ECMA-48).
fn with_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (index, piece) in text.split('\u{1b}').enumerate() {
        let parameters = piece.strip_prefix('[').and_then(|rest| rest.split_once('m')).filter(
            |(parameters, _)| {
                parameters.len() <= 8
                    && parameters.bytes().all(|it| it.is_ascii_digit() || it == b';')
            },
        );
        match (index, parameters) {
            (0, _) => plain += &on_lines(piece),
            (_, Some((parameters, rest))) => {
                plain += &format!("\u{1b}[{parameters}m{}", on_lines(rest));
            }
            (_, None) => plain += &format!("{}{}", on_lines("\u{1b}"), on_lines(piece)),
        }
    }
    plain
}

fn write(text: &str) -> Result<(), ExportError> {
    write_to_reader(text).map(drop)
}

/// Writes a text; false if its reader has gone away.
#[expect(clippy::disallowed_methods, reason = "this is the writer")]
fn write_to_reader(text: &str) -> Result<bool, ExportError> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(ExportError { path: "standard output".into(), error }),
    }
}

#[cfg(test)]
mod tests {
    use super::with_colours;

    #[test]
    fn colours_are_all_that_reaches_a_terminal() {
        let colours = "\u{1b}[1mbold\u{1b}[0m and \u{1b}[1;31mred\u{1b}[0m\n";
        assert_eq!(with_colours(colours), colours);
        assert_eq!(
            with_colours("a\u{1b}]0;title\u{7}\u{1b}[2Jb\u{1b}c\u{1b}"),
            "a\\u{1b}]0;title\\u{7}\\u{1b}[2Jb\\u{1b}c\\u{1b}"
        );
    }
}
