//! Running a program and finding a number in what it says.

use std::process::{Command, Output};

use regex::Regex;

/// The last number in the only group of `pattern` in what the program says, however it ends: some of
/// the originals fail after they have said it.
///
/// # Errors
/// If it cannot be started, or says no such number.
pub(crate) fn number(command: &mut Command, pattern: &str) -> Result<f64, String> {
    let (text, _) = said(command)?;
    let pattern = Regex::new(pattern).expect("a pattern of this program");
    let found = pattern.captures_iter(&text).last().and_then(|groups| groups[1].parse().ok());
    found.ok_or_else(|| format!("{command:?} says no number that fits {pattern}:\n{text}"))
}

/// What the program says on standard output.
///
/// # Errors
/// If it cannot be started or fails.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let (text, output) = said(command)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?} failed ({}):\n{text}", output.status)),
    }
}

/// What the program says, on standard output and beside it.
fn said(command: &mut Command) -> Result<(String, Output), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = [&output.stdout[..], &output.stderr].concat();
    Ok((String::from_utf8_lossy(&text).into_owned(), output))
}
