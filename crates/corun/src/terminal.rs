//! What the terminal can show, and showing it.

use std::io::{ErrorKind, IsTerminal, Write};

use corun_report::ExportError;

/// Columns of the terminal, or 100 where there is none.
pub fn columns() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0).max(40))
}

/// As [`columns`], in the type that tables take.
pub fn width() -> u16 {
    u16::try_from(columns()).unwrap_or(u16::MAX)
}

/// Whether standard output wants colour (<https://no-color.org>).
pub fn has_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty())
}

/// Shows text on standard output; a reader who has gone away (a pager) has seen enough.
///
/// # Errors
/// If the text cannot be written, for instance on a full disk.
pub fn show(text: &str) -> Result<(), ExportError> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(ExportError { path: "standard output".into(), error })
        }
        _ => Ok(()),
    }
}
