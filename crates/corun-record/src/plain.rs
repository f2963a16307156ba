//! Text that somebody else wrote, on a terminal: one line that steers nothing.

/// The text, its control characters (line ends among them) written as escapes.
pub fn on_one_line(text: &str) -> String {
    let show = |character: char| match character.is_control() {
        true => character.escape_default().collect::<String>(),
        false => character.to_string(),
    };
    text.chars().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::on_one_line;

    #[test]
    fn what_would_steer_a_terminal_is_written_out() {
        assert_eq!(on_one_line("a \"b\" \u{e9}"), "a \"b\" \u{e9}");
        assert_eq!(on_one_line("a\nb\u{1b}[2J\u{9b}"), "a\\nb\\u{1b}[2J\\u{9b}");
    }
}
