//! Texts that the user names, read up to a length that no sensible one has.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The longest text in bytes: more than a recording of minutes has.
const MOST: u64 = 1 << 30;

/// The text of a file.
///
/// # Errors
/// If it cannot be read, is no UTF-8, or does not end within a gibibyte.
pub fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MOST {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 1 GiB")),
        false => Ok(text),
    }
}
