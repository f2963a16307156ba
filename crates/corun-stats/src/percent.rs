//! Shares as text, one way for all: digits that a reader can use.

/// A share in per cent with its unit: `0.42 %`, `4.2 %`, `67 %`; beyond tenfold only that it is.
///
/// Two decimals below 1 %, one below 10 %, none from there on.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        size if size > 1000.0 => "> 1000 %".to_owned(),
        size if size < 0.995 => format!("{percent:.2} %"),
        size if size < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_digits_as_are_of_use() {
        let texts = [0.0, 0.0042, 0.042, 0.0996, 0.67, 1.0, 11.0, -0.034].map(percent);
        let expected = ["0 %", "0.42 %", "4.2 %", "10 %", "67 %", "100 %", "> 1000 %", "-3.4 %"];
        assert_eq!(texts, expected);
    }
}
