//! The kernel's command line (`Documentation/admin-guide/kernel-parameters.rst`).

use super::report::Evidence;

/// What the kernel was told at boot.
#[derive(Debug)]
pub(super) struct BootLine(Evidence);

impl BootLine {
    pub(super) fn new(line: Evidence) -> Self {
        Self(line)
    }

    /// The last word `name` or `name=VALUE`, which is the one that counts, as evidence.
    pub(super) fn find(&self, name: &str) -> Option<Evidence> {
        let word = words(&self.0.text).filter(|word| name_of(word) == name).last()?;
        Some(Evidence::new(self.0.file.clone(), word))
    }
}

/// Words of a line in which quotes keep white space together; `--` ends the kernel's part.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let words = line.split(move |character: char| {
        quoted ^= character == '"';
        character.is_whitespace() && !quoted
    });
    words.filter(|word| !word.is_empty()).take_while(|word| *word != "--")
}

/// The kernel takes `-` and `_` in names for the same.
fn name_of(word: &str) -> String {
    word.split('=').next().unwrap_or_default().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_name_counts_and_quotes_hold_words_together() {
        let line =
            r#"quiet mitigations=off mitigations=auto,nosmt note="a nosmt=force b" -- idle=poll"#;
        let line = BootLine::new(Evidence::new("proc/cmdline", line));
        let found = |name| line.find(name).map(|word| word.text);
        assert_eq!(found("mitigations").as_deref(), Some("mitigations=auto,nosmt"));
        assert_eq!(found("quiet").as_deref(), Some("quiet"));
        assert_eq!(found("note").as_deref(), Some(r#"note="a nosmt=force b""#));
        assert_eq!((found("nosmt"), found("idle")), (None, None));
    }
}
