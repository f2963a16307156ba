//! What the terminal can show.

use std::io::IsTerminal;

/// Columns of the terminal, or 100 where there is none.
pub fn columns() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0).max(40))
}

/// Whether standard output wants colour (<https://no-color.org>).
pub fn has_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty())
}
