//! Long texts on a terminal, by the user's pager.

use std::io::{IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use corun_report::ExportError;

use crate::{interruption, terminal};

/// The pager of a user who names none.
const DEFAULT: &str = "less";
/// Options of `less` unless the user says otherwise: end where all fits, keep colours and the text on the screen.
const LESS: &str = "FRX";

/// Shows a text by the pager that PAGER names where it is longer than the terminal, else by `show`. No pager is asked
/// where PAGER is empty.
///
/// # Errors
/// As `show`.
pub(crate) fn show(
    text: &str,
    show: fn(&str) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    match is_longer_than_terminal(text).then(started).flatten() {
        Some(pager) => {
            paged(pager, &terminal::plain(text));
            Ok(())
        }
        None => show(text),
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
fn is_longer_than_terminal(text: &str) -> bool {
    let rows = terminal_size::terminal_size().map(|(_, rows)| usize::from(rows.0));
    std::io::stdout().is_terminal() && rows.is_some_and(|rows| text.lines().count() >= rows)
}

/// The pager, its input a pipe; nothing where there is none.
fn started() -> Option<Child> {
    let named = std::env::var("PAGER").unwrap_or_else(|_| DEFAULT.to_owned());
    let words = shell_words::split(&named).ok()?;
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    command.spawn().ok()
}

/// Hands the text over and waits until the user has read enough; a pager that ends early has shown enough.
fn paged(mut pager: Child, text: &str) {
    // Ctrl-C is the pager's.
    let _handled = interruption::flag_on_signals();
    if let Some(mut input) = pager.stdin.take() {
        let _ = input.write_all(text.as_bytes());
    }
    let _ = pager.wait();
}
