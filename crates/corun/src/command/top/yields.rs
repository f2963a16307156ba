//! The SMT yields that a range of capacity holds for.

use std::path::Path;

use corun_record::{YieldRange, YieldSource};

/// `1.1..1.35`, or one value.
///
/// # Errors
/// A sentence on what was expected.
pub(super) fn parse(text: &str) -> Result<YieldRange, String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let number =
        |text: &str| text.trim().parse::<f64>().ok().filter(|it| (1.0..=64.0).contains(it));
    match (number(low), number(high)) {
        (Some(low), Some(high)) if low <= high => {
            Ok(YieldRange { low, high, source: YieldSource::Given })
        }
        _ => Err(format!(
            "expected SMT yields from 1 up, the lower one first, such as 1.1..1.35, found \"{text}\""
        )),
    }
}

/// The yields that `corun capacity` measured on this host, if it has; nothing is known of a captured machine.
pub(super) fn measured(_root: &Path) -> Option<YieldRange> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_are_a_range_from_1_up() {
        let range = |low, high| YieldRange { low, high, source: YieldSource::Given };
        assert_eq!(parse("1.1..1.35"), Ok(range(1.1, 1.35)));
        assert_eq!(parse("1.2"), Ok(range(1.2, 1.2)));
        for wrong in ["", "..", "1.1..", "0.9..1.2", "1.3..1.2", "1..nan", "1..65", "1...2"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
