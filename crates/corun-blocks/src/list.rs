//! Lists of blocks as CSV: a column `block` in hexadecimal, and `cycles` where they are known.

use std::io::Read;

use corun_record::{Actionable, Exit, on_one_line};
use csv::{ReaderBuilder, StringRecord, Trim};

/// A block of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Code as the list has it.
    pub hexadecimal: String,
    /// Code of the block.
    pub code: Vec<u8>,
    /// Cycles of an iteration.
    pub cycles: Option<f64>,
}

/// True if a block, in hexadecimal, is one that is held out while a core model is tuned: a third of
/// all, by a hash of their code, so that what the model knows of the others can be distinguished from what
/// it knows of cores.
pub fn is_held_out(hexadecimal: &str) -> bool {
    let hash = |hash: u32, digit: u8| hash.wrapping_mul(31).wrapping_add(digit.into());
    hexadecimal.bytes().fold(7, hash).is_multiple_of(3)
}

/// The most blocks of a list: the largest published ones have some 300,000.
const MAX_BLOCKS: usize = 1_000_000;

/// Why a list cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} in line {line}, found {found}")]
pub struct ListError {
    /// Counted from 1.
    pub line: u64,
    /// Allowed text.
    pub expected: &'static str,
    /// Text found.
    pub found: String,
}

impl Actionable for ListError {
    fn exit(&self) -> Exit {
        Exit::Failed
    }

    fn next_step(&self) -> String {
        "Give a CSV file with a column `block`: machine code in hexadecimal, such as 4801c8. A column \
         `cycles` may say how long each takes; lines that begin with # are left out."
            .to_owned()
    }
}

/// Reads a list.
///
/// # Errors
/// If it has no column `block`, or a line of it is wrong.
pub fn read_list(list: impl Read) -> Result<Vec<Listed>, ListError> {
    let mut reader =
        ReaderBuilder::new().comment(Some(b'#')).trim(Trim::All).flexible(true).from_reader(list);
    let headers = reader.headers().map_err(not_csv)?.clone();
    let column = |name| headers.iter().position(|header| header == name);
    let block = column("block").ok_or_else(|| ListError {
        line: headers.position().map_or(1, csv::Position::line),
        expected: "a column `block`",
        found: quoted(headers.iter().collect::<Vec<_>>().join(",")),
    })?;
    let cycles = column("cycles");
    let mut blocks = Vec::new();
    for record in reader.records() {
        let record = record.map_err(not_csv)?;
        if blocks.len() == MAX_BLOCKS {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(ListError {
                line,
                expected: "a million blocks at most",
                found: "more".to_owned(),
            });
        }
        blocks.push(listed(&record, block, cycles)?);
    }
    Ok(blocks)
}

fn listed(record: &StringRecord, block: usize, cycles: Option<usize>) -> Result<Listed, ListError> {
    let wrong = |expected, found: &str| ListError {
        line: record.position().map_or(0, csv::Position::line),
        expected,
        found: quoted(found.to_owned()),
    };
    let hexadecimal = record.get(block).unwrap_or_default();
    let code = bytes(hexadecimal)
        .ok_or_else(|| wrong("a block of whole bytes in hexadecimal", hexadecimal))?;
    let cycles = match cycles.and_then(|cycles| record.get(cycles)) {
        None | Some("") => None,
        Some(text) => {
            let number =
                text.parse().ok().filter(|cycles: &f64| *cycles > 0.0 && cycles.is_finite());
            Some(number.ok_or_else(|| wrong("a number of cycles above 0", text))?)
        }
    };
    Ok(Listed { hexadecimal: hexadecimal.to_owned(), code, cycles })
}

fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hexadecimal.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn not_csv(error: csv::Error) -> ListError {
    ListError {
        line: error.position().map_or(1, csv::Position::line),
        expected: "CSV in UTF-8",
        found: error.to_string(),
    }
}

/// As much of it as fits in a sentence, with nothing in it that steers a terminal.
fn quoted(text: String) -> String {
    const LONGEST: usize = 40;
    let begin = on_one_line(&text.chars().take(LONGEST).collect::<String>());
    match text.chars().nth(LONGEST) {
        Some(_) => format!("\"{begin}...\""),
        None => format!("\"{begin}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let list = "# a head\ncycles, block,p10\n2.5,4801c8,1\n,90\n# end\n";
        let found = read_list(list.as_bytes()).unwrap();
        let expected = [("4801c8", vec![0x48, 1, 0xc8], Some(2.5)), ("90", vec![0x90], None)];
        for (found, (text, code, cycles)) in found.iter().zip(expected) {
            assert_eq!(
                (found.hexadecimal.as_str(), &found.code, found.cycles),
                (text, &code, cycles)
            );
        }
        assert_eq!(found.len(), 2);
        assert_eq!(read_list(&b"block\n"[..]).unwrap(), []);
    }

    #[test]
    fn what_the_fuzzer_begins_with_is_read_or_refused() {
        let corpus = corun_testing::repository().join("fuzz/corpus/blocks");
        let mut inputs = 0;
        for input in std::fs::read_dir(corpus).unwrap() {
            let list = std::fs::read(input.unwrap().path()).unwrap();
            if let Err(error) = read_list(&list[..]) {
                let message = error.to_string();
                assert!(!message.contains(char::is_control), "{message:?}");
            }
            inputs += 1;
        }
        assert!(inputs >= 6);
    }

    #[test]
    fn a_wrong_list_is_reported_with_its_line() {
        let message = |list: &[u8]| read_list(list).unwrap_err().to_string();
        let cases: [(&[u8], &str); 6] = [
            (b"", "expected a column `block` in line 1, found \"\""),
            (b"code\n90\n", "expected a column `block` in line 1, found \"code\""),
            (
                b"block\n90\n9\n",
                "expected a block of whole bytes in hexadecimal in line 3, found \"9\"",
            ),
            (
                b"block\n+1\n",
                "expected a block of whole bytes in hexadecimal in line 2, found \"+1\"",
            ),
            (
                b"#\nblock,cycles\n90,-1\n",
                "expected a number of cycles above 0 in line 3, found \"-1\"",
            ),
            (
                b"block,cycles\n90,inf\n",
                "expected a number of cycles above 0 in line 2, found \"inf\"",
            ),
        ];
        for (list, sentence) in cases {
            assert_eq!(message(list), sentence);
        }
        assert!(message(b"block\n\xff\xff\n").starts_with("expected CSV in UTF-8 in line 2"));
    }
}
