//! What a guest sent back through its second serial port.
//!
//! A guest that crashes ends QEMU with success as a power-off does; only the exit line at the end
//! tells that everything arrived.

use std::collections::BTreeMap;
use std::time::Duration;

/// The files that a scenario left in `/results`, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results {
    /// The exit code of the scenario's script.
    pub exit: i32,
    /// The files by name.
    pub files: BTreeMap<String, Vec<u8>>,
    /// How long the scenario took, by the guest's clock.
    pub scenario: Duration,
}

/// Why bytes are not the results of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultsError {
    /// The guest stopped sending before the end.
    #[error("expected \"=== EXIT code\" at the end of the results, found their end at byte {0}")]
    Truncated(usize),
    /// Something else than a header stands where one is due.
    #[error(
        "expected \"=== FILE name bytes\", \"=== TIMES\" or \"=== EXIT code\" at byte {at}, found {found:?}"
    )]
    Header {
        /// Where, counted from 0.
        at: usize,
        /// The line that stands there.
        found: String,
    },
}

impl Results {
    /// Reads `=== FILE name bytes` headers, each followed by that many bytes, and `=== TIMES begun ended` up to
    /// `=== EXIT code`; before a header there may be empty lines.
    ///
    /// # Errors
    /// If the bytes end early or hold anything else.
    pub fn parse(bytes: &[u8]) -> Result<Self, ResultsError> {
        let truncated = || ResultsError::Truncated(bytes.len());
        let mut files = BTreeMap::new();
        let mut scenario = Duration::ZERO;
        let mut at = 0;
        loop {
            at += bytes[at..].iter().take_while(|&&byte| byte == b'\n').count();
            let rest = &bytes[at..];
            let length = rest.iter().position(|&byte| byte == b'\n').ok_or_else(truncated)?;
            let line = String::from_utf8_lossy(&rest[..length]);
            match header(&line) {
                Some(Header::Exit(exit)) => return Ok(Self { exit, files, scenario }),
                Some(Header::File(name, size)) => {
                    let content = rest[length + 1..].get(..size).ok_or_else(truncated)?;
                    files.insert(name.to_owned(), content.to_owned());
                    at += length + 1 + size;
                }
                Some(Header::Scenario(took)) => {
                    scenario = took;
                    at += length + 1;
                }
                None => return Err(ResultsError::Header { at, found: line.into_owned() }),
            }
        }
    }
}

enum Header<'a> {
    File(&'a str, usize),
    Scenario(Duration),
    Exit(i32),
}

fn header(line: &str) -> Option<Header<'_>> {
    let line = line.strip_prefix("=== ")?;
    if let Some(code) = line.strip_prefix("EXIT ") {
        return code.parse().ok().map(Header::Exit);
    }
    if let Some(times) = line.strip_prefix("TIMES ") {
        let (begun, ended) = times.split_once(' ')?;
        let [begun, ended]: [f64; 2] = [begun.parse().ok()?, ended.parse().ok()?];
        return Duration::try_from_secs_f64(ended - begun).ok().map(Header::Scenario);
    }
    let (name, size) = line.strip_prefix("FILE ")?.rsplit_once(' ')?;
    size.parse().ok().map(|size| Header::File(name, size))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_may_hold_anything_even_headers() {
        let sent = b"\n\n=== FILE a 12\n=== EXIT 0\n\r\n=== FILE b.json 2\n{}\n=== TIMES 2.5 4.75\n=== EXIT 3\n";
        let results = Results::parse(sent).unwrap();
        assert_eq!(results.exit, 3);
        assert_eq!(results.files["a"], b"=== EXIT 0\n\r");
        assert_eq!(results.files["b.json"], b"{}");
        assert_eq!(results.scenario, Duration::from_millis(2250));
    }

    #[test]
    fn a_guest_that_died_is_told_from_one_that_finished() {
        assert_eq!(Results::parse(b""), Err(ResultsError::Truncated(0)));
        let half = b"=== FILE a 100\nhalf of it";
        assert_eq!(Results::parse(half), Err(ResultsError::Truncated(half.len())));
        let garbled = b"=== FILE a 1\nab\n=== EXIT 0\n";
        assert_eq!(
            Results::parse(garbled),
            Err(ResultsError::Header { at: 14, found: "b".into() })
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Results::parse(&bytes);
        }

        #[test]
        fn no_half_of_a_result_passes_for_the_whole(cut in 0_usize..53) {
            let whole = b"=== FILE a 5\nhello\n=== FILE b.json 2\n{}\n=== EXIT 0\n";
            let cut = cut.min(whole.len() - 1);
            prop_assert!(Results::parse(&whole[..cut]).is_err());
        }
    }
}
