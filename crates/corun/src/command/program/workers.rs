//! Spelling of `{workers}`: what is written otherwise would reach the program as it stands, and be measured.

use std::ffi::OsStr;

use crate::parse::line_of;
use crate::problem::Problem;

/// Checks that the number of workers is spelt `{workers}` in these words of a command or its environment.
///
/// # Errors
/// If it is nowhere, and `{worker}`, `{WORKERS}` or `{threads}` is found in its place.
pub(in crate::command) fn check_workers<'a>(
    words: impl Iterator<Item = &'a OsStr>,
) -> Result<(), Problem> {
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    if words.iter().any(|word| word.contains("{workers}")) {
        return Ok(());
    }
    let Some((word, other)) = words.iter().find_map(|it| Some((it, workers_misspelt(it)?))) else {
        return Ok(());
    };
    Err(Problem::usage(
        format!("expected {{workers}} in place of the number of threads, found {other}"),
        format!("Write {}", line_of([word.replace(other, "{workers}")])),
    ))
}

/// A placeholder in a word that was meant for `{workers}`.
fn workers_misspelt(word: &str) -> Option<&str> {
    let names = ["worker", "workers", "thread", "threads"];
    let is_meant = |inner: &str| names.iter().any(|it| inner.trim().eq_ignore_ascii_case(it));
    word.match_indices('{').find_map(|(start, _)| {
        let inner = &word[start + 1..start + word[start..].find('}')?];
        is_meant(inner).then(|| &word[start..start + inner.len() + 2])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> Option<String> {
        check_workers(words.iter().map(OsStr::new)).err().map(|it| it.to_string())
    }

    #[test]
    fn other_spellings_of_the_number_of_workers_are_caught() {
        for (word, right) in [
            ("-j{worker}", "-j{workers}"),
            ("{WORKERS}", "{workers}"),
            ("--threads={ threads }", "--threads={workers}"),
            ("{a}{Workers}", "{a}{workers}"),
        ] {
            let said = said(&["./x", word]).expect(word);
            assert!(said.ends_with(&format!("\n  Write {right}")), "{said}");
        }
        for words in [&["./x", "{}", "{n}", "{", "}{"][..], &["./x", "{worker}", "-j{workers}"]] {
            assert_eq!(said(words), None);
        }
    }
}
