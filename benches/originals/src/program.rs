//! Running a program and finding a number in what it says.

use std::process::Command;

use regex::Regex;

/// The last number in the only group of `pattern` in what the program says.
///
/// # Errors
/// If it cannot be started, fails, or says no such number.
pub fn number(command: &mut Command, pattern: &str) -> Result<f64, String> {
    let text = output(command)?;
    let pattern = Regex::new(pattern).expect("a pattern of this program");
    let found = pattern.captures_iter(&text).last().and_then(|groups| groups[1].parse().ok());
    found.ok_or_else(|| format!("{command:?} says no number that fits {pattern}:\n{text}"))
}

/// What the program says, on standard output and beside it.
///
/// # Errors
/// If it cannot be started or fails.
pub fn output(command: &mut Command) -> Result<String, String> {
    let told = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = [told.stdout, told.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    match told.status.success() {
        true => Ok(text),
        false => Err(format!("{command:?} failed ({}):\n{text}", told.status)),
    }
}
