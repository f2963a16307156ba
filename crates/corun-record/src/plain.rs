//! Foreign text where it is shown: nothing in it may steer a terminal, forge a line of
//! corun's own, or fill the screen.
//!
//! Whatever is written passes [`on_one_line`] or [`on_lines`]; JSON keeps the same characters as its own
//! escapes ([`crate::json_text`]).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Characters that a text may have in the middle of a sentence.
const MAX_QUOTED: usize = 200;

/// True if a character is not a letter or mark to see but an order to who shows it: a control character
/// (C0, DEL, C1), or one of Unicode's that turns the direction of writing, breaks a line or is invisible.
pub fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// The text with everything that [`steers`] (line ends among it) written as escapes.
pub fn on_one_line(text: &str) -> String {
    escaped(text, |_| false).into_owned()
}

/// As [`on_one_line`], but lines stay lines.
pub fn on_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character == '\n')
}

/// The text on one line, and no more of it than fits into a sentence.
pub fn excerpt(text: &str) -> String {
    on_one_line(&shortened(text, MAX_QUOTED))
}

/// The name of a file for people: on one line, bytes that are no UTF-8 as `\xff`.
pub fn shown(path: impl AsRef<Path>) -> String {
    let mut text = String::new();
    for chunk in path.as_ref().as_os_str().as_bytes().utf8_chunks() {
        text += &on_one_line(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// At most so many characters of a text: of a longer one the beginning and the end, and how many are
/// left out between them.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // A character has four bytes at most.
    let count = if text.len() <= most { 0 } else { text.chars().count() };
    if count <= most {
        return Cow::Borrowed(text);
    }
    let (begin, end) = (most - most / 4, most / 4);
    let at = |character: usize| text.char_indices().nth(character).map_or(text.len(), |it| it.0);
    let (head, tail) = (&text[..at(begin)], &text[at(count - end)..]);
    Cow::Owned(format!("{head}... ({} characters left out) ...{tail}", count - begin - end))
}

fn escaped(text: &str, may_stay: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character: char| steers(character) && !may_stay(character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_escaped(character) {
            true => plain.extend(character.escape_default()),
            false => plain.push(character),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_written_out() {
        assert_eq!(on_one_line("a \"b\" \u{e9}"), "a \"b\" \u{e9}");
        assert_eq!(on_one_line("a\nb\u{1b}[2J\u{9b}"), "a\\nb\\u{1b}[2J\\u{9b}");
        assert_eq!(on_one_line("a\u{202e}b\u{2066}\u{feff}"), "a\\u{202e}b\\u{2066}\\u{feff}");
        assert_eq!(on_lines("a\r\nb\t\u{7f}"), "a\\r\nb\\t\\u{7f}");
        // What joins letters is no order: names of people and emoji have it.
        assert_eq!(on_one_line("\u{200d}\u{200c}"), "\u{200d}\u{200c}");
    }

    #[test]
    fn bytes_that_are_no_text_are_seen_in_a_file_name() {
        assert_eq!(shown(OsStr::from_bytes(b"a\xff\n\x1bb/\xc3")), "a\\xff\\n\\u{1b}b/\\xc3");
    }

    #[test]
    fn a_long_text_is_shortened_in_its_middle() {
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(shortened("äöü", 3), "äöü");
        let long = format!("a{}z", "ö".repeat(70_000));
        let short = shortened(&long, 200);
        assert!(short.chars().count() < 250 && short.starts_with('a') && short.ends_with('z'));
        assert!(short.contains("(69802 characters left out)"), "{short}");
    }
}
